"""What the run prints: a table of comparisons, and the checks under it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from comparisons import (
    AGAIN,
    BITS,
    IPERF,
    IPERF3,
    LATENCY,
    LIMIT,
    NOISE,
    OVER_LIMIT,
    OVER_SOCKPERF,
    OVER_STREAMERS,
    PLUMB,
    QPERF,
    RATE,
    SOCKPERF,
    Row,
)
from lib.table import NOTHING, figure, level, ratio, table

FIGURES = {
    LATENCY: "Round trips: median in ns",
    RATE: "Throughput: messages per second",
    BITS: "Streams: bits per second",
}
MESSAGES = (LIMIT, AGAIN, PLUMB, SOCKPERF)
MESSAGE_RATIOS = {
    "plumb/limit": OVER_LIMIT,
    "again/limit (A/A)": NOISE,
    "plumb/sockperf": OVER_SOCKPERF,
}
STREAMS = (PLUMB, IPERF3, IPERF, QPERF)
STREAM_RATIOS = {"/".join(pair): pair for pair in OVER_STREAMERS}
TAIL = ("interval", "kept", "thrown", "targets", "verdict")
# The contenders and ratios that the table of a figure shows.
SHOWN = {
    LATENCY: (MESSAGES, MESSAGE_RATIOS),
    RATE: (MESSAGES, MESSAGE_RATIOS),
    BITS: (STREAMS, STREAM_RATIOS),
}


def comparisons(rows: Sequence[Row]) -> str:
    """One table for each kind of figure, and what went wrong in its cells."""
    parts = []
    for kind, title in FIGURES.items():
        chosen = [row for row in rows if row.figure == kind]
        if chosen:
            peers, ratios = SHOWN[kind]
            head = ("cell", "placement", *peers, *ratios, *TAIL)
            parts += [title, table(head, [_cells(row) for row in chosen])]
        parts += [f"{row.cell}, {row.placement}: {error}" for row in chosen for error in row.errors]
    return "\n".join(parts)


def _cells(row: Row) -> list[str]:
    compared = row.comparisons.items()
    peers, ratios = SHOWN[row.figure]
    return [
        row.cell,
        row.placement,
        *(figure(row.median(peer)) for peer in peers),
        *(ratio(row.effect(*pair)) for pair in ratios.values()),
        _listed(level(row.effect(PLUMB, baseline)) for baseline, _ in compared),
        _listed(str(comparison.kept()) for _, comparison in compared),
        _listed(str(comparison.thrown()) for _, comparison in compared),
        _listed(str(judged.target) for judged in row.judged),
        _listed(judged.verdict.value for judged in row.judged),
    ]


def _listed(words: Iterable[str]) -> str:
    """In the order of the experiments: the one against the limit first."""
    return ", ".join(words) or NOTHING


def progress(row: Row) -> str:
    """One line when a cell is done."""
    outcomes = [
        f"against {baseline} {comparison.kept()} rounds kept, {comparison.thrown()} thrown away"
        for baseline, comparison in row.comparisons.items()
    ]
    return f"{row.placement}, {row.cell}: {'; '.join([*outcomes, *row.errors])}"
