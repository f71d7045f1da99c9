"""`medfoundry standardize`: a raw folder that no spec describes as records of MDS-Bench."""

from __future__ import annotations

import json
import shutil
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from assets.strategies.endpoint import Endpoint
    from assets.strategies.place import Place
    from assets.strategies.run import Standardized


class Strategies(StrEnum):
    """Those of the paper of MDS-Bench."""

    S0 = "s0"
    S1 = "s1"
    S2 = "s2"
    S3 = "s3"
    S4 = "s4"


def standardize(
    folder: Annotated[Path, typer.Argument(help="The raw folder; it is not changed.", metavar="RAW_FOLDER")],
    out: Annotated[Path, typer.Argument(help="Folder to be made; it may be there if it is empty.", metavar="OUT")],
    *,
    strategy: Annotated[
        Strategies,
        typer.Option(help="s0 direct, s1 self-check, s2 checklist repair, s3 best complete candidate, s4 field by field."),
    ] = Strategies.S3,
    model_url: Annotated[str, typer.Option(help="OpenAI-compatible endpoint; $MEDFOUNDRY_MODEL_URL when left out.")] = "",
    model_name: Annotated[str, typer.Option(help="Its model; $MEDFOUNDRY_MODEL_NAME when left out.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Standardize a folder that no spec describes into records of MDS-Bench, with a score that needs no ground truth.

    No model is asked unless an endpoint is configured; its key is read from $MEDFOUNDRY_MODEL_KEY.

    Exit codes: 0 every target has a record that answers its task; 1 some do not, the report says why; 2 nothing was written.
    """
    from assets.strategies.endpoint import EndpointError, endpoint_from  # noqa: PLC0415 - loads readers, which takes seconds
    from assets.strategies.place import PlaceError, place_of  # noqa: PLC0415 - as above
    from assets.strategies.report import lines, payload  # noqa: PLC0415 - as above
    from assets.strategies.run import NothingStandardizedError  # noqa: PLC0415 - as above

    try:
        place = place_of(folder)
        _require_free(out, place)
        done, complete = _standardized(place, out, strategy, endpoint_from(url=model_url, model=model_name))
    except (PlaceError, EndpointError, NothingStandardizedError) as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(f"{error.filename or out} cannot be written: {error.strerror or error}")
    text = json.dumps(payload(done), indent=1, ensure_ascii=False) if as_json else "\n".join(lines(done))
    typer.echo(text)
    typer.echo(f"written to {out}", err=True)
    if not complete:
        raise typer.Exit(1)


def _standardized(place: Place, out: Path, strategy: Strategies, endpoint: Endpoint | None) -> tuple[Standardized, bool]:
    """What the strategy gives, written and put in place in one step, and whether it is complete."""
    from assets.strategies.run import STRATEGIES, standardize  # noqa: PLC0415 - as above

    out.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        wanted = STRATEGIES[list(Strategies).index(strategy)]
        done = standardize(place, wanted, work / "work", endpoint, lambda line: typer.echo(line, err=True))
        made = work / "out"
        _write(done, made)
        made.rename(out)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return done, done.chosen.validation(done.is_there).complete


def _write(done: Standardized, folder: Path) -> None:
    import yaml  # noqa: PLC0415 - as above

    from assets.strategies.report import lines, payload  # noqa: PLC0415 - as above
    from resources import durable  # noqa: PLC0415 - as above

    done.chosen.write(folder)
    spec = done.chosen.spec.model_dump(mode="json", exclude_defaults=True)
    told = {
        "report.json": json.dumps(payload(done), indent=1, ensure_ascii=False) + "\n",
        "report.txt": "\n".join(lines(done)) + "\n",
        "spec.yaml": "# By `medfoundry standardize`. Look at every line before it is used.\n"
        + yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, width=120),
    }
    for name, text in told.items():
        (folder / name).write_text(text, encoding="utf-8")
    for path in sorted(folder.rglob("*"), reverse=True):
        durable.sync(path)
    durable.sync(folder)


def _require_free(out: Path, place: Place) -> None:
    """Refuse a place that holds something, or that lies where nothing may be written."""
    whole = out.resolve()
    if whole.is_relative_to(place.raw) or place.raw.is_relative_to(whole):
        _refuse(f"{out} and the raw folder {place.raw} lie in one another; write elsewhere, raw folders are never written to")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        _refuse(f"{out} is there and is no folder; give another")
    if out.is_dir() and next(out.iterdir(), None) is not None:
        _refuse(f"{out} is not empty, and is not written over; remove it or give another folder")


def _refuse(message: str) -> NoReturn:
    typer.echo("".join(letter if letter.isprintable() else "?" for letter in message), err=True)
    raise typer.Exit(2)
