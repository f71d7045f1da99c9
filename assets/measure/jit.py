"""A typed door to numba, which has no types of its own.

Importing this module imports numba (about a second); callers load the modules of kernels inside their workers only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def kernel(function: AnyFunction) -> AnyFunction:
    """Compile `function` for each new set of argument types at its first call; it runs without the interpreter lock.

    Machine code is cached beside the source, keyed by that one file: a kernel may call other kernels of its own module
    only, or a change there would go unnoticed. Where no place for a cache can be written, each process compiles anew.
    """
    try:
        return cast("AnyFunction", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        return cast("AnyFunction", numba.njit(nogil=True)(function))
