#!/usr/bin/env python3
"""One entry of a comparison: wrk sends events to a server that is there.

    entry.py http://127.0.0.1:8000/runner/event --connections 64 --seconds 5

Prints the events a second; exits with 1 when one of them was not answered well.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import load  # noqa: E402
from lib import console  # noqa: E402


def command(url: str, connections: int, seconds: int) -> str:
    """The shell command of an entry."""
    words = [sys.executable, __file__, url, "--connections", str(connections)]
    return f"exec {shlex.join([*words, '--seconds', str(seconds)])}"


def main(arguments: Sequence[str]) -> int:
    """Runs one load; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("url", help="where events are sent")
    parser.add_argument("--connections", type=int, default=64, help="default %(default)s")
    parser.add_argument("--seconds", type=int, default=5, help="default %(default)s")
    options = parser.parse_args(arguments)
    print(load.send(options.url, options.connections, options.seconds).rate)
    return 0


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
