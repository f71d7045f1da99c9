"""c, d and r, of which IC, IV and INR are the means: what `context.sample.extra` holds."""

from __future__ import annotations

from dataclasses import dataclass

from assets.benchmark.mdsbench.record import Record
from assets.benchmark.mdsbench.scored import Check, Loss, Scored, rounded, share
from assets.benchmark.mdsbench.truth import strings
from assets.benchmark.mdsbench.values import (
    JsonObject,
    is_placeholder,
    is_placeholder_text,
    is_present,
    objects,
    text,
    token_text,
)


@dataclass(frozen=True, slots=True)
class Information:
    """The three scores of a record's extra.

    Attributes:
        completeness: c, the share of expected key groups of which one key is there.
        validity: d, the same, where one key holds a value.
        non_redundancy: r, half for distinct strings, half for the required keys.
    """

    completeness: Scored
    validity: Scored
    non_redundancy: Scored


def information(record: Record, content: JsonObject) -> Information:
    """c, d and r of a record."""
    extra = record.extra
    groups = _groups(content)
    if groups:
        there = [
            Check(name, any(key in extra for key in keys), f"extra lacks all of {list(keys)}") for name, keys in groups.items()
        ]
        valid = [Check(name, _has_value(extra, keys), f"extra has no value under {list(keys)}") for name, keys in groups.items()]
        if text(content.get("expected_extra_keys_mode")) == "any":
            there, valid = _any_of(there), _any_of(valid)
    else:
        there = [Check(key, is_present(value), "empty") for key, value in extra.items()]
        valid = [Check(key, not is_placeholder(key, value), "a placeholder") for key, value in extra.items()]
    return Information(share("IC", there), share("IV", valid), _non_redundancy(extra, content, groups))


def _groups(content: JsonObject) -> dict[str, tuple[str, ...]]:
    groups = objects(content.get("expected_extra_key_groups"))
    return {name: keys for name, value in groups.items() if (keys := strings(value))}


def _has_value(extra: JsonObject, keys: tuple[str, ...]) -> bool:
    return any(key in extra and not is_placeholder(key, extra[key]) for key in keys)


def _any_of(checks: list[Check]) -> list[Check]:
    return [Check("any group", any(check.passed for check in checks), "; ".join(check.detail for check in checks))]


def _non_redundancy(extra: JsonObject, content: JsonObject, groups: dict[str, tuple[str, ...]]) -> Scored:
    texts = [token_text(value) for value in extra.values() if isinstance(value, str) and not is_placeholder_text(value)]
    texts = [value for value in texts if value]
    distinct = len(set(texts)) / len(texts) if texts else 0.0
    pool = strings(content.get("strict_required_extra_keys")) or tuple(sorted({key for keys in groups.values() for key in keys}))
    pool = pool or tuple(extra)
    lacking = [key for key in pool if not _has_value(extra, (key,))]
    signal = (len(pool) - len(lacking)) / len(pool) if pool else 0.0
    losses = [Loss("INR", f"extra.{key}", 0.5 / len(pool), "required in extra, and missing or a placeholder") for key in lacking]
    if not pool:
        losses.append(Loss("INR", "extra", 0.5, "extra holds nothing"))
    if distinct < 1:
        detail = f"{len(set(texts))} distinct among {len(texts)} strings of extra (after normalisation)"
        losses.append(Loss("INR", "repeated strings", 0.5 * (1 - distinct), detail))
    return Scored(rounded(0.5 * distinct + 0.5 * signal), tuple(losses))
