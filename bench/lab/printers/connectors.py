"""The table of ways to a back end: pooled, new each time, and with a journal on disk."""

from __future__ import annotations

from collections.abc import Iterator

from form import (
    P50,
    THROUGHPUT,
    Sample,
    cells_and_variants,
    changed,
    column,
    mean,
    sampled,
    shown,
    table,
)
from stored import NOTHING, Block, Experiment, Figure, Labels

# A share in percent from which on a part is what a message waits for.
MOST = 50.0
MB = 1e6


def connectors(of: Experiment) -> None:
    """Messages a second by connector, where their time went, and what the disks did."""
    heads = ["work processes", "connector", "messages/s", "p50", "back end", "commit",
             "written/s", "disk waited for", "limit", "change"]  # fmt: skip
    table(heads, [[cell["processes"], name, *figures(of, cell, name)]
                  for cell, name in cells_and_variants(of)])  # fmt: skip


def figures(of: Experiment, cell: Labels, name: str) -> list[str]:
    """The figures of one connector."""
    back_end, commit, waited = (
        of.medians(cell, name, it) for it in (share("action-confirmation"), share("commit"), WAITED)
    )
    return [
        shown(of.medians(cell, name, THROUGHPUT), "{:,.1f}"),
        shown(of.medians(cell, name, P50), "{:.1f} ms", 1e6),
        shown(back_end, "{:.0f} %"),
        shown(commit, "{:.0f} %"),
        shown(of.medians(cell, name, WRITTEN), "{:,.1f} MB", MB),
        shown(waited, "{:.0f} %"),
        limit(back_end, commit, waited),
        changed(of, cell, name, "throughput"),
    ]


def limit(back_end: float | None, commit: float | None, waited: float | None) -> str:
    """What a message waits for most. The disk only where commits take most of the time, and the
    kernel says that programs waited for disks for most of it."""
    if commit is not None and commit >= MOST:
        return "the disk" if waited is not None and waited >= MOST else "commits, not shown why"
    if back_end is not None and back_end >= MOST:
        return "the back end"
    return NOTHING if back_end is None else "not shown"


def share(name: str) -> Figure:
    """The mean time that the runtime tells of as `name`, in percent of the mean response."""

    def of(block: Block) -> float | None:
        for part in block.result.get("parts", []):
            told = part.get("told_ns", {}).get(name)
            if told is not None:
                return 100 * float(told["mean"]) / float(part["response_ns"]["mean"])
        return None

    return of


def written(sample: Sample) -> float | None:
    """Bytes a second, over all disks."""
    found = list(of_disks(sample))
    return sum(found) if found else None


def of_disks(sample: Sample) -> Iterator[float]:
    """What was written to each."""
    return (float(it) for name, it in sample.items() if name.endswith(":write_bytes_per_s") and it)


WRITTEN = sampled(mean, written)
WAITED = sampled(mean, column("pressure_io_pct"))
