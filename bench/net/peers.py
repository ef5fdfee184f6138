"""The programs compared: how each is started, asked, and understood.

A peer has two sides. `serving` gives a Server that lives as long as its
block. `ping` runs one client against it and returns the figures it printed,
among them `p50_ns` (median round trip) or `per_s` (messages per second).
`words` name the peer on the command line of entry.py.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lib import echo, process
from lib.echo import Figures
from lib.failure import BenchFailure
from lib.placement import Placement

WARM_UP_SHARE = 0.1
# What both sides of a peer are told that is to keep its processors' ticks.
HELD = ("--hold-tick",)
PATIENCE_SECONDS = 30.0
PINGPONG, EPOLL, PLUMB, SOCKPERF = "pingpong", "epoll", "plumb", "sockperf"
STREAMING, IPERF3, IPERF, QPERF = "streaming", "iperf3", "iperf", "qperf"
TLS, PLUMB_TLS = "tls", "plumb-tls"
KINDS = (PINGPONG, EPOLL, PLUMB, SOCKPERF, TLS, PLUMB_TLS, STREAMING, IPERF3, IPERF, QPERF)


@dataclass(frozen=True)
class Endpoint:
    """Where a server listens, and the words that place its clients."""

    client: tuple[str, ...]
    host: str
    port: int

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Server:
    """A server that is ready."""

    endpoint: Endpoint
    pid: int


@dataclass(frozen=True)
class Load:
    """What one entry asks of a client."""

    size: int
    connections: int
    seconds: float
    # Payload of the answer; 0: the message comes back as it went.
    response: int = 0


class Peer(Protocol):
    """Anything that can be compared."""

    @property
    def words(self) -> list[str]:
        """Its kind, and its program where it is one of ours."""

    def serving(self, placement: Placement) -> AbstractContextManager[Server]:
        """The server, until the block ends."""

    def ping(self, endpoint: Endpoint, load: Load) -> Figures:
        """Runs one client to its end."""


@dataclass(frozen=True)
class Limit:
    """One of the two C programs."""

    program: Path
    takes_connections: bool
    # Payload of every answer; 0: messages come back as they went.
    response: int = 0
    # Both sides keep the ticks of their processors while they wait.
    holds_tick: bool = False

    @property
    def words(self) -> list[str]:
        """`pingpong` or `epoll`, and the program."""
        kind = EPOLL if self.takes_connections else PINGPONG
        return [kind, "--program", str(self.program), *_held(self.holds_tick)]

    @contextmanager
    def serving(self, placement: Placement) -> Iterator[Server]:
        """`limit_* server 0 HOST [RESPONSE]`."""
        command = [*placement.server, str(self.program), *_held(self.holds_tick)]
        command += ["server", "0", placement.host]
        command += [str(self.response)] if self.response else []
        with process.running(command) as server:
            yield ready(placement, process.announced_port(server), server)

    def ping(self, endpoint: Endpoint, load: Load) -> Figures:
        """`limit_* client HOST PORT SIZE [CONNECTIONS] SECONDS [RESPONSE]`; prints
        its figures."""
        connections = [str(load.connections)] if self.takes_connections else []
        command = [*endpoint.client, str(self.program), *_held(self.holds_tick), "client"]
        command += [endpoint.host, str(endpoint.port)]
        command += [str(load.size), *connections, str(load.seconds)]
        command += [str(load.response)] if load.response else []
        figures: Figures = json.loads(process.run(command, load.seconds + PATIENCE_SECONDS))
        return figures


@dataclass(frozen=True)
class Plumb:
    """`plumb net serve` and `plumb net ping`."""

    program: Path
    # The authority that the client believes over TLS; without one it speaks none.
    ca: Path | None = None
    # Both sides keep the ticks of their processors while they wait.
    holds_tick: bool = False

    @property
    def words(self) -> list[str]:
        """`plumb`, and the program."""
        return [PLUMB, "--program", str(self.program), *_held(self.holds_tick)]

    @contextmanager
    def serving(self, placement: Placement) -> Iterator[Server]:
        """On a port the server picks and announces."""
        place, options = placement.server, _held(self.holds_tick)
        with echo.serving(self.program, place, placement.host, options) as (server, port):
            yield ready(placement, port, server)

    def ping(self, endpoint: Endpoint, load: Load) -> Figures:
        """For a time, the first tenth of which is warm-up, as for the limit."""
        length_ms, warm_up_ms = (
            round(1000 * load.seconds * share) for share in (1.0, WARM_UP_SHARE)
        )
        length = ["--for", f"{length_ms}ms", "--warmup", f"{warm_up_ms}ms"]
        with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
            command = self.command(endpoint, load.size, load.connections, length, Path(scratch))
            if load.response:
                command += ["--request", f"{load.size}B", "--response", f"{load.response}B"]
                without = command.index("--size")
                del command[without : without + 2]
            printed = process.run(command, load.seconds + PATIENCE_SECONDS)
        return echo.figures(printed)

    def command(
        self, endpoint: Endpoint, size: int, connections: int, length: list[str], scratch: Path
    ) -> list[str]:
        """The command line of one `plumb net ping`."""
        command = [*endpoint.client, str(self.program), "net", "ping", endpoint.address]
        command += ["--size", f"{size}B", "--connections", str(connections), *length]
        if self.ca is not None:
            command += ["--tls", "--ca", str(self.ca)]
        command += _held(self.holds_tick)
        return [*command, "--json", "--out", str(scratch / "out")]


@dataclass(frozen=True)
class Sockperf:
    """`sockperf` over TCP. Its message is SIZE bytes with its own header in
    them; the NI frame of the others is 4 bytes longer."""

    @property
    def words(self) -> list[str]:
        """`sockperf`, wherever it is installed."""
        return [SOCKPERF]

    @contextmanager
    def serving(self, placement: Placement) -> Iterator[Server]:
        """On a port found free before, for it cannot pick one."""
        port = process.free_port()
        command = [*placement.server, "sockperf", "server", "--tcp"]
        command += ["-i", placement.host, "-p", str(port)]
        quiet = subprocess.DEVNULL
        with process.running(command, stdout=quiet, stderr=quiet) as server:
            process.await_listening(server, port)
            yield ready(placement, port, server)

    def ping(self, endpoint: Endpoint, load: Load) -> Figures:
        """For whole seconds; it warms up for 0.4 s of them by itself."""
        seconds = math.ceil(load.seconds)
        command = [*endpoint.client, "sockperf", "ping-pong", "--tcp", "--full-rtt"]
        command += ["-i", endpoint.host, "-p", str(endpoint.port)]
        command += ["-m", str(load.size), "-t", str(seconds)]
        return sockperf_figures(process.run(command, seconds + PATIENCE_SECONDS))


def _held(holds_tick: bool) -> tuple[str, ...]:
    return HELD if holds_tick else ()


def ready(placement: Placement, port: int, server: subprocess.Popen[str]) -> Server:
    return Server(Endpoint(placement.client, placement.host, port), server.pid)


def sockperf_figures(printed: str) -> Figures:
    """Its percentiles are microseconds with three decimals."""
    found = dict(re.findall(r"percentile (\d+\.\d+)\s*=\s*([\d.]+)", printed))
    count = re.search(r"Total (\d+) observations", printed)
    if "50.000" not in found or count is None:
        raise BenchFailure(f"sockperf printed no 50th percentile: {printed[-2000:]}")
    return {
        "count": int(count.group(1)),
        "p50_ns": 1000 * float(found["50.000"]),
        "p99_ns": 1000 * float(found["99.000"]),
    }
