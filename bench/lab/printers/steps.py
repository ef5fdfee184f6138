"""Tables of what users do: steps, pools, databases."""

from __future__ import annotations

from form import (
    DURATION,
    P50,
    THROUGHPUT,
    cells_and_variants,
    changed,
    field,
    shown,
    table,
)
from stored import Block, Experiment, Figure, Labels


def list_details(of: Experiment) -> None:
    """The time of 401 requests by form, users and pool; then the sizes of the forms."""
    few, many = of.variants
    rows, sizes = [], {}
    for cell in of.cells:
        times = (of.medians(cell, name, DURATION) for name in (few, many))
        rates = (of.medians(cell, name, THROUGHPUT) for name in (few, many))
        rows.append([
            cell["form"], cell["users"], *(shown(it, "{:.2f} s", 1e9) for it in times),
            *(shown(it, "{:,.0f}") for it in rates), of.change(cell, many, "throughput"),
        ])  # fmt: skip
        sizes[cell["form"]] = [
            shown(of.medians(cell, few, length(step)), "{:,.0f}") for step in ("list", "detail")
        ]
    heads = ["form", "users", f"time, {few}", f"time, {many}", f"requests/s, {few}"]
    table([*heads, f"requests/s, {many}", "change"], rows)
    print()
    table(["form", "list, bytes", "a detail, bytes"], [[form, *it] for form, it in sizes.items()])


def length(step: str) -> Figure:
    """The median length of the answers of a step."""

    def of(block: Block) -> float | None:
        found = (part for part in block.result["parts"] if part["name"] == step)
        return next((float(part["length"]["p50"]) for part in found), None)

    return of


def work_processes(of: Experiment) -> None:
    """The time of 401 requests by pool and front."""
    [cell] = of.cells
    rows = [[name, *time_and_rate(of, cell, name)] for name in of.variants]
    table(["server", "time of 401", "requests/s", "p50", "change"], rows)


def remote_gateway(of: Experiment) -> None:
    """The time of 401 requests by where the gateway is."""
    rows = [
        [cell["users"], name, *time_and_rate(of, cell, name)]
        for cell, name in cells_and_variants(of)
    ]
    table(["users", "gateway", "time of 401", "requests/s", "p50", "change"], rows)


def failing_samples(of: Experiment) -> None:
    """The time of 401 requests of which some fail, and of the same without those."""
    rows = []
    for cell, name in cells_and_variants(of):
        figures = time_and_rate(of, cell, name)
        mean_time = shown(of.medians(cell, name, field("response_ns", "mean")), "{:.1f} ms", 1e6)
        longest = shown(of.medians(cell, name, field("response_ns", "max")), "{:,.0f} ms", 1e6)
        failed = shown(of.medians(cell, name, field("codes", "500")), "{:.0f}")
        rows.append([cell["users"], name, failed, *figures[:3], mean_time, longest, figures[3]])
    heads = ["users", "what fails", "answers of 500", "time of 401", "requests/s", "p50", "average"]
    table([*heads, "longest", "change"], rows)


def time_and_rate(of: Experiment, cell: Labels, name: str) -> list[str]:
    """Time, rate and median response time of a scenario that ends by itself, and the change."""
    return [
        shown(of.medians(cell, name, DURATION), "{:.2f} s", 1e9),
        shown(of.medians(cell, name, THROUGHPUT), "{:,.0f}"),
        shown(of.medians(cell, name, P50), "{:.1f} ms", 1e6),
        changed(of, cell, name, "throughput"),
    ]


def network_or_database(of: Experiment) -> None:
    """Where the time of a statement goes."""
    [cell] = of.cells
    rows = []
    for name in of.variants:
        client = of.medians(cell, name, field("attribution", "client", "mean_ns"))
        parts = (of.medians(cell, name, part(kind)) for kind in ("wire", "server", "rest"))
        rows.append([name, *(shown(it, "{:.2f} ms", 1e6) for it in (client, *parts))])
    table(["system", "client", "wire", "server", "rest"], rows)


def part(kind: str) -> Figure:
    """The mean of one part of the time."""

    def of(block: Block) -> float | None:
        parts = block.result["attribution"]["parts"]
        return next((it["time"]["mean_ns"] for it in parts if it["kind"] == kind), None)

    return of
