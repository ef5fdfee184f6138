"""Plain text tables."""

from __future__ import annotations

from collections.abc import Sequence

from lib.experiment import Effect

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


def ratio(effect: Effect | None) -> str:
    """A ratio and its interval, where it has one: `1.020 [0.990, 1.040]`."""
    if effect is None or effect.ratio is None:
        return NOTHING
    if effect.interval is None:
        return f"{effect.ratio:.3f}"
    return f"{effect.ratio:.3f} [{effect.interval.low:.3f}, {effect.interval.high:.3f}]"


def level(effect: Effect | None) -> str:
    """The true level of the interval, in percent."""
    if effect is None or effect.interval is None:
        return NOTHING
    return f"{100 * effect.interval.level:.1f} %"


def mebibytes(count_bytes: float) -> str:
    """Memory, to a tenth of a MiB."""
    return f"{count_bytes / 2**20:.1f} MiB"
