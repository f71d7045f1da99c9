"""How long to wait, how often to try again, and when to give up."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of patience.

    Attributes:
        attempts: How many attempts in a row may fail without getting further.
        most_attempts: How many attempts one file gets in all.
        first_wait_s: Wait after the first failure; it doubles with every further one.
        longest_wait_s: Longest wait of our own.
        longest_asked_s: Longest wait that a host may ask for; beyond it the file fails.
        connect_s: Time to connect.
        silence_s: Time without a byte after which a connection counts as stalled.
        slow_window_s: Over this time at least `slow_bytes` must arrive.
        slow_bytes: See `slow_window_s`.
        redirects: How many redirects are followed.
        checkpoint_bytes: How much may be lost of a file when the machine loses power.
    """

    attempts: int = 6
    most_attempts: int = 1000
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    longest_asked_s: float = 600.0
    connect_s: float = 30.0
    silence_s: float = 60.0
    slow_window_s: float = 120.0
    slow_bytes: int = 64 << 10
    redirects: int = 8
    checkpoint_bytes: int = 32 << 20

    def wait_s(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row: doubling, capped, and spread by up to a quarter."""
        plain: float = min(self.first_wait_s * 2 ** min(failures - 1, 30), self.longest_wait_s)
        return plain * random.uniform(0.75, 1.0)  # noqa: S311  # spreads clients, guards nothing


def asked_wait_s(header: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a `Retry-After` header asks for: a number, or a date; None when it is absent or unreadable."""
    if not header:
        return None
    if header.isascii() and header.strip().isdigit():
        return float(header)
    try:
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
