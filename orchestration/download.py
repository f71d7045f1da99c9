"""The signature of `medfoundry download`. What it does loads requests, which every other command would wait for."""

from __future__ import annotations

from typing import Annotated

import typer


def download(
    slug: Annotated[str, typer.Argument(help="Dataset, as `medfoundry list` names it.", metavar="DATASET")],
    *,
    accept_license: Annotated[bool, typer.Option("--accept-license", help="Agree to the dataset's licence and terms.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be fetched and what is left to you.")] = False,
    source: Annotated[list[int] | None, typer.Option(help="Fetch only the source of this number; --dry-run lists them.")] = None,
    jobs: Annotated[int, typer.Option(help="Files to fetch at once.", min=1, max=16)] = 4,
    remove_archives: Annotated[
        bool, typer.Option("--remove-archives", help="Remove an archive once its files are in place.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Fetch a dataset's raw files; run it again to go on. Exit code 3: accept the licence first; 4: something is left to you."""
    from orchestration.download_result import fetch_and_tell  # noqa: PLC0415 - loads requests, which takes a second

    fetch_and_tell(
        slug,
        accept_license=accept_license,
        dry_run=dry_run,
        sources=tuple(source or ()),
        jobs=jobs,
        remove_archives=remove_archives,
        as_json=as_json,
    )
