"""Small files one plane of which is too large: refused by their headers, before memory is taken for their pixels."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from PIL import Image
from pydicom.uid import DeflatedExplicitVRLittleEndian

from assets.raw import discover
from assets.spec import DatasetSpec
from assets.volumes import build_volumes
from resources.findings import BadInputError, Code
from resources.readers import plane
from tests.readers.dicom.makers import file_bytes, ramp, slice_of
from tests.readers.pictures import opened

MIB = 1 << 20

SCRIPT = """
import json, resource, sys
from pathlib import Path
from resources.findings import BadInputError
from resources.readers import bitmap, matlab, npy, plane
from resources.readers.dicom import series, volume
from resources.readers.registry import open_image
import PIL.PngImagePlugin
plane.MAX_PLANE_BYTES = int(sys.argv[2])
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10
before = peak()
try:
    open_image(Path(sys.argv[1]))
    code = ""
except BadInputError as error:
    code = error.finding.code.value + " " + error.finding.detail
print(json.dumps([code, peak() - before]))
"""


def png(path: Path, side: int, channels: int = 1) -> Path:
    """A black picture; of four channels all of it is transparent, which a reader has to look for."""
    row = bytes(1 + side * channels)
    head = struct.pack(">IIBBBBB", side, side, 8, {1: 0, 4: 6}[channels], 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(row * side, 1)), (b"IEND", b""))
    parts = [struct.pack(">I", len(c)) + tag + c + struct.pack(">I", zlib.crc32(tag + c)) for tag, c in chunks]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    return path


def npz(path: Path, side: int) -> Path:
    np.savez_compressed(path, image=np.zeros((side, side), np.uint8))
    return path


def mat(path: Path, side: int) -> Path:
    scipy.io.savemat(path, {"image": np.zeros((side, side), np.uint8)}, do_compression=True)
    return path


def dicom(path: Path, side: int) -> Path:
    ds = slice_of(ramp())
    ds.Rows = ds.Columns = side
    ds.BitsAllocated, ds.BitsStored, ds.HighBit, ds.PixelData = 8, 8, 7, bytes(side * side)
    ds["PixelData"].VR = "OB"
    path.write_bytes(file_bytes(ds, DeflatedExplicitVRLittleEndian))
    return path


MAKERS: dict[str, Any] = {
    "a.png": png, "rgba.png": lambda path, side: png(path, side // 2, 4), "a.npz": npz, "a.mat": mat, "a.dcm": dicom
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_a_plane_that_is_too_large_is_refused_before_memory_is_taken_for_it(tmp_path: Path, name: str) -> None:
    path = MAKERS[name](tmp_path / name, 12_000)
    assert path.stat().st_size < MIB
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(path), str(100 * MIB)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    said, grown_mib = json.loads(done.stdout)
    assert said.startswith("too-large one plane of ")
    assert "takes 144000000 bytes; at most 104857600 are taken: cut it into tiles" in said
    assert grown_mib < 60


@pytest.mark.parametrize("name", MAKERS)
def test_a_plane_of_just_the_most_is_taken(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = MAKERS[name](tmp_path / name, 64)
    monkeypatch.setattr(plane, "MAX_PLANE_BYTES", 64 * 64)
    assert opened(path).shape[0] in {64, 32}
    monkeypatch.setattr(plane, "MAX_PLANE_BYTES", 64 * 64 - 1)
    with pytest.raises(BadInputError, match="one plane of"):
        opened(path)


def test_a_volume_counts_by_its_planes_and_one_of_a_single_column_by_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plane, "MAX_PLANE_BYTES", 2 * 512 * 512)
    plane.check_plane((512, 512, 100_000), 2, 1, "a")
    for shape, colours in (((1, 513, 512), 1), ((513, 1, 512), 1), ((512, 512, 1), 3)):
        with pytest.raises(BadInputError) as caught:
            plane.check_plane(shape, 2, colours, "a")
        assert (caught.value.finding.code, caught.value.finding.file) == (Code.TOO_LARGE, "a")


def test_its_siblings_are_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = {"subject": r"p\d", "series": {"img": {"path": "images/{subject}.png"}}}
    layout["labels"] = {"seg": {"path": "masks/{subject}.png"}}
    spec = DatasetSpec.model_validate({
        "slug": "toy", "name": "Toy", "version": "1", "licence": "CC0-1.0", "access": "open", "modality": "XR",
        "anatomy": "none", "description": "made up", "sources": [], "layout": layout, "labels": {1: "x"},
    })  # fmt: skip
    for folder in ("images", "masks"):
        (tmp_path / "raw" / folder).mkdir(parents=True)
        for subject in ("p1", "p2"):
            Image.fromarray(np.eye(40, dtype=np.uint8)).save(tmp_path / "raw" / folder / f"{subject}.png")
        png(tmp_path / "raw" / folder / "p3.png", 2000)
    monkeypatch.setattr(plane, "MAX_PLANE_BYTES", MIB)
    tree = discover(spec, tmp_path / "raw")
    found = {}
    for name, raw in tree.subjects.items():
        made = build_volumes(spec, tmp_path / "raw", raw, tmp_path / "out", synthetic=False)
        found[name] = [(f.code, f.file) for f in made.findings if f.code is Code.TOO_LARGE]
        assert len(made.rows) == (0 if name == "p3" else 2)
    assert found == {
        "p1": [],
        "p2": [],
        "p3": [(Code.TOO_LARGE, "images/p3.png"), (Code.TOO_LARGE, "masks/p3.png")],
    }
