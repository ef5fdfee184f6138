"""Tables of the integration runtime."""

from __future__ import annotations

from form import (
    MIB,
    P50,
    SERVER_CPU,
    THROUGHPUT,
    cells_and_variants,
    changed,
    column,
    field,
    kept_kib,
    named,
    sampled,
    shown,
    table,
)
from stored import Block, Experiment, Labels

PROCESSORS = field("host", "busy_pct")


def transform(of: Experiment) -> None:
    """Orders a second, and what each way of transforming them takes."""
    rows = [
        [
            cell["callers"],
            name,
            shown(of.medians(cell, name, THROUGHPUT), "{:,.1f}"),
            shown(of.medians(cell, name, P50), "{:,.0f} ms", 1e6),
            shown(of.medians(cell, name, SERVER_CPU), "{:,.1f} ms", 1e6),
            shown(of.medians(cell, name, PROCESSORS), "{:.0f}"),
            shown(of.medians(cell, name, kept_kib("memory.txt", "Peak")), "{:,.0f} MiB", 1024),
            changed(of, cell, name, "throughput"),
        ]
        for cell, name in cells_and_variants(of)
    ]
    heads = ["callers", "by", "orders/s", "p50", "runtime's CPU an order", "CPU %", "memory at most"]
    table([*heads, "change"], rows)


def agents(of: Experiment) -> None:
    """Rows a second out of agents' messages."""
    least = sampled(min, column("memory_available_bytes"))
    rows = [
        [
            cell["agents"],
            cell["bundle"],
            name,
            shown(of.medians(cell, name, named("printed figure")), "{:,.0f}"),
            shown(of.medians(cell, name, PROCESSORS), "{:.0f}"),
            shown(of.medians(cell, name, least), "{:,.0f}", MIB),
            changed(of, cell, name, "figure"),
        ]
        for cell, name in cells_and_variants(of)
    ]
    heads = ["agents", "changes a message", "runtime", "rows/s", "CPU %"]
    table([*heads, "RAM available at least, MiB", "change"], rows)


def idocs(of: Experiment) -> None:
    """Rows a second out of the queue by nodes and memory, and what of the runtime was full."""
    heads = ["memory, MiB", "nodes"]
    table([*heads, *IN_USE], [[cell["memory"], name, *in_use(of, cell, name)]
                              for cell, name in cells_and_variants(of)])  # fmt: skip


def idocs_pools(of: Experiment) -> None:
    """The same by workers and sessions."""
    heads = ["sessions", "workers"]
    table([*heads, *IN_USE], [[cell["sessions"], name, *in_use(of, cell, name)]
                              for cell, name in cells_and_variants(of)])  # fmt: skip


def idocs_all(of: Experiment) -> None:
    """The same of all messages, in two configurations."""
    table(["workers", *IN_USE], [[name, *in_use(of, cell, name)]
                                 for cell, name in cells_and_variants(of)])  # fmt: skip


# A part that is in use for so much of the time, in percent, is full.
FULL = 90.0
WORKERS, SESSIONS, FLUSHING, REACHED = (
    named(it) for it in ("workers busy", "sessions busy", "queue flushing", "memory limit reached")
)
IN_USE = ["rows/s", "accepted/s", "CPU %", "workers %", "sessions %", "queue flushing %",
          "memory limit reached", "full", "change"]  # fmt: skip


def in_use(of: Experiment, cell: Labels, name: str) -> list[str]:
    """Rates, and how much of each part was in use."""
    parts = [of.medians(cell, name, it) for it in (PROCESSORS, WORKERS, SESSIONS, FLUSHING)]
    return [
        shown(of.medians(cell, name, rows_per_s), "{:,.0f}"),
        shown(of.medians(cell, name, THROUGHPUT), "{:,.0f}"),
        *(shown(it, "{:.0f}") for it in parts),
        shown(of.medians(cell, name, REACHED), "{:,.0f} times"),
        full(*parts),
        changed(of, cell, name, "rows"),
    ]


def full(
    processors: float | None,
    workers: float | None,
    sessions: float | None,
    flushing: float | None,
) -> str:
    """What limits: the processors before what runs on them, and what is waited for before who waits."""
    parts = [
        ("processors", processors),
        ("sessions", sessions),
        ("the queue's disk", flushing),
        ("workers", workers),
    ]
    found = [name for name, share in parts if share is not None and share >= FULL]
    if found:
        return found[0]
    return "not known" if None in (processors, workers, sessions, flushing) else "nothing"


def rows_per_s(block: Block) -> float | None:
    """By the time stamps of the sink's table."""
    delivery = block.result.get("delivery", {})
    return delivery["rows"] * 1e9 / delivery["span_ns"] if "span_ns" in delivery else None
