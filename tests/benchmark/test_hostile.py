"""Folders that are broken or mean harm: never a crash, never more than was earned, always a reason."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from assets.benchmark.mdsbench import GroundTruthError, payload, score_folder, tables
from assets.benchmark.mdsbench.files import MAX_JSON_BYTES, Folder
from assets.benchmark.mdsbench.metrics import SampleScore
from assets.benchmark.mdsbench.score import DatasetScore, score_dataset
from assets.benchmark.mdsbench.scored import Loss
from assets.benchmark.mdsbench.truth import load_truth, parse_truth
from tests.benchmark.made import (
    Json,
    elastography,
    kits23,
    luna16,
    meta_answer,
    plain,
    reference_answer,
    write_perfect,
    write_truth,
)

GATED = {"SC": "semantic", "IC": "completeness", "IV": "validity", "INR": "non_redundancy", "CF": "content"}


def scored(folder: Path) -> DatasetScore:
    return score_folder(folder / "pred", folder / "gt").datasets[0]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A perfect answer of two samples, to be spoiled."""
    write_truth(tmp_path / "gt/d", plain(samples=2))
    return write_perfect(tmp_path / "pred/d", plain(samples=2))


def annotation(output: Path) -> Path:
    return output / "standardized_annotations/0.json"


def deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "no valid JSON"),
        (b"{", "no valid JSON"),
        (b"\xff\xfe{}", "no valid JSON"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b"[1, 2]", "a list, not an object"),
        (b"null", "a NoneType, not an object"),
        (b'"text"', "a str, not an object"),
        (b'{"n": ' + b"9" * 5000 + b"}", "no valid JSON"),
        (deep(80).encode(), "nested deeper than 64"),
        (deep(100_000).encode(), "nested too deeply"),
        (b" " * (MAX_JSON_BYTES + 1), "more than the"),
    ],
    ids=["empty", "open", "utf-16", "bom", "list", "null", "string", "long number", "deep", "very deep", "giant"],
)
def test_an_annotation_that_is_none_loses_its_sample_and_says_why(tmp_path: Path, output: Path, text: bytes, reason: str) -> None:
    annotation(output).write_bytes(text)
    dataset = scored(tmp_path)
    assert dataset.metrics["E2E"] == 0.5
    assert dataset.metrics["SV"] == 0.5
    (loss,) = dataset.samples[0].losses
    assert (loss.metric, loss.cost) == ("all", 1.0)
    assert reason in loss.detail


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links and pipes")
class TestWhatIsNoFile:
    def test_a_link_out_of_the_folder_is_not_followed(self, tmp_path: Path, output: Path) -> None:
        outside = tmp_path / "outside.json"
        annotation(output).rename(outside)
        annotation(output).symlink_to(outside)
        dataset = scored(tmp_path)
        assert dataset.metrics["E2E"] == 0.5
        assert "leads out of" in dataset.samples[0].losses[0].detail

    def test_a_link_within_the_folder_is_followed(self, tmp_path: Path, output: Path) -> None:
        annotation(output).rename(output / "elsewhere.json")
        annotation(output).symlink_to(output / "elsewhere.json")
        assert scored(tmp_path).metrics["E2E"] == 1.0

    def test_a_folder_of_annotations_that_leads_out_is_not_followed(self, tmp_path: Path, output: Path) -> None:
        annotation(output).parent.rename(tmp_path / "outside")
        (output / "standardized_annotations").symlink_to(tmp_path / "outside")
        assert scored(tmp_path).metrics["E2E"] == 0.0

    @pytest.mark.parametrize("kind", ["loop", "pipe", "folder", "dangling"])
    def test_neither_loops_nor_pipes_nor_folders_are_read(self, tmp_path: Path, output: Path, kind: str) -> None:
        for path in (annotation(output), output / "images/1.png"):
            path.unlink()
            if kind == "loop":
                path.symlink_to(path.name)
            elif kind == "pipe":
                os.mkfifo(path)
            elif kind == "folder":
                path.mkdir()
            else:
                path.symlink_to("nothing")
        assert scored(tmp_path).metrics["E2E"] == 0.0


@pytest.mark.parametrize(
    ("make", "valid"),
    [
        (lambda path: path.write_bytes(b""), False),
        (lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 64), False),
        (lambda path: path.write_bytes(b"\xff\xd8\xff"), False),
        (lambda path: path.write_bytes(b"<html></html>"), False),
        (lambda path: path.write_bytes(path.read_bytes()[:60]), False),
        (lambda path: path.unlink(), False),
        (lambda path: Image.new("L", (3, 2)).save(path, format="GIF"), True),
        (lambda path: Image.new("1", (20_000, 20_000)).save(path), True),
    ],
    ids=["empty", "broken png", "broken jpeg", "page", "cut", "gone", "gif named png", "400 megapixels"],
)
def test_an_image_counts_when_it_opens(tmp_path: Path, output: Path, make: Callable[[Path], Any], valid: bool) -> None:
    make(output / "images/0.png")
    assert scored(tmp_path).metrics["E2E"] == (1.0 if valid else 0.5)


def test_a_jpeg_is_taken_where_there_is_no_png(tmp_path: Path, output: Path) -> None:
    (output / "images/0.png").unlink()
    Image.new("RGB", (4, 4)).save(output / "images/0.jpg")
    assert scored(tmp_path).samples[0].image == "images/0.jpg"
    assert scored(tmp_path).metrics["E2E"] == 0.5  # the record still names the png


def test_a_path_out_of_the_folder_in_a_ground_truth_reads_nothing(tmp_path: Path) -> None:
    truth = plain(samples=1)
    truth["samples"] = {"../../secret": truth["samples"]["0"]}
    write_truth(tmp_path / "gt/d", truth)
    Image.new("L", (2, 2)).save(tmp_path / "secret.png")
    (tmp_path / "pred/d/images").mkdir(parents=True)
    (tmp_path / "pred/d/data_meta.json").write_text("{}")
    assert not scored(tmp_path).samples[0].image_valid


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"samples": []}', '{"samples": {"0": null}}'])
def test_a_ground_truth_without_samples_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ground_truth_a.json"
    path.write_text(text)
    with pytest.raises(GroundTruthError, match="ground_truth_a"):
        load_truth(path)


def test_names_and_texts_that_cannot_be_printed_are_escaped(tmp_path: Path, output: Path) -> None:
    record = reference_answer(plain(samples=2), "0")
    record["record"]["dataset_name"] = "\x1b[31mred\ud800\n[bold]"
    annotation(output).write_text(json.dumps(record))
    (output / "standardized_annotations" / os.fsdecode(b"\xff\x1b.json")).write_text("{}")
    report = score_folder(tmp_path / "pred", tmp_path / "gt")
    text = json.dumps(payload(report), allow_nan=False)
    details = tables(report)["deductions"]["detail"].to_list() + tables(report)["deductions"]["file"].to_list()
    assert all(detail.isprintable() for detail in details)
    assert "\\u001b" not in text


_KEYS = st.sampled_from(
    [
        "record", "context", "media_geometry", "tasks", "provenance", "sample", "extra", "media", "spatial", "common",
        "three_d", "video", "classification", "segmentation", "detection", "dataset_name", "image_path", "source_file",
        "subject_id", "label", "classes", "class_names", "task_type", "dimension", "schema_variant", "data_volume",
        "total", "valid_image_n", "num_classes", "num_classes_per_task", "notes", "raw", "volume_id", "slice_id",
        "frame_index", "x__desc", "expected_extra_key_groups", "global_expected_blocks", "strict_content_text_keys",
        "expected_tasks", "expected_extra", "expected_extra_keys", "source_stem",
    ]
)  # fmt: skip
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([10**400, -1, 1e308]),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["NA", "CT", "segmentation", "3D", "images/0.png", "data/dataset/case_00286/segmentation.nii.gz", "3d_mask"]),
)
JSON_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=5), max_leaves=20
)
JSON_OBJECTS = st.dictionaries(_KEYS, JSON_VALUES, max_size=6)


def spoiled(record: Json, path: list[str], value: object) -> Json:
    place: Any = record
    for key in path[:-1]:
        place = place[key] if isinstance(place, dict) and isinstance(place.get(key), dict) else place
    place[path[-1]] = value
    return record


def lost_in(losses: Iterable[Loss], metric: str) -> float:
    return math.fsum(loss.cost for loss in losses if loss.metric == metric)


def lost(sample: SampleScore, metric: str) -> float:
    return lost_in(sample.losses, metric)


def check(dataset: DatasetScore) -> None:
    """What must hold of any score: bounds, and every lost point explained."""
    assert all(0 <= value <= 1 and math.isfinite(value) for value in dataset.metrics.values())
    for sample in dataset.samples:
        if lost(sample, "all"):
            continue
        for metric, field in {**GATED, "SV": "schema"}.items():
            assert lost(sample, metric) == pytest.approx(1 - getattr(sample, field), abs=1e-3), metric
        assert sample.passes() != any(loss.item == "end to end" for loss in sample.losses)


@settings(max_examples=60)
@given(
    truth=st.sampled_from([kits23(), luna16(), elastography(), plain(samples=2)]),
    path=st.lists(_KEYS, min_size=1, max_size=4),
    value=JSON_VALUES,
    whole=JSON_OBJECTS,
    meta=JSON_OBJECTS,
)
def test_any_json_is_scored_within_bounds_and_every_point_is_explained(
    truth: Json, path: list[str], value: object, whole: Json, meta: Json
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        output = write_perfect(root / "pred/d", truth)
        (output / "standardized_annotations/0.json").write_text(json.dumps(spoiled(reference_answer(truth, "0"), path, value)))
        (output / "standardized_annotations/1.json").write_text(json.dumps(whole))
        (output / "data_meta.json").write_text(json.dumps(meta_answer(truth) | meta))
        write_truth(root / "gt/d", truth)
        report = score_folder(root / "pred", root / "gt")
        check(report.datasets[0])
        assert tables(report)["deductions"].height == len(report.datasets[0].deductions)
        json.dumps(payload(report), allow_nan=False)


@settings(max_examples=60)
@given(raw=JSON_OBJECTS, path=st.lists(_KEYS, min_size=1, max_size=3), value=JSON_VALUES)
def test_any_ground_truth_is_read_and_scored_against(raw: Json, path: list[str], value: object) -> None:
    truth = spoiled(plain(samples=2), ["content", *path], value)
    truth["samples"]["1"] = truth["samples"]["1"] | raw
    truth["format"] = raw | {"record_required": value}
    with tempfile.TemporaryDirectory() as folder:
        output = write_perfect(Path(folder), plain(samples=2))
        check(score_dataset(parse_truth(truth), Folder(output, output.resolve()), key="d"))


_STRICT_KEYS = st.sampled_from(
    [
        "coco_2d", "mask_3d", "mask_path", "annotations", "segmentation", "size", "counts", "category_id", "voxel_counts",
        "boxes2d", "bbox_xyxy_px", "bbox_xywh", "frame_index", "classes", "class_names", "label", "label_name", "schema_variant",
    ]
)  # fmt: skip
_NUMBERS = st.lists(_LEAVES | st.integers(0, 9), min_size=2, max_size=6)
STRICT_VALUES = st.recursive(
    _LEAVES | _NUMBERS | st.sampled_from(["masks/0.png", "../../gt", "0" * 30, "oo3"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_STRICT_KEYS, inner, max_size=4),
    max_leaves=16,
)


@settings(max_examples=60)
@given(task=st.sampled_from(["segmentation", "detection", "classification"]), branch=st.dictionaries(_STRICT_KEYS, STRICT_VALUES))
def test_any_annotation_is_compared_within_bounds(task: str, branch: Json) -> None:
    truth = plain(samples=1, task=task)
    runs = {"size": [2, 2], "counts": [1, 2, 1]}
    box = {"category_id": 1, "bbox_xyxy_px": [0, 0, 2, 2]}
    payloads = {"coco_2d": {"annotations": [{"category_id": 1, "segmentation": runs}]}, "boxes2d": [box]}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_truth(root / "gt/d", truth)
        for place, change in (("reference", payloads), ("pred", branch)):
            output = write_perfect(root / place / "d", truth)
            record = reference_answer(truth, "0")
            record["tasks"][task] |= change
            (output / "standardized_annotations/0.json").write_text(json.dumps(record))
        report = score_folder(root / "pred", root / "gt", reference=root / "reference")
        assert report.strict is not None
        for sample in report.strict[0].samples:
            assert all(0 <= value <= 1 for value in sample.components.values())
            for name, value in sample.components.items():
                assert lost_in(sample.losses, name) == pytest.approx(1 - value, abs=1e-3)
        json.dumps(payload(report), allow_nan=False)
