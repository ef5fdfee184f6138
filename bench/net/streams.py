"""Bytes one way: the programs that carry streams, and what each prints.

The figure is `bits_per_s`, payload as the receiver counted it, but for iperf
and qperf, which print what their client knows.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lib import echo, process
from lib.echo import Figures
from lib.failure import BenchFailure
from lib.placement import Placement
from peers import (
    IPERF,
    IPERF3,
    PATIENCE_SECONDS,
    QPERF,
    STREAMING,
    Endpoint,
    Load,
    Peer,
    Server,
    ready,
)

BITS = "bits_per_s"
# The program of each, and the package it comes in.
PACKAGES = {IPERF3: "iperf3", IPERF: "iperf", QPERF: "qperf"}
KINDS = (STREAMING, *PACKAGES)
UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def missing() -> list[str]:
    """The peers that are not installed."""
    return [name for name in PACKAGES if shutil.which(name) is None]


def named(kind: str, program: Path) -> Peer:
    """The peer whose `words` were written."""
    if kind == STREAMING:
        return Streaming(program)
    return _OF_SYSTEM[kind]()


def installed() -> dict[str, Peer]:
    """The peers that are, by name."""
    absent = missing()
    return {name: _OF_SYSTEM[name]() for name in PACKAGES if name not in absent}


@dataclass(frozen=True)
class Streaming:
    """`plumb net serve` and `plumb net stream`."""

    program: Path

    @property
    def words(self) -> list[str]:
        """`streaming`, and the program."""
        return [STREAMING, "--program", str(self.program)]

    @contextmanager
    def serving(self, placement: Placement) -> Iterator[Server]:
        """On a port the server picks and announces."""
        with echo.serving(self.program, placement.server, placement.host) as (server, port):
            yield ready(placement, port, server)

    def ping(self, endpoint: Endpoint, load: Load) -> Figures:
        """To the server, for the whole time; nobody watches the machine."""
        with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
            command = [*endpoint.client, str(self.program), "net", "stream", endpoint.address]
            command += ["--streams", str(load.connections), "--host-interval", "0s"]
            command += ["--foreign-limit", "100%"]
            command += ["--for", f"{round(1000 * load.seconds)}ms"]
            command += ["--json", "--out", str(Path(scratch, "out"))]
            printed = process.run(command, load.seconds + PATIENCE_SECONDS)
        result = json.loads(printed)["results"][0]
        if result["failures"] or not result["validity"]["valid"]:
            raise BenchFailure(f"plumb: {result['validity']['reasons']}")
        return {BITS: result["stream"]["to_server"][BITS], "count": result["operations"]}


class _Peer:
    """A program of the system whose client and server have one name."""

    kind: str

    @property
    def words(self) -> list[str]:
        """Its name, wherever it is installed."""
        return [self.kind]

    def _server(self, placement: Placement, words: Sequence[str]) -> AbstractContextManager[Server]:
        return _listening([*placement.server, self.kind, *words], placement)


@contextmanager
def _listening(command: Sequence[str], placement: Placement) -> Iterator[Server]:
    """On a port found free before; `PORT` in the command stands for it."""
    port = process.free_port()
    command = [str(port) if word == "PORT" else word for word in command]
    quiet = subprocess.DEVNULL
    with process.running(command, stdout=quiet, stderr=quiet) as server:
        process.await_listening(server, port)
        yield ready(placement, port, server)


class Iperf3(_Peer):
    """`iperf3`: the sum that the receiver counted."""

    kind = IPERF3

    def serving(self, placement: Placement) -> AbstractContextManager[Server]:
        """`iperf3 -s`."""
        return self._server(placement, ["-s", "-B", placement.host, "-p", "PORT"])

    def ping(self, endpoint: Endpoint, load: Load) -> Figures:
        """For whole seconds, as it takes no others."""
        seconds = math.ceil(load.seconds)
        command = [*endpoint.client, IPERF3, "-c", endpoint.host, "-p", str(endpoint.port)]
        command += ["-t", str(seconds), "-P", str(load.connections), "-J"]
        end = json.loads(process.run(command, seconds + PATIENCE_SECONDS))["end"]
        return {BITS: float(end["sum_received"]["bits_per_second"])}


class Iperf(_Peer):
    """`iperf`, the second: the line of all streams, or of the only one."""

    kind = IPERF

    def serving(self, placement: Placement) -> AbstractContextManager[Server]:
        """`iperf -s`."""
        return self._server(placement, ["-s", "-B", placement.host, "-p", "PORT"])

    def ping(self, endpoint: Endpoint, load: Load) -> Figures:
        """In comma-separated lines, the last of which is the sum."""
        command = [*endpoint.client, IPERF, "-c", endpoint.host, "-p", str(endpoint.port)]
        command += ["-t", str(load.seconds), "-P", str(load.connections), "-f", "b"]
        printed = process.run(command, load.seconds + PATIENCE_SECONDS)
        rates = re.findall(r"([\d.]+) bits/sec", printed)
        if not rates:
            raise BenchFailure(f"iperf printed no rate: {printed[-2000:]}")
        return {BITS: float(rates[-1])}


class Qperf(_Peer):
    """`qperf tcp_bw`: one stream only."""

    kind = QPERF

    def serving(self, placement: Placement) -> AbstractContextManager[Server]:
        """`qperf`, which listens on every address."""
        return self._server(placement, ["-lp", "PORT"])

    def ping(self, endpoint: Endpoint, load: Load) -> Figures:
        """For whole seconds, as it takes no others."""
        seconds = math.ceil(load.seconds)
        command = [*endpoint.client, QPERF, "-lp", str(endpoint.port), "-t", str(seconds)]
        printed = process.run([*command, "-uu", endpoint.host, "tcp_bw"], seconds + PATIENCE_SECONDS)
        return {BITS: qperf_bits(printed)}


def qperf_bits(printed: str) -> float:
    """Its rate is bytes a second, without a prefix when it is asked so."""
    found = re.search(r"bw\s*=\s*([\d.,]+)\s*([KMGT]?)(?:B|bytes)/sec", printed)
    if found is None:
        raise BenchFailure(f"qperf printed no bandwidth: {printed[-2000:]}")
    return 8 * float(found.group(1).replace(",", "")) * UNITS[found.group(2)]


_OF_SYSTEM: dict[str, Callable[[], Peer]] = {IPERF3: Iperf3, IPERF: Iperf, QPERF: Qperf}
