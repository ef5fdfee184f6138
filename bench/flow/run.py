#!/usr/bin/env python3
"""Measures the integration runtime beside a route of Apache Camel, and the pieces by themselves.

Exits with 0 when every target is met, 1 when one is missed, and 2 when one
could not be judged. bench/README.md says how the figures are taken.
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

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import camel  # noqa: E402
import count  # noqa: E402
import entry  # noqa: E402
import load  # noqa: E402
import pieces  # noqa: E402
import rows  # noqa: E402
import runtime  # noqa: E402
import sink  # noqa: E402
from lib import build, cluster, console, experiment, machine, process, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.options import add_shared, names, positive, seed_of  # noqa: E402
from lib.table import figure, mebibytes, ratio, table  # noqa: E402
from lib.verdict import Target, at_least, exit_status  # noqa: E402

CELLS = ("sync", "accept", "drain", "flood", "count", "pieces", "rows", "documents")
CONNECTIONS = 64
WARM_SECONDS = 8
SYNC, ACCEPT = at_least(2.5), at_least(10.0)
SYNC_RATE, ACCEPT_RATE, DRAIN_RATE = 10_000, 25_000, 25_000
ROWS_RATE, ROWS_ROUNDS, DOCUMENTS = 120, 5, 50
FLOOD_EVENTS, FLOOD_BYTES, FLOOD_SECONDS, FLOOD_MEMORY = 250_000, 2_000, 25.0, 80 << 20
COUNTED = 20_000
PATIENCE_SECONDS = 600.0


@dataclass
class Outcome(results.Judged):
    """All that was measured so far."""

    flush_us: float = 0.0
    effects: dict[str, experiment.Effect | None] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    counts: dict[str, str] = field(default_factory=dict)


def main(arguments: Sequence[str]) -> int:
    """Reads the options, prepares, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--cells", type=names(CELLS), default=list(CELLS), help="comma-separated: %(default)s")
    add("--rounds", type=positive(int), default=7, help="to keep: %(default)s")
    add("--seconds", type=positive(int), default=5, help="of each entry: %(default)s")
    add("--events", type=positive(int), default=FLOOD_EVENTS, help="of the queue in C: %(default)s")
    add("--no-camel", action="store_true", help="leave the peer out; its targets stay unknown")
    add_shared(parser)
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    build.package("wrk", "wrk")
    if not options.no_camel:
        camel.prepare()
    versions = {"plumb": [str(program), "--version"], "pgbench": [cluster.pgbench(), "--version"],
                "java": ["java", "-version"]}  # fmt: skip
    outcome = Outcome(machine.facts(build.REPOSITORY, versions), vars(options))
    try:
        for cell in options.cells:
            measure(cell, program, options, outcome)
            say(f"{cell}: done")
        outcome.complete = True
    finally:
        print_outcome(outcome)
    return exit_status([verdict for _, verdict in outcome.targets])


@dataclass(frozen=True)
class Place:
    """Where one cell is measured."""

    plumb: Path
    folder: Path
    database: int
    options: argparse.Namespace
    outcome: Outcome


def measure(cell: str, plumb: Path, options: argparse.Namespace, outcome: Outcome) -> None:
    """One cell, with a database and a folder of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch,
        cluster.serving(()) as database,
    ):
        place = Place(plumb, Path(scratch), database, options, outcome)
        outcome.flush_us = pieces.flush_seconds(place.folder) * 1e6
        sink.empty(database)
        cells: Mapping[str, Callable[[Place], None]] = {
            "sync": sync, "accept": accept, "drain": drain, "flood": flood, "count": each_once,
            "pieces": by_themselves, "rows": of_documents, "documents": served_documents
        }  # fmt: skip
        cells[cell](place)


@contextmanager
def contenders(place: Place, paths: tuple[str, str]) -> Iterator[dict[str, str]]:
    """The commands of the entries against both, which run all the time."""
    with serving(place) as (_, ours):
        urls = {"plumb": f"http://127.0.0.1:{ours}{paths[0]}"}
        if place.options.no_camel:
            yield commands(urls, place.options.seconds)
            return
        with camel.serving(place.database, place.folder / "camel", ()) as (server, theirs):
            urls = {"camel": f"http://127.0.0.1:{theirs}{paths[1]}", **urls}
            load.send(urls["camel"], CONNECTIONS, WARM_SECONDS)  # the virtual machine compiles
            yield commands(urls, place.options.seconds)
            place.outcome.figures["camel, memory"] = sink.memory(server)


@contextmanager
def serving(place: Place) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The runtime, whose memory is written down at the end."""
    with runtime.serving(place.plumb, place.database, place.folder, ()) as (server, port):
        yield server, port
        place.outcome.figures["plumb, memory"] = sink.memory(server)


def commands(urls: Mapping[str, str], seconds: int) -> dict[str, str]:
    """Commands of the shell, by contender."""
    return {name: entry.command(url, CONNECTIONS, seconds) for name, url in urls.items()}


def compared(place: Place, name: str, paths: tuple[str, str]) -> experiment.Comparison | None:
    """Both in turns; None where the peer is left out."""
    with contenders(place, paths) as variants:
        if len(variants) == 1:
            url = variants["plumb"]
            place.outcome.figures[f"{name}, plumb alone"] = float(process.run(["sh", "-c", url], 120))
            return None
        words = ["--exec", "--pairs", str(place.options.rounds), "--higher-is-better"]
        words += ["--seed", str(seed_of(place.options.seed, f"flow {name}"))]
        comparison = experiment.compare(place.plumb, variants, words)
    for fault in comparison.faults():
        say(f"{name}: {fault}")
    return comparison


def sync(place: Place) -> None:
    """A row is committed before the answer."""
    comparison = compared(place, "sync", (runtime.PLACE + "?mode=sync", "/sync"))
    judge_ratio(place.outcome, "sync", comparison, SYNC)
    found = place.outcome.figures.get("sync, plumb alone")
    if comparison is not None and not comparison.faults():
        effect = comparison.effect("plumb", "camel")
        found = effect and effect.candidate
    place.outcome.judge(f"sync: at least {SYNC_RATE:,}/s", None if found is None else found >= SYNC_RATE)


def accept(place: Place) -> None:
    """The answer comes once the message is on disk; rows are inserted meanwhile."""
    comparison = compared(place, "accept", (runtime.PLACE + "?mode=async", "/async"))
    judge_ratio(place.outcome, "accept", comparison, ACCEPT)


def judge_ratio(
    outcome: Outcome, name: str, comparison: experiment.Comparison | None, target: Target
) -> None:
    """The target of a cell that has a peer: plumb over Camel."""
    pair = ("plumb", "camel")
    outcome.effects[name] = comparison and comparison.effect(*pair)
    verdict = target.judge(comparison and comparison.judged(*pair))
    outcome.targets.append((f"{name}: plumb / camel {target}", verdict))


def drain(place: Place) -> None:
    """A queue is filled while nobody gets at the table, and then drained into it."""
    with serving(place) as (_, port):
        url = f"http://127.0.0.1:{port}{runtime.PLACE}?mode=async"
        with sink.closed(place.database):
            load.send(url, CONNECTIONS, 1)  # the workers take what they can
            sent = load.send(url, CONNECTIONS, place.options.seconds)
        rows = settled(place, sent.requests)
    place.outcome.figures |= {"accepted alone, events/s": sent.rate, "drain, rows/s": rows.rate}
    place.outcome.judge(f"accept: at least {ACCEPT_RATE:,}/s", sent.rate >= ACCEPT_RATE)
    place.outcome.judge(f"drain: at least {DRAIN_RATE:,} rows/s", rows.rate >= DRAIN_RATE)


def flood(place: Place) -> None:
    """Messages of 2 KB from the first that is sent to the last row; 250,000 at that rate."""
    with serving(place) as (server, port):
        url = f"http://127.0.0.1:{port}{runtime.PLACE}?mode=async"
        began = time.monotonic()
        sent = load.send(url, CONNECTIONS, 2 * place.options.seconds, FLOOD_BYTES)
        settled(place, sent.requests)
        seconds = time.monotonic() - began
        memory = sink.memory(server)
    whole = FLOOD_EVENTS * seconds / sent.requests
    found = {"events": sent.requests, "s": seconds, "s of 250,000": whole, "memory": memory}
    place.outcome.figures |= {f"flood, {name}": value for name, value in found.items()}
    place.outcome.judge(f"flood: 250,000 below {FLOOD_SECONDS:.0f} s", whole < FLOOD_SECONDS)
    place.outcome.judge(f"flood: below {mebibytes(FLOOD_MEMORY)}", memory < FLOOD_MEMORY)


def each_once(place: Place) -> None:
    """Events of a client that writes down what it was answered, counted in the table."""
    log = place.folder / "events.log"
    with serving(place) as (_, port):
        url = f"http://127.0.0.1:{port}{runtime.PLACE}?mode=async"
        words = [sys.executable, str(Path(__file__).with_name("send.py")), url, "--log", str(log)]
        process.run([*words, "--events", str(COUNTED)], PATIENCE_SECONDS)
        settled(place, COUNTED)
        counted = counts(place, log, port)
    place.outcome.counts["each once"] = str(counted)
    text = "each once: accepted = in the table + dead + waiting, each once"
    place.outcome.judge(text, counted.holds())


def settled(place: Place, least: int) -> sink.Rows:
    """Waits until that many rows are in the table."""
    def found() -> int:
        return sink.rows(place.database).count

    runtime.await_rows(least, found, PATIENCE_SECONDS)
    return sink.rows(place.database)


def counts(place: Place, log: Path, port: int) -> count.Counted:
    """The client's log against table, dead and waiting."""
    numbers = map(int, sink.ask(place.database, "select number from event").split())
    dead, waiting = (runtime.executions(port, state) for state in ("failed", "waiting"))
    with log.open(encoding="ascii") as lines:
        return count.count(count.read(lines), numbers, dead, waiting)


def by_themselves(place: Place) -> None:
    """What the database and the disk allow."""
    found = place.outcome.figures
    for clients in (16, 64):
        rate = pieces.inserts(place.database, clients, place.options.seconds, place.folder)
        found[f"pgbench, {clients} clients, rows/s"] = rate
    for name, value in pieces.queue(place.options.events, FLOOD_BYTES, place.folder).items():
        found[f"SQLite in C, {name}"] = value


def of_documents(place: Place) -> None:
    """Rows of documents of several sizes: processor time and peak memory, beside the peers."""
    found = place.outcome.figures
    for megabytes, name, cost in rows.measured(place.plumb, place.folder, ROWS_ROUNDS):
        found[f"{megabytes} MB, {name}, CPU ms"] = 1_000 * cost.cpu_seconds
        found[f"{megabytes} MB, {name}, memory"] = cost.peak_bytes
    rate = 10_000 / found["10 MB, plumb, CPU ms"]
    found["rows, MB a CPU second"] = rate
    place.outcome.judge(f"rows: at least {ROWS_RATE} documents of 1 MB a CPU second", rate >= ROWS_RATE)


def served_documents(place: Place) -> None:
    """The same transaction through the server: its processor time for a document of 1 MB."""
    message = place.folder / "order.xml"
    rows.document(message, 1)
    with runtime.serving(place.plumb, place.database, place.folder, (), rows.TRANSACTION) as (
        server,
        port,
    ):
        url = f"http://127.0.0.1:{port}{runtime.PLACE}?mode=sync"
        runtime.post(url, message.read_bytes())
        before = process.cpu_seconds(server.pid)
        for _ in range(DOCUMENTS):
            runtime.post(url, message.read_bytes())
        took = process.cpu_seconds(server.pid) - before
        place.outcome.figures["documents, memory"] = sink.memory(server)
    place.outcome.figures["documents of 1 MB a CPU second of the server"] = DOCUMENTS / took


def print_outcome(outcome: Outcome) -> None:
    """The tables, the targets, and where everything lies."""
    print(f"a write of 16 KiB with its flush takes {outcome.flush_us:.0f} us")
    rows = [[name, "", figure(it.baseline if it else None), figure(it.candidate if it else None),
             ratio(it)] for name, it in outcome.effects.items()]  # fmt: skip
    if rows:
        print(table((f"{CONNECTIONS} connections", "", "camel/s", "plumb/s", "ratio"), rows))
    for name, value in outcome.figures.items():
        print(f"{name}: {mebibytes(value) if name.endswith('memory') else f'{value:,.1f}'}")
    for name, text in outcome.counts.items():
        print(f"{name}: {text}")
    for target, verdict in outcome.targets:
        print(f"{target}: {verdict.value}")
    print(f"all figures in {results.write('flow', outcome)}")


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
