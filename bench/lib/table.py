"""Plain text tables."""

from __future__ import annotations

from collections.abc import Sequence

from lib.stats import Estimate

NOTHING = "-"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the first two to the left."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [_line(head, widths), _line(["-" * width for width in widths], widths)]
    return "\n".join(lines + [_line(row, widths) for row in rows])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    placed = [
        cell.ljust(width) if column < 2 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths))
    ]
    return "  ".join(placed).rstrip()


def figure(value: float | None) -> str:
    """A whole number with thousands separated."""
    return NOTHING if value is None else f"{value:,.0f}"


def ratio(found: Estimate | None) -> str:
    """A ratio and its interval: `1.02 [0.99, 1.04]`."""
    if found is None:
        return NOTHING
    return f"{found.median:.3f} [{found.low:.3f}, {found.high:.3f}]"


def confidence(found: Estimate | None) -> str:
    """The true level of an interval, in percent."""
    return NOTHING if found is None else f"{100 * found.confidence:.1f} %"


def mebibytes(count_bytes: float) -> str:
    """Memory, to a tenth of a MiB."""
    return f"{count_bytes / 2**20:.1f} MiB"
