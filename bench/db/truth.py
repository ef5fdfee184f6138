#!/usr/bin/env python3
"""What `plumb db ping` finds where the truth is known.

A statement that sleeps 10 ms in the server, a line of 5 ms each way, and a pool of 2 connections with
8 callers: the server has 10 ms, the wire 10 ms, and a caller waits three calls of its connection, 60 ms.
Exits with 0 when every part is within 10 %, 1 when one is not, and 2 when a run could not be taken.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import build, cluster, console, mariadb, process  # noqa: E402
from lib.console import say  # noqa: E402
from lib.options import add_shared, names, positive  # noqa: E402
from lib.table import table  # noqa: E402

MS = 1e6
WITHIN = 0.10
# Nanoseconds of each part. A call takes server and wire; three of them pass before a caller's turn.
TRUTH = {"server": 10 * MS, "wire": 10 * MS, "queue": 3 * 20 * MS}
DATABASES = {
    "postgresql": (
        cluster.serving,
        f"postgres://{cluster.USER}@%s/postgres?sslmode=disable",
        "select pg_sleep(0.01)",
    ),
    "mariadb": (
        mariadb.serving,
        f"mysql://{mariadb.USER}@%s/{mariadb.DATABASE}?ssl-mode=DISABLED",
        "select sleep(0.01)",
    ),
}
HEAD = ("database", "part", "truth ms", "found ms", "off", "verdict")


def main(arguments: Sequence[str]) -> int:
    """Measures each database, and holds each part against the truth."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--databases", type=names(tuple(DATABASES)), default=list(DATABASES),
        help="comma-separated: %(default)s")  # fmt: skip
    add("--seconds", type=positive(int), default=20, help="of each run: %(default)s")
    add_shared(parser)
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    build.package("pgbench", "postgresql")
    build.package("mariadb-slap", "mariadb-server")
    rows, missed = [], False
    for name in options.databases:
        found = measure(name, program, options.seconds)
        for part, truth in TRUTH.items():
            off = found[part] / truth - 1
            is_met = abs(off) <= WITHIN
            missed |= not is_met
            rows.append([name, part, f"{truth / MS:.2f}", f"{found[part] / MS:.2f}",
                         f"{off:+.1%}", "met" if is_met else "missed"])  # fmt: skip
        say(f"{name}: done")
    print(table(HEAD, rows))
    return 1 if missed else 0


def measure(name: str, program: Path, seconds: int) -> dict[str, float]:
    """The mean of each part, nanoseconds."""
    serving, url, statement = DATABASES[name]
    with serving([]) as port, tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        relay = [str(program), "net", "delay", f"127.0.0.1:{port}", "--delay", "5ms"]
        with process.running([*relay, "--listen", "127.0.0.1:0"], stderr=subprocess.DEVNULL) as line:
            address = f"127.0.0.1:{process.announced_port(line)}"
            words = ["--over", "pool", "--pool", "2", "--callers", "8", "--ask", "own"]
            words += ["--statement", statement, "--for", f"{seconds}s", "--warmup", "1s"]
            words += ["--foreign-limit", "100%", "--out", f"{scratch}/run", "--json"]
            out = process.run([str(program), "db", "ping", url % address, *words], seconds + 60.0)
    attribution = json.loads(out)["results"][0]["attribution"]
    return {part["kind"]: float(part["time"]["mean_ns"]) for part in attribution["parts"]}


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
