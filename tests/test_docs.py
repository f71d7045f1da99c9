"""The pages of docs/ and the README say what the code does: columns, codes, severities, links."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from assets import tables
from assets.annotations.boxes import sample_rule
from assets.overview import markdown
from assets.spec import load_catalog
from resources.findings import Code, finding

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TABLES_PAGE, FINDINGS_PAGE = ROOT / "docs" / "tables.md", ROOT / "docs" / "findings.md"

SCHEMAS = {
    name.lower(): list(value)
    for name, value in vars(tables).items()
    if name.isupper() and not name.startswith("_") and isinstance(value, dict) and "dataset" in value
}
"""Every schema of `assets/tables.py`, by the name of its table."""


def rows_of(text: str) -> Iterator[list[str]]:
    """The cells of every table row whose first cell is one name in backticks."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and re.fullmatch(r"`[^`]+`", cells[0]):
            yield [cells[0].strip("`"), *cells[1:]]


def sections(page: Path) -> dict[str, str]:
    """Text under every second-level heading that is one name in backticks."""
    _, *parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for part in parts:
        title, _, text = part.partition("\n")
        if title.startswith("`"):
            found[title.strip("`")] = text
    return found


def test_every_schema_is_found() -> None:
    assert set(tables.SUBJECT_TABLES) < set(SCHEMAS)
    assert {"findings", "ledger", "raw", "splits"} < set(SCHEMAS)


def test_the_page_has_a_section_for_every_table() -> None:
    assert set(sections(TABLES_PAGE)) == set(SCHEMAS)


@pytest.mark.parametrize("table", SCHEMAS)
def test_every_column_is_explained_in_the_order_of_its_table(table: str) -> None:
    rows = list(rows_of(sections(TABLES_PAGE)[table]))
    assert [row[0] for row in rows] == SCHEMAS[table]
    assert all(len(row) == 4 and row[1] for row in rows)


def test_every_code_is_explained_once_with_its_usual_severity() -> None:
    rows = list(rows_of(FINDINGS_PAGE.read_text(encoding="utf-8")))
    assert all(len(row) == 4 and all(row) for row in rows)
    assert sorted(row[0] for row in rows) == sorted(Code)
    assert {row[0]: row[1] for row in rows} == {code.value: finding(code, "").severity.value for code in Code}


def test_the_query_of_the_page_is_the_sample_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [([10, 10], 1), ([9, 10], 1), ([10, 9], 1), ([40, 30], 2), ([40, 30], 1)]
    rows = [{"slice": n, "size_px": size, "n_components": count} for n, (size, count) in enumerate(sizes)]
    boxes = tables.frame(tables.BOXES, [dict.fromkeys(tables.BOXES) | row for row in rows])
    (tmp_path / "data/products/kits23").mkdir(parents=True)
    boxes.write_parquet(tmp_path / "data/products/kits23/boxes.parquet")
    block = re.search(r"```python\n(.*?)```", TABLES_PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    (tmp_path / "query.py").write_text(block[1], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    samples: pl.DataFrame = runpy.run_path("query.py")["samples"]
    assert samples["slice"].to_list() == [0, 4]
    assert samples.equals(boxes.filter(sample_rule()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", link)]
    assert [link for link in links if link and not (page.parent / link).exists()] == []


def test_the_page_of_datasets_is_made_from_the_specs() -> None:
    page = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
    assert page == markdown(load_catalog()), "run `medfoundry list --markdown > docs/datasets.md`"
