"""Tries again what may pass, a bounded number of times."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from resources.download.errors import DownloadError, PassingError, StoppedError
from resources.download.network import Network
from resources.download.watch import Watch

_T = TypeVar("_T")


def persist(action: Callable[[], _T], network: Network, watch: Watch, reached: Callable[[], int] = lambda: 0) -> _T:
    """Call `action` until it succeeds, fails for good, or fails too often without getting further.

    Args:
        action: What is tried; a `PassingError` makes it be tried again.
        network: Whose policy and stop signal count.
        watch: Told of every wait.
        reached: How far the action has got, as a number that grows.

    Raises:
        DownloadError: The action failed for good, or too often.
        StoppedError: Somebody asked to stop.
    """
    policy = network.policy
    failures, best = 0, reached()
    for attempt in range(1, policy.most_attempts + 1):
        try:
            return action()
        except PassingError as error:
            now = reached()
            failures = 1 if now > best else failures + 1
            best = max(best, now)
            if failures >= policy.attempts or attempt == policy.most_attempts:
                raise DownloadError(f"{error}. Given up after {attempt} attempts; run the command again to go on") from None
            wait = policy.wait_s(failures) if error.wait_s is None else error.wait_s
            watch.say(f"{error}; trying again in {wait:.0f} s")
        if network.stop.wait(wait):
            raise StoppedError("stopped")
    raise DownloadError("no attempt is allowed")
