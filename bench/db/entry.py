#!/usr/bin/env python3
"""One entry of a comparison: a client asks SELECT 1 over one kept connection.

    entry.py plumb 5432 --program target/release/plumb
    entry.py pgbench 5432 --program /usr/lib/postgresql/15/bin/pgbench

Prints the median time of a call in nanoseconds.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import console, process  # noqa: E402
from lib.cluster import USER  # noqa: E402

KINDS = ("plumb", "pgbench")
PATIENCE_SECONDS = 30.0
STATEMENT = "SELECT 1;\n"


def command(kind: str, program: str, port: int, seconds: int, place: Sequence[str]) -> str:
    """The shell command of an entry; the shell gives way to it."""
    words = [*place, sys.executable, __file__, kind, str(port), "--program", program]
    return f"exec {shlex.join([*words, '--seconds', str(seconds)])}"


def main(arguments: Sequence[str]) -> int:
    """Runs one client and prints its figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("port", type=int)
    parser.add_argument("--program", required=True)
    parser.add_argument("--seconds", type=int, default=2, help="how long: %(default)s")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        asked = plumb if options.kind == "plumb" else pgbench
        print(asked(options.program, options.port, options.seconds, Path(scratch)))
    return 0


def plumb(program: str, port: int, seconds: int, scratch: Path) -> float:
    """The median that the record has; the machine is not watched meanwhile."""
    url = f"postgres://{USER}@127.0.0.1:{port}/postgres?sslmode=disable"
    words = ["--over", "kept", "--ask", "trivial", "--for", f"{seconds}s"]
    words += ["--host-interval", "0s", "--foreign-limit", "100%"]
    words += ["--out", str(scratch / "run"), "--json"]
    out = process.run([program, "db", "ping", url, *words], seconds + PATIENCE_SECONDS)
    return float(json.loads(out)["results"][0]["service_ns"]["p50"])


def pgbench(program: str, port: int, seconds: int, scratch: Path) -> float:
    """The median of the times in its log, which has whole microseconds."""
    script = scratch / "select.sql"
    script.write_text(STATEMENT, encoding="ascii")
    words = ["-h", "127.0.0.1", "-p", str(port), "-U", USER, "-n", "-M", "prepared"]
    words += ["-f", str(script), "-c", "1", "-T", str(seconds)]
    words += ["-l", f"--log-prefix={scratch / 'log'}", "postgres"]
    process.run([program, *words], seconds + PATIENCE_SECONDS)
    (log,) = scratch.glob("log.*")
    # client, transaction, time in us, script, seconds, microseconds
    times = [int(line.split()[2]) for line in log.read_text().splitlines()]
    return 1000 * smooth_median(times)


def smooth_median(times: Sequence[int]) -> float:
    """The median of whole numbers that were cut off, as if those of one value
    were spread evenly over it."""
    middle = int(median(times))
    below = sum(time < middle for time in times)
    equal = sum(time == middle for time in times)
    return middle + (len(times) / 2 - below) / max(equal, 1)


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
