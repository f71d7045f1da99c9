from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from typer.testing import CliRunner, Result

from assets.fetch import folders_for, request_for
from assets.spec import Catalog, DatasetSpec, load_catalog
from orchestration import cli, download_watch, known
from orchestration import download_result as command
from orchestration.download_job import download_job
from resources.download import session as sessions
from resources.download.hosts.listing import Endpoints
from resources.download.instructions import steps
from resources.layout import Layout
from tests.download.common import QUICK, files_below
from tests.download.packing import pack
from tests.download.site import Site, breaks, redirects, replies, whole
from tests.orchestration.world import altered

CATALOG = load_catalog()
CONTENT = os.urandom(40_000)
SECRET = "hf_planted_secret_0123456789"  # noqa: S105


class Terminal:
    """The command as somebody types it, over a catalog of one dataset."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.monkeypatch = monkeypatch
        monkeypatch.setenv("MEDFOUNDRY_DATA", str(root))
        self.catalog(sources=())

    def catalog(self, **fields: Any) -> DatasetSpec:
        spec = altered(CATALOG["kits23"], **fields)
        self.monkeypatch.setattr(known, "read_catalog", lambda: Catalog({"kits23": spec}))
        return spec

    def type(self, *words: str) -> Result:
        return CliRunner().invoke(cli.app, ["download", *words])


@pytest.fixture
def terminal(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(tmp_path / "data", monkeypatch)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    """Little patience, and hosts that are the test's own server."""

    def quick_options(**given: Any) -> sessions.Options:
        return sessions.Options(policy=QUICK, endpoints=Endpoints(zenodo=site.url(""), github=site.url("")), **given)

    monkeypatch.setattr(command, "Options", quick_options)


def test_whoever_does_not_download_does_not_wait_for_its_libraries() -> None:
    asked = "import orchestration.download, orchestration.download_job, resources.download.archives, sys"
    code = f"{asked}; print(*({{'requests', 'py7zr'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()


def test_the_licence_comes_first(terminal: Terminal, site: Site) -> None:
    terminal.catalog(sources=[{"kind": "http", "id": site.put("/a.nii.gz", whole(CONTENT))}])
    result = terminal.type("kits23")
    assert result.exit_code == 3
    assert "Licence: CC-BY-NC-SA-4.0" in result.stdout
    assert "Access: open" in result.stdout
    assert "medfoundry download kits23 --accept-license" in result.stdout
    assert not site.requests
    assert not terminal.root.exists()


def test_a_download_from_beginning_to_end(terminal: Terminal, site: Site) -> None:
    terminal.catalog(sources=[{"kind": "http", "id": site.put("/a.nii.gz", breaks(CONTENT, 9000), whole(CONTENT))}])
    result = terminal.type("kits23", "--accept-license")
    assert result.exit_code == 0, result.output
    assert "0 in place before, 1 fetched, 0 archives unpacked (40.0 kB), 0 failed" in result.stdout
    assert f"in place below {terminal.root / 'raw/kits23'}; next: dagster asset materialize --select 'kits23*'" in result.stdout
    assert "fetching a.nii.gz" in result.stderr
    assert "trying again" in result.stderr
    assert files_below(terminal.root / "raw/kits23") == {"a.nii.gz": CONTENT}
    again = terminal.type("kits23")
    assert again.exit_code == 0
    assert "1 in place before, 0 fetched" in again.stdout


def test_a_dry_run_shows_the_note_of_every_source_even_of_those_it_can_fetch(terminal: Terminal, site: Site) -> None:
    address = site.put("/a.zip", whole(CONTENT))
    terminal.catalog(sources=[{"kind": "http", "id": address, "note": "holds a.rar, to be unpacked by hand"}])
    assert "  note: holds a.rar, to be unpacked by hand" in terminal.type("kits23", "--dry-run").stdout.splitlines()
    content = json.loads(terminal.type("kits23", "--dry-run", "--json").stdout)
    assert content["sources"] == [{"kind": "http", "id": address, "mirror": False, "note": "holds a.rar, to be unpacked by hand"}]


def test_a_dry_run_fetches_nothing_and_tells_all(terminal: Terminal, site: Site) -> None:
    entry = {"key": "b.zip", "size": 24_000_000_000, "links": {"self": "x"}}
    site.put("/api/records/1", replies(200, json.dumps({"files": [entry]}).encode()))
    terminal.catalog(sources=[
        {"kind": "zenodo", "id": "1"},
        {"kind": "zenodo", "id": "2", "mirror": True},
        {"kind": "google_drive", "id": "abc", "files": [{"name": "c.zip", "size_bytes": 5}]},
    ])  # fmt: skip
    result = terminal.type("kits23", "--dry-run")
    assert result.exit_code == 4
    for expected in (
        "Not accepted yet: --accept-license", "source 1: zenodo 1", "source 2: zenodo 2  (not chosen: a mirror)",
        "missing    unpack b.zip  24.0 GB", "by hand    unpack c.zip  5 B", "2 files, 0 in place, 24.0 GB to fetch",
        "Left to you: google_drive abc", "https://drive.google.com/open?id=abc",
        f"Put c.zip into {terminal.root}/downloads/kits23/google_drive-abc",
    ):  # fmt: skip
        assert expected in result.stdout, result.stdout
    assert not terminal.root.exists()
    content = json.loads(terminal.type("kits23", "--dry-run", "--json").stdout)
    assert content["accepted"] is False
    assert [(file["name"], file["state"], file["size"]) for file in content["files"]] == [
        ("b.zip", "missing", 24_000_000_000), ("c.zip", "by hand", 5),
    ]  # fmt: skip
    assert content["by_hand"][0]["what"] == "google_drive abc"


def test_a_source_of_instructions_only_has_its_own_exit_code(terminal: Terminal) -> None:
    terminal.catalog(sources=[{"kind": "tcia", "id": "NSCLC-Radiomics", "note": "about 30 GB"}])
    result = terminal.type("kits23", "--accept-license")
    assert result.exit_code == 4
    assert "idc download nsclc_radiomics" in result.stdout
    assert "Note: about 30 GB" in result.stdout


def test_what_failed_is_said_with_its_own_exit_code(terminal: Terminal, site: Site) -> None:
    terminal.catalog(sources=[
        {"kind": "http", "id": site.url("/"), "files": [{"name": "gone.zip"}, {"name": "page.zip"}]},
        {"kind": "tcia", "id": "x"},
    ])  # fmt: skip
    site.put("/page.zip", replies(200, b"<html>log in</html>", Content_Type="text/html"))
    result = terminal.type("kits23", "--accept-license")
    assert result.exit_code == 1
    assert "gone.zip: " in result.stdout
    assert "404, there is no such file" in result.stdout
    assert "a web page came instead of page.zip" in result.stdout
    assert "Left to you: tcia x" in result.stdout
    content = json.loads(terminal.type("kits23", "--json").stdout)
    assert [file["state"] for file in content["files"]] == ["failed", "failed"]
    assert len(content["failures"]) == 2


@pytest.mark.parametrize("words", [("nonsense",), ("kits23", "--source", "7"), ("kits23", "--jobs", "0"), ()])
def test_a_wrong_command_has_its_own_exit_code(terminal: Terminal, words: tuple[str, ...]) -> None:
    result = terminal.type(*words)
    assert result.exit_code == 2
    assert result.stderr


def test_an_interrupt_says_how_to_go_on(terminal: Terminal, site: Site) -> None:
    terminal.catalog(sources=[{"kind": "http", "id": site.put("/a", whole(CONTENT))}])

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    terminal.monkeypatch.setattr(sessions.Session, "plan", interrupted)
    result = terminal.type("kits23", "--accept-license")
    assert result.exit_code == 130
    assert "the same command goes on" in result.stdout


def test_no_token_is_written_shown_or_sent_elsewhere(
    terminal: Terminal,
    site: Site,
    other_site: Site,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("HF_TOKEN", SECRET)
    monkeypatch.setenv("HF_ENDPOINT", site.url(""))
    archive = pack(terminal.root / "src/a.zip", {"x.nii.gz": CONTENT}).read_bytes()
    listed = [{"type": "file", "path": f"{n}.zip", "size": len(archive), "oid": _git_id(archive)} for n in "abc"]
    site.put("/api/datasets/o/n/revision/main", replies(503), replies(200, b'{"sha": "c0ffee"}'))
    site.put("/api/datasets/o/n/tree/c0ffee", replies(200, json.dumps(listed).encode()))
    signed = other_site.put("/signed", breaks(archive, 20_000), whole(archive))
    site.put("/datasets/o/n/resolve/c0ffee/a.zip", redirects(f"{signed}?X-Amz-Signature=s3cr3t-signature"))
    site.put("/datasets/o/n/resolve/c0ffee/b.zip", replies(500))
    site.put("/datasets/o/n/resolve/c0ffee/c.zip", replies(403))
    terminal.catalog(sources=[{"kind": "huggingface", "id": "o/n"}])
    commands = (("--dry-run",), ("--accept-license", "--jobs", "1"), ("--json",))
    outputs = [terminal.type("kits23", *words).output for words in commands]
    assert f"Bearer {SECRET}" in {request.headers["Authorization"] for request in site.requests}
    assert {request.headers.get("Authorization") for request in other_site.requests} == {None}
    assert files_below(terminal.root / "raw/kits23") == {"x.nii.gz": CONTENT}
    out, err = capfd.readouterr()
    for text in (*outputs, out, err, caplog.text):
        assert SECRET not in text
        assert "s3cr3t-signature" not in text
    for path, content in files_below(terminal.root).items():
        assert SECRET.encode() not in content, path
        assert b"s3cr3t-signature" not in content, path
        assert SECRET not in path


def _git_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324


def test_bars_on_a_terminal_and_nothing_where_a_program_reads(
    terminal: Terminal, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.catalog(sources=[{"kind": "http", "id": site.put("/a%5B1%5D.csv", whole(CONTENT))}])
    silent = terminal.type("kits23", "--accept-license", "--json")
    assert silent.stderr == ""
    assert json.loads(silent.stdout)["files"][0]["state"] == "fetched"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with download_watch.watching(silent=False) as watch:
        assert isinstance(watch, download_watch.Bars)
        watch.begin("a[1].csv", "fetching", None)
        watch.begin("a[1].csv", "fetching", 100)
        watch.reach("a[1].csv", 50)
        watch.say("[bold]said")
        assert [(task.total, task.completed) for task in watch.progress.tasks] == [(100, 50)]
        watch.end("a[1].csv")
        watch.reach("a[1].csv", 60)
        assert not watch.progress.tasks


def test_lines_now_and_then_where_there_is_no_terminal() -> None:
    lines: list[str] = []
    watch = download_watch.Lines(lines.append)
    watch.begin("a", "fetching", 2_500_000)
    watch.reach("a", 10)
    watch.work["a"] = ("fetching", 2_500_000, -1e9)
    watch.reach("a", 1_250_000)
    watch.end("a")
    watch.reach("a", 2_500_000)
    assert lines == ["fetching a (2.5 MB)", "fetching a: 1.2 MB of 2.5 MB"]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "size unknown"),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (24_200_000_000, "24.2 GB"),
        (2 * 10**15, "2000.0 TB"),
    ],
)
def test_sizes_are_readable(size: int | None, text: str) -> None:
    assert download_watch.readable(size) == text


@pytest.mark.parametrize("slug", sorted(CATALOG))
def test_every_dataset_can_be_asked_for(slug: str, tmp_path: Path) -> None:
    spec = CATALOG[slug]
    request, folders = request_for(spec), folders_for(spec, Layout(tmp_path))
    assert len(request.sources) == len(spec.sources)
    assert folders.raw == Layout(tmp_path).raw(spec.raw_name)
    for source in request.sources:
        told = steps(source, folders.downloads, folders.raw, f"medfoundry download {slug}")
        assert told[-1].endswith(f"medfoundry download {slug}")
        assert source.id in "\n".join(told)
        for placement in source.placements:
            for field in placement.regex.groupindex:
                assert f"{{{field}}}" in placement.target


def test_files_of_a_download_are_no_raw_data(tmp_path: Path) -> None:
    spec = CATALOG["kits23"]
    folders = folders_for(spec, Layout(tmp_path))
    assert not folders.downloads.is_relative_to(folders.raw)


def job(tmp_path: Path, spec: DatasetSpec, **config: Any) -> dg.ExecuteInProcessResult:
    made = download_job({spec.slug: spec}, Layout(tmp_path))
    with dg.DagsterInstance.ephemeral() as instance:
        run_config = {"ops": {"download": {"config": config}}}
        return made.execute_in_process(run_config=run_config, instance=instance, raise_on_error=False)


def reason(result: dg.ExecuteInProcessResult) -> str:
    failure = result.failure_data_for_node("download")
    assert failure is not None
    assert failure.user_failure_data is not None
    return failure.user_failure_data.description or ""


def test_the_job_downloads_what_its_configuration_names(tmp_path: Path, site: Site) -> None:
    spec = altered(CATALOG["kits23"], sources=[{"kind": "http", "id": site.put("/a.nii.gz", whole(CONTENT))}])
    assert "Licence: CC-BY-NC-SA-4.0" in reason(job(tmp_path, spec, slug="kits23"))
    assert job(tmp_path, spec, slug="kits23", accept_license=True).success
    assert files_below(tmp_path / "raw/kits23") == {"a.nii.gz": CONTENT}
    assert "no dataset nonsense;" in reason(job(tmp_path, spec, slug="nonsense"))


def test_the_job_fails_where_something_is_left_to_do(tmp_path: Path, site: Site) -> None:
    for source, why in (
        ({"kind": "http", "id": site.url("/gone.zip")}, "404"),
        ({"kind": "tcia", "id": "x"}, "left to a person"),
    ):
        spec = altered(CATALOG["kits23"], sources=[source])
        assert why in reason(job(tmp_path, spec, slug="kits23", accept_license=True))
