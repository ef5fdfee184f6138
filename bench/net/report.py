"""What the run prints: a table of comparisons, and the checks under it."""

from __future__ import annotations

from collections.abc import Sequence

from checks import Check
from comparisons import AGAIN, LIMIT, PLUMB, RATIOS, SOCKPERF, Row
from lib.table import NOTHING, confidence, figure, ratio, table

FIGURES = {"p50_ns": "Round trips: median in ns", "per_s": "Throughput: messages per second"}
PEERS = (LIMIT, AGAIN, PLUMB, SOCKPERF)
HEAD = (
    "cell", "placement", *PEERS, "plumb/limit", "again/limit (A/A)", "plumb/sockperf",
    "interval", "kept", "thrown", "targets", "verdict",
)  # fmt: skip


def comparisons(rows: Sequence[Row]) -> str:
    """One table for each kind of figure, and the errors of cells without one."""
    parts = []
    for kind, title in FIGURES.items():
        chosen = [row for row in rows if row.figure == kind]
        if chosen:
            parts += [title, table(HEAD, [_cells(row) for row in chosen])]
        parts += [
            f"{row.cell}, {row.placement}: {row.error}" for row in chosen if row.error is not None
        ]
    return "\n".join(parts)


def _cells(row: Row) -> list[str]:
    levels = [found for found in row.ratios.values() if found is not None]
    return [
        row.cell,
        row.placement,
        *(figure(row.medians.get(peer)) for peer in PEERS),
        *(ratio(row.ratios["/".join(pair)]) for pair in RATIOS),
        confidence(levels[0] if levels else None),
        str(len(row.played.kept())),
        str(row.played.thrown()),
        ", ".join(str(judged.target) for judged in row.judged) or NOTHING,
        ", ".join(judged.verdict.value for judged in row.judged) or NOTHING,
    ]


def progress(row: Row) -> str:
    """One line when a cell is done."""
    played = row.played
    outcome = row.error or f"{len(played.kept())} rounds kept, {played.thrown()} thrown away"
    return f"{row.placement}, {row.cell}: {outcome}"


def check(found: Check) -> str:
    """The outcome of a check, then what it found, a line each."""
    return "\n".join([f"{found.cell}: {found.verdict.value}", *(f"  {it}" for it in found.found)])
