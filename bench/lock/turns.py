#!/usr/bin/env python3
"""Prints the processor time of the longest turn of plumb's lock server.

Over as many locks as are asked for: created, leased, listed, checked with
wildcards, expired, released and removed by owner, with a journal and its
snapshots. The server is driven without sockets. A guest counts as processor
time what its hypervisor takes away; so all is done several times, and of each
part the round counts whose longest turn was the shortest: a turn that is long
by itself is long in every round. Exits with 0 when no part's took more than
5 ms, 1 when one did, and 2 when it could not be run.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import build, process  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402

LONGEST_US = 5_000
PART = re.compile(r"^(.{34}) *[0-9]+ turns *([0-9]+) us the longest", re.MULTILINE)
BUILD_SECONDS, RUN_SECONDS = 1_800.0, 1_800.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--locks", type=int, default=10_000_000, help="locks: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="rounds: %(default)s")
    parser.add_argument("--folder", type=Path, help="where the journal is written; else a new one")
    options = parser.parse_args()
    manifest = str(build.REPOSITORY / "Cargo.toml")
    words = ["cargo", "build", "--release", "--locked", "--manifest-path", manifest]
    words += ["--target-dir", str(build.TARGET), "-p", "plumb-lock-server", "--example", "turns"]
    process.run(words, BUILD_SECONDS)
    program = build.TARGET / "release" / "examples" / "turns"
    parts: dict[str, list[int]] = {}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="plumb-turns-", dir=options.folder) as folder:
            told = process.run([str(program), str(options.locks), folder], RUN_SECONDS)
        for part, longest in PART.findall(told):
            parts.setdefault(part.rstrip(), []).append(int(longest))
    if not parts:
        raise BenchFailure("the program told no turn")
    for part, longest in parts.items():
        print(f"{part:<34}{min(longest):>8} us the longest turn; rounds: {sorted(longest)}")
    worst = max(min(longest) for longest in parts.values())
    print(f"longest turn {worst} us, at most {LONGEST_US} us wanted")
    return 0 if worst <= LONGEST_US else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchFailure as failure:
        print(f"{Path(__file__).name}: {failure}", file=sys.stderr)
        sys.exit(2)
