"""Where ground truths and predictions lie, in any of the layouts that are public.

Ground truths: `<...>/<group>/<dataset>/VLM/ground_truth*.json`, a folder that holds such a file itself, or the file.
Predictions: `agent1_data_organization/` in the dataset's folder (as the prompt asks) or in `VLM/<model>/` (as the evaluator
reads), or a folder that holds `standardized_annotations/` itself, such as this product's `records/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assets.benchmark.mdsbench.files import Folder
from assets.benchmark.mdsbench.truth import GroundTruth, load_truth
from assets.benchmark.mdsbench.values import printable

MAX_LEVELS = 4
"""How deep below the folder that is named a dataset may lie: `<repository>/datasets/<group>/<dataset>`."""

_OUTPUT = "agent1_data_organization"
_WITHIN = (_OUTPUT, "records", "")


class LayoutError(Exception):
    """Folders in which nothing can be scored; the message says what was looked for and what to do."""


@dataclass(frozen=True)
class Expected:
    """One dataset of the benchmark.

    Attributes:
        key: `<group>/<dataset>` as far as the folder that was named shows it.
        truth: Its ground truth.
        folder: Its folder, in which or in whose `VLM/` the ground truth lies; absolute.
    """

    key: str
    truth: GroundTruth
    folder: Path

    @property
    def group(self) -> str:
        """The folder above the dataset's; empty when it is not seen."""
        return self.key.rpartition("/")[0]


def find_truths(root: Path) -> tuple[Expected, ...]:
    """Every ground truth at or below a folder, in order of its key; of several in one folder the first by name.

    Raises:
        LayoutError: There is none.
        GroundTruthError: One cannot be read.
    """
    if root.is_file():
        found = [(root, _dataset_folder(root.resolve().parent))]
    else:
        found = [(file, _dataset_folder(file.parent)) for file in _search(root, MAX_LEVELS)]
    if not found:
        raise LayoutError(f"no ground_truth*.json at or below {root}; name the folder of <dataset>/VLM/ground_truth*.json")
    datasets = (Expected(_key(folder, root), load_truth(file), folder.absolute()) for file, folder in found)
    return tuple(sorted(datasets, key=lambda dataset: dataset.key))


def truth_in(folder: Path) -> Path | None:
    """The ground truth of the dataset whose folder this is: the first by name in `VLM/`, else in the folder itself."""
    files = (file for place in (folder / "VLM", folder) for file in sorted(place.glob("ground_truth*.json")))
    return next(files, None)


def _search(folder: Path, levels: int) -> list[Path]:
    """Ground truths below a folder; where one is found, nothing deeper is looked at."""
    if (file := truth_in(folder)) is not None:
        return [file]
    if levels == 0 or not folder.is_dir():
        return []
    below = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    return [file for path in below for file in _search(path, levels - 1)]


def _dataset_folder(place: Path) -> Path:
    return place.parent if place.name == "VLM" else place


def _key(folder: Path, root: Path) -> str:
    below = folder.is_relative_to(root) and folder != root
    return "/".join(folder.relative_to(root).parts[-2:]) if below else folder.resolve().name


def find_predictions(
    root: Path, dataset: Expected, *, model: str = "", alone: bool = False, search: bool = False
) -> Folder | None:
    """The folder of predictions for a dataset, or None.

    Args:
        root: The folder the user named; nothing outside it is read.
        dataset: What is to be answered.
        model: Name of a folder below `VLM/`; empty for predictions that lie elsewhere, or when there is but one.
        alone: The dataset is the only one, so that `root` itself may be its folder.
        search: Where it is alone and in none of the usual places, take the folder below `root` whose path ends as its own does.

    Raises:
        LayoutError: Several models lie below `VLM/` and none was named, or several folders fit equally well.
    """
    for base in _bases(root, dataset, alone=alone):
        if (found := _within(base, root, model)) is not None:
            return found
    return _by_end_of_path(root, dataset, model) if alone and search else None


def no_predictions(root: Path, datasets: Iterable[Expected], *, model: str = "", alone: bool = False) -> str:
    """The message that no dataset has predictions, with the places where those of each were looked for."""
    at = f"VLM/{model}/ or {model}/" if model else "the folder or its VLM/<model>/"
    lines = [f"no predictions below {root}: no {_OUTPUT}/, records/ or standardized_annotations/ in {at} of these"]
    for dataset in datasets:
        places = ", ".join(str(base) for base in _bases(root, dataset, alone=alone))
        deeper = f", and every folder {dataset.folder.name} down to {MAX_LEVELS} levels below" if alone else ""
        lines.append(f"  {dataset.key}: {places}{deeper}")
    return "\n".join([*lines, "name the folder that holds <group>/<dataset>/, or for one dataset its own folder"])


def _bases(root: Path, dataset: Expected, *, alone: bool) -> list[Path]:
    """What may be the dataset's folder, the first choice first; of a single one the group is known where its key lacks it."""
    keys = [*(["/".join(dataset.folder.parts[-2:]).lstrip("/")] if alone else []), dataset.key]
    bases = [root / place / key for key in keys for place in ("", "datasets")]
    return list(dict.fromkeys([*bases, root / dataset.key.rpartition("/")[2], *([root] if alone else [])]))


def _within(base: Path, root: Path, model: str) -> Folder | None:
    boundary = root.resolve()
    places = [base / "VLM" / model, base / model] if model else [base, *_only_model(base)]
    for place in (place / name for place in places for name in _WITHIN):
        if _holds_output(place) and place.resolve().is_relative_to(boundary):
            return Folder(place, boundary)
    return None


def _by_end_of_path(root: Path, dataset: Expected, model: str) -> Folder | None:
    """Of the folders below `root` that bear the dataset's name and hold predictions, the one that shares most of its path."""
    named = _named(root, dataset.folder.name, MAX_LEVELS)
    fitting = [(_shared_end(base.absolute(), dataset.folder), found) for base in named if (found := _within(base, root, model))]
    most = max((shared for shared, _ in fitting), default=0)
    best = [found for shared, found in fitting if shared == most]
    if len(best) > 1:
        places = ", ".join(printable(str(found.root)) for found in best)
        raise LayoutError(f"below {root} several folders may hold the predictions of {dataset.key}: {places}; name one of them")
    return best[0] if best else None


def _named(folder: Path, name: str, levels: int) -> Iterator[Path]:
    """Folders of a name, in order of their paths; links are not followed, and nothing inside a found one is looked at."""
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise LayoutError(f"{folder} cannot be listed: {error.strerror}; name the folder of the predictions itself") from error
    below = [path for path in inside if path.is_dir() and not path.is_symlink() and not path.name.startswith(".")]
    for path in below:
        if path.name == name:
            yield path
        elif levels > 1:
            yield from _named(path, name, levels - 1)


def _shared_end(one: Path, other: Path) -> int:
    """How many parts two paths share, counted from their ends."""
    pairs = list(zip(reversed(one.parts), reversed(other.parts), strict=False))
    return next((number for number, (a, b) in enumerate(pairs) if a != b), len(pairs))


def _only_model(base: Path) -> list[Path]:
    if _holds_any(base) or not (base / "VLM").is_dir():
        return []
    models = sorted(path for path in (base / "VLM").iterdir() if (path / _OUTPUT).is_dir())
    if len(models) > 1:
        names = ", ".join(printable(path.name) for path in models)
        raise LayoutError(f"{base / 'VLM'} holds the output of several models: {names}; name one with --model")
    return models


def _holds_any(base: Path) -> bool:
    return any(_holds_output(base / name) for name in _WITHIN)


def _holds_output(place: Path) -> bool:
    parts = ("standardized_annotations", "data_meta.json")
    return place.is_dir() and (place.name == _OUTPUT or any((place / name).exists() for name in parts))
