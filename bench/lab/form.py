"""What the tables of experiments are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from stored import NOTHING, Block, Experiment, Figure, Labels

MIB = 2.0**20


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


def changed(of: Experiment, cell: Labels, name: str, key: str) -> str:
    """The change of a candidate; of the baseline that it is one."""
    return "baseline" if name == of.variants[0] else of.change(cell, name, key)


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


def kept_kib(file: str, name: str) -> Figure:
    """A line of a file that a server left in the folder of its block, KiB."""

    def of(block: Block) -> float | None:
        kept = block.left(file)
        lines = (line.split() for line in kept.splitlines()) if kept else iter(())
        return next((float(words[1]) for words in lines if words[:1] == [f"{name}:"]), None)

    return of
