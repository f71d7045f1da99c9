"""The job that fetches a dataset's raw files from within Dagster: `dagster job launch -j download_dataset`, or the launchpad."""

# Dagster reads the annotation of an op's configuration as it stands, so it must not be a text.

from collections.abc import Mapping
from types import MappingProxyType

import dagster as dg

from assets.spec import DatasetSpec
from assets.spec_errors import SpecError
from orchestration.known import no_dataset
from resources.layout import Layout


class DownloadConfig(dg.Config):
    """What to download.

    Attributes:
        slug: The dataset.
        accept_license: Whether its licence and terms are agreed to; once is enough.
        remove_archives: Whether an archive is removed once its files are in place.
    """

    slug: str
    accept_license: bool = False
    remove_archives: bool = False


def download_job(
    specs: Mapping[str, DatasetSpec], layout: Layout, broken: Mapping[str, SpecError] = MappingProxyType({})
) -> dg.JobDefinition:
    """The job over these datasets; for those whose spec is broken it fails with the reason."""

    @dg.op(description="Fetch, prove and unpack the raw files of a dataset; what is here already is left alone.")
    def download(context: dg.OpExecutionContext, config: DownloadConfig) -> None:
        if config.slug in broken:
            raise dg.Failure(str(broken[config.slug]), allow_retries=False)
        if config.slug not in specs:
            raise dg.Failure(no_dataset(config.slug, {*specs, *broken}), allow_retries=False)
        from orchestration.download_run import fetch  # noqa: PLC0415 - loads requests, which every `dagster` command would wait for

        done = fetch(
            specs[config.slug],
            layout,
            context.log,
            accept_license=config.accept_license,
            remove_archives=config.remove_archives,
        )
        context.add_output_metadata(done)

    @dg.job(description="Fetch the raw files of the dataset that the run configuration names.")
    def download_dataset() -> None:
        download()

    return download_dataset
