"""Which process works for a run, written so that another process can tell whether it is still there."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

_ENDED = "ZXx"
"""States in proc(5) of a process that has ended, though its parent has not asked for its exit code yet."""


@dataclass(frozen=True, slots=True)
class Claim:
    """That a process works for a run.

    Attributes:
        run: Id of the run. Dagster copies the tags of a run to the runs that repeat it; theirs is another id.
        host: Name of the machine.
        namespace: Of process ids, as in pid_namespaces(7): containers may share the name of their machine, not its ids. Empty
            where there is no /proc.
        pid: The process.
        started: When it started, in clock ticks since the machine did; none where there is no /proc.
    """

    run: str
    host: str
    namespace: str
    pid: int
    started: int | None

    @classmethod
    def of_this_process(cls, run: str) -> Self:
        """This process works for the run."""
        pid = os.getpid()
        found = _state(pid)
        return cls(run, socket.gethostname(), _namespace(), pid, found[1] if found else None)

    @classmethod
    def from_text(cls, text: str) -> Self | None:
        """What `to_text` wrote; none when it is anything else."""
        try:
            fields = json.loads(text)
            claim = cls(**fields)
        except (ValueError, TypeError):
            return None
        return claim if isinstance(fields["pid"], int) and 0 < claim.pid < 2**31 else None

    def to_text(self) -> str:
        """As the value of a tag."""
        return json.dumps(asdict(self))

    def is_void(self) -> bool:
        """Whether the process is certainly gone; false where this process cannot know."""
        if (self.host, self.namespace) != (socket.gethostname(), _namespace()):
            return False
        found = _state(self.pid)
        if found is None:
            return not _exists(self.pid)
        state, started = found
        return state in _ENDED or (self.started is not None and started != self.started)


def _state(pid: int) -> tuple[str, int] | None:
    """State and start time of a process, the third and the 22nd field in proc(5); none where they cannot be read."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The second field is the name of the program in parentheses, which may hold blanks and parentheses.
    fields = content[content.rindex(b")") + 1 :].split()
    return fields[0].decode(), int(fields[19])


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
