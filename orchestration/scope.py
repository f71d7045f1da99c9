"""Whether this process sees a dataset by subject or as a whole.

`dagster asset materialize` refuses to touch a partitioned asset without `--partition`, before any of our code runs. So that
`--select kits23*` alone means "whatever is new or changed", a process that was started by that command without a partition
builds the same assets without partitions. Everything else (the UI, the daemon, `--partition`) sees a partition per subject.
The answer is kept in the environment, so that child processes agree with their parent.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import PurePath

VARIABLE = "MEDFOUNDRY_SCOPE"
_WHOLE, _BY_SUBJECT = "whole", "subject"


def by_subject() -> bool:
    """Whether assets are built with a partition per subject."""
    decided = os.environ.setdefault(VARIABLE, _WHOLE if asks_for_everything(sys.argv) else _BY_SUBJECT)
    return decided == _BY_SUBJECT


def asks_for_everything(arguments: Sequence[str]) -> bool:
    """Whether a command line materializes assets without naming a partition."""
    if any(a.split("=")[0] in {"--partition", "--partition-range"} for a in arguments):
        return False
    program = PurePath(arguments[0]).parts[-2:] if arguments else ()
    words = [a for a in arguments[1:] if not a.startswith("-")]
    if program and (PurePath(program[-1]).stem == "dagster" or program == ("dagster", "__main__.py")):
        return words[:2] == ["asset", "materialize"]
    if program and PurePath(program[-1]).stem == "dg":
        return words[:1] == ["launch"] and any(a.split("=")[0] == "--assets" for a in arguments)
    return False
