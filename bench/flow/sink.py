"""The table that messages end in, and what it says of them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lib import process
from lib.cluster import USER
from lib.failure import BenchFailure

MADE = (
    "drop table if exists event; create table event"
    " (number bigint, part text, at timestamptz not null default clock_timestamp())"
)
FOUND = (
    "select count(*), count(distinct number),"
    " coalesce(extract(epoch from max(at) - min(at)), 0) from event"
)


@dataclass(frozen=True)
class Rows:
    """What is in the table."""

    count: int
    distinct: int
    # from the first to the last, by the time stamps that the server gave them
    seconds: float

    @property
    def rate(self) -> float:
        """Rows a second, by the table's own time stamps."""
        return self.count / self.seconds if self.seconds > 0 else 0.0


def empty(port: int) -> None:
    """Makes the table anew."""
    ask(port, MADE)


def rows(port: int) -> Rows:
    """Looks into the table."""
    count, distinct, seconds = ask(port, FOUND).strip().split("|")
    return Rows(int(count), int(distinct), float(seconds))


@contextmanager
def closed(port: int) -> Iterator[None]:
    """Nobody else gets at the table meanwhile: whoever inserts waits."""
    session = subprocess.Popen(_psql(port), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert session.stdin and session.stdout
    try:
        session.stdin.write("begin; lock table event in access exclusive mode; select 'closed';\n")
        session.stdin.flush()
        if session.stdout.readline().strip() != "closed":
            raise BenchFailure("the table cannot be locked")
        yield
    finally:
        session.communicate("rollback;\n", timeout=60)


def ask(port: int, statement: str) -> str:
    """What psql prints, unaligned and without heads."""
    return process.run([*_psql(port), "-c", statement], 60)


def _psql(port: int) -> list[str]:
    if shutil.which("psql") is None:
        raise BenchFailure("no psql; install postgresql-client")
    place = ["-h", "127.0.0.1", "-p", str(port), "-U", USER, "-d", "postgres"]
    return ["psql", *place, "-qAtX", "-v", "ON_ERROR_STOP=1"]


def memory(server: subprocess.Popen[str]) -> int:
    """The largest resident memory of a server so far, bytes."""
    return process.memory_bytes(server.pid).get("VmHWM", 0)
