"""What names the images in tables of boxes and of classes, down to what the pipeline makes of the draft."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from assets.classes import classes_table
from assets.inspect.draft import as_yaml
from assets.inspect.tables import Naming, Table
from assets.objects import objects_table
from assets.people import people
from tests.inspect.folders import drafted, instance, picture, told

NAMES = ("polyp", "stone")


def box_table(path: Path, named: Sequence[str], *, head: str = "filename,xmin,ymin,xmax,ymax,class") -> None:
    """Two boxes per image, whose corners are numbers that images are called by too."""
    lines = [f"{name},{n + k},{n + 2},{n + k + 9},{n + 14},{NAMES[k]}" for n, name in enumerate(named, 1) for k in (0, 1)]
    path.write_text("\n".join([head, *lines]) + "\n")


@pytest.mark.parametrize(
    ("in_table", "match"),
    [("image{n}.png", "{stem}.png"), ("images/image{n}.png", "images/{stem}.png"), ("image{n}", "{stem}"), ("{n}", "{subject}")],
)
def test_boxes_whose_corners_look_like_numbers_of_images(in_table: str, match: str, tmp_path: Path) -> None:
    for n in range(1, 41):
        picture(tmp_path / f"images/image{n}.png", seed=n)
    box_table(tmp_path / "boxes.csv", [in_table.format(n=n) for n in range(1, 41)])
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "detection"
    assert spec.objects is not None
    assert (spec.objects.key, spec.objects.match, spec.objects.label) == ("filename", match, "class")
    assert {number: label.name for number, label in spec.labels.items()} == {1: "polyp", 2: "stone"}
    rows, findings = objects_table(spec, tree, set(tree.subjects))
    assert (rows.height, findings) == (80, [])
    assert rows.filter(source="boxes.csv, line 3").select("label", "min_px", "max_px").row(0) == (
        "stone",
        [2.0, 3.0],
        [11.0, 15.0],
    )
    assert rows["subject"].n_unique() == 40


def test_sizes_of_pictures_beside_corners_name_no_images_either(tmp_path: Path) -> None:
    for n in (1, 2, 3, 4):
        picture(tmp_path / f"images/image{n}.png", seed=n)
    rows = [f"{n},{n + 1},1,2,3,4,image{n}.png,cell" for n in (1, 2, 3)]
    (tmp_path / "boxes.csv").write_text("\n".join(["width,height,xmin,ymin,xmax,ymax,filename,class", *rows]) + "\n")
    _, spec, tree = drafted(tmp_path)
    assert spec.objects is not None
    assert (spec.objects.key, spec.objects.match) == ("filename", "{stem}.png")
    assert objects_table(spec, tree, set(tree.subjects))[0].height == 3


def test_a_table_whose_first_rows_are_of_other_images_still_names_them(tmp_path: Path) -> None:
    for n in range(1, 11):
        picture(tmp_path / f"images/image{n}.png", seed=n)
    box_table(tmp_path / "boxes.csv", ["elsewhere.png", *(f"image{n}.png" for n in range(1, 11))])
    _, spec, _ = drafted(tmp_path)
    assert spec.objects is not None
    assert spec.objects.match == "{stem}.png"


def test_boxes_of_dicom_images_called_by_their_files(tmp_path: Path) -> None:
    for n in (1, 2, 3):
        instance(tmp_path / f"images/xray{n}.dcm", f"P{n}", n, study=f"s{n}", modality="DX")
    box_table(tmp_path / "boxes.csv", [f"xray{n}.dcm" for n in (1, 2, 3)])
    _, spec, tree = drafted(tmp_path)
    assert spec.objects is not None
    assert spec.objects.key == "filename"
    rows, findings = objects_table(spec, tree, set(tree.subjects))
    assert (rows.height, findings) == (6, [])


def test_further_digits_are_no_text_around_a_name() -> None:
    ages = Table("a.csv", {"age": ("41.0", "42.0", "43.0"), "note": ("a", "b", "c")}, ",")
    assert list(ages.namings([("1", "2", "3")])) == []
    files = Table("a.csv", {"age": ("41", "42", "43"), "file": ("x1.png", "x2.png", "x3.png")}, ",")
    assert list(files.namings([("1", "2", "3"), ("x1", "x2", "x3")])) == [
        (1, Naming("file", "", ".png")),
        (0, Naming("file", "x", ".png")),
    ]


def graded(root: Path, **sets: Sequence[str]) -> None:
    """Pictures and a table of grades for each set."""
    for name, ids in sets.items():
        for n, one in enumerate(ids):
            picture(root / f"{name}_images/{one}.png", seed=n)
        (root / f"{name}.csv").write_text("id_code,diagnosis\n" + "".join(f"{one},{n % 3}\n" for n, one in enumerate(ids)))


def test_of_two_tables_of_classes_the_fuller_one_is_taken_and_the_other_is_told(tmp_path: Path) -> None:
    graded(tmp_path, test=[f"a{n:03d}" for n in range(20)], train=[f"b{n:03d}" for n in range(40)])
    found, spec, tree = drafted(tmp_path)
    assert spec.classes is not None
    assert spec.classes.table is not None
    assert (spec.classes.table.file, spec.classes.missing) == ("train.csv", "none")
    assert classes_table(spec, tree, set(tree.subjects), lambda _, __: None)[0].height == 40
    why = "20 of 60 images have no class in train.csv; test.csv has the same columns and tells 20 of them"
    assert [u.why for u in found.unknown if u.field == "classes"] == [why]
    assert f"# unknown: classes: {why}" in as_yaml(found, "draft")


def test_one_table_that_tells_all_leaves_nothing_unknown(tmp_path: Path) -> None:
    graded(tmp_path, train=[f"b{n:03d}" for n in range(12)])
    (tmp_path / "again.csv").write_bytes((tmp_path / "train.csv").read_bytes())
    found, spec, _ = drafted(tmp_path)
    assert spec.classes is not None
    assert not [u for u in found.unknown if u.field == "classes"]


def flag_table(path: Path, rows: Sequence[tuple[str, str]], flags: Sequence[str]) -> None:
    lines = [",".join([name, *("1.0" if flag == said else "0.0" for flag in flags)]) for name, said in rows]
    path.write_text("\n".join([f"image,{','.join(flags)}", *lines]) + "\n")


def test_columns_of_which_one_is_set_are_the_classes(tmp_path: Path) -> None:
    said = {f"ISIC_{n:07d}": ("MEL", "NV", "BCC")[n % 3] for n in range(1, 10)}
    for name in said:
        picture(tmp_path / f"images/{name}.png")
    flag_table(tmp_path / "truth.csv", list(said.items()), ("MEL", "NV", "BCC"))
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert spec.classes is not None
    assert spec.classes.names == ("MEL", "NV", "BCC")
    assert {f"ISIC_{subject.removeprefix('ISIC_')}": name for subject, name in told(spec, tree).items()} == said


def test_columns_of_which_several_are_set_are_no_classes(tmp_path: Path) -> None:
    for n in range(1, 10):
        picture(tmp_path / f"images/img_{n:03d}.png")
    rows = [f"img_{n:03d},{n % 2},{n % 3 > 0:d}" for n in range(1, 10)]
    (tmp_path / "signs.csv").write_text("\n".join(["image,oedema,effusion", *rows]) + "\n")
    found, spec, _ = drafted(tmp_path)
    assert found.classes is None
    assert spec.classes is None


def test_ends_of_lines_are_no_boxes(tmp_path: Path) -> None:
    for n in range(1, 9):
        picture(tmp_path / f"films/image{n}.png", seed=n)
    rows = [f"image{n}.png,{40 - n},{n},{n},{30 + n}" for n in range(1, 9)]
    (tmp_path / "tracings.csv").write_text("\n".join(["FileName,X1,Y1,X2,Y2", *rows]) + "\n")
    found, spec, _ = drafted(tmp_path)
    assert spec.objects is None
    assert found.said("task") == ""


def test_cells_of_several_classes_are_said(tmp_path: Path) -> None:
    cells = ("Mass", "Effusion", "Mass|Effusion", "No Finding")
    for n in range(12):
        picture(tmp_path / f"images/{n:03}.png", seed=n)
    rows = [f"{n:03}.png,{cells[n % 4]}" for n in range(12)]
    (tmp_path / "entry.csv").write_text("\n".join(["Image Index,Finding Labels", *rows]) + "\n")
    found, _, _ = drafted(tmp_path)
    assert any(u.field == "classes" and "'Mass|Effusion'" in u.why for u in found.unknown)


def test_a_column_of_parts_of_a_split_is_said(tmp_path: Path) -> None:
    for n in range(12):
        picture(tmp_path / f"images/{n:03}.png", seed=n)
    rows = [f"{n:03}.png,{('TRAIN', 'VAL', 'TEST')[n % 3]}" for n in range(12)]
    (tmp_path / "list.csv").write_text("\n".join(["file,Split", *rows]) + "\n")
    found, spec, _ = drafted(tmp_path)
    assert spec.classes is None
    assert any(u.field == "split" and "'Split' says TEST, TRAIN, VAL" in u.why for u in found.unknown)


def test_a_column_of_people_names_images_only_where_no_other_does(tmp_path: Path) -> None:
    """Numbers of people or lesions may be parts of names too, of other images by chance."""
    rows = ["patient_id,lesion_id,diagnostic,img_id"]
    for n in range(14):
        name = f"PAT_{n // 2 + 8}_{n + 15}_{n * 31 + 100}.png"
        picture(tmp_path / f"part_{n % 3 + 1}/{name}", seed=n)
        rows.append(f"PAT_{n // 2 + 8},{n + 15},{('BCC', 'NEV', 'ACK')[n // 2 % 3]},{name}")
    (tmp_path / "metadata.csv").write_text("\n".join(rows) + "\n")
    _, spec, tree = drafted(tmp_path)
    assert spec.classes is not None
    assert spec.classes.table is not None
    assert (spec.classes.table.key, spec.classes.table.value) == ("img_id", "diagnostic")
    assert len(set(people(spec, tmp_path, list(tree.subjects)).values())) == 7


def test_numbers_in_a_table_name_images_whose_names_have_zeros_before_them(tmp_path: Path) -> None:
    for n in range(12):
        picture(tmp_path / f"head_ct/{n:03}.png", seed=n)
    (tmp_path / "labels.csv").write_text("id, hemorrhage\n" + "".join(f"{n},{int(n < 6)}\n" for n in range(12)))
    _, spec, tree = drafted(tmp_path)
    assert told(spec, tree) == {str(n): str(int(n < 6)) for n in range(12)}
