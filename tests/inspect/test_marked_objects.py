"""Objects that files mark beside images, and what must not be taken for such."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assets.inspect import inspect_folder
from tests.data_makers.dicom_files import Instance, segmentation, write_dicom
from tests.inspect.folders import box_report, drafted, images, instance, picture

VOC = """<annotation><filename>x.png</filename><object><name>{name}</name>
<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>5</xmax><ymax>7</ymax></bndbox></object></annotation>"""


def polygon(name: str) -> str:
    exterior = [[1, 1], [6, 1], [6, 5]]
    return json.dumps({"size": {}, "objects": [{"classTitle": name, "points": {"exterior": exterior, "interior": []}}]})


def test_pascal_voc_beside_every_image(tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    for number, name in (("0001", "RBC"), ("0002", "WBC"), ("0007", "RBC")):
        picture(tmp_path / f"photos/blood_{number}.png")
        (tmp_path / f"marks/blood_{number}.xml").write_text(VOC.format(name=name))
    found, spec, _ = drafted(tmp_path)
    assert found.said("task") == "detection"
    assert spec.objects is not None
    assert (spec.objects.format, spec.objects.file) == ("voc", ("marks/blood_{subject}.xml",))
    assert [label.name for label in spec.labels.values()] == ["RBC", "WBC"]


def test_polygons_beside_every_image(tmp_path: Path) -> None:
    (tmp_path / "ann").mkdir()
    for number in ("0001", "0002", "0007"):
        picture(tmp_path / f"img/scan_{number}.png")
        (tmp_path / f"ann/scan_{number}.json").write_text(polygon("nodule"))
    _, spec, _ = drafted(tmp_path)
    assert spec.objects is not None
    assert (spec.objects.format, spec.objects.labels) == ("supervisely", {"nodule": "nodule"})


@pytest.mark.parametrize("text", ["{}", '{"objects": []}', '{"objects": [{"score": 1}]}', "[1, 2]", "no JSON", '{"objects": 3}'])
def test_json_beside_images_that_marks_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "ann").mkdir()
    for number in ("0001", "0002", "0007"):
        picture(tmp_path / f"img/scan_{number}.png")
        (tmp_path / f"ann/scan_{number}.json").write_text(text)
    assert inspect_folder(tmp_path).said("task") == ""


def test_xml_that_asks_for_other_files_is_not_read(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><annotation><object><name>&a;</name></object></annotation>'
    (tmp_path / "marks").mkdir()
    for number in ("0001", "0002"):
        picture(tmp_path / f"photos/blood_{number}.png")
        (tmp_path / f"marks/blood_{number}.xml").write_text(bomb)
    assert inspect_folder(tmp_path).said("task") == ""


def test_polygons_called_by_the_study_of_a_dicom_image(tmp_path: Path) -> None:
    (tmp_path / "annotations").mkdir()
    for number in (1, 2, 3):
        made = instance(tmp_path / f"dicoms/{number:04d}.dcm", f"p{number}", number, study=f"s{number}", modality="DX")
        if number < 3:
            (tmp_path / f"annotations/{made.StudyInstanceUID}.json").write_text(polygon("pleural effusion"))
    found, spec, _ = drafted(tmp_path)
    assert found.said("task") == "detection"
    assert spec.layout.tags == {"mark": "StudyInstanceUID", "patient": "PatientID"}
    assert spec.objects is not None
    assert spec.objects.file == ("annotations/{mark}.json",)


def test_reports_that_mark_regions(tmp_path: Path) -> None:
    for patient in ("P-01", "P-02"):
        made = [instance(tmp_path / f"{patient}/CT_series/1-{n}.dcm", patient, n) for n in (1, 2, 3)]
        box_report(tmp_path / f"{patient}/SR_box/1-1.dcm", made[1])
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "detection"
    assert spec.objects is not None
    assert (spec.objects.format, spec.objects.key) == ("sr", "ReferencedSOPInstanceUID")
    assert len(images(tree)) == 6


def outlined(path: Path, patient: str, made: list[object]) -> None:
    masks = np.zeros((len(made), 9, 8), bool)
    masks[:, 2:5, 2:5] = True
    where = Instance(patient, "study", "outline", 1, "SEG")
    write_dicom(path, segmentation(where, made, masks, ["tumour"]))  # type: ignore[arg-type]


@pytest.mark.parametrize(("n_outlined", "said"), [(3, "segmentation"), (1, "")])
def test_outlines_of_few_patients_leave_the_task_open(n_outlined: int, said: str, tmp_path: Path) -> None:
    for number in range(3):
        patient = f"P-{number:02d}"
        made: list[object] = [instance(tmp_path / f"{patient}/CT/1-{n}.dcm", patient, n) for n in (1, 2)]
        if number < n_outlined:
            outlined(tmp_path / f"{patient}/SEG/1-1.dcm", patient, made)
    found = inspect_folder(tmp_path)
    assert found.said("task") == said
    assert bool(said) or any(u.field == "task" and "33%" in u.why for u in found.unknown)


def test_what_readers_agreed_on_where_there_is_no_other_table(tmp_path: Path) -> None:
    names = {"GC_01": "", "TNBC_03": "", "Lung_12": "_consensus"}
    for name, behind in names.items():
        picture(tmp_path / f"{name}.tif")
        (tmp_path / f"{name}{behind}.csv").write_text("class,XMin,YMin,XMax,YMax\ncell,1,2,5,6\n")
    for reader in "ABC":
        (tmp_path / f"Lung_12_rater{reader}.csv").write_text("class,XMin,YMin,XMax,YMax\ncell,1,2,5,6\n")
    _, spec, _ = drafted(tmp_path)
    assert spec.objects is not None
    assert spec.objects.file == ("{subject}_{scan}.csv", "{subject}_{scan}_consensus.csv")


def test_the_same_pictures_in_two_formats(tmp_path: Path) -> None:
    for number, flag in (("0000", 1), ("0001", 1), ("0099", 0)):
        picture(tmp_path / f"tiff_images/ID_{number}_CONTRAST_{flag}_x.tif")
        instance(tmp_path / f"dicom_dir/ID_{number}_CONTRAST_{flag}_x.dcm", number)
    _, spec, tree = drafted(tmp_path)
    assert len(spec.layout.series) == 2
    assert len(images(tree)) == 6


COCO = {
    "images": [{"id": 1, "file_name": "photos/0001.png"}],
    "categories": [{"id": 1, "name": "polyp"}, {"id": 2, "name": "stone"}],
}
SHAPE = {"label": "stone", "points": [[1, 1], [4, 4]], "shape_type": "rectangle"}
KINDS = [{"labels": [{"id": "L_1", "name": "opacity"}]}]
DRAWN = {"labelId": "L_1", "data": {"vertices": [[1, 2], [3, 4], [5, 1]]}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (COCO | {"annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 1, 3, 3]}]}, "detection"),
        (COCO | {"annotations": [{"image_id": 1, "category_id": 1, "segmentation": [[1, 1, 3, 3, 1, 3]]}]}, "segmentation"),
        (COCO | {"annotations": [{"image_id": 1, "caption": "a stone"}]}, ""),
        ({"imagePath": "0001.png", "shapes": [SHAPE]}, "detection"),
        ({"imagePath": "0001.png", "shapes": [SHAPE | {"shape_type": "polygon"}]}, "segmentation"),
        ({"shapes": [1, 2]}, ""),
        (
            {"labelGroups": KINDS, "datasets": [{"annotations": [DRAWN]}]},
            "segmentation",
        ),
        ({"labelGroups": KINDS, "datasets": []}, ""),
    ],
)
def test_formats_that_no_draft_can_use_still_tell_the_task(content: dict[str, object], said: str, tmp_path: Path) -> None:
    for number in ("0001", "0002", "0007"):
        picture(tmp_path / f"photos/{number}.png")
    (tmp_path / "marks.json").write_text(json.dumps(content))
    found = inspect_folder(tmp_path)
    assert found.said("task") == said
    assert bool(said) == any(u.field == "objects" for u in found.unknown)
