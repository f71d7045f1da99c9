from __future__ import annotations

from pathlib import Path

from resources.readers.registry import READERS


def test_every_reader_has_a_row_on_the_page_of_formats() -> None:
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    cells = " ".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| "))
    assert [reader.name for reader in READERS if reader.name not in cells] == []
