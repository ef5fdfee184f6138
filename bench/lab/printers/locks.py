"""Tables of the lock server."""

from __future__ import annotations

from form import (
    CLIENT_CPU,
    DURATION,
    P50,
    SERVER_CPU,
    cells_and_variants,
    changed,
    field,
    kept_kib,
    named,
    shown,
    table,
)
from stored import Block, Experiment, Figure, Record

# The windows of the published rolling rates, seconds, and how much shorter they are here.
WINDOWS, SHORTER = {"actual": 5.0, "10 s": 10.0, "1 min": 60.0, "5 min": 300.0}, 100.0
# When the published rates of one process were read, as far as its 5 minutes show: 385,301 / 414,001.
READ_EARLY = 385_301 / 414_001
# Enqueues among the requests of an order.
ENQUEUES = 21 / 29


def locks_orders(of: Experiment) -> None:
    """Lock operations a minute."""
    rows = [
        [
            cell["clients"],
            name,
            shown(of.medians(cell, name, named("enqueues a minute")), "{:,.0f}"),
            shown(of.medians(cell, name, CLIENT_CPU), "{:.2f} us", 1e3),
            shown(of.medians(cell, name, SERVER_CPU), "{:.2f} us", 1e3),
            changed(of, cell, name, "throughput"),
        ]
        for cell, name in cells_and_variants(of)
    ]
    heads = ["clients", "over", "enqueues a minute", "client CPU a request", "server CPU a request"]
    table([*heads, "change"], rows)


def locks_create(of: Experiment) -> None:
    """What it takes to create, verify and destroy a number of locks."""
    rows = [
        [
            cell["step"],
            name,
            shown(of.medians(cell, name, DURATION), "{:,.1f} ms", 1e6),
            shown(of.medians(cell, name, field("operations")), "{:,.0f}"),
            shown(of.medians(cell, name, P50), "{:,.3f} ms", 1e6),
            shown(of.medians(cell, name, field("response_ns", "max")), "{:,.3f} ms", 1e6),
            shown(of.medians(cell, name, CLIENT_CPU), "{:.2f} us", 1e3),
            shown(of.medians(cell, name, SERVER_CPU), "{:.2f} us", 1e3),
            changed(of, cell, name, "throughput"),
        ]
        for cell, name in cells_and_variants(of)
    ]
    heads = ["step", "over", "time of all owners", "requests", "a request, p50", "at most"]
    table([*heads, "client CPU a request", "server CPU a request", "change"], rows)


def locks_rolling(of: Experiment) -> None:
    """Rates over windows, read before the longest has filled and when it has."""
    rows = []
    for cell, name in cells_and_variants(of):
        for moment, share in (("early", READ_EARLY), ("at the end", 1.0)):
            figures = [of.medians(cell, name, rate(it / SHORTER, share)) for it in WINDOWS.values()]
            change = changed(of, cell, name, "throughput") if share == 1 else ""
            rows.append([cell["clients"], name, moment,
                         *(shown(it, "{:,.0f}") for it in figures), change])  # fmt: skip
    heads = ["clients", "over", "read", *WINDOWS, "change"]
    table(heads, rows)


def rate(window_s: float, share: float) -> Figure:
    """Enqueues a minute over the window that ends when `share` of the longest one is over. What of a
    window lies before the load began counts as nothing, as it does on a monitor."""

    def of(block: Block) -> float | None:
        intervals = block.result["intervals"]
        if not intervals:
            return None
        start_ns = intervals[0]["start_ns"]
        end_ns = start_ns + share * max(WINDOWS.values()) / SHORTER * 1e9
        begin_ns = end_ns - window_s * 1e9
        requests = sum(it["operations"] * overlap(it, begin_ns, end_ns) for it in intervals)
        return requests * ENQUEUES * 60 / window_s

    return of


def overlap(interval: Record, begin_ns: float, end_ns: float) -> float:
    """The part of an interval that lies within a window."""
    start_ns, duration_ns = interval["start_ns"], interval["duration_ns"]
    within = min(end_ns, start_ns + duration_ns) - max(begin_ns, start_ns)
    return max(0.0, within / duration_ns) if duration_ns else 0.0


def large_pages(of: Experiment) -> None:
    """What locks cost, and what the kernel gave."""
    [cell] = of.cells
    rows = [
        [
            name,
            shown(of.medians(cell, name, kept_kib("pages.txt", "AnonHugePages")), "{:,.0f} MiB", 1024),
            shown(of.medians(cell, name, kept_kib("pages.txt", "Rss")), "{:,.0f} MiB", 1024),
            shown(of.medians(cell, name, DURATION), "{:.2f} s", 1e9),
            shown(of.medians(cell, name, SERVER_CPU), "{:.3f} us", 1e3),
            changed(of, cell, name, "server-cpu"),
        ]
        for name in of.variants
    ]
    heads = ["server", "in large pages", "of", "2,000,000 locks", "server CPU a lock", "change"]
    table(heads, rows)
