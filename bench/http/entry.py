#!/usr/bin/env python3
"""One entry of a comparison: a client runs against a server that is there.

    entry.py wrk 8080 --program wrk --server 4711 --figure cpu_ns

Prints the figure. Exits with 75 when somebody else used the machine meanwhile,
and with 1 when the client failed; why is the last line of standard error.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import peers  # noqa: E402
from lib import console, entries, process  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from peers import Load, Peer  # noqa: E402
from web import Site  # noqa: E402

CPU, MEDIAN = FIGURES = ("cpu_ns", "p50_ns")
# An entry that was disturbed waits so long before the next one begins.
CALM_SECONDS = 1.0
# A client starts, connects and warms up before it is looked at.
SETTLE_SECONDS = 0.7
PATIENCE_SECONDS = 30.0
REQUESTS_MIN = 200


def command(
    peer: Peer, site: Site, load: Load, figure: str, place: Sequence[str], family: Collection[int]
) -> str:
    """The shell command of an entry."""
    words = [__file__, *peer.words, str(site.port), "--server", str(site.pid)]
    words += ["--figure", figure, "--connections", str(load.connections)]
    words += ["--seconds", str(load.seconds)]
    if load.per_s is not None:
        words += ["--per-s", str(load.per_s)]
    if load.streams is not None:
        words += ["--streams", str(load.streams), "--h2-port", str(site.h2_port)]
    return entries.command(words, place, family)


def main(arguments: Sequence[str]) -> int:
    """Runs one client while it watches the machine; the exit status."""
    options = parse(arguments)
    peer = peers.named(
        options.kind, options.program, holds_tick=options.hold_tick, bare=options.bare
    )
    site = Site(options.port, options.server, options.h2_port)
    load = Load(options.connections, options.seconds, options.per_s, options.streams)
    measure = cpu_ns if options.figure == CPU else median_ns
    return entries.watched(
        lambda: measure(peer, site, load, options.client), options.family, CALM_SECONDS
    )


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options; `command` writes all of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("kind", choices=peers.KINDS, help="what the client is")
    add("port", type=int, help="of the server")
    add("--program", type=Path, required=True, help="the client")
    add("--hold-tick", action="store_true", help="the client keeps its processor's tick")
    add("--bare", action="store_true", help="the limit neither reads nor times an answer")
    add("--server", type=int, required=True, help="process id of the server")
    add("--figure", choices=FIGURES, default=CPU, help="which figure to print: %(default)s")
    add("--connections", type=int, default=1, help="one request in flight on each: %(default)s")
    add("--seconds", type=float, default=1.0, help="how long: %(default)s")
    add("--per-s", type=int, help="requests begun a second; as fast as possible unless given")
    add("--streams", type=int, help="under way on each connection of HTTP/2; HTTP/1.1 unless given")
    add("--h2-port", type=int, default=0, help="where the server speaks HTTP/2")
    entries.add_shared(parser)
    return parser.parse_args(arguments)


def cpu_ns(peer: Peer, site: Site, load: Load, place: Sequence[str]) -> float:
    """Processor time of the client for one request, in nanoseconds, once it
    runs: its own clock of processor time against the server's count. Starting
    and reporting, which every client does in its own way, stay outside."""
    longer = replace(load, seconds=load.seconds + 2 * SETTLE_SECONDS)
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        words = [*place, *peer.command(site, longer, Path(scratch))]
        quiet = subprocess.DEVNULL
        with process.running(words, stdout=quiet, stderr=quiet) as client:
            time.sleep(SETTLE_SECONDS)
            before, used = site.requests(), process.cpu_seconds(client.pid)
            time.sleep(load.seconds)
            requests = site.requests() - before - 1  # our own question
            seconds = process.cpu_seconds(client.pid) - used
    if requests < REQUESTS_MIN:
        raise BenchFailure(f"{peer.words[0]} sent {requests} requests in {load.seconds} s")
    return 1e9 * seconds / requests


def median_ns(peer: Peer, site: Site, load: Load, place: Sequence[str]) -> float:
    """The median response time, as the client prints it."""
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        words = [*place, *peer.command(site, load, Path(scratch))]
        ended = process.ended(words, load.seconds + PATIENCE_SECONDS)
    # plumb ends with 1 when it does not trust its own figures; the bench judges by itself
    if ended.status not in (0, 1):
        raise BenchFailure(f"{peer.words[0]} ended with {ended.status}: {ended.said()}")
    return peer.p50_ns(ended.out)


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
