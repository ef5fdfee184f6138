"""Tables of single pages: first byte, last byte, lengths."""

from __future__ import annotations

from form import P50, SERVER_CPU, THROUGHPUT, cells_and_variants, changed, field, shown, table
from stored import Block, Experiment


def pages(of: Experiment) -> None:
    """First and last byte of pages and images, and what a page takes longer."""
    first, last = field("first_byte_ns", "p50"), field("service_ns", "p50")
    rows = []
    for cell in of.cells:
        figures = [of.medians(cell, name, it) for name in ("page", "image") for it in (first, last)]
        longer = of.differences(cell, first)
        rows.append([cell["kB"], *(shown(it, "{:.1f} us", 1e3) for it in [*figures, longer])])
    heads = [f"{kind} {time}" for kind in ("page", "image") for time in ("TTFB", "TTLB")]
    table(["kB", *heads, "page minus image"], rows)
    print()
    quartiles(of)


def quartiles(of: Experiment) -> None:
    """The first byte of each page and image, as a tool with quartiles prints it, and its average."""
    names = ("min", "p25", "p50", "p75", "max", "mean")
    rows = []
    for cell, name in cells_and_variants(of):
        figures = [of.medians(cell, name, field("first_byte_ns", it)) for it in names]
        apart = of.medians(cell, name, average_against_median)
        rows.append([cell["kB"], name, *(shown(it, "{:,.1f} us", 1e3) for it in figures),
                     shown(apart, "{:.2f}")])  # fmt: skip
    heads = ["kB", "what", "min", "25 %", "50 %", "75 %", "max", "average"]
    table([*heads, "average / median"], rows)


def average_against_median(block: Block) -> float | None:
    """How far a few long times pull the average away from the median."""
    times = block.result.get("first_byte_ns", {})
    return times["mean"] / times["p50"] if times.get("p50") else None


def first_hit(of: Experiment) -> None:
    """What is met once, beside what is met again and again."""
    [cell] = of.cells
    rows = []
    for name in of.variants:
        codes = of.keys(cell, name, "codes")
        figures = (of.medians(cell, name, field("first_byte_ns", it)) for it in ("p50", "mean"))
        rows.append([
            name, codes, shown(of.medians(cell, name, THROUGHPUT), "{:,.0f}"),
            *(shown(it, "{:,.1f} us", 1e3) for it in figures),
            shown(of.medians(cell, name, very_first), "{:,.1f} us", 1e3),
            changed(of, cell, name, "p50"),
        ])  # fmt: skip
    heads = ["hit", "statuses", "hits/s", "TTFB, median", "average", "the first of a block"]
    table([*heads, "change"], rows)


def very_first(block: Block) -> float | None:
    """The first byte of the first request of a block, which is measured apart."""
    hits = (part.get("first_hit") for part in block.result.get("parts", []))
    return next((float(hit["first_byte_ns"]) for hit in hits if hit), None)


def slow_line(of: Experiment) -> None:
    """First and last byte, and what lies between."""
    rows = []
    for cell, name in cells_and_variants(of):
        first, last, gap = (of.medians(cell, name, it) for it in (FIRST, LAST, first_to_last))
        rows.append([cell["file"], name, *(shown(it, "{:,.2f} ms", 1e6) for it in (first, last, gap)),
                     changed(of, cell, name, "p50")])  # fmt: skip
    table(["file", "line", "TTFB", "TTLB", "between them", "change"], rows)


FIRST, LAST = field("first_byte_ns", "p50"), field("service_ns", "p50")


def first_to_last(block: Block) -> float | None:
    """The median last byte minus the median first byte."""
    first, last = FIRST(block), LAST(block)
    return None if first is None or last is None else last - first


def twins(of: Experiment) -> None:
    """The forms of the same data, near and over a line."""
    rows = [
        [
            cell["probe"],
            name,
            shown(of.medians(cell, name, field("length", "p50")), "{:,.0f}"),
            shown(of.medians(cell, name, P50), "{:,.1f} us", 1e3),
            shown(of.medians(cell, name, SERVER_CPU), "{:,.1f} us", 1e3),
            changed(of, cell, name, "p50"),
        ]
        for cell, name in cells_and_variants(of)
    ]
    table(["where", "form", "bytes", "p50", "server CPU a request", "change"], rows)
