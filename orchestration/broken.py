"""What stands in Dagster's graph for a dataset whose spec is broken."""

import re

import dagster as dg

from assets.spec_errors import SpecError


def broken_asset(name: str, error: SpecError) -> dg.AssetsDefinition:
    """An asset that shows what is wrong with the spec, and fails with it when it is materialized.

    Args:
        name: Name of the spec's file without its ending, which is the asset's key.
        error: What is wrong.
    """
    spec = dg.AssetSpec([name], description=f"Its spec is broken.\n```\n{error}\n```", group_name="broken_specs", kinds={"raw"})

    @dg.multi_asset(name=f"broken_{re.sub(r'[^A-Za-z0-9_]', '_', name)}", specs=[spec])
    def broken() -> None:
        raise dg.Failure(str(error), allow_retries=False)

    return broken
