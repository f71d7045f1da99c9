"""Cuts a path into the parts that vary from file to file and those that stay: `case_012_seg.nii.gz`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assets.inspect.formats import Family
from assets.inspect.lexicon import SPLITS
from assets.raw.rows import Row, row_of
from assets.templates import stem

Kind = Literal["word", "sign", "number", "id", "split", "root", "free", "row", "ending"]

_PARTS = re.compile(
    r"(?P<range>(?<![0-9.-])\d+-\d+(?=[^/0-9.-]*/))"
    r"|(?P<id>\d+(?:\.\d+){5,}|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|(?=[a-f]*\d)(?<![A-Za-z0-9])[0-9a-f]{10,}(?![A-Za-z0-9]))"
    r"|(?P<word>(?<![A-Za-z])[tT][12](?![0-9])[A-Za-z]*|(?<![0-9])[234][dD](?![A-Za-z0-9])|[A-Za-z]+)"
    r"|(?P<number>\d+)"
    r"|(?P<sign>.)"
)
_CAMEL = re.compile(r"([a-z]+)(Tr|Ts|Te|Va|Val|Train|Test)")
_ORDER = re.compile(r"(?:[A-Za-z]|\d{1,2})[.)]\s*")
_LONG_SPLITS = frozenset(word for word in SPLITS if len(word) > 2)


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a path.

    Attributes:
        text: As it stands there.
        kind: `word` and `sign` stay from file to file, `ending` is that of the file's name; the others may vary. `root` is a
            stretch of folders of which a set has several, `row` the number of a row in a table.
        half: Of an ending: the path of the other file, where header and data of an image lie in two.
        told: Of an ending: what the content of such files says they are, where the ending says nothing.
    """

    text: str
    kind: Kind
    half: str = ""
    told: Family | None = None


def tokens(path: str, half: str = "", told: Family | None = None) -> tuple[Token, ...]:
    """The parts of a path; joined they are the path again.

    Args:
        path: The path.
        half: The other file of an image in two files.
        told: What its content says it is; then it has an ending, if an empty one.
    """
    if (row := row_of(path)) is not None:
        return _of_row(path, row)
    folder, slash, name = path.rpartition("/")
    ending = ending_of(name)
    cut = [*_counted(_cut(folder + slash)), *_cut(name[: len(name) - len(ending)])]
    return (*cut, Token(ending, "ending", half, told)) if ending or half or told else tuple(cut)


def ending_of(path: str) -> str:
    """The ending of a file's name; empty where it has none, as digits behind a dot are the last part of a UID or a number."""
    name = path.rpartition("/")[2]
    ending = name[len(stem(name)) :]
    return "" if ending[1:].isdecimal() else ending


def _of_row(path: str, row: Row) -> tuple[Token, ...]:
    """The number of a row of a table is nobody's name."""
    start = len(row.table) + len(row.column) + 2
    end = start + len(str(row.number))
    inside = path[end:].lstrip("/")
    if path[start:end] != str(row.number) or not inside:
        return (*_cut(path[:start]), Token(path[start:], "row"))
    return (*_cut(path[:start]), Token(path[start:end], "row"), Token("/", "sign"), *tokens(inside))


def _cut(text: str) -> list[Token]:
    found: list[Token] = []
    for part in _PARTS.finditer(text):
        kind = part.lastgroup
        word = part.group()
        if kind == "word" and (camel := _CAMEL.fullmatch(word)):
            found += [Token(camel[1], "word"), Token(camel[2], "split")]
        elif kind == "word" and word.lower() in _LONG_SPLITS:
            found.append(Token(word, "split"))
        elif kind == "word":
            found.append(Token(word, "word"))
        elif kind == "range" and _rises(word):
            found.append(Token(word, "split"))
        elif kind == "range":
            found += [token for part in re.split("(-)", word) for token in _cut(part)]
        elif kind == "number":
            found.append(Token(word, "number"))
        else:
            found.append(Token(word, "id" if kind == "id" else "sign"))
    return found


def _counted(found: Sequence[Token]) -> list[Token]:
    """Folders with a part of a split behind the letter or number of a list, as `a. Training` and `b. Testing`, as that part."""
    kept: list[Token] = []
    for token in found:
        folder = next((n for n in range(len(kept), 0, -1) if kept[n - 1].text == "/"), 0)
        before = "".join(one.text for one in kept[folder:])
        if token.kind == "split" and _ORDER.fullmatch(before):
            kept[folder:] = [Token(before + token.text, "split")]
        else:
            kept.append(token)
    return kept


def _rises(text: str) -> bool:
    """Whether a folder says from where to where it goes, as `0-20` does: a share of the files, not an id."""
    first, last = text.split("-")
    return int(first) < int(last) and len(last) - len(first) < 4


def words(text: str) -> list[str]:
    """The words of a text in lower case, camel case taken apart."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return [word.lower() for word in re.findall(r"[A-Za-z]+[12]?(?![0-9])[a-z]*|[A-Za-z]+", apart)]
