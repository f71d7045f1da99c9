"""What a file is likely to be, by its ending; content decides where it is opened."""

from __future__ import annotations

from typing import Literal

Family = Literal["volume", "picture", "dicom", "container", "video", "table", "text", "raw", "other"]

_FAMILIES: dict[str, Family] = {
    **dict.fromkeys((".nii", ".nii.gz", ".mha", ".mhd", ".nrrd", ".nhdr", ".seg.nrrd", ".gipl", ".hdr"), "volume"),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".ome.tif", ".ome.tiff"), "picture"),
    **dict.fromkeys((".pgm", ".ppm", ".czi"), "picture"),
    **dict.fromkeys((".dcm", ".dicom", ".ima"), "dicom"),
    **dict.fromkeys((".h5", ".hdf5", ".npz", ".npy", ".mat", ".parquet"), "container"),
    **dict.fromkeys((".avi", ".mp4", ".mov", ".webm"), "video"),
    **dict.fromkeys((".csv", ".tsv", ".xlsx", ".xls"), "table"),
    **dict.fromkeys((".txt", ".json", ".xml", ".yaml", ".yml", ".cfg", ".md"), "text"),
    **dict.fromkeys((".raw", ".zraw", ".img", ".gz", ".dat"), "raw"),
}
IMAGES = frozenset({"volume", "picture", "dicom", "container", "video"})


def family(ending: str, half: str = "") -> Family:
    """The family of a file name's ending, whatever its case.

    Args:
        ending: The ending.
        half: The other file of an image in two files. Numbers that have a header beside them are a picture of many bands.
    """
    told = _FAMILIES.get(ending.lower(), "other")
    if not half or told in IMAGES:
        return told
    return "picture" if half.lower().endswith(".hdr") else "volume"
