"""Makes the Dagster asset `<slug>/score`: the score of a dataset's MDS-Bench records, where the user has a ground truth of it.

One asset per dataset, and none over all of them: `--select '<slug>*'` runs everything that is downstream of a dataset, so that an
asset below all of them would run with each. The mean over datasets is for `medfoundry score mdsbench` to say.

Annotations are real objects here, not strings: Dagster looks at them.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import dagster as dg

from assets.dataset import Dataset
from assets.index import NotReadyError
from assets.spec_mds import Mds

if TYPE_CHECKING:
    from assets.mds.score import RecordsScore

CHECK = "nothing_lost"
_MOST_ROWS = 30


def score_asset(dataset: Dataset, mds: Mds, owners: list[str], tags: Mapping[str, str]) -> dg.AssetsDefinition:
    """The asset; without a ground truth it is skipped, and its check says what was looked for."""
    slug = dataset.spec.slug
    key = [slug, "score"]
    condition = dg.AutomationCondition.eager() & dg.AutomationCondition.all_deps_blocking_checks_passed()

    @dg.asset(
        key=key,
        deps=[[slug, "records"]],
        description=f"What the records of {mds.name} are worth to MDS-Bench's public scorer, where there is a ground truth.",
        kinds={"parquet"},
        output_required=False,
        automation_condition=condition,
        check_specs=[dg.AssetCheckSpec(CHECK, asset=key, description="Where there is a ground truth, all eleven metrics are 1.")],
        group_name=slug,
        tags=dict(tags),
        owners=owners,
    )
    def score(context: dg.AssetExecutionContext) -> Iterator[Any]:
        from assets.mds.score import NoScore, publish_score  # noqa: PLC0415 - the definitions load without it

        try:
            found = publish_score(dataset, mds)
        except NotReadyError as error:
            raise dg.Failure(str(error), allow_retries=False) from error
        if isinstance(found, NoScore):
            context.log.info(f"{slug}: {found.problem}")
            yield _check(key, found.problem, passed=not found.has_truth)
            return
        metadata = _metadata(dataset, found)
        lost = ", ".join(f"{name} {value:.4f}" for name, value in found.metrics.items() if value < 1)
        context.log.info(
            f"{slug}: E2E {found.metrics['E2E']:.4f} by {found.truth}; {f'below 1: {lost}' if lost else '1 in all eleven'}"
        )
        check = _check(key, f"below 1: {lost}" if lost else "1 in all eleven", metadata["lost"], passed=not lost)
        yield dg.MaterializeResult(metadata=metadata, check_results=[check], data_version=dg.DataVersion(found.key))

    return score


def _check(key: list[str], description: str, lost: dg.MetadataValue | None = None, *, passed: bool) -> dg.AssetCheckResult:
    """A warning at most: a score says something of a dataset and of its ground truth, and stops nothing.

    Most users have no ground truth, which is nothing to be warned of.
    """
    return dg.AssetCheckResult(
        passed=passed,
        check_name=CHECK,
        asset_key=key,
        severity=dg.AssetCheckSeverity.WARN,
        description=description,
        metadata={"lost": lost} if lost is not None else {},
    )


def _metadata(dataset: Dataset, found: "RecordsScore") -> dict[str, Any]:
    """The eleven as numbers, which the UI draws over time; what was lost; where everything lies."""
    from assets.mds.score import DEDUCTIONS, SAMPLES, STEP, largest_losses  # noqa: PLC0415 - as above

    losses = largest_losses(found.deductions, found.samples.height)[:_MOST_ROWS]
    columns = [dg.TableColumn(name, kind) for name, kind in _LOST.items()]
    table = [dg.TableRecord({name: row[name] for name in _LOST}) for row in losses]
    paths = {name: dg.MetadataValue.path(str(dataset.store.root / f"{name}.parquet")) for name in (STEP, SAMPLES, DEDUCTIONS)}
    return {
        "dagster/row_count": 1,
        **found.metrics,
        "samples": found.samples.height,
        "lost": dg.MetadataValue.table(table, dg.TableSchema(columns=columns)),
        "ground_truth": dg.MetadataValue.path(found.truth),
        "unchanged": found.unchanged,
        **paths,
    }


_LOST = {"metric": "string", "item": "string", "times": "int", "lost": "float", "detail": "string"}
