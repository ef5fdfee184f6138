#!/usr/bin/env python3
"""Measures agents: changes into the spool, messages delivered and confirmed, memory.

Exits with 0 when every target is met and 1 when one is missed. Rates are of
the wall clock; beside each stands the processor time, which says more on a
machine that others use, too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import build, console, machine, process, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.options import add_shared, names, positive  # noqa: E402
from lib.table import mebibytes, table  # noqa: E402
from lib.verdict import exit_status  # noqa: E402

CELLS = ("spool", "spool-single", "deliver", "deliver-single", "many", "waiting")
SPOOL_RATE, BUNDLED_RATE, SINGLE_RATE = 50_000, 20_000, 5_000
AGENTS, AGENTS_MEMORY = 200, 150 << 20
WAITING = 250_000
# So many fill what the spool keeps of its file in memory, whatever waits.
FILLED = 20_000
POLL_SECONDS = 0.02
PATIENCE_SECONDS = 300.0
NOBODY = "127.0.0.1:1"
EVENT = """
mode = "async"
[[action]]
name = "changes"
repeat = "/TagChanges/Change"
assign = { tag = "Tag", value = "Value" }
"""
AGENT = """
name = "bench"
{copies}
[source.sim]
changes = {changes}
{rate}
[[source.sim.tag]]
name = "temperature"
count = 20
shape = "random-walk"
low = 20
high = 90
step = 0.5
[bundle]
count = {bundle}
[target]
url = "http://{target}/runner/event?mode=async"
window = {window}
[retry]
times = 1000000
interval = "1s"
"""


@dataclass
class Outcome(results.Judged):
    """All that was measured so far."""

    rows: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where one cell is measured."""

    plumb: Path
    folder: Path
    changes: int
    outcome: Outcome


@dataclass(frozen=True)
class Took:
    """What something took."""

    count: int
    seconds: float
    cpu_seconds: float

    def row(self, what: str) -> list[str]:
        """For the table."""
        rate = self.count / self.seconds
        return [what, f"{rate:,.0f}/s", f"{self.cpu_seconds / self.count * 1e6:.1f} us CPU each"]


def main(arguments: Sequence[str]) -> int:
    """Reads the options, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--cells", type=names(CELLS), default=list(CELLS), help="comma-separated: %(default)s")
    add("--changes", type=positive(int), default=400_000, help="of the rates: %(default)s")
    add_shared(parser)
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    versions = {"plumb": [str(program), "--version"]}
    outcome = Outcome(machine.facts(build.REPOSITORY, versions), vars(options))
    cells: Mapping[str, Callable[[Place], None]] = {
        "spool": lambda it: into_spool(it, 20), "spool-single": lambda it: into_spool(it, 1),
        "deliver": lambda it: delivered(it, 20), "deliver-single": lambda it: delivered(it, 1),
        "many": many, "waiting": waiting,
    }  # fmt: skip
    try:
        for cell in options.cells:
            with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
                cells[cell](Place(program, Path(scratch), options.changes, outcome))
            say(f"{cell}: done")
        outcome.complete = True
    finally:
        print(table(("what", "figure", ""), outcome.rows))
        for text, verdict in outcome.targets:
            print(f"{text}: {verdict.value}")
        print(f"all figures in {results.write('agents', outcome)}")
    return exit_status([verdict for _, verdict in outcome.targets])


def write_agent(place: Place, changes: int, bundle: int, **rest: object) -> None:
    """The file of the agent."""
    said = {"copies": "", "rate": "", "target": NOBODY, "window": 64, **rest}
    text = AGENT.format(changes=changes, bundle=bundle, **said)
    (place.folder / "agent.toml").write_text(text)


@contextmanager
def agent(place: Place, *words: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The agent at work, and the port of its figures."""
    command = [str(place.plumb), "flow", "agent", str(place.folder / "agent.toml"), "--spool",
               str(place.folder / "spool"), "--metrics", "127.0.0.1:0", "--quiet", *words]  # fmt: skip
    with process.running(command) as running:
        yield running, process.announced_port(running)


@contextmanager
def runtime(place: Place) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The runtime, and its address."""
    flows = place.folder / "flows"
    flows.mkdir()
    (flows / "event.toml").write_text(EVENT)
    command = [str(place.plumb), "flow", "serve", str(flows), "--listen", "127.0.0.1:0",
               "--queue", str(place.folder / "queue"), "--quiet"]  # fmt: skip
    with process.running(command) as running:
        yield running, f"127.0.0.1:{process.announced_port(running)}"


def figure(port: int, name: str, label: str = "") -> float:
    """The sum of a figure over all agents."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    found = [line for line in lines if line.startswith(name) and label in line]
    return sum(float(line.rpartition(" ")[2]) for line in found)


def await_figure(port: int, name: str, count: int, label: str = "") -> None:
    """Waits until a figure is so large."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while figure(port, name, label) < count:
        if time.monotonic() > deadline:
            raise BenchFailure(f"{name} does not reach {count} in {PATIENCE_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


def timed(running: subprocess.Popen[str], port: int, name: str, count: int) -> Took:
    """From what a figure is now to `count`."""
    cpu, began, first = process.cpu_seconds(running.pid), time.monotonic(), figure(port, name)
    await_figure(port, name, count)
    seconds = time.monotonic() - began
    return Took(count - int(first), seconds, process.cpu_seconds(running.pid) - cpu)


def into_spool(place: Place, bundle: int) -> None:
    """Changes from a source that does not wait, onto the disk; nobody takes them."""
    write_agent(place, place.changes, bundle)
    with agent(place) as (running, port):
        took = timed(running, port, "plumb_agent_produced_total", place.changes)
    form = f"in bundles of {bundle}" if bundle > 1 else "one by one"
    place.outcome.rows.append(took.row(f"changes into the spool, {form}"))
    if bundle > 1:
        wanted = took.count / took.seconds >= SPOOL_RATE
        place.outcome.judge(f"{SPOOL_RATE:,} changes/s into the spool", wanted)


def delivered(place: Place, bundle: int) -> None:
    """What waits in the spool goes to the runtime, which flushes it before it confirms."""
    count = place.changes if bundle > 1 else place.changes // 8
    write_agent(place, count, bundle)
    with agent(place) as (_, port):
        await_figure(port, "plumb_agent_produced_total", count)
    with runtime(place) as (server, address):
        write_agent(place, count, bundle, target=address)
        served = process.cpu_seconds(server.pid)
        with agent(place) as (running, port):
            took = timed(running, port, "plumb_agent_delivered_total", count)
        served = process.cpu_seconds(server.pid) - served
    form = f"in bundles of {bundle}" if bundle > 1 else "one by one"
    place.outcome.rows.append(took.row(f"changes delivered and confirmed, {form}"))
    theirs = f"{served / took.count * 1e6:.1f} us CPU each"
    place.outcome.rows.append(["  the runtime meanwhile", "", theirs])
    rate, wanted = took.count / took.seconds, BUNDLED_RATE if bundle > 1 else SINGLE_RATE
    place.outcome.judge(f"{wanted:,} delivered and confirmed a second, {form}", rate >= wanted)


def many(place: Place) -> None:
    """Many agents in one process, at work and with messages that wait."""
    with runtime(place) as (_, address):
        rest: dict[str, object] = {"copies": f"copies = {AGENTS}", "rate": "rate = 50.0"}
        write_agent(place, 1_000, 20, target=NOBODY, **rest)
        with agent(place) as (running, port):
            await_figure(port, "plumb_agent_produced_total", AGENTS * 500)
            full = process.memory_bytes(running.pid)["VmHWM"]
        write_agent(place, 1_000, 20, target=address, window=4, **rest)
        with agent(place) as (running, port):
            await_figure(port, "plumb_agent_delivered_total", AGENTS * 800)
            busy = process.memory_bytes(running.pid)["VmHWM"]
    rows = place.outcome.rows
    rows.append([f"memory of {AGENTS} agents whose messages wait", mebibytes(full), ""])
    rows.append([f"memory of {AGENTS} agents that deliver", mebibytes(busy), ""])
    text = f"{AGENTS} agents in {mebibytes(AGENTS_MEMORY)}"
    place.outcome.judge(text, max(full, busy) < AGENTS_MEMORY)


def waiting(place: Place) -> None:
    """What messages that wait cost, and how long a start with them takes."""
    memory = []
    for count in (FILLED, WAITING):
        write_agent(place, count, 1)
        with agent(place) as (_, port):
            await_figure(port, "plumb_agent_produced_total", count)
        began = time.monotonic()
        with agent(place) as (running, port):
            await_figure(port, "plumb_agent_failures_total", 1)
            seconds = time.monotonic() - began
            memory.append(process.memory_bytes(running.pid)["VmHWM"])
        row = [f"memory after a start with {count:,} messages", mebibytes(memory[-1])]
        place.outcome.rows.append([*row, f"first attempt after {seconds:.2f} s"])
    each = (memory[1] - memory[0]) / (WAITING - FILLED)
    place.outcome.judge(f"{WAITING:,} that wait cost {each:.0f} bytes each: below 16", each < 16)


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
