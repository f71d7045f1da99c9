from __future__ import annotations

import subprocess
import sys

from resources.workers import Workers

FORKED = """
import os
from resources.workers import Workers
workers = Workers("forked")
assert workers.submit(sum, [1, 2]).result() == 3
child = os.fork()
if child == 0:
    os._exit(0 if workers.submit(sum, [3, 4]).result(timeout=20) == 7 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_what_a_task_gives_or_raises_is_handed_on() -> None:
    workers = Workers("test")
    assert workers.submit(divmod, 7, 2).result() == (3, 1)
    assert isinstance(workers.submit(divmod, 7, 0).exception(), ZeroDivisionError)


def test_a_forked_process_has_threads_of_its_own() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=60)
