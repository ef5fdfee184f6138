"""What the pieces of an integration can do by themselves: inserts, and a queue in SQLite."""

from __future__ import annotations

import json
import os
import re
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from lib import build, cluster, process
from lib.failure import BenchFailure

HERE = Path(__file__).resolve().parent
RATE = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)
INSERT = "\\set n random(1, 1000000000)\ninsert into event (number, part) values (:n, 'PART-7');\n"
GROUP = 64
FLUSHES, FLUSH_BYTES = 200, 16 << 10


def inserts(port: int, clients: int, seconds: int, folder: Path) -> float:
    """Rows a second that pgbench inserts, a transaction each."""
    script = folder / "insert.sql"
    script.write_text(INSERT, encoding="ascii")
    words = ["-h", "127.0.0.1", "-p", str(port), "-U", cluster.USER, "-n", "-M", "prepared"]
    words += ["-f", str(script), "-c", str(clients), "-j", "2", "-T", str(seconds), "postgres"]
    said = process.run([cluster.pgbench(), *words], seconds + 60)
    found = RATE.search(said)
    if found is None:
        raise BenchFailure(f"pgbench printed no rate: {said[-300:]}")
    return float(found.group(1))


def queue(messages: int, size: int, folder: Path) -> dict[str, float]:
    """Messages a second that a plain C program has SQLite keep, and give out again."""
    build.library("sqlite3.h", "libsqlite3-dev")
    into = build.TARGET / "bench" / "flow"
    program = build.c_program(HERE / "limit_queue.c", into, ("sqlite3",))
    words: Sequence[str] = [str(folder / "limit.db"), str(messages), str(size), str(GROUP)]
    return json.loads(process.run([str(program), *words], 600))


def flush_seconds(folder: Path) -> float:
    """The median time of a write of 16 KiB with its flush."""
    block = os.urandom(FLUSH_BYTES)
    took = []
    file = os.open(folder / "flush", os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        os.pwrite(file, bytes(FLUSHES * FLUSH_BYTES), 0)
        os.fsync(file)
        for number in range(FLUSHES):
            began = time.perf_counter()
            os.pwrite(file, block, number * FLUSH_BYTES)
            os.fdatasync(file)
            took.append(time.perf_counter() - began)
    finally:
        os.close(file)
    return statistics.median(took)
