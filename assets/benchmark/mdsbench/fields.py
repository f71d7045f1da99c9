"""phi: how well one predicted field agrees with the expected one, and the mean over a block of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assets.benchmark.mdsbench.scored import mean, rounded
from assets.benchmark.mdsbench.stems import aliases
from assets.benchmark.mdsbench.truth import strings
from assets.benchmark.mdsbench.values import (
    NULL_TOKENS,
    JsonObject,
    as_float,
    full_path,
    is_placeholder,
    objects,
    shown,
    text,
    token_text,
)

_EXACT_KEYS = frozenset({"task_type", "dimension", "schema_variant", "dataset_name", "modality_primary", "modality_secondary"})
_EXTENSION = re.compile(r"\.[a-z0-9]{1,6}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MatchRules:
    """Two switches a ground truth may set in block `content`; none of those published that were read does.

    Attributes:
        full_paths: Paths must agree as a whole even where the expected one is a bare name.
        exact_text: Keys whose text must agree sign by sign, not token by token.
    """

    full_paths: bool = False
    exact_text: frozenset[str] = frozenset()


def match_rules(content: JsonObject) -> MatchRules:
    """The switches of a ground truth."""
    exact = frozenset(text(key) for key in strings(content.get("strict_content_text_keys")))
    return MatchRules(bool(content.get("strict_path_full_match")), exact)


def agreement(key: str, met: object, expected: object, rules: MatchRules) -> float:
    """How well one field agrees, in [0, 1]: the phi of the paper.

    An expected null wants a placeholder; a list the Jaccard index of its token texts; a number exact equality (numeric
    strings count as numbers); a bool identity; an object the mean over the keys that are expected.
    """
    if expected is None or (isinstance(expected, str) and text(expected) in NULL_TOKENS):
        return float(is_placeholder(key, met))
    if isinstance(expected, list):
        return rounded(_overlap(met, expected)) if isinstance(met, list) else 0.0
    if isinstance(expected, bool):
        return float(met is expected)
    if isinstance(expected, int | float):
        return float(_same_number(as_float(met), as_float(expected)))
    if isinstance(expected, dict):
        return block_agreement(met, expected, rules) if isinstance(met, dict) else 0.0
    return float(_same_text(text(key), met, expected, rules))


def _same_number(met: float | None, expected: float | None) -> bool:
    return met is not None and expected is not None and abs(met - expected) <= 0.0


def _overlap(met: list[object], expected: list[object]) -> float:
    ours, theirs = ({token_text(item) for item in items} - {""} for items in (met, expected))
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0


def _same_text(key: str, met: object, expected: object, rules: MatchRules) -> bool:
    if key in _EXACT_KEYS:
        return text(met) == text(expected)
    if _is_path_key(key):
        whole = rules.full_paths or (isinstance(expected, str) and _is_path(expected))
        return full_path(met) == full_path(expected) if whole else bool(aliases(met) & aliases(expected))
    if key in rules.exact_text:
        return text(met) == text(expected)
    return token_text(met) == token_text(expected)


def _is_path_key(key: str) -> bool:
    return any(part in key for part in ("path", "source_file", "filename")) or key.endswith(("_relative", "_relpath"))


def _is_path(value: str) -> bool:
    return "/" in value or "\\" in value or _EXTENSION.search(value) is not None


def field_agreements(met: object, expected: JsonObject, rules: MatchRules) -> Iterator[tuple[str, float, str]]:
    """Field, phi and a sentence for every expected field of a block."""
    block = objects(met)
    for key, value in expected.items():
        yield key, agreement(key, block.get(key), value, rules), f"met {shown(block.get(key))}, expected {shown(value)}"


def block_agreement(met: object, expected: JsonObject, rules: MatchRules) -> float:
    """Unweighted mean of phi over the expected fields, rounded to 4 decimals; 1 when nothing is expected."""
    if not expected:
        return 1.0
    return rounded(mean(score for _, score, _ in field_agreements(met, expected, rules)))
