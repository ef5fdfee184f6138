#!/usr/bin/env python3
"""One entry of a comparison: a client asks SELECT 1 over one kept connection.

    entry.py plumb 5432 --program target/release/plumb
    entry.py pgbench 5432 --program /usr/lib/postgresql/15/bin/pgbench
    entry.py plumb-mariadb 3306 --program target/release/plumb
    entry.py mysqlslap 3306 --program /usr/bin/mariadb-slap

Prints the median time of a call in nanoseconds; of MariaDB the mean, as mysqlslap tells no more.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import console, mariadb, process  # noqa: E402
from lib.cluster import USER  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402

PATIENCE_SECONDS = 30.0
STATEMENT = "SELECT 1;\n"


def command(kind: str, program: str, port: int, calls: int, place: Sequence[str]) -> str:
    """The shell command of an entry; the shell gives way to it."""
    words = [*place, sys.executable, __file__, kind, str(port), "--program", program]
    return f"exec {shlex.join([*words, '--calls', str(calls)])}"


def main(arguments: Sequence[str]) -> int:
    """Runs one client and prints its figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=list(ASKED))
    parser.add_argument("port", type=int)
    parser.add_argument("--program", required=True)
    parser.add_argument("--calls", type=int, default=4000, help="statements: %(default)s")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        print(ASKED[options.kind](options.program, options.port, options.calls, Path(scratch)))
    return 0


def plumb(program: str, port: int, calls: int, scratch: Path) -> float:
    """The median that the record has; the machine is not watched meanwhile."""
    url = f"postgres://{USER}@127.0.0.1:{port}/postgres?sslmode=disable"
    return kept(program, url, calls, scratch)["p50"]


def plumb_mariadb(program: str, port: int, calls: int, scratch: Path) -> float:
    """The mean that the record has."""
    url = f"mysql://{mariadb.USER}@127.0.0.1:{port}/{mariadb.DATABASE}?ssl-mode=DISABLED"
    return kept(program, url, calls, scratch)["mean"]


def kept(program: str, url: str, calls: int, scratch: Path) -> dict[str, float]:
    """The service times over one kept connection."""
    words = ["--over", "kept", "--ask", "trivial", "--count", str(calls)]
    words += ["--warmup", "0s", "--floor", "0"]
    words += ["--host-interval", "0s", "--foreign-limit", "100%"]
    words += ["--out", str(scratch / "run"), "--json"]
    out = process.run([program, "db", "ping", url, *words], PATIENCE_SECONDS)
    times = json.loads(out)["results"][0]["service_ns"]
    return {"p50": float(times["p50"]), "mean": float(times["mean"])}


def pgbench(program: str, port: int, calls: int, scratch: Path) -> float:
    """The median of the times in its log, which has whole microseconds."""
    script = scratch / "select.sql"
    script.write_text(STATEMENT, encoding="ascii")
    words = ["-h", "127.0.0.1", "-p", str(port), "-U", USER, "-n", "-M", "prepared"]
    words += ["-f", str(script), "-c", "1", "-t", str(calls)]
    words += ["-l", f"--log-prefix={scratch / 'log'}", "postgres"]
    process.run([program, *words], PATIENCE_SECONDS)
    (log,) = scratch.glob("log.*")
    # client, transaction, time in us, script, seconds, microseconds
    times = [int(line.split()[2]) for line in log.read_text().splitlines()]
    return 1000 * smooth_median(times)


def mysqlslap(program: str, port: int, calls: int, _scratch: Path) -> float:
    """The time of all statements by their number."""
    words = ["--no-defaults", "--host=127.0.0.1", f"--port={port}", f"--user={mariadb.USER}"]
    words += [f"--create-schema={mariadb.DATABASE}", "--no-drop", "--concurrency=1"]
    words += ["--iterations=1", f"--number-of-queries={calls}", f"--query={STATEMENT.strip()}"]
    out = process.run([program, *words], PATIENCE_SECONDS)
    found = re.search(r"Average number of seconds to run all queries: ([0-9.]+)", out)
    if not found:
        raise BenchFailure(f"mysqlslap named no time: {out}")
    return 1e9 * float(found.group(1)) / calls


def smooth_median(times: Sequence[int]) -> float:
    """The median of whole numbers that were cut off, as if those of one value
    were spread evenly over it."""
    middle = int(median(times))
    below = sum(time < middle for time in times)
    equal = sum(time == middle for time in times)
    return middle + (len(times) / 2 - below) / max(equal, 1)


ASKED = {
    "plumb": plumb,
    "pgbench": pgbench,
    "plumb-mariadb": plumb_mariadb,
    "mysqlslap": mysqlslap,
}

if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
