"""The data elements of one DICOM data set, by keyword and as plain Python values.

pydicom parses; here its values are turned into numbers and text, its sequences are expanded within the budget of the
header, and whatever it raises or warns about a damaged element becomes one `BadInputError` that names the element.
"""

from __future__ import annotations

import io
import logging
import struct
import threading
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt
import pydicom.errors
from pydicom import charset, config
from pydicom.datadict import keyword_for_tag, tag_for_keyword
from pydicom.dataelem import DataElement, RawDataElement
from pydicom.dataset import Dataset
from pydicom.filereader import read_sequence
from pydicom.tag import BaseTag

from resources.findings import BadInputError, Code
from resources.readers.dicom.bounded import BoundedFile, Budget, BudgetExceededError

PARSER_ERRORS = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, NotImplementedError, EOFError, OSError, RecursionError,
    struct.error, zlib.error, pydicom.errors.InvalidDicomError, pydicom.errors.BytesLengthException, BudgetExceededError,
)  # fmt: skip
"""Everything pydicom was seen to raise for damaged files."""

UNDEFINED = 0xFFFFFFFF
"""The length of an element whose end is marked instead of counted."""

_lock = threading.RLock()


@contextmanager
def quiet() -> Iterator[None]:
    """Silence pydicom, whose warnings and log name no file and print what they met, perhaps a name.

    Threads take turns, because its settings belong to the process.
    """
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = logging.getLogger("pydicom")
        before = log.disabled, config.settings.reading_validation_mode
        log.disabled, config.settings.reading_validation_mode = True, config.IGNORE
        try:
            yield
        finally:
            log.disabled, config.settings.reading_validation_mode = before


@dataclass(frozen=True, slots=True)
class Elements:
    """One data set.

    Attributes:
        dataset: As pydicom parsed it.
        budget: What may still be spent on expanding sequences.
        file: How findings call the file.
        encoding: Character sets of the data set around it.
    """

    dataset: Dataset
    budget: Budget
    file: str
    encoding: tuple[str, ...] = ("iso8859",)

    def has(self, keyword: str) -> bool:
        """Whether the element is there and not empty."""
        element = self._element(_tag(keyword))
        return element is not None and bool(element.value)

    def texts(self, keyword: str) -> tuple[str, ...]:
        """The values as text, blanks at the ends removed; none when the element is missing or empty."""
        value = self._value(keyword)
        if value is None or (isinstance(value, str) and not value):
            return ()
        values = value if isinstance(value, (list, tuple)) or type(value).__name__ == "MultiValue" else [value]
        return tuple(str(part).strip(" \0") for part in values)

    def text(self, keyword: str) -> str:
        """The first value as text; empty when there is none."""
        return (self.texts(keyword) or ("",))[0]

    def numbers(self, keyword: str, count: int | None = None) -> tuple[float, ...] | None:
        """The values as numbers; `None` when the element is missing or empty.

        Raises:
            BadInputError: BAD_HEADER, when they are no finite numbers, or not `count` of them.
        """
        texts = self.texts(keyword)
        if not texts or not any(texts):
            return None
        try:
            found = tuple(float(text) for text in texts)
        except ValueError as error:
            raise self.bad(f"{keyword} is {'/'.join(texts)[:80]!r}, which is no number") from error
        if not all(abs(number) < float("inf") for number in found):
            raise self.bad(f"{keyword} is {'/'.join(texts)[:80]!r}, which is not finite")
        if count is not None and len(found) != count:
            raise self.bad(f"{keyword} holds {len(found)} numbers where {count} belong")
        return found

    def long_numbers(self, keyword: str) -> npt.NDArray[np.float64]:
        """Many numbers written as text, such as the points of a contour; an empty array when there are none.

        Raises:
            BadInputError: BAD_HEADER, when they are no finite numbers.
        """
        element = self._element(_tag(keyword))
        if not isinstance(element, RawDataElement):
            return np.asarray(self.numbers(keyword) or (), np.float64)
        text = (element.value or b"").strip(b" \0")
        try:
            found = np.array(text.split(b"\\") if text else [], np.float64)
        except ValueError as error:
            raise self.bad(f"{keyword} holds something that is no number: {str(error)[:80]}") from error
        if not np.isfinite(found).all():
            raise self.bad(f"{keyword} holds numbers that are not finite")
        return found

    def number(self, keyword: str) -> float | None:
        """The first value as a number; raises as `numbers`."""
        found = self.numbers(keyword)
        return found[0] if found else None

    def whole(self, keyword: str) -> int | None:
        """The first value as a whole number; raises as `numbers`, also for a fraction."""
        found = self.number(keyword)
        if found is not None and not found.is_integer():
            raise self.bad(f"{keyword} is {found}, which is no whole number")
        return None if found is None else int(found)

    def raw(self, keyword: str) -> bytes:
        """The bytes of an element as they are stored; empty when it is missing."""
        element = self._element(_tag(keyword))
        return bytes(element.value) if element is not None and isinstance(element.value, (bytes, bytearray)) else b""

    def words(self, keyword: str) -> tuple[int, ...]:
        """The 16-bit words of an element, such as the entries of a table; none when it is missing."""
        return _words(self._element(_tag(keyword)))

    def private(self, group: int, creator: str, offset: int) -> bytes:
        """The bytes of a private element, by the name of its creator; empty when it is missing."""
        element = self._private(group, creator, offset)
        return bytes(element.value) if element is not None and isinstance(element.value, bytes) else b""

    def private_words(self, group: int, creator: str, offset: int) -> tuple[int, ...]:
        """The 16-bit words of a private element, by the name of its creator; none when it is missing."""
        return _words(self._private(group, creator, offset))

    def tags(self, keyword: str) -> tuple[int, ...]:
        """The values of an element that holds tags."""
        value = self._value(keyword)
        if value is None or (isinstance(value, str) and not value):
            return ()
        return (int(value),) if isinstance(value, int) else tuple(int(tag) for tag in value)

    def items(self, keyword: str) -> list[Elements]:
        """The items of a sequence; none when it is missing.

        Raises:
            BadInputError: BAD_HEADER, or TOO_LARGE when they are more than the budget allows.
        """
        element = self._element(_tag(keyword))
        if element is None or not element.value:
            return []
        encoding = self._encoding()
        items = self._expanded(element, keyword, list(encoding))
        return [Elements(item, self.budget, self.file, encoding) for item in items]

    def item(self, keyword: str) -> Elements | None:
        """The first item of a sequence, if there is one; raises as `items`."""
        return next(iter(self.items(keyword)), None)

    def cut_short(self) -> str:
        """What is wrong with an element that holds fewer bytes than it states, because the file ends; empty for none."""
        for tag in self.dataset.keys():  # noqa: SIM118  # iterating over the data set itself would parse its values
            element = self._element(int(tag))
            held = len(element.value or b"") if isinstance(element, RawDataElement) else 0
            if isinstance(element, RawDataElement) and held < element.length != UNDEFINED:
                return f"{keyword_for_tag(tag) or tag} is to hold {element.length} bytes, the file ends after {held}"
        return ""

    def bad(self, detail: str, code: Code = Code.BAD_HEADER) -> BadInputError:
        """The error that says so about the file."""
        return BadInputError(code, detail, file=self.file)

    def _expanded(self, element: RawDataElement | DataElement, keyword: str, encoding: list[str]) -> Iterable[Dataset]:
        """The items of a sequence; pydicom leaves one of stated length as bytes."""
        if not isinstance(element, RawDataElement):
            return cast("Iterable[Dataset]", element.value)
        content = bytes(element.value or b"")
        unknown = element.VR == "UN"  # PS3.5 6.2.2: then it is encoded with implicit VR, little-endian
        file = BoundedFile(io.BytesIO(content), self.budget, len(content))
        try:
            return list(
                read_sequence(
                    cast("BinaryIO", file),
                    element.is_implicit_VR or unknown,
                    element.is_little_endian or unknown,
                    len(content),
                    encoding,
                )
            )
        except PARSER_ERRORS as error:
            raise self.parse_error(f"{keyword} cannot be parsed", error) from error

    def parse_error(self, what: str, error: Exception) -> BadInputError:
        """The error for something pydicom could not parse."""
        if self.budget.exceeded:
            return self.bad(self.budget.exceeded, Code.TOO_LARGE)
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:120] or type(error).__name__
        return self.bad(f"{what}: {reason}")

    def _encoding(self) -> tuple[str, ...]:
        own = self.texts("SpecificCharacterSet")
        if not own:
            return self.encoding
        try:
            return tuple(charset.convert_encodings(list(own)))
        except PARSER_ERRORS:
            return self.encoding

    def _private(self, group: int, creator: str, offset: int) -> RawDataElement | DataElement | None:
        for block in range(0x10, 0x100):
            owner = self._element(group << 16 | block)
            if owner is None:
                continue
            value = owner.value.decode("latin-1") if isinstance(owner.value, bytes) else str(owner.value)
            if value.strip(" \0") == creator:
                return self._element(group << 16 | block << 8 | offset)
        return None

    def _element(self, number: int) -> RawDataElement | DataElement | None:
        tag = BaseTag(number)
        if tag not in self.dataset:
            return None
        try:
            return self.dataset.get_item(tag)
        except PARSER_ERRORS as error:
            raise self.parse_error(f"{keyword_for_tag(tag) or tag} cannot be read", error) from error

    def _value(self, keyword: str) -> Any:
        tag = BaseTag(_tag(keyword))
        if tag not in self.dataset:
            return None
        try:
            return self.dataset[tag].value
        except PARSER_ERRORS as error:
            raise self.parse_error(f"{keyword_for_tag(tag)} cannot be read", error) from error


def _words(element: RawDataElement | DataElement | None) -> tuple[int, ...]:
    if element is None or not element.value:
        return ()
    if not isinstance(element.value, (bytes, bytearray)):
        values = (
            element.value if isinstance(element.value, (list, tuple)) or hasattr(element.value, "__iter__") else [element.value]
        )
        return tuple(int(value) for value in values)
    order = "<" if not isinstance(element, RawDataElement) or element.is_little_endian else ">"
    count = len(element.value) // 2
    return struct.unpack(f"{order}{count}H", element.value[: count * 2])


def _tag(keyword: str) -> int:
    tag = tag_for_keyword(keyword)
    if tag is None:
        raise ValueError(f"{keyword!r} is no DICOM keyword")
    return tag
