"""The shared DICOM trouble cases through the real chain; every expected number comes from their `expected.json`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resources.findings import Code
from tests.chain.checks import check_ledger, check_refusal
from tests.chain.dicom import KINDS, DicomCases, dicom_spec, make_dicom_cases, run_cases, run_dump, series_uid
from tests.chain.product import Product, grid, run_chain

Formula = Callable[..., npt.NDArray[Any]]
RAMP: Formula = lambda i, j, k: i + 16 * j + 256 * k  # noqa: E731

FORMULAS: dict[str, Formula] = {
    "rescale_per_slice": lambda i, j, k: 0.5 * (k + 1) * RAMP(i, j, k) - 10 * k,
    "slope_quarter": lambda i, j, k: 0.25 * RAMP(i, j, k) + 0.5,
    "negative_slope": lambda i, j, k: 3000 - 10 * RAMP(i, j, k),
    "unsigned_high": lambda i, j, k: 40 * RAMP(i, j, k) - 1024,
    "signed_12_in_16": lambda i, j, k: RAMP(i, j, k) - 600,
}
"""Where a case's own formula is not the plain one."""

SAID = {
    "overlapping": {Code.SPACING_IGNORED},
    "no_rescale": {Code.RESCALE_MISSING},
    "padding_value": {Code.PADDING_VALUE},
    "monochrome1": {Code.MONOCHROME1},
}
"""What is said of a case that is published; of any other, nothing."""

REFUSED = {
    "one_missing": Code.MISSING_SLICE,
    "uneven": Code.UNEVEN_SPACING,
    "two_passes_one_series": Code.UNEXPECTED_DIMENSIONS,
}

GROUPS = ("dcm_slice_order", "dcm_spacing", "dcm_pixel_values")
RunKind = Callable[[str], Product]


@pytest.fixture(scope="module")
def cases(shared_cases: Path, tmp_path_factory: pytest.TempPathFactory) -> DicomCases:
    return make_dicom_cases(shared_cases, tmp_path_factory.mktemp("dicom_cases"))


@pytest.fixture(scope="module")
def run_kind(cases: DicomCases, tmp_path_factory: pytest.TempPathFactory) -> RunKind:
    done: dict[str, Product] = {}

    def run(kind: str) -> Product:
        if kind not in done:
            done[kind] = run_cases(cases, kind, list(cases.kinds[kind]), tmp_path_factory.mktemp(kind))
        return done[kind]

    return run


def test_every_dicom_kind_is_tested(shared_cases: Path) -> None:
    told = (shared_cases / "make_cases.py").read_text(encoding="utf-8")
    assert {name for name in KINDS if f'@kind("{name}"' in told} == set(KINDS)
    assert told.count('@kind("dcm_') == len(KINDS) == len({*GROUPS, "dcm_series_mix"})


@pytest.mark.parametrize("kind", GROUPS)
def test_every_file_is_accounted_for_and_only_what_must_be_said_is_said(cases: DicomCases, run_kind: RunKind, kind: str) -> None:
    product = run_kind(kind)
    check_ledger(product, list(cases.kinds[kind]))
    for id_, case in cases.kinds[kind].items():
        said = {f["code"] for f in product.findings(id_)}
        if id_ in REFUSED:
            assert case["outcome"] in {"error", "value_or_error"}
            assert said == {str(REFUSED[id_])}
            check_refusal(product, id_, case["error_must_mention_one_of"])
        else:
            assert product.state(id_) == "used"
            assert said == {str(code) for code in SAID.get(id_, set())}
            files = product.rows("raw", id_)
            assert set(files["role"]) == {"image"}
            assert product.row(id_, "image")["source_paths"] == sorted(files["path"])


@pytest.mark.parametrize("kind", GROUPS)
def test_voxels_are_where_and_what_they_must_be(cases: DicomCases, run_kind: RunKind, kind: str) -> None:
    product, seen = run_kind(kind), 0
    for id_, case in cases.kinds[kind].items():
        expect = case["expect"]
        if id_ in REFUSED or "shape_ras" not in expect:
            continue
        row, stored = product.row(id_, "image"), product.image(id_)
        assert row["shape_ijk"] == expect["shape_ras"]
        if "spacing_ras_mm" in expect:
            np.testing.assert_allclose(row["spacing_mm"], expect["spacing_ras_mm"], atol=expect.get("tolerance_mm", 1e-6))
        if "voxel0_world_ras_mm" in expect:
            np.testing.assert_allclose(stored.affine_ras_mm[:3, 3], expect["voxel0_world_ras_mm"], atol=1e-6)
        i, j, k = grid(tuple(expect["shape_ras"]))
        voxels, wanted = stored.voxels(), FORMULAS.get(id_, RAMP)(i, j, k)
        inside = np.ones(voxels.shape, bool) if id_ != "padding_value" else i >= 1
        np.testing.assert_array_equal(voxels[inside], wanted[inside])
        seen += 1
    assert seen >= 4


def test_padding_and_low_is_white_are_kept_and_told(cases: DicomCases, run_kind: RunKind) -> None:
    product = run_kind("dcm_pixel_values")
    expect = cases.kinds["dcm_pixel_values"]["padding_value"]["expect"]
    voxels = product.image("padding_value").voxels()
    assert int((voxels == -2000).sum()) == expect["padding_voxels"]
    assert int(voxels[voxels != -2000].min()) == expect["min_without_padding"]
    expect = cases.kinds["dcm_pixel_values"]["monochrome1"]["expect"]
    assert product.image("monochrome1").voxels()[:, 0, 0].tolist() == expect["stored_row0"]


def test_two_passes_are_two_series_where_the_spec_says_so(cases: DicomCases, tmp_path: Path) -> None:
    expect = cases.kinds["dcm_spacing"]["two_passes_one_series"]["expect"]
    cases.place("dcm_spacing", "two_passes_one_series", tmp_path / "raw" / "passes" / "s1")
    passes = {f"pass{n}": {"where": {"AcquisitionNumber": n}} for n in (1, 2)}
    product = run_chain(dicom_spec("passes", passes), tmp_path)
    assert product.findings("s1") == []
    for name in passes:
        np.testing.assert_allclose(product.row("s1", "image", name)["spacing_mm"], expect["each"]["spacing_ras_mm"])
        np.testing.assert_array_equal(product.image("s1", name).voxels(), RAMP(*grid(tuple(expect["each"]["shape_ras"]))))


def _uid(cases: DicomCases, name: str, *others: str) -> dict[str, Any]:
    dump, spacing = cases.folder / "dcm_series_mix" / "dump", cases.folder / "dcm_spacing"
    return {"where": {"SeriesInstanceUID": [series_uid(dump / name), *(series_uid(spacing / other) for other in others)]}}


def test_a_dump_of_many_series_gives_those_that_are_asked_for(cases: DicomCases, tmp_path: Path) -> None:
    expect = cases.kinds["dcm_series_mix"]["one_folder"]["expect"]
    product = run_dump(cases, {"a": _uid(cases, "00a.dcm"), "b": _uid(cases, "00b.dcm")}, tmp_path)
    check_ledger(product, ["one_folder"])
    assert product.findings("one_folder") == []
    for name, facts in (("a", expect["volumes"]["A"]), ("b", expect["volumes"]["B"])):
        np.testing.assert_allclose(product.row("one_folder", "image", name)["spacing_mm"], facts["spacing_ras_mm"])
        np.testing.assert_array_equal(product.image("one_folder", name).voxels(), RAMP(*grid(tuple(facts["shape_ras"]))))
    assert "one_folder/raw_export_17" in product.row("one_folder", "image", "a")["source_paths"]
    ledger = {Path(r["name"]).name: r for r in product.tables["ledger"].filter(kind="file").to_dicts()}
    assert {name for name, row in ledger.items() if row["state"] == "unclaimed"} == {"notes.txt", "VERSION"}
    assert len([n for n in ledger if ledger[n]["state"] == "unclaimed"]) == expect["ignored_non_dicom"]
    reasons = {name: row["reason"] for name, row in ledger.items() if row["state"] == "ignored"}
    assert set(reasons) == {*(f"loc{n}.dcm" for n in range(3)), *(f"c{n}.dcm" for n in range(4)), "report.dcm"}
    assert reasons["report.dcm"] == "a DICOM report (SR), no image"
    assert all(reasons[name].endswith("is not asked for") for name in reasons if name != "report.dcm")


@pytest.mark.parametrize(("name", "about"), [("c0.dcm", ["truncat", "pixel", "length"]), ("loc0.dcm", ["orientations differ"])])
def test_an_unsound_series_of_a_dump_is_refused_when_it_is_asked_for(
    cases: DicomCases, tmp_path: Path, name: str, about: list[str]
) -> None:
    product = run_dump(cases, {"img": _uid(cases, name, "gap")}, tmp_path, sibling="gap_between")
    check_ledger(product, ["gap_between", "one_folder"])
    assert product.state("gap_between") == "used"
    assert product.state("one_folder") == "quarantined"
    (said,) = [f for f in product.findings("one_folder") if f["severity"] == "error"]
    assert any(word in said["detail"] for word in about)
    assert name != "c0.dcm" or said["file"] == "one_folder/c1.dcm"


def test_series_that_cannot_be_told_apart_are_refused_with_their_names(cases: DicomCases, tmp_path: Path) -> None:
    product = run_dump(cases, {"img": {"where": {"SliceThickness": "5*"}}}, tmp_path, sibling="overlapping")
    check_ledger(product, ["one_folder", "overlapping"])
    assert product.state("overlapping") == "used"
    (said,) = product.findings("one_folder")
    assert said["code"] == "ambiguous-file"
    assert "2 fit img" in said["detail"]
    files = product.rows("raw", "one_folder").filter(state="used")
    assert sorted(Path(path).name[-5:-4] for path in files["path"]) == ["0", "1", "2", "3", "b", "b", "b", "b"]


def test_a_series_that_is_not_there_is_missed_and_the_siblings_go_on(cases: DicomCases, tmp_path: Path) -> None:
    for id_ in ("gap_between", "overlapping"):
        cases.place("dcm_spacing", id_, tmp_path / "raw" / "some" / id_)
    product = run_chain(dicom_spec("some", {"thick": {"where": {"SliceThickness": ["5", "5.0"]}}}), tmp_path)
    check_ledger(product, ["gap_between", "overlapping"])
    assert (product.state("gap_between"), product.state("overlapping")) == ("quarantined", "used")
    (said,) = product.findings("gap_between")
    assert said["code"] == "missing-image"
    assert "with SliceThickness 5 or 5.0" in said["detail"]
