"""Round trips and throughput: cells in which peers take turns."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from lib.failure import BenchFailure
from lib.placement import PINNED, UNPINNED, VETH, Placement, placed
from lib.rounds import Contender, Played, Sample, play
from lib.stats import Estimate, estimate
from lib.verdict import Target, Verdict, at_least, at_most
from peers import Endpoint, Load, Peer

LIMIT, AGAIN, PLUMB, SOCKPERF = "limit", "again", "plumb", "sockperf"
# (contender, base): the ratios a row shows, in its order.
OVER_LIMIT, NOISE, OVER_SOCKPERF = (PLUMB, LIMIT), (AGAIN, LIMIT), (PLUMB, SOCKPERF)
RATIOS = (OVER_LIMIT, NOISE, OVER_SOCKPERF)

ROUND_TRIP_SIZES = (500, 1500, 10_000, 50_000)
ROUND_TRIP_TARGETS = {PINNED: at_most(1.05), UNPINNED: at_most(1.10), VETH: at_most(1.05)}
ROUND_TRIP_SOCKPERF_TARGET = at_most(1.00)
ROUND_TRIP_ROUNDS, ROUND_TRIP_SECONDS = 20, 0.6

THROUGHPUT_SIZE = 300
THROUGHPUT_TARGETS = {64: at_least(0.95), 500: at_least(0.90)}
THROUGHPUT_ROUNDS, THROUGHPUT_SECONDS = 7, 2.0


@dataclass(frozen=True)
class Effort:
    """How long a run takes and in which order it goes."""

    seed: int
    rounds: int | None
    seconds: float | None

    def order(self, cell: str) -> random.Random:
        """The same cell has the same order for the same seed, whatever else runs."""
        return random.Random(f"{self.seed} {cell}")


@dataclass(frozen=True)
class Judged:
    """A target on a ratio and what became of it."""

    ratio: str
    target: Target
    verdict: Verdict


@dataclass(frozen=True)
class Row:
    """One cell: what was played, and what follows from it."""

    cell: str
    placement: str
    figure: str
    load: Load
    played: Played
    medians: Mapping[str, float]
    ratios: Mapping[str, Estimate | None]
    judged: Sequence[Judged]
    error: str | None = None


@dataclass(frozen=True)
class Cell:
    """One cell before it is played."""

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


def round_trips(
    contenders: Mapping[str, Peer], placement: str, sizes: Sequence[int], effort: Effort
) -> Group:
    """One connection, one message in flight; the figure is the median in ns."""
    targets = {
        OVER_LIMIT: ROUND_TRIP_TARGETS[placement],
        OVER_SOCKPERF: ROUND_TRIP_SOCKPERF_TARGET,
    }
    seconds = effort.seconds or ROUND_TRIP_SECONDS
    rounds = effort.rounds or ROUND_TRIP_ROUNDS
    cells = [Cell(f"{size} B", "p50_ns", Load(size, 1, seconds), targets, rounds) for size in sizes]
    return Group(placement, contenders, cells)


def throughput(contenders: Mapping[str, Peer], effort: Effort) -> Group:
    """Many connections, one message in flight on each, one thread a side; the
    figure is messages per second."""
    seconds = effort.seconds or THROUGHPUT_SECONDS
    rounds = effort.rounds or THROUGHPUT_ROUNDS
    cells = [
        Cell(f"{THROUGHPUT_SIZE} B x {connections}", "per_s",
             Load(THROUGHPUT_SIZE, connections, seconds), {OVER_LIMIT: target}, rounds)
        for connections, target in THROUGHPUT_TARGETS.items()
    ]  # fmt: skip
    return Group(PINNED, contenders, cells)


def measure(group: Group, effort: Effort) -> Iterator[Row]:
    """Starts each server of the group once, then plays its cells."""
    with ExitStack() as stack:
        placement = stack.enter_context(placed(group.placement))
        endpoints = _endpoints(group.contenders, placement, stack)
        for cell in group.cells:
            yield _row(cell, group, endpoints, effort)


def _endpoints(
    contenders: Mapping[str, Peer], placement: Placement, stack: ExitStack
) -> dict[str, Endpoint]:
    """The A/A contender is the same peer, and asks the same server."""
    started: dict[int, Endpoint] = {}
    endpoints = {}
    for name, peer in contenders.items():
        if id(peer) not in started:
            started[id(peer)] = stack.enter_context(peer.serving(placement))
        endpoints[name] = started[id(peer)]
    return endpoints


def _row(cell: Cell, group: Group, endpoints: Mapping[str, Endpoint], effort: Effort) -> Row:
    entries = {
        name: _contender(peer, endpoints[name], cell) for name, peer in group.contenders.items()
    }
    order = effort.order(f"{group.placement} {cell.name}")
    pids = sorted({endpoint.pid for endpoint in endpoints.values()})
    try:
        return _judged(cell, group, play(entries, cell.rounds, order, pids), None)
    except BenchFailure as failure:
        return _judged(cell, group, Played([]), str(failure))


def _contender(peer: Peer, endpoint: Endpoint, cell: Cell) -> Contender:
    def entry() -> Sample:
        figures = peer.ping(endpoint, cell.load)
        return Sample(figures[cell.figure], figures)

    return entry


def _judged(cell: Cell, group: Group, played: Played, error: str | None) -> Row:
    found = {pair: estimate(played.ratios(*pair)) for pair in RATIOS}
    medians = {name: estimate(played.figures(name)) for name in group.contenders}
    return Row(
        cell=cell.name,
        placement=group.placement,
        figure=cell.figure,
        load=cell.load,
        played=played,
        medians={name: middle.median for name, middle in medians.items() if middle is not None},
        ratios={"/".join(pair): ratio for pair, ratio in found.items()},
        judged=[
            Judged("/".join(pair), target, target.judge(found[pair]))
            for pair, target in cell.targets.items()
        ],
        error=error,
    )
