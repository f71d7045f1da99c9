"""The door to this package for the registry: it knows DICOM by its first bytes, and opens the house only for such files.

pydicom takes a third of a second to import, which a dataset of other formats should not pay; nothing here needs it.
"""

from __future__ import annotations

import struct

from resources.readers.image import RawImage
from resources.readers.source import RawFile, ReadOptions

SUFFIXES = frozenset({".dcm", ".dicom", ".ima", ".dic", ""})
MAGIC_AT = 128
MAGIC = b"DICM"

_LONG_VRS = frozenset({b"OB", b"OD", b"OF", b"OL", b"OV", b"OW", b"SQ", b"SV", b"UC", b"UN", b"UR", b"UT", b"UV"})
_VRS = _LONG_VRS | {
    b"AE", b"AS", b"AT", b"CS", b"DA", b"DS", b"DT", b"FD", b"FL", b"IS", b"LO", b"LT", b"PN", b"SH", b"SL", b"SS", b"ST", b"TM",
    b"UI", b"UL", b"US",
}  # fmt: skip


def sniff(head: bytes) -> bool:
    """Whether a file with these first bytes is DICOM: by its preamble, or by two well-formed elements where it has none."""
    return head[MAGIC_AT : MAGIC_AT + 4] == MAGIC or _begins_with_elements(head)


def open_dicom(file: RawFile, options: ReadOptions) -> RawImage:
    """Open one DICOM file: a volume, a film, a picture, or a segmentation as a label map; raises as `volume.open_dicom`."""
    from resources.readers.dicom import volume  # noqa: PLC0415  # see above

    return volume.open_dicom(file, options)


def _begins_with_elements(head: bytes) -> bool:
    """Whether two elements in rising order stand at the beginning, in any of the three plain encodings."""
    return any(_two_elements(head, order, explicit=explicit) for order, explicit in (("<", True), ("<", False), (">", True)))


def _two_elements(head: bytes, order: str, *, explicit: bool) -> bool:
    place, last = 0, -1
    for _ in range(2):
        if place + 12 > len(head):
            return last >= 0 and place <= len(head)
        group, element = struct.unpack_from(f"{order}HH", head, place)
        tag = group << 16 | element
        if not last < tag <= 0x00100020 or group not in {0x0002, 0x0008, 0x0010} or element > 0x2200:
            return False
        last = tag
        start, length = _value_at(head, place, order, explicit=explicit)
        if length < 0 or length > 1 << 16:
            return False
        place = start + length
    return True


def _value_at(head: bytes, place: int, order: str, *, explicit: bool) -> tuple[int, int]:
    """Where the value of an element begins and how long it is; a negative length for what is no element."""
    if not explicit:
        return place + 8, int(struct.unpack_from("<I", head, place + 4)[0])
    vr = head[place + 4 : place + 6]
    if not is_vr(vr):
        return place, -1
    if vr in _LONG_VRS:
        return place + 12, int(struct.unpack_from(f"{order}I", head, place + 8)[0])
    return place + 8, int(struct.unpack_from(f"{order}H", head, place + 6)[0])


def is_vr(letters: bytes) -> bool:
    """Whether two bytes are a value representation (PS3.5 6.2)."""
    return letters in _VRS
