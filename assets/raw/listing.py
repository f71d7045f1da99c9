"""The dataset's own list of its subjects, held against what the folder has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assets.raw.tree import natural_key
from assets.spec import DatasetSpec
from resources.findings import Code, Finding, finding


def compare_listing(spec: DatasetSpec, root: Path, subjects: Iterable[str]) -> Iterator[Finding]:
    """Subjects that the dataset's own list has and the folder has not."""
    listing = spec.layout.listing
    if listing is None or not (root / listing.file).is_file():
        return
    try:
        content = json.loads((root / listing.file).read_text(encoding="utf-8-sig"))
        values = list(pick(content, listing.each))
    except OSError as error:
        detail = f"the list of subjects cannot be read: {error.strerror}"
        yield finding(Code.UNREADABLE, detail, file=listing.file)
        return
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        yield finding(Code.BAD_HEADER, f"the list of subjects cannot be read: {error}", file=listing.file)
        return
    names = {m.group() for value in values for m in re.finditer(whole(spec.layout.subject), str(value))}
    if not names:
        detail = f"the list of subjects names none at {listing.each}"
        yield finding(Code.BAD_HEADER, detail, file=listing.file)
    absent = sorted(names - set(subjects), key=natural_key)
    if absent:
        shown = ", ".join(absent[:10]) + (", ..." if len(absent) > 10 else "")
        detail = f"{len(absent)} of {len(names)} listed subjects are not in the folder: {shown}"
        yield finding(Code.LISTED_BUT_ABSENT, detail, file=listing.file)


def whole(expression: str) -> str:
    """The expression, not as a part of a longer word; `_` parts words."""
    return rf"(?<![A-Za-z0-9])(?:{expression})(?![A-Za-z0-9])"


def pick(content: Any, each: str) -> Iterator[Any]:
    """The values at a path such as `training[].image`."""
    head, _, rest = each.partition(".")
    key, many = (head[:-2], True) if head.endswith("[]") else (head, False)
    inner = content[key] if key else content
    for item in inner if many else [inner]:
        if rest:
            yield from pick(item, rest)
        else:
            yield item
