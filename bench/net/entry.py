#!/usr/bin/env python3
"""One entry of a comparison: a client runs against a server that is there.

    entry.py plumb 127.0.0.1:3298 --program target/release/plumb --figure p50_ns

Prints the figure. Exits with 75 when somebody else used the machine meanwhile,
and with 1 when the client failed; why is the last line of standard error.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import peers  # noqa: E402
from lib import console, foreign, process  # noqa: E402
from lib.console import say  # noqa: E402
from lib.echo import Figures  # noqa: E402
from lib.experiment import DISTURBED  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from peers import Endpoint, Load, Peer  # noqa: E402

FAILED = 1
# Foreign load comes in bursts; an entry begun at once would meet the same one.
CALM_SECONDS = 1.0


def command(
    peer: Peer, endpoint: Endpoint, load: Load, figure: str, family: Collection[int]
) -> str:
    """The shell command of an entry; the shell gives way to it, so that whoever
    ends the command ends the entry itself, and waits for it."""
    words = [sys.executable, __file__, *peer.words, endpoint.address, "--figure", figure]
    words += ["--size", str(load.size), "--connections", str(load.connections)]
    words += ["--response", str(load.response)]
    words += ["--seconds", str(load.seconds), "--client", shlex.join(endpoint.client)]
    words += ["--family", ",".join(map(str, family))]
    return f"exec {shlex.join(words)}"


def main(arguments: Sequence[str]) -> int:
    """Runs one client while it watches the machine; the exit status."""
    options = parse(arguments)
    host, _, port = options.address.rpartition(":")
    endpoint = Endpoint(tuple(shlex.split(options.client)), host, int(port))
    peer = peers.named(options.kind, options.program, options.ca)
    load = Load(options.size, options.connections, options.seconds, options.response)
    try:
        figures, disturbed = watched(peer, endpoint, load, options.family)
    except BenchFailure as failure:
        say(" ".join(str(failure).split()))
        return FAILED
    if disturbed is not None:
        time.sleep(CALM_SECONDS)
        say(disturbed)
        return DISTURBED
    print(figures[options.figure])
    return 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options; `command` writes all of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("kind", choices=peers.KINDS, help="what the client is")
    add("address", help="HOST:PORT of its server")
    add("--program", type=Path, help="the client, unless it is sockperf")
    add("--ca", type=Path, help="whom a client of plumb believes over TLS")
    add("--figure", default="p50_ns", help="which of its figures to print: %(default)s")
    add("--size", type=int, default=500, help="payload bytes: %(default)s")
    add("--response", type=int, default=0, help="payload bytes of the answer; 0: an echo")
    add("--connections", type=int, default=1, help="one message in flight on each: %(default)s")
    add("--seconds", type=float, default=0.6, help="how long: %(default)s")
    add("--client", default="", help="words in front of the client, such as 'taskset -c 0'")
    add("--family", type=process_ids, default=[],
        help="processes that are not foreign, the servers and the bench")  # fmt: skip
    return parser.parse_args(arguments)


def process_ids(text: str) -> list[int]:
    """Reads a comma-separated list."""
    return [int(word) for word in text.split(",")]


def watched(
    peer: Peer, endpoint: Endpoint, load: Load, family: Collection[int]
) -> tuple[Figures, str | None]:
    """What the client printed, and why it does not count."""
    # Parents only wait; what little they do is the bench's own.
    family = {*family, *process.parents(until=family)}
    before = foreign.look(family)
    figures = peer.ping(endpoint, load)
    return figures, foreign.between(before, foreign.look(family)).reason()


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
