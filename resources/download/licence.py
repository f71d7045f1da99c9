"""The licence of a dataset: shown before anything is fetched, agreed to once, and asked for again when it changes."""

from __future__ import annotations

from resources.download.journal import Journal
from resources.download.values import DatasetRequest

_ACCESS = {
    "open": "open to everyone",
    "registration": "open to whoever registers with its host and accepts its terms there",
    "restricted": "granted by its owners on request",
}
_UNSTATED = "not stated; ask its owners before you use it"


def terms(dataset: DatasetRequest) -> str:
    """What a person agrees to, as it is shown and recorded."""
    lines = [
        f"{dataset.name} {dataset.version}".rstrip(),
        f"Licence: {_UNSTATED if dataset.licence in {'', 'NOASSERTION'} else dataset.licence}",
        f"Access: {dataset.access} ({_ACCESS.get(dataset.access, 'see its homepage')})",
        f"Homepage: {dataset.homepage}" if dataset.homepage else "",
        f"Please cite: {dataset.citation}" if dataset.citation else "",
    ]
    return "\n".join(line for line in lines if line)


def is_accepted(dataset: DatasetRequest, journal: Journal) -> bool:
    """Whether these very terms were agreed to."""
    return terms(dataset) in journal.accepted


def accept(dataset: DatasetRequest, journal: Journal) -> None:
    """Record that these terms are agreed to, unless they were."""
    if not is_accepted(dataset, journal):
        journal.add_accepted(terms(dataset))
