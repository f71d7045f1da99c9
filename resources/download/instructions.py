"""What a person does where a program cannot: step by step, for each kind of host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from resources.download.tokens import GRAND_CHALLENGE, HUGGING_FACE, SYNAPSE, ZENODO, Token
from resources.download.values import SourceRequest


def steps(source: SourceRequest, folder: Path, raw: Path, command: str) -> list[str]:
    """What to do, in order.

    Args:
        source: What is to be fetched.
        folder: Where archives are put to be unpacked by us.
        raw: The raw folder, where files are put that are no archives.
        command: How to go on afterwards.
    """
    described = _STEPS.get(source.kind, _other)(source)
    names = [rule.name for rule in source.rules if "*" not in rule.name and "?" not in rule.name]
    what = f"Put {', '.join(names)}" if names else "Put the archives you get"
    ending = f"{what} into {folder} (they are checked and unpacked there), or the files they hold into {raw}; then run: {command}"
    return [*described, *([f"Note: {source.note}"] if source.note else []), ending]


def foreign(name: str, archive: Path, target: Path, command: str) -> list[str]:
    """What to do with an archive that is not read here."""
    return [
        f"{name} is an archive of a kind that is not read here. It lies at {archive}.",
        f"Unpack it into {target}, for example: unar -o '{target}' '{archive}'   or   7z x '-o{target}' '{archive}'",
        f"Then run: {command}",
    ]


def _with_token(token: Token, page: str, where: str) -> list[str]:
    return [
        f"Log in at {page}, and accept the terms or ask for access there.",
        f"Make an access token at {where}; it needs to read and download only.",
        f"Put it into the environment, not into a file: export {token.variable}=...   The command then fetches the files itself.",
    ]


def _synapse(source: SourceRequest) -> list[str]:
    page = f"https://www.synapse.org/Synapse:{source.id}"
    return [
        *_with_token(SYNAPSE, page, "https://www.synapse.org/PersonalAccessTokens:"),
        f"Or fetch it by hand: synapse get -r {source.id}",
    ]


def _hugging_face(source: SourceRequest) -> list[str]:
    page = f"https://huggingface.co/{'' if source.id.startswith(('datasets/', 'models/')) else 'datasets/'}{source.id}"
    return _with_token(HUGGING_FACE, page, "https://huggingface.co/settings/tokens")


def _zenodo(source: SourceRequest) -> list[str]:
    page = f"https://zenodo.org/records/{source.id}"
    return _with_token(ZENODO, page, "https://zenodo.org/account/settings/applications/tokens/new/")


def _grand_challenge(source: SourceRequest) -> list[str]:
    host = source.id.removeprefix("https://").split("/")[0]
    page = source.id if source.id.startswith("https://") else f"https://{host if '.' in host else f'{host}.grand-challenge.org'}/"
    return [
        f"Log in at {page} with a Grand Challenge account, join the challenge if it asks for that, and open its data page.",
        f"Download the files; where the spec gives their addresses, a token in {GRAND_CHALLENGE.variable} lets us do it.",
    ]


def _google_drive(source: SourceRequest) -> list[str]:
    return [
        f"Open https://drive.google.com/open?id={source.id} in a browser and download the files.",
        "Large folders come as several zip files; put all of them in place. Or use a tool such as gdown or rclone.",
    ]


def _kaggle(source: SourceRequest) -> list[str]:
    page = f"https://www.kaggle.com/datasets/{source.id}"
    return [f"Log in at {page} and download it, or: kaggle datasets download -d {source.id}"]


def _tcia(source: SourceRequest) -> list[str]:
    collection = source.id.lower().replace("-", "_").replace(" ", "_")
    return [
        f"Find the collection {source.id} at https://www.cancerimagingarchive.net and fetch it with the NBIA Data Retriever.",
        f"Open collections are in the Imaging Data Commons too: pip install idc-index; idc download {collection}",
    ]


def _git(source: SourceRequest) -> list[str]:
    address = source.id if "://" in source.id else f"https://github.com/{source.id}"
    revision = f" && git -C repository checkout {source.revision}" if source.revision else ""
    return [f"git clone {address} repository{revision}", "Copy the data from it; leave .git behind."]


def _other(source: SourceRequest) -> list[str]:
    return [f"Fetch it from {source.id}."]


_STEPS: dict[str, Callable[[SourceRequest], list[str]]] = {
    "synapse": _synapse,
    "huggingface": _hugging_face,
    "zenodo": _zenodo,
    "grand_challenge": _grand_challenge,
    "google_drive": _google_drive,
    "kaggle": _kaggle,
    "tcia": _tcia,
    "git": _git,
}
