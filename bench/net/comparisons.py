"""Round trips and throughput: cells in which peers take turns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import entry
from lib import experiment
from lib.experiment import Comparison, Effect
from lib.failure import BenchFailure
from lib.options import seed_of
from lib.placement import PINNED, UNPINNED, Placement, placed
from lib.verdict import Target, Verdict, at_least, at_most
from peers import Load, Peer, Server

LIMIT, AGAIN, PLUMB, SOCKPERF = "limit", "again", "plumb", "sockperf"
IPERF3, IPERF, QPERF = STREAMERS = ("iperf3", "iperf", "qperf")
# Who takes turns with whom; the first of each is the baseline.
EXPERIMENTS = (
    (LIMIT, AGAIN, PLUMB),
    (SOCKPERF, PLUMB),
    *((streamer, PLUMB) for streamer in STREAMERS),
)
# (candidate, baseline): the ratios a row shows, in its order.
OVER_LIMIT, NOISE, OVER_SOCKPERF = (PLUMB, LIMIT), (AGAIN, LIMIT), (PLUMB, SOCKPERF)
OVER_STREAMERS = tuple((PLUMB, streamer) for streamer in STREAMERS)
RATIOS = (OVER_LIMIT, NOISE, OVER_SOCKPERF, *OVER_STREAMERS)

LATENCY, RATE, BITS = "p50_ns", "per_s", "bits_per_s"
ROUND_TRIP_SIZES = (500, 1500, 10_000, 50_000)
# What is done about the ticks of idle processors, on both sides of every contender.
FREE, HELD = TICKS = ("free", "held")
ROUND_TRIP_TARGET = at_most(1.03)
ROUND_TRIP_SOCKPERF_TARGET = at_most(1.00)
ROUND_TRIP_ROUNDS, ROUND_TRIP_SECONDS = 20, 0.6

TLS_SIZE = 1000
TLS_TARGET = at_most(1.10)

THROUGHPUT_SIZE = 300
THROUGHPUT_TARGETS = {64: at_least(0.97), 500: at_least(0.97)}
THROUGHPUT_ROUNDS, THROUGHPUT_SECONDS = 7, 2.0

# A request and the answer of a database, over many connections.
ASYMMETRIC_SIZE, ASYMMETRIC_RESPONSE, ASYMMETRIC_CONNECTIONS = 300, 1200, 64
ASYMMETRIC_TARGET = at_least(0.95)

STREAM_COUNTS = (1, 5)
STREAM_TARGET = at_least(0.95)
STREAM_PLACEMENTS = (PINNED, UNPINNED)
# Peers that carry one stream only.
SINGLE = (QPERF,)
STREAM_SECONDS = 2.0


@dataclass(frozen=True)
class Effort:
    """How long a run takes and in which order it goes."""

    seed: int
    rounds: int | None
    seconds: float | None
    # Instead of a number of rounds: as many as an interval needs that is within
    # so many percent to either side.
    precision: float | None = None


@dataclass(frozen=True)
class Judged:
    """A target on a ratio and what became of it."""

    ratio: str
    target: Target
    verdict: Verdict


@dataclass(frozen=True)
class Row:
    """One cell: the comparison of each baseline, and what follows from them."""

    cell: str
    placement: str
    figure: str
    load: Load
    comparisons: Mapping[str, Comparison]
    judged: Sequence[Judged]
    errors: Sequence[str]

    def effect(self, candidate: str, baseline: str) -> Effect | None:
        """None when it was not compared."""
        return _effect(self.comparisons, candidate, baseline)

    def median(self, name: str) -> float | None:
        """Of one contender, where it was compared first."""
        for candidate, baseline in RATIOS:
            effect = self.effect(candidate, baseline)
            if effect is not None and name in (candidate, baseline):
                return effect.candidate if name == candidate else effect.baseline
        return None


@dataclass(frozen=True)
class Cell:
    """One cell before it is measured."""

    name: str
    figure: str
    load: Load
    targets: Mapping[tuple[str, str], Target]
    rounds: int


@dataclass(frozen=True)
class Group:
    """Cells that share a placement and its servers."""

    placement: str
    contenders: Mapping[str, Peer]
    cells: Sequence[Cell]
    # Why a peer that belongs here takes no part.
    absent: Sequence[str] = ()


def round_trips(
    contenders: Mapping[str, Peer],
    placement: str,
    ticks: str,
    sizes: Sequence[int],
    effort: Effort,
) -> Group:
    """One connection, one message in flight; the figure is the median in ns."""
    targets = {OVER_LIMIT: ROUND_TRIP_TARGET}
    if SOCKPERF in contenders:
        targets[OVER_SOCKPERF] = ROUND_TRIP_SOCKPERF_TARGET
    seconds = effort.seconds or ROUND_TRIP_SECONDS
    rounds = effort.rounds or ROUND_TRIP_ROUNDS
    cells = [
        Cell(f"{size} B, tick {ticks}", LATENCY, Load(size, 1, seconds), targets, rounds)
        for size in sizes
    ]
    return Group(placement, contenders, cells)


def encrypted(contenders: Mapping[str, Peer], effort: Effort) -> Group:
    """Round trips over TLS, one connection, one message in flight."""
    load = Load(TLS_SIZE, 1, effort.seconds or ROUND_TRIP_SECONDS)
    rounds = effort.rounds or ROUND_TRIP_ROUNDS
    cell = Cell(f"{TLS_SIZE} B TLS", LATENCY, load, {OVER_LIMIT: TLS_TARGET}, rounds)
    return Group(PINNED, contenders, [cell])


def throughput(contenders: Mapping[str, Peer], effort: Effort) -> Group:
    """Many connections, one message in flight on each, one thread a side; the
    figure is messages per second."""
    seconds = effort.seconds or THROUGHPUT_SECONDS
    rounds = effort.rounds or THROUGHPUT_ROUNDS
    cells = [
        Cell(f"{THROUGHPUT_SIZE} B x {connections}", RATE,
             Load(THROUGHPUT_SIZE, connections, seconds), {OVER_LIMIT: target}, rounds)
        for connections, target in THROUGHPUT_TARGETS.items()
    ]  # fmt: skip
    return Group(PINNED, contenders, cells)


def asymmetric(contenders: Mapping[str, Peer], effort: Effort) -> Group:
    """Small requests and larger answers over many connections, one thread a
    side; the figure is requests answered per second."""
    load = Load(
        ASYMMETRIC_SIZE,
        ASYMMETRIC_CONNECTIONS,
        effort.seconds or THROUGHPUT_SECONDS,
        ASYMMETRIC_RESPONSE,
    )
    name = f"{load.size}/{load.response} B x {load.connections}"
    targets = {OVER_LIMIT: ASYMMETRIC_TARGET}
    cell = Cell(name, RATE, load, targets, effort.rounds or THROUGHPUT_ROUNDS)
    return Group(PINNED, contenders, [cell])


def streams(
    contenders: Mapping[str, Peer], placement: str, count: int, missing: Sequence[str], effort: Effort
) -> Group:
    """Bytes to the server; the figure is bits per second."""
    unfit = () if count == 1 else SINGLE
    chosen = {name: peer for name, peer in contenders.items() if name not in unfit}
    load = Load(0, count, effort.seconds or STREAM_SECONDS)
    pairs = [(PLUMB, name) for name in chosen if name != PLUMB]
    targets = dict.fromkeys(pairs, STREAM_TARGET)
    rounds = effort.rounds or THROUGHPUT_ROUNDS
    cell = Cell(f"{count} stream{'s'[: count > 1]}", BITS, load, targets, rounds)
    absent = [f"{name} is not installed and takes no part" for name in missing if name not in unfit]
    absent += [f"{name} carries one stream only" for name in unfit if name in contenders]
    return Group(placement, chosen, [cell], absent)


def measure(group: Group, effort: Effort, plumb: Path) -> Iterator[Row]:
    """Starts each server of the group once, then measures its cells."""
    with ExitStack() as stack:
        placement = stack.enter_context(placed(group.placement))
        servers = _servers(group.contenders, placement, stack)
        for cell in group.cells:
            yield _row(cell, group, servers, effort, plumb)


def _servers(
    contenders: Mapping[str, Peer], placement: Placement, stack: ExitStack
) -> dict[str, Server]:
    """The A/A contender is the same peer, and asks the same server."""
    started: dict[int, Server] = {}
    servers = {}
    for name, peer in contenders.items():
        if id(peer) not in started:
            started[id(peer)] = stack.enter_context(peer.serving(placement))
        servers[name] = started[id(peer)]
    return servers


def _row(
    cell: Cell, group: Group, servers: Mapping[str, Server], effort: Effort, plumb: Path
) -> Row:
    family = [os.getpid(), *sorted({server.pid for server in servers.values()})]
    commands = {
        name: entry.command(peer, servers[name].endpoint, cell.load, cell.figure, family)
        for name, peer in group.contenders.items()
    }
    compared, errors = {}, list(group.absent)
    for names in EXPERIMENTS:
        if names[0] not in commands:
            continue
        seed = seed_of(effort.seed, f"{group.placement} {cell.name} {names[0]}")
        try:
            compared[names[0]] = experiment.compare(
                plumb, {name: commands[name] for name in names}, _words(cell, seed, effort)
            )
        except BenchFailure as failure:
            errors.append(str(failure))
    errors += [fault for comparison in compared.values() for fault in comparison.faults()]
    return Row(
        cell=cell.name,
        placement=group.placement,
        figure=cell.figure,
        load=cell.load,
        comparisons=compared,
        judged=_judged(cell.targets, compared),
        errors=errors,
    )


def _words(cell: Cell, seed: int, effort: Effort) -> list[str]:
    many = ["--pairs", str(cell.rounds)]
    if effort.precision is not None:
        many = ["--precision", f"{effort.precision}%"]
    words = ["--exec", *many, "--seed", str(seed)]
    return words if cell.figure == LATENCY else [*words, "--higher-is-better"]


def _judged(
    targets: Mapping[tuple[str, str], Target], compared: Mapping[str, Comparison]
) -> list[Judged]:
    return [
        Judged("/".join(pair), target, _verdict(target, pair, compared))
        for pair, target in targets.items()
    ]


def _verdict(target: Target, pair: tuple[str, str], compared: Mapping[str, Comparison]) -> Verdict:
    comparison = compared.get(pair[1])
    return target.judge(comparison and comparison.judged(*pair))


def _effect(compared: Mapping[str, Comparison], candidate: str, baseline: str) -> Effect | None:
    comparison = compared.get(baseline)
    return None if comparison is None else comparison.effect(candidate, baseline)
