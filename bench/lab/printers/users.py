"""Tables of users of applets, with orders in the background."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from form import (
    MIB,
    P50,
    P95,
    SERVER_CPU,
    THROUGHPUT,
    Sample,
    cells_and_variants,
    changed,
    column,
    disk_queue,
    mean,
    sampled,
    shown,
    table,
)
from stored import NOTHING, Block, Experiment, Figure, Labels


def users(of: Experiment) -> None:
    """What users feel and what became of the orders; then what the machine did meanwhile."""
    each = list(cells_and_variants(of))
    heads = ["users", "runtime", "requests/s", "p50", "p95", "runtime's CPU a request",
             "orders accepted", "orders in the table", "change"]  # fmt: skip
    table(heads, [[cell["users"], name, *felt(of, cell, name)] for cell, name in each])
    print()
    heads = ["users", "runtime", "CPU %", "pages swapped a second", "disk queue"]
    rows = [
        [cell["users"], name, *(counter(of, (cell, name), it, form) for it, form in COUNTERS)]
        for cell, name in each
    ]
    table([*heads, "RAM available, MiB"], rows)


def felt(of: Experiment, cell: Labels, name: str) -> list[str]:
    """Rates and times of requests, and the orders of all blocks together."""
    accepted, arrived = (of.figures(cell, name, orders(it)) for it in ("accepted", "numbers"))
    return [
        shown(of.medians(cell, name, THROUGHPUT), "{:,.0f}"),
        shown(of.medians(cell, name, P50), "{:.2f} ms", 1e6),
        shown(of.medians(cell, name, P95), "{:.2f} ms", 1e6),
        shown(of.medians(cell, name, SERVER_CPU), "{:,.0f} us", 1e3),
        total(accepted),
        total(arrived),
        changed(of, cell, name, "server-cpu"),
    ]


def total(figures: Sequence[float]) -> str:
    """The sum over all blocks."""
    return f"{sum(figures):,.0f}" if figures else NOTHING


def orders(name: str) -> Figure:
    """A count of the load that sent orders in the background."""

    def of(block: Block) -> float | None:
        kept = block.left("orders.json")
        results = json.loads(kept)["results"] if kept else []
        counted = results[0].get("delivery", {}) if results else {}
        return float(counted[name]) if name in counted else None

    return of


def counter(
    of: Experiment,
    where: tuple[Labels, str],
    measured: Callable[[Sample], float | None],
    form: str,
) -> str:
    """The mean of a counter of the machine, and the least and the most of any sample."""
    average, least, most = (of.figures(*where, sampled(it, measured)) for it in (mean, min, max))
    if not average:
        return NOTHING
    shortest, longest = form.format(min(least)), form.format(max(most))
    return f"{form.format(mean(average))} ({shortest} to {longest})"


def swapped(sample: Sample) -> float | None:
    """Pages read from the swap space and written to it, a second."""
    moved = [column(it)(sample) for it in ("swapped_in", "swapped_out")]
    seconds = column("interval_s")(sample)
    known = [it for it in moved if it is not None]
    return sum(known) / seconds if known and seconds else None


def available(sample: Sample) -> float | None:
    """Memory that programs could have, MiB."""
    found = column("memory_available_bytes")(sample)
    return None if found is None else found / MIB


COUNTERS: list[tuple[Callable[[Sample], float | None], str]] = [
    (column("cpu_busy_pct"), "{:.1f}"),
    (swapped, "{:.1f}"),
    (disk_queue, "{:.3f}"),
    (available, "{:,.0f}"),
]
