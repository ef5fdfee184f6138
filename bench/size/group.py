"""A control group that bounds the memory of what is started in it, of either version."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lib.failure import BenchFailure

V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


@contextmanager
def bounded(limit_bytes: int) -> Iterator[Path]:
    """A group of its own, removed behind the block."""
    parent, file = (V1, "memory.limit_in_bytes") if V1.is_dir() else (V2, "memory.max")
    group = parent / f"plumb-bench-{os.getpid()}"
    try:
        group.mkdir()
        (group / file).write_text(str(limit_bytes))
    except OSError as error:
        hint = "memory in a control group needs root and a writable /sys/fs/cgroup"
        raise BenchFailure(f"{group}: {error.strerror}; {hint}") from error
    try:
        yield group / "cgroup.procs"
    finally:
        group.rmdir()
