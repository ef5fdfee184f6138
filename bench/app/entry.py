#!/usr/bin/env python3
"""One entry of a comparison: wrk against a server that is there.

    entry.py 127.0.0.1:8000 /page.htm --connections 16 --seconds 2

Prints the requests a second; exits with 1 when one of them was not answered well.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import servers  # noqa: E402
from lib import console  # noqa: E402


def command(address: str, path: str, connections: int, seconds: int, place: Sequence[str]) -> str:
    """The shell command of an entry."""
    words = [sys.executable, __file__, address, path, "--connections", str(connections)]
    words += ["--seconds", str(seconds), "--client", shlex.join(place)]
    return f"exec {shlex.join(words)}"


def main(arguments: Sequence[str]) -> int:
    """Runs one load; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("address", help="HOST:PORT of the server")
    parser.add_argument("path", help="what is asked for")
    parser.add_argument("--connections", type=int, default=16, help="default %(default)s")
    parser.add_argument("--seconds", type=int, default=2, help="default %(default)s")
    parser.add_argument("--client", default="", help="words in front of wrk")
    options = parser.parse_args(arguments)
    place = shlex.split(options.client)
    load = servers.load(options.address, options.path, options.connections, options.seconds, place)
    print(load)
    return 0


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
