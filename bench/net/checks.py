"""Memory and idle connections: cells that only plumb takes part in."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lib import echo, process
from lib.echo import Figures
from lib.failure import BenchFailure
from lib.outcome import Check
from lib.placement import PINNED, placed
from lib.table import mebibytes
from lib.verdict import Verdict
from peers import Endpoint, Plumb, Server

SIZE, CONNECTIONS = 300, 64
MEMORY_OPERATIONS = 10_000_000
MEMORY_SAMPLE_SECONDS = 0.1
MEMORY_EARLY_SHARE = 0.1
IDLE_CONNECTIONS, IDLE_OPERATIONS = 5_000, 600_000
PATIENCE_SECONDS = 600.0
IDLE_PROGRAM = Path(__file__).with_name("idle.py")


@dataclass(frozen=True)
class Resident:
    """Memory of one side at one moment of a run."""

    at_s: float
    client: Mapping[str, int]
    server: Mapping[str, int]


def memory(plumb: Plumb, operations: int = MEMORY_OPERATIONS) -> Check:
    """Does memory grow with the number of operations? Prints, and judges only
    that every operation was done."""
    with placed(PINNED) as placement, plumb.serving(placement) as server:
        figures, residents = _watched_ping(plumb, server, operations)
    if not residents:
        raise BenchFailure("the run ended before its memory could be read")
    last = residents[-1]
    early = next(r for r in residents if r.at_s >= MEMORY_EARLY_SHARE * last.at_s)
    found = [f"{figures['count']:,.0f} of {operations:,} operations in {last.at_s:.1f} s"]
    found += [_grown("client", early.client, last.client)]
    found += [_grown("server", early.server, last.server)]
    raw = {"asked": operations, "figures": figures, "resident": residents}
    return Check("memory", _all_done(figures["count"], operations), tuple(found), raw)


def _grown(side: str, early: Mapping[str, int], last: Mapping[str, int]) -> str:
    return (
        f"{side}: {mebibytes(early['VmRSS'])} resident at {MEMORY_EARLY_SHARE:.0%} of the run, "
        f"{mebibytes(last['VmRSS'])} at its end, {mebibytes(last['VmHWM'])} at most"
    )


def _all_done(done: float, asked: int) -> Verdict:
    return Verdict.MET if done == asked else Verdict.MISSED


def _watched_ping(plumb: Plumb, server: Server, operations: int) -> tuple[Figures, list[Resident]]:
    """Runs the client and reads both memories until it ends. The report goes
    to a file, because nobody empties a pipe meanwhile."""
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        command = _counted_ping(plumb, server.endpoint, operations, Path(scratch))
        with open(Path(scratch, "printed"), "w+", encoding="utf-8") as printed:
            with process.running(command, stdout=printed.fileno()) as client:
                residents = list(_residents(client, server.pid))
            if client.returncode != 0:
                raise BenchFailure(f"`plumb net ping` ended with {client.returncode}")
            printed.seek(0)
            return echo.figures(printed.read()), residents


def _counted_ping(plumb: Plumb, endpoint: Endpoint, operations: int, scratch: Path) -> list[str]:
    length = ["--count", str(operations), "--warmup", "0ms"]
    return plumb.command(endpoint, SIZE, CONNECTIONS, length, scratch)


def _residents(client: subprocess.Popen[str], server_pid: int) -> Iterator[Resident]:
    start = time.monotonic()
    while client.poll() is None:
        at_s = time.monotonic() - start
        if at_s > PATIENCE_SECONDS:
            raise BenchFailure(f"`plumb net ping` took over {PATIENCE_SECONDS:.0f} s")
        client_now, server_now = map(process.memory_bytes, (client.pid, server_pid))
        if client_now and server_now:
            yield Resident(at_s, client_now, server_now)
        time.sleep(MEMORY_SAMPLE_SECONDS)


def idle(plumb: Plumb) -> Check:
    """Do idle connections survive, and cost nothing but memory, beside a load?"""
    with placed(PINNED) as placement, plumb.serving(placement) as server:
        before = process.memory_bytes(server.pid)
        with process.running(_holder_command(server.endpoint), stdin=subprocess.PIPE) as holder:
            _await_holding(holder)
            held = process.memory_bytes(server.pid)
            figures, _ = _watched_ping(plumb, server, IDLE_OPERATIONS)
            answered = _answers(holder)
    return _idle_check(figures, answered, before, held)


def _holder_command(endpoint: Endpoint) -> list[str]:
    words = [sys.executable, IDLE_PROGRAM, endpoint.host, endpoint.port, IDLE_CONNECTIONS]
    return [*endpoint.client, *map(str, words)]


def _await_holding(holder: subprocess.Popen[str]) -> None:
    assert holder.stdout is not None
    line = holder.stdout.readline().strip()
    if line != f"holding {IDLE_CONNECTIONS}":
        raise BenchFailure(f"{IDLE_CONNECTIONS} idle connections were not accepted; got {line!r}")


def _answers(holder: subprocess.Popen[str]) -> int:
    printed, _ = holder.communicate("\n", timeout=PATIENCE_SECONDS)
    return int(json.loads(printed)["answered"])


def _idle_check(
    figures: Figures, answered: int, before: Mapping[str, int], held: Mapping[str, int]
) -> Check:
    done = _all_done(figures["count"], IDLE_OPERATIONS)
    every = _all_done(answered, IDLE_CONNECTIONS)
    grown = held["VmRSS"] - before["VmRSS"]
    found = (
        f"{figures['count']:,.0f} of {IDLE_OPERATIONS:,} operations, {figures['per_s']:,.0f} per s",
        f"{answered:,} of {IDLE_CONNECTIONS:,} idle connections answered at the end",
        f"server: {grown / IDLE_CONNECTIONS:,.0f} bytes resident for each idle connection",
    )
    verdict = Verdict.MET if done is every is Verdict.MET else Verdict.MISSED
    raw = {"figures": figures, "answered": answered, "before": before, "held": held}
    return Check("idle", verdict, found, raw)
