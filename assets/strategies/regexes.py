"""Which regular expressions of a stranger are run: those whose time cannot explode.

Python's `re` takes time that grows exponentially for a repeated group that can match one text in many ways, and as a high power
for many open repeats in a row. What is refused here is wider than what is dangerous; a layout needs little of the language.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence

MOST_LETTERS, MOST_OPEN, MOST_COUNT = 2000, 8, 1000
"""Of one expression: letters, repeats without an end, and the largest number of a counted repeat."""

PROBE_SECONDS = 10.0

_FOLDERS = "(?:[^/]+/)*"
"""Any number of folders: the one repeated group that a layout needs, and harmless, as every round ends at a slash."""

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?(?:P<[a-z_]+>|:|[^:]?))?|\)|[*+?]|\{\d*,?\d*\}|.", re.DOTALL)
_OPEN_REPEAT = re.compile(r"[*+]|\{\d*,\}")


class DangerousRegexError(ValueError):
    """An expression that is not run; the message has it and says why."""


def require_harmless(expression: str, *, most_open: int = MOST_OPEN) -> None:
    """Refuse an expression that could take very long.

    Args:
        expression: In Python's syntax.
        most_open: How many repeats without an end it may have.

    Raises:
        DangerousRegexError: It repeats a group, looks around or back, or is too long or too open.
    """
    shown = repr(expression if len(expression) <= 120 else expression[:120] + "…")
    if len(expression) > MOST_LETTERS:
        raise DangerousRegexError(f"the expression {shown} has more than {MOST_LETTERS} letters")
    tokens = _TOKEN.findall(expression.replace(_FOLDERS, ".*"))
    for sign, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if sign.startswith("(?") and sign != "(?:" and not sign.startswith("(?P<"):
            raise DangerousRegexError(f"the expression {shown} looks around or changes the rules ({sign}); only (?:...) is known")
        if sign == "(" or (sign.startswith("\\") and sign[1:].isdigit()):
            raise DangerousRegexError(f"the expression {shown} keeps groups or refers back to one; only (?:...) is known")
        if sign == ")" and (_OPEN_REPEAT.fullmatch(after) or after.startswith("{")):
            raise DangerousRegexError(
                f"the expression {shown} repeats a group, which can take for ever; repeat single signs only"
            )
        if sign.startswith("{") and max((int(n) for n in re.findall(r"\d+", sign)), default=0) > MOST_COUNT:
            raise DangerousRegexError(f"the expression {shown} repeats a sign more than {MOST_COUNT} times")
    n_open = sum(_OPEN_REPEAT.fullmatch(sign) is not None for sign in tokens)
    if n_open > most_open:
        raise DangerousRegexError(f"the expression {shown} has {n_open} repeats without an end; {most_open} are the most")


def require_quick(expressions: Sequence[str], texts: Sequence[str], seconds: float = PROBE_SECONDS) -> None:
    """Match the whole of every text with every expression in a process of its own, which is stopped when it takes too long.

    Raises:
        DangerousRegexError: It took longer, or an expression is none.
    """
    program = "import json,re,sys\ne,t=json.load(sys.stdin)\nfor r in map(re.compile,e):\n for x in t: r.fullmatch(x)"
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and program; the expressions are its input
            [sys.executable, "-I", "-c", program],
            input=json.dumps([list(expressions), list(texts)]).encode(),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DangerousRegexError(
            f"matching {len(texts)} names with {len(expressions)} patterns took more than {seconds:g} s"
        ) from error
    if done.returncode != 0:
        raise DangerousRegexError("a pattern is no regular expression")
