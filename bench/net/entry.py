#!/usr/bin/env python3
"""One entry of a comparison: a client runs against a server that is there.

    entry.py plumb 127.0.0.1:3298 --program target/release/plumb --figure p50_ns

Prints the figure. Exits with 75 when somebody else used the machine meanwhile,
and with 1 when the client failed; why is the last line of standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import peers  # noqa: E402
import streams  # noqa: E402
from lib import console, entries  # noqa: E402
from peers import (  # noqa: E402
    EPOLL,
    PLUMB,
    PLUMB_TLS,
    SOCKPERF,
    Endpoint,
    Limit,
    Load,
    Peer,
    Plumb,
    Sockperf,
)

# An entry that was disturbed waits so long before the next one begins.
CALM_SECONDS = 1.0


def command(
    peer: Peer, endpoint: Endpoint, load: Load, figure: str, family: Collection[int]
) -> str:
    """The shell command of an entry."""
    words = [__file__, *peer.words, endpoint.address, "--figure", figure]
    words += ["--size", str(load.size), "--connections", str(load.connections)]
    words += ["--response", str(load.response), "--seconds", str(load.seconds)]
    return entries.command(words, endpoint.client, family)


def main(arguments: Sequence[str]) -> int:
    """Runs one client while it watches the machine; the exit status."""
    options = parse(arguments)
    host, _, port = options.address.rpartition(":")
    endpoint = Endpoint(tuple(options.client), host, int(port))
    peer = named(options.kind, options.program, options.ca, options.hold_tick)
    load = Load(options.size, options.connections, options.seconds, options.response)
    return entries.watched(
        lambda: peer.ping(endpoint, load)[options.figure], options.family, CALM_SECONDS
    )


def named(kind: str, program: Path, ca: Path | None, holds_tick: bool) -> Peer:
    """The peer whose `words` were written, as far as its client goes."""
    if kind == SOCKPERF:
        return Sockperf()
    if kind in streams.KINDS:
        return streams.named(kind, program)
    if kind in (PLUMB, PLUMB_TLS):
        return Plumb(program, ca, holds_tick)
    return Limit(program, kind == EPOLL, holds_tick=holds_tick)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options; `command` writes all of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("kind", choices=peers.KINDS, help="what the client is")
    add("address", help="HOST:PORT of its server")
    add("--program", type=Path, help="the client, unless it is sockperf")
    add("--ca", type=Path, help="whom a client of plumb believes over TLS")
    add("--hold-tick", action="store_true", help="both sides keep their processors' ticks")
    add("--figure", default="p50_ns", help="which of its figures to print: %(default)s")
    add("--size", type=int, default=500, help="payload bytes: %(default)s")
    add("--response", type=int, default=0, help="payload bytes of the answer; 0: an echo")
    add("--connections", type=int, default=1, help="one message in flight on each: %(default)s")
    add("--seconds", type=float, default=0.6, help="how long: %(default)s")
    entries.add_shared(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
