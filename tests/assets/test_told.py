"""Classes and marked objects as the datasets tell them, on the real tables where they are at hand."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from assets.classes import classes_table
from assets.objects import objects_table
from assets.raw import RawTree, discover
from assets.spec import DatasetSpec
from assets.text_tables import TableUnreadableError, read_text_table
from resources.findings import Code


def spec(layout: dict[str, Any], **parts: Any) -> DatasetSpec:
    content = {
        "slug": "toy", "name": "Toy", "version": "1", "licence": "CC0-1.0", "access": "open", "modality": "Microscopy",
        "anatomy": "blood", "description": "made up", "sources": [], "layout": layout,
    }  # fmt: skip
    return DatasetSpec.model_validate(content | parts)


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")


def no_tag(_: Path, __: str) -> str | None:
    raise AssertionError("no header is asked for")


def all_of(tree: RawTree) -> set[str]:
    return set(tree.subjects)


def test_classes_come_from_the_path_in_the_order_of_the_spec(tmp_path: Path) -> None:
    touch(tmp_path, "InSitu/a1.tif", "Benign/a2.tif", "Odd/a3.tif")
    layout = {"subject": r"a\d", "fields": {"class": "[A-Za-z]+"}, "series": {"slide": "{class}/{subject}.tif"}}
    declared = spec(layout, classes={"names": ["Benign", "InSitu"], "field": "{class}"})
    tree = discover(declared, tmp_path)
    table, findings = classes_table(declared, tree, all_of(tree), no_tag)
    assert table.select("subject", "class_id", "class").rows() == [("a1", 1, "InSitu"), ("a2", 0, "Benign")]
    assert [(f.code, f.file) for f in findings] == [(Code.CLASS_UNKNOWN, "Odd/a3.tif")]


def test_classes_come_from_a_table_without_names_of_its_columns(tmp_path: Path) -> None:
    touch(tmp_path, "mdb001.pgm", "mdb003.pgm", "mdb005.pgm", "mdb059.pgm", "mdb144.pgm")
    (tmp_path / "Info.txt").write_text(
        "This file lists the films in the MIAS database and says what is wrong with them, as follows: 1st column: film\n\n"
        "mdb001 G CIRC B 535 425 197\nmdb003 D NORM \nmdb005 F CIRC B 477 133 30\nmdb005 F CIRC B 500 168 26\n"
        "mdb059 F CIRC B\nmdb144 F MISC B 233 994 29\nmdb144 F MISC M 313 540 27\n"
    )
    columns = ["film", "tissue", "abnormality", "severity", "x", "y", "radius"]
    table = {"file": "Info.txt", "key": "film", "value": "abnormality", "separator": " ", "columns": columns}
    declared = spec(
        {"subject": r"mdb\d{3}", "series": {"film": "{subject}.pgm"}}, classes={"names": ["NORM", "CIRC", "MISC"], "table": table}
    )
    tree = discover(declared, tmp_path)
    found, findings = classes_table(declared, tree, all_of(tree), no_tag)
    assert dict(found.select("subject", "class").rows()) == {
        "mdb001": "CIRC", "mdb003": "NORM", "mdb005": "CIRC", "mdb059": "CIRC", "mdb144": "MISC",
    }  # fmt: skip
    assert findings == []


def test_classes_come_from_columns_of_which_one_is_set(tmp_path: Path) -> None:
    touch(tmp_path, *(f"ISIC_{n:04d}.jpg" for n in range(1, 7)))
    (tmp_path / "truth.csv").write_text(
        "image,MEL,NV,BCC\nISIC_0001,1.0,0.0,0.0\nISIC_0002,0,1,0\nISIC_0003,0,0,True\nISIC_0004,1,1,0\nISIC_0005,0,0,\n"
    )
    table = {"file": "truth.csv", "key": "image", "flags": ["MEL", "NV", "BCC"], "match": "{stem}"}
    layout = {"subject": r"ISIC_\d{4}", "series": {"skin": "{subject}.jpg"}}
    declared = spec(
        layout, classes={"names": ["naevus", "melanoma", "BCC"], "values": {"MEL": "melanoma", "NV": "naevus"}, "table": table}
    )
    tree = discover(declared, tmp_path)
    found, findings = classes_table(declared, tree, all_of(tree), no_tag)
    assert found.select("subject", "class_id", "class").rows() == [
        ("ISIC_0001", 1, "melanoma"), ("ISIC_0002", 0, "naevus"), ("ISIC_0003", 2, "BCC"),
    ]  # fmt: skip
    assert [(f.code, f.file) for f in findings] == [(Code.CLASS_UNKNOWN, f"ISIC_{n:04d}.jpg") for n in (4, 5, 6)]


@pytest.mark.parametrize("said", [{}, {"value": "dx", "flags": ["MEL"]}, {"flags": ["MEL", "NV"], "each": "[]"}])
def test_a_table_says_the_class_in_one_way(said: dict[str, Any]) -> None:
    table = {"file": "truth.csv", "key": "image", **said}
    with pytest.raises(ValueError, match="`flags`"):
        spec({"subject": r"a\d", "series": {"skin": "{subject}.jpg"}}, classes={"names": ["MEL", "NV"], "table": table})


def test_classes_come_from_a_table_which_must_not_contradict_itself(tmp_path: Path) -> None:
    touch(tmp_path, "p1.png", "p2.png", "p3.png", "p4.png")
    (tmp_path / "clinical.csv").write_text(
        "ID1; classification \np1;Malignant\np2;Benign\np2;Malignant\np3; Benign \np3;Benign\n"
    )
    table = {"file": "clinical.csv", "key": "ID1", "value": "classification", "separator": ";"}
    declared = spec(
        {"subject": r"p\d", "series": {"photo": "{subject}.png"}},
        classes={"names": ["benign", "malignant"], "table": table, "values": {"Benign": "benign", "Malignant": "malignant"}},
    )
    tree = discover(declared, tmp_path)
    assert next(f for f in tree.files if f.path == "clinical.csv").reason == "the classes are taken from it"
    rows, findings = classes_table(declared, tree, all_of(tree), no_tag)
    assert rows.select("subject", "class").rows() == [("p1", "malignant"), ("p3", "benign")]
    assert [f.file for f in findings] == ["p2.png", "p4.png"]
    (tmp_path / "clinical.csv").write_text("ID;classification\n")
    rows, findings = classes_table(declared, tree, all_of(tree), no_tag)
    assert (rows.height, len(findings)) == (0, 1)
    assert "no column ['ID1']" in findings[0].detail


def test_classes_come_from_a_header_that_is_asked_for(tmp_path: Path) -> None:
    touch(tmp_path, "s1.dcm", "s2.dcm")
    declared = spec(
        {"subject": r"s\d", "series": {"any": "{subject}.dcm"}},
        classes={"names": ["CT", "PT"], "tag": "Modality", "missing": "none"},
    )
    tree = discover(declared, tmp_path)
    table, findings = classes_table(declared, tree, all_of(tree), lambda path, _: {"s1.dcm": "PT"}.get(path.name))
    assert table.select("subject", "class_id").rows() == [("s1", 1)]
    assert findings == []


def test_many_texts_stand_for_one_class(tmp_path: Path) -> None:
    touch(tmp_path, "scan_3.tif", "scan_12.tif", "OCT_OD.png", "odd.png")
    matches = {"late": r"scan_1\d", "early": r"scan_\d+", "macula": "OCT_.*"}
    declared = spec(
        {"subject": ".+", "series": {"photo": "{subject}.*"}},
        classes={"names": ["early", "late", "macula"], "field": "{stem}", "matches": matches},
    )
    tree = discover(declared, tmp_path)
    table, findings = classes_table(declared, tree, all_of(tree), no_tag)
    assert dict(table.select("subject", "class").iter_rows()) == {"scan_3": "early", "scan_12": "late", "OCT_OD": "macula"}
    assert [f.file for f in findings] == ["odd.png"]
    with pytest.raises(ValueError, match="matches name classes that are not declared"):
        spec({"subject": ".+", "series": {"photo": "{subject}.*"}}, classes={"names": ["a"], "field": "b", "matches": {"c": "."}})


def test_classes_come_from_a_list_in_json(tmp_path: Path) -> None:
    touch(tmp_path, "P_1.mha", "P_2.mha", "P_3.mha")
    rows = [{"image": "./imagesTr/P_1.mha", "POAG": 1}, {"image": "./imagesTr/P_2.mha", "POAG": None}]
    (tmp_path / "dataset.json").write_text(json.dumps({"training": rows}))
    table = {"file": "dataset.json", "each": "training[]", "key": "image", "match": "./imagesTr/{name}", "value": "POAG"}
    declared = spec(
        {"subject": r"P_\d", "series": {"oct": "{subject}.mha"}},
        classes={"names": ["Normal", "POAG"], "table": table, "values": {"0": "Normal", "1": "POAG"}, "missing": "none"},
    )
    tree = discover(declared, tmp_path)
    found, findings = classes_table(declared, tree, all_of(tree), no_tag)
    assert found.select("subject", "class_id").rows() == [("P_1", 1)]
    assert findings == []
    (tmp_path / "dataset.json").write_text(json.dumps({"training": [{"image": "./imagesTr/P_1.mha"}]}))
    found, (finding,) = classes_table(declared, tree, all_of(tree), no_tag)
    assert (found.height, finding.code) == (0, Code.CLASS_UNKNOWN)
    assert "dataset.json has no classes at training[]: KeyError('POAG')" in finding.detail


def test_untold_classes_are_nobodys_fault(tmp_path: Path) -> None:
    touch(tmp_path, "p1.npy")
    declared = spec(
        {"subject": r"p\d", "series": {"any": "{subject}.npy"}}, classes={"names": ["a", "b"], "untold": "a pickle says it"}
    )
    tree = discover(declared, tmp_path)
    table, findings = classes_table(declared, tree, all_of(tree), no_tag)
    assert (table.height, findings) == (0, [])


def test_blood_cells_are_the_same_from_xml_and_from_the_table(shared_data: Path) -> None:
    root = shared_data / "layouts" / "BCCD"
    layout = {"subject": r"BloodImage_\d{5}", "series": {"photo": "BCCD/JPEGImages/{subject}.jpg"}}
    labels = {"labels": {1: "RBC", 2: "WBC", 3: "Platelets"}}
    xml = {"file": "BCCD/Annotations/{stem}.xml", "format": "voc"}
    table = {
        "file": "test.csv",
        "key": "filename",
        "match": "{name}",
        "corners": ["xmin", "ymin", "xmax", "ymax"],
        "label": "cell_type",
    }
    found = {}
    for name, declared in (("xml", spec(layout, objects=xml, **labels)), ("csv", spec(layout, objects=table, **labels))):
        tree = discover(declared, root)
        rows, _ = objects_table(declared, tree, all_of(tree))
        by_image = defaultdict(list)
        for subject, label, low, high in rows.select("subject", "label", "min_px", "max_px").iter_rows():
            by_image[subject].append((label, tuple(low), tuple(high)))
        found[name] = {subject: sorted(marks) for subject, marks in by_image.items()}
    shared = set(found["xml"]) & set(found["csv"])
    assert len(shared) >= 50
    assert {s: found["xml"][s] for s in shared} == {s: found["csv"][s] for s in shared}
    with (root / "test.csv").open(encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    box = (first["cell_type"], (float(first["xmin"]), float(first["ymin"])), (float(first["xmax"]), float(first["ymax"])))
    assert box in found["csv"][Path(first["filename"]).stem]


def test_nodules_come_in_ras_and_negatives_have_none(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "layouts" / "LUNA16"
    uids = (source / "seriesuids.csv").read_text(encoding="utf-8").split()
    touch(tmp_path, *(f"subset0/{uid}.mhd" for uid in uids))
    (tmp_path / "annotations.csv").write_bytes((source / "annotations.csv").read_bytes())
    declared = spec(
        {"subject": r"[\d.]+\d", "series": {"ct": "subset*/{subject}.mhd"}},
        labels={1: "nodule"},
        objects={
            "file": "annotations.csv", "key": "seriesuid", "match": "{subject}",
            "centre_lps_mm": ["coordX", "coordY", "coordZ"], "diameter_mm": "diameter_mm",
        },
    )  # fmt: skip
    tree = discover(declared, tmp_path)
    rows, findings = objects_table(declared, tree, all_of(tree))
    assert (rows.height, findings) == (1186, [])
    first = rows.filter(subject="1.3.6.1.4.1.14519.5.2.1.6279.6001.100225287222365663678666836860").row(0, named=True)
    assert first["centre_ras_mm"] == pytest.approx([128.6994211, 175.3192718, -298.3875064])
    assert first["diameter_mm"] == pytest.approx(5.651470635)
    assert rows["subject"].n_unique() == 601  # of 888 scans, as LUNA16 says


def test_boxes_by_size_and_rows_without_any(tmp_path: Path) -> None:
    touch(tmp_path, "u1.dcm", "u2.dcm", "u3.dcm")
    (tmp_path / "train.csv").write_text(
        "patientId,x,y,width,height,Target\nu1,10.0,20,5,7.5,1\nu2,,,,,0\nu3,1,1,0,4,1\nu1,a,1,1,1,1\n"
    )
    objects = {"file": "train.csv", "key": "patientId", "match": "{subject}", "origin_size": ["x", "y", "width", "height"]}
    declared = spec({"subject": r"u\d", "series": {"xray": "{subject}.dcm"}}, labels={1: "lung opacity"}, objects=objects)
    tree = discover(declared, tmp_path)
    rows, findings = objects_table(declared, tree, all_of(tree))
    assert rows.select("subject", "label", "min_px", "max_px").rows() == [("u1", "lung opacity", [10.0, 20.0], [15.0, 27.5])]
    assert [f.code for f in findings] == [Code.OBJECT_UNUSABLE] * 2
    assert ["no area" in findings[0].detail, "'a'" in findings[1].detail] == [True, True]


def test_boxes_counted_on_a_smaller_picture_are_scaled(tmp_path: Path) -> None:
    touch(tmp_path, "u1.dcm")
    (tmp_path / "small.csv").write_text("name,x0,y0,w,h\nu1,10,20,5,7\n")
    objects = {"file": "small.csv", "key": "name", "match": "{subject}", "origin_size": ["x0", "y0", "w", "h"], "scale": 4}
    declared = spec({"subject": r"u\d", "series": {"xray": "{subject}.dcm"}}, labels={1: "heart"}, objects=objects)
    tree = discover(declared, tmp_path)
    rows, _ = objects_table(declared, tree, all_of(tree))
    assert rows.select("min_px", "max_px").rows() == [([40.0, 80.0], [60.0, 108.0])]


@pytest.mark.parametrize("content", [b"", b"PK\3\4 no workbook", b"plain text"])
def test_a_damaged_workbook_is_told_not_raised(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(TableUnreadableError, match=r"a\.xlsx cannot be read as a table"):
        read_text_table(tmp_path / "a.xlsx", ["id"])


def test_lines_under_a_root_that_no_image_is_taken_from_tell_no_class(tmp_path: Path) -> None:
    touch(tmp_path, "old/s1.png", "new/s1.png", "old/s2.png")
    for name, kind in (("old/s1", "bad"), ("new/s1", "good"), ("old/s2", "bad"), ("new/s2", "good")):
        (tmp_path / f"{name}.cfg").write_text(f"Kind: {kind}\n")
    declared = spec(
        {"subject": r"s\d", "roots": ["old", "new"], "series": {"photo": "{root}/{subject}.png"}},
        classes={"names": ["good", "bad"], "lines": {"file": "{root}/{subject}.cfg", "key": "Kind"}},
    )
    tree = discover(declared, tmp_path)
    table, findings = classes_table(declared, tree, all_of(tree), no_tag)
    assert dict(table.select("subject", "class").iter_rows()) == {"s1": "good", "s2": "bad"}
    assert findings == []
    superseded = {f.path for f in tree.files if f.reason.startswith("superseded: ")}
    assert superseded == {"old/s1.png", "old/s1.cfg", "new/s2.cfg"}
