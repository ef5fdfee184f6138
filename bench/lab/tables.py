#!/usr/bin/env python3
"""Runs the experiments of examples/seeds on this machine and prints their tables as Markdown.

The tables are those of docs/seed-tables.md, which has a place for each between `<!-- NAME -->`
and `<!-- /NAME -->`. Figures are medians over the blocks that count; changes, intervals and
verdicts are those of `plumb lab run`.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import stored  # noqa: E402
from lib import build  # noqa: E402
from lib.console import COULD_NOT_RUN, say, status_of  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.options import names, positive  # noqa: E402
from stored import NOTHING, Block, Experiment, Figure, Labels  # noqa: E402

EXPERIMENTS = BENCH.parent / "examples" / "seeds"
# The user of an application server that names none.
LOG_ON = {"PLUMB_HTTP_USER": "demo", "PLUMB_HTTP_PASSWORD": "demo"}
# The messages of one row of the published table of processor time.
PUBLISHED_MESSAGES = 3_000_000
MIB = 2.0**20

def main(arguments: Sequence[str]) -> int:
    """Reads the options, runs, prints."""
    options = parse(arguments)
    plumb = build.plumb(options.plumb, not options.no_build)
    chapter = options.fill and options.fill.resolve()
    options.out = options.out and options.out.resolve()
    os.environ.update(LOG_ON)
    os.chdir(EXPERIMENTS)
    words = ["--rounds", str(options.rounds)] if options.rounds else []
    words += ["--accept-invalid"] if options.accept_invalid else []
    failed = False
    for name in options.only:
        say(f"running {name}")
        try:
            with folder(options.out, name) as out:
                text = made(name, stored.run(plumb, f"{name}.toml", out, words))
        except BenchFailure as failure:
            say(f"{name}: {failure}")
            failed = True
            continue
        print(f"### {name}\n\n{text}", flush=True)
        if chapter:
            fill(chapter, name, text)
    return COULD_NOT_RUN if failed else 0


@contextmanager
def folder(kept: Path | None, name: str) -> Iterator[Path]:
    """Where an experiment lies: in a folder that stays, or in one that goes with its tables."""
    if kept:
        yield kept / name
        return
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        yield Path(scratch, name)


def made(name: str, experiment: Experiment) -> str:
    """The tables of an experiment, and what must be known about them."""
    text = io.StringIO()
    with redirect_stdout(text):
        TABLES[name](experiment)
        print(f"\n{experiment.rounds()}; {meanwhile(experiment)}.")
    return text.getvalue()


def fill(chapter: Path, name: str, text: str) -> None:
    """Puts tables into their place in a chapter."""
    before, begin, rest = chapter.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, end, behind = rest.partition(f"<!-- /{name} -->\n")
    if not begin or not end:
        raise BenchFailure(f"{chapter} has no place <!-- {name} --> to <!-- /{name} -->")
    chapter.write_text(f"{before}{begin}\n{text}\n{end}{behind}", encoding="utf-8")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--plumb", type=Path, help="take this program, and do not build")
    add("--no-build", action="store_true", help="take target/release/plumb")
    add("--rounds", type=positive(int), help="so many rounds, whatever the files say")
    add("--accept-invalid", action="store_true", help="let blocks that are not valid count")
    add("--out", type=Path, metavar="DIR", help="keep the experiments, each in a folder of DIR")
    add("--fill", type=Path, metavar="FILE", help="put the tables into this chapter, too")
    add("--only", type=names(list(TABLES)), default=list(TABLES), metavar="NAME,...",
        help="run these only")  # fmt: skip
    return parser.parse_args(arguments)


def meanwhile(experiment: Experiment) -> str:
    """What others did on the machine."""
    share = experiment.foreign()
    if share is None:
        return "the blocks are too short to tell what others took"
    return f"others took at most {share:.0f} % of all processors"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table as Markdown, figures on the right."""
    print("| " + " | ".join(heads) + " |")
    print("|" + "--:|" * len(heads))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def shown(figure: float | None, form: str, by: float = 1.0) -> str:
    """A figure divided by `by`, or that there is none."""
    return NOTHING if figure is None else form.format(figure / by)


def field(*path: str) -> Figure:
    """A figure of the record; None where it is absent."""

    def of(block: Block) -> float | None:
        value: object = block.result
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return None if value is None else float(value)  # type: ignore[arg-type]

    return of


def named(name: str) -> Figure:
    """One of the further figures of a layer."""

    def of(block: Block) -> float | None:
        found = (it["value"] for it in block.result.get("figures", []) if it["name"] == name)
        return next(found, None)

    return of


THROUGHPUT, DURATION = field("throughput_per_s"), field("duration_ns")
P50, P95 = field("response_ns", "p50"), field("response_ns", "p95")
CLIENT_CPU, SERVER_CPU = field("cpu", "client_ns_per_op"), field("cpu", "server_ns_per_op")


def cells_and_variants(of: Experiment) -> Iterator[tuple[Labels, str]]:
    """Every cell with every variant, in the order of the file."""
    return ((cell, variant) for cell in of.cells for variant in of.variants)


def message_sizes(of: Experiment) -> None:
    """Latency, then throughput."""
    for figure, unit, key, form in (
        ("av2_ms", "av2 {}, ms", "p50", "{:.4f}"),
        ("tr2_kb_s", "tr2 {}, kB/s", "throughput", "{:,.0f}"),
    ):
        heads = ["size", *(unit.format(name) for name in of.variants)]
        heads += [f"change {name}" for name in of.variants[1:]]
        rows = []
        for cell in of.cells:
            figures = (of.medians(cell, name, field("niping", figure)) for name in of.variants)
            changes = (of.change(cell, name, key) for name in of.variants[1:])
            rows.append([cell["size"], *(shown(it, form) for it in figures), *changes])
        table(heads, rows)
        print()
    print("Changes are those of the median round trip and of the messages a second.")


def parallel(of: Experiment) -> None:
    """Messages, then streams."""
    rows, streams = [], []
    for cell, name in cells_and_variants(of):
        if cell["probe"] == "streams":
            bits = of.medians(cell, name, field("stream", "to_server", "bits_per_s"))
            cost = of.medians(cell, name, cpu_a_gigabyte)
            change = changed(of, cell, name, "bits")
            streams.append([cell["parallel"] + "x", name, shown(bits, "{:.1f} Gbit/s", 1e9),
                            shown(cost, "{:.2f} s"), change])  # fmt: skip
            continue
        client, server = (of.medians(cell, name, it) for it in (CLIENT_CPU, SERVER_CPU))
        whole = None if client is None or server is None else client + server
        rows.append([
            cell["size"], cell["parallel"] + "x", name,
            shown(of.medians(cell, name, THROUGHPUT), "{:,.0f}"),
            shown(client, "{:.2f} us", 1e3), shown(server, "{:.2f} us", 1e3),
            shown(whole, "{:.1f} s", 1e9 / PUBLISHED_MESSAGES),
            changed(of, cell, name, "throughput"),
        ])  # fmt: skip
    heads = ["size", "parallel", "over", "messages/s", "client CPU", "server CPU"]
    table([*heads, "CPU-seconds of 3 million", "change"], rows)
    print()
    table(["streams", "over", "to server", "CPU a GB", "change"], streams)


def cpu_a_gigabyte(block: Block) -> float | None:
    """Seconds of both sides for 10^9 bytes that were received."""
    stream = block.result["stream"]
    costs = [stream.get(side) for side in ("client_cpu_ns", "server_cpu_ns")]
    if None in costs:
        return None
    return sum(costs) / stream["to_server"]["received_bytes"]


def changed(of: Experiment, cell: Labels, name: str, key: str) -> str:
    """The change of a candidate; of the baseline that it is one."""
    return "baseline" if name == of.variants[0] else of.change(cell, name, key)


def four_clients(of: Experiment) -> None:
    """Each client, and all together."""
    [cell] = of.cells
    rows = [
        [
            name,
            shown(of.medians(cell, name, of_clients("av2_ms", mean)), "{:.4f} ms"),
            shown(of.medians(cell, name, of_clients("tr2_kb_s", sum)), "{:,.0f} kB/s"),
            shown(of.medians(cell, name, THROUGHPUT), "{:,.0f}"),
            shown(of.medians(cell, name, named("one-way bits")), "{:.1f} Gbit/s", 1e9),
            changed(of, cell, name, "throughput"),
        ]
        for name in of.variants
    ]
    heads = ["clients", "av2, mean of the clients", "tr2, their sum", "messages/s", "one way"]
    table([*heads, "change"], rows)


def of_clients(figure: str, over: Callable[[list[float]], float]) -> Figure:
    """One of niping's figures over all clients of a block."""

    def of(block: Block) -> float | None:
        clients = block.result.get("clients") or [block.result]
        found = [client.get("niping", {}).get(figure) for client in clients]
        return None if None in found else over(found)

    return of


def packets(of: Experiment) -> None:
    """Rates of small messages each way, and who received them."""
    [cell] = of.cells
    rows = [
        [
            name,
            shown(of.medians(cell, name, named("messages to server")), "{:,.0f}"),
            shown(of.medians(cell, name, named("messages from server")), "{:,.0f}"),
            shown(of.medians(cell, name, named("bits from server")), "{:,.0f} Mbit/s", 1e6),
            shown(of.medians(cell, name, field("host", "receive", "effective_cpus")), "{:.1f}"),
            changed(of, cell, name, "throughput"),
        ]
        for name in of.variants
    ]
    heads = ["client and server on", "messages/s to server", "from server", "bits from server"]
    table([*heads, "processors that receive", "change"], rows)


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
    """The time that a number of locks takes."""
    [cell] = of.cells
    rows = [
        [
            name,
            shown(of.medians(cell, name, field("operations")), "{:,.0f}"),
            shown(of.medians(cell, name, DURATION), "{:.2f} s", 1e9),
            shown(of.medians(cell, name, CLIENT_CPU), "{:.2f} us", 1e3),
            shown(of.medians(cell, name, SERVER_CPU), "{:.2f} us", 1e3),
            changed(of, cell, name, "throughput"),
        ]
        for name in of.variants
    ]
    heads = ["over", "locks", "time", "client CPU a lock", "server CPU a lock", "change"]
    table(heads, rows)


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


def connectors(of: Experiment) -> None:
    """Messages a second with and without kept connections."""
    rows = [
        [
            cell["processes"],
            name,
            shown(of.medians(cell, name, THROUGHPUT), "{:,.1f}"),
            shown(of.medians(cell, name, P50), "{:.1f} ms", 1e6),
            changed(of, cell, name, "throughput"),
        ]
        for cell, name in cells_and_variants(of)
    ]
    table(["work processes", "connections", "messages/s", "p50", "change"], rows)


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


def user_mix(of: Experiment) -> None:
    """What users feel, and what the machine does meanwhile."""
    rows = []
    for cell, name in cells_and_variants(of):
        memory = "memory_available_bytes"
        rows.append([
            cell["users"], name,
            shown(of.medians(cell, name, THROUGHPUT), "{:,.0f}"),
            shown(of.medians(cell, name, P95), "{:.2f} ms", 1e6),
            shown(of.medians(cell, name, field("host", "busy_pct")), "{:.1f}"),
            shown(of.medians(cell, name, field("host", "swapped_pages")), "{:,.0f}"),
            shown(of.medians(cell, name, sampled(mean, disk_queue)), "{:.3f}"),
            shown(of.medians(cell, name, sampled(max, disk_queue)), "{:.3f}"),
            shown(of.medians(cell, name, sampled(mean, column(memory))), "{:,.0f}", MIB),
            shown(of.medians(cell, name, sampled(min, column(memory))), "{:,.0f}", MIB),
        ])  # fmt: skip
    heads = ["users", "server", "requests/s", "p95", "CPU %", "pages swapped", "disk queue, mean"]
    table([*heads, "at most", "RAM available, mean MiB", "at least"], rows)


Sample = dict[str, str]


def mean(figures: Sequence[float]) -> float:
    """Of samples that are equally far apart."""
    return sum(figures) / len(figures)


def column(name: str) -> Callable[[Sample], float | None]:
    """One column of a host recording."""
    return lambda sample: float(sample[name]) if sample.get(name) else None


def disk_queue(sample: Sample) -> float | None:
    """Requests under way, over all disks."""
    queues = [float(it) for name, it in sample.items() if name.endswith(":queue_mean") and it]
    return sum(queues) if queues else None


def sampled(over: Callable[[list[float]], float], of: Callable[[Sample], float | None]) -> Figure:
    """A figure over the samples of a block."""

    def of_block(block: Block) -> float | None:
        found = [it for sample in block.host_samples() if (it := of(sample)) is not None]
        return over(found) if found else None

    return of_block


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


TABLES: dict[str, Callable[[Experiment], None]] = {
    "message-sizes": message_sizes,
    "parallel": parallel,
    "four-clients": four_clients,
    "packets": packets,
    "network-or-database": network_or_database,
    "locks-orders": locks_orders,
    "locks-create": locks_create,
    "pages": pages,
    "list-details": list_details,
    "connectors": connectors,
    "user-mix": user_mix,
}


if __name__ == "__main__":
    raise SystemExit(status_of(lambda: main(sys.argv[1:])))
