"""Which dataset a command is about, and what is said when it is none, or when specs are broken."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

import typer

from assets.spec import Catalog, DatasetSpec, read_catalog
from assets.spec_errors import SpecError

WRONG = 2
"""Exit code of a command that was wrong."""


def spec_of(slug: str) -> DatasetSpec:
    """The spec of a dataset; broken specs of others are warned of, a line each, on standard error.

    Raises:
        typer.Exit: There is no such dataset, or its own spec is broken; standard error says so.
    """
    catalog = read_catalog()
    warn_of_broken(catalog, besides=slug)
    if slug in catalog.broken:
        refuse(catalog.broken[slug])
    if slug not in catalog.specs:
        typer.echo(no_dataset(slug, {*catalog.specs, *catalog.broken}), err=True)
        raise typer.Exit(WRONG)
    return catalog.specs[slug]


def no_dataset(slug: str, known: Collection[str]) -> str:
    """That there is none of this name, and which it may have been."""
    near = get_close_matches(slug, sorted(known), n=3)
    near += [name for name in sorted(known) if slug and slug in name and name not in near][: 3 - len(near)]
    meant = f"; did you mean {', '.join(near)}?" if near else ";"
    return f"no dataset {slug}{meant} `medfoundry list` names them all"


def warn_of_broken(catalog: Catalog, besides: str = "") -> None:
    """Say on standard error which specs are left out."""
    for name, error in catalog.broken.items():
        if name != besides:
            typer.echo(f"warning: {name} is left out: {error.short}", err=True)


def refuse(error: SpecError) -> None:
    """Say what is wrong with a spec, and end the command.

    Raises:
        typer.Exit: Always.
    """
    typer.echo(f"error: {error}", err=True)
    raise typer.Exit(WRONG)
