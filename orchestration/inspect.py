"""`medfoundry inspect`: looks at an unknown folder and drafts a spec for it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from assets.inspect import Inspection

_SLUG = re.compile(r"[a-z][a-z0-9_]*")


def inspect(
    folder: Annotated[Path, typer.Argument(help="The raw folder.", metavar="FOLDER")],
    *,
    slug: Annotated[str, typer.Option(help="What the dataset will be called.", metavar="NAME")] = "draft",
    write: Annotated[bool, typer.Option("--write", help="Write the draft to a file.")] = False,
    to: Annotated[Path | None, typer.Option(help="Where --write puts it; ./NAME.yaml when left out.", metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Draft a spec of an unknown folder, with what was seen for it and what could not be told; changes nothing in it.

    Exit codes: 0 a draft that is a spec; 1 one that is not complete enough to be loaded; 2 nothing could be looked at.
    """
    from assets.inspect import as_yaml, inspect_folder  # noqa: PLC0415 - loads every reader, which takes seconds
    from assets.inspect.listing import nothing_in  # noqa: PLC0415 - as above

    if not _SLUG.fullmatch(slug):
        _refuse(f"a slug has small letters, digits and _, and begins with a letter, not {slug!r}")
    try:
        if why := nothing_in(folder):
            _refuse(why)
        found = inspect_folder(folder)
    except NotADirectoryError as error:
        _refuse(str(error))
        return
    missing = _missing(found, slug)
    typer.echo(json.dumps(_content(found, slug, missing), indent=1, ensure_ascii=False) if as_json else as_yaml(found, slug))
    if write:
        _write(to or Path(f"{slug}.yaml"), as_yaml(found, slug), slug)
    if missing:
        typer.echo(f"the draft is no spec yet: {missing}", err=True)
        raise typer.Exit(1)


def _missing(found: Inspection, slug: str) -> str:
    """Why the draft cannot be loaded; empty when it can."""
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    from assets.inspect.draft import as_mapping, as_spec  # noqa: PLC0415 - as above
    from assets.spec import DatasetSpec  # noqa: PLC0415 - as above
    from assets.spec_errors import problems_of  # noqa: PLC0415 - as above

    try:
        as_spec(found, slug)
    except ValidationError as error:
        return "; ".join(problems_of(error, DatasetSpec, as_mapping(found, slug)))
    return ""


def _content(found: Inspection, slug: str, missing: str) -> dict[str, Any]:
    from assets.inspect.draft import as_mapping, offered  # noqa: PLC0415 - as above

    draft = as_mapping(found, slug)
    return {
        "draft": draft,
        "evidence": [asdict(evidence) for evidence in found.evidence],
        "unknown": [asdict(unknown) for unknown in found.unknown],
        "could_be": [asdict(candidate) for candidate in offered(found, draft)],
        "missing": missing,
        "names_looked_at": found.n_files,
    }


def _write(path: Path, text: str, slug: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        _refuse(f"{path} is there already; remove it, or give another name with --to")
    except OSError as error:
        _refuse(f"{path} cannot be written: {error.strerror}")
    typer.echo(f"written to {path}; when every line is looked at, it belongs into assets/catalog/{slug}.yaml", err=True)


def _refuse(message: str) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(2)
