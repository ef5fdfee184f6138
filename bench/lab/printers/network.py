"""Tables of the network."""

from __future__ import annotations

from collections.abc import Callable

from form import (
    CLIENT_CPU,
    P50,
    SERVER_CPU,
    THROUGHPUT,
    Sample,
    cells_and_variants,
    changed,
    column,
    field,
    mean,
    named,
    sampled,
    shown,
    table,
)
from stored import NOTHING, Block, Experiment, Figure

# The messages of one row of the published table of processor time.
PUBLISHED_MESSAGES = 3_000_000


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
    print("Changes are those of the median round trip, which is tested, and of the messages a second.")


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


def four_clients(of: Experiment) -> None:
    """Each client, and all together."""
    [cell] = of.cells
    rows = [
        [
            name,
            shown(of.medians(cell, name, of_clients("av2_ms", mean)), "{:.4f} ms"),
            shown(of.medians(cell, name, of_clients("tr2_kb_s", mean)), "{:,.0f} kB/s"),
            shown(of.medians(cell, name, THROUGHPUT), "{:,.0f}"),
            shown(of.medians(cell, name, named("one-way bits")), "{:.1f} Gbit/s", 1e9),
            changed(of, cell, name, "throughput"),
        ]
        for name in of.variants
    ]
    heads = ["clients", "av2, mean of the clients", "tr2, mean of the clients", "messages/s", "one way"]
    table([*heads, "change"], rows)


def of_clients(figure: str, over: Callable[[list[float]], float]) -> Figure:
    """One of niping's figures over all clients of a block."""

    def of(block: Block) -> float | None:
        clients = block.result.get("clients") or [block.result]
        found = [client.get("niping", {}).get(figure) for client in clients]
        return None if None in found else over(found)

    return of


def receive_heavy(of: Experiment) -> None:
    """Messages, then streams, in both directions."""
    rows, streams = [], []
    for cell, name in cells_and_variants(of):
        way = "to_server" if name == "server receives" else "from_server"
        if cell["probe"] == "streams":
            bits = of.medians(cell, name, field("stream", way, "bits_per_s"))
            streams.append([cell["clients"], name, shown(bits, "{:.1f} Gbit/s", 1e9),
                            changed(of, cell, name, "bits")])  # fmt: skip
            continue
        both = (of.medians(cell, name, named(f"bits {it} server")) for it in ("to", "from"))
        rows.append([
            cell["clients"], name, shown(of.medians(cell, name, THROUGHPUT), "{:,.0f}"),
            *(shown(it, "{:,.0f} Mbit/s", 1e6) for it in both),
            shown(of.medians(cell, name, CLIENT_CPU), "{:.2f} us", 1e3),
            shown(of.medians(cell, name, SERVER_CPU), "{:.2f} us", 1e3),
            changed(of, cell, name, "throughput"),
        ])  # fmt: skip
    heads = ["clients", "direction", "exchanges/s", "to server", "from server", "client CPU"]
    table([*heads, "server CPU", "change"], rows)
    print()
    table(["streams", "direction", "carried", "change"], streams)


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


def smc(of: Experiment) -> None:
    """Round trips (av2 and tr2), messages, streams, locks (enqueues), steps and programs, with what each
    costs both sides and what the processors of this machine did meanwhile."""
    rows = []
    for cell, name in cells_and_variants(of):
        client, server = (of.medians(cell, name, it) for it in (CLIENT_CPU, SERVER_CPU))
        cost = (shown(it, "{:.2f} us", 1e3) for it in (client, server))
        key, figure = "throughput", shown(of.medians(cell, name, THROUGHPUT), "{:,.0f} /s")
        seconds = shown(of.medians(cell, name, cpu_seconds_of_three_million), "{:.1f} s")
        if cell["probe"] == "round trips":
            time, rate = (of.medians(cell, name, field("niping", it)) for it in ("av2_ms", "tr2_kb_s"))
            key, figure = "p50", f"{shown(time, '{:.4f} ms')}, {shown(rate, '{:,.0f} kB/s')}"
        if cell["probe"] == "sales steps":
            key, figure = "p50", shown(of.medians(cell, name, P50), "{:.4f} ms", 1e6)
        if cell["probe"] == "locks":
            figure = shown(of.medians(cell, name, named("enqueues a minute")), "{:,.0f} a minute")
        if cell["probe"] == "streams":
            bits = field("stream", "to_server", "bits_per_s")
            key, figure = "bits", shown(of.medians(cell, name, bits), "{:.1f} Gbit/s", 1e9)
            seconds = shown(of.medians(cell, name, cpu_a_gigabyte), "{:.2f} s a GB")
        if cell["probe"] == "generate":
            printed = of.medians(cell, name, named("printed figure"))
            key, figure, seconds = "figure", shown(printed, "{:,.0f} programs/s"), NOTHING
        did = (shown(of.medians(cell, name, sampled(mean, it)), "{:.1f}") for it in DID)
        what = [cell["probe"], cell.get("size", NOTHING), cell.get("parallel", NOTHING)]
        rows.append([*what, name, figure, *cost, *did, seconds, changed(of, cell, name, key)])
    heads = ["probe", "size", "parallel", "over", "figure", "client CPU", "server CPU", "user %"]
    table([*heads, "system %", "idle %", "CPU-seconds of 3 million", "change"], rows)


def processors(*kinds: str) -> Callable[[Sample], float | None]:
    """The time of the processors of these kinds together, percent."""

    def of(sample: Sample) -> float | None:
        parts = [column(f"cpu_{kind}_pct")(sample) for kind in kinds]
        return None if None in parts else sum(parts)

    return of


def idle(sample: Sample) -> float | None:
    """What is left beside what is busy, waits for disks, or was taken by the hypervisor."""
    other = processors("busy", "iowait", "steal")(sample)
    return None if other is None else 100 - other


# What the processors of the machine did, of all of them together: the kernel with its interrupts, as
# nmon counts it.
DID = (processors("user", "nice"), processors("system", "irq", "softirq"), idle)


def cpu_seconds_of_three_million(block: Block) -> float | None:
    """Seconds of both sides for as many operations as the published table has messages."""
    costs = [CLIENT_CPU(block), SERVER_CPU(block)]
    return None if None in costs else sum(costs) / 1e9 * PUBLISHED_MESSAGES
