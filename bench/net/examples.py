#!/usr/bin/env python3
"""Measures the tables of docs/network-examples.md on this machine and prints them as Markdown.

Every table is made of the records of the commands that stand in that chapter. The figures
move with the machine: the last line says what else ran meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import build, process  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402

Record = dict[str, Any]

SIZES = ("net", "ping", "HOST", "--size", "500B,1000B,1400B,1500B,4000B,10000B", "--for", "5s")
ONE = ("net", "ping", "HOST", "--size", "1000B,4000B", "--count", "600000")
FIVE = ("net", "ping", "HOST", "--size", "1000B,4000B", "--count", "120000", "--clients", "5")
STREAMS = ("net", "stream", "HOST", "--streams", "1,5", "--for", "5s")
FOUR = ("net", "ping", "HOST", "--clients", "4", "--size", "50000B", "--count", "1000")
PACKETS = ("net", "ping", "HOST", "--preset", "rss", "--for", "5s")

# Of a command at the rates of a slow machine.
RUN_SECONDS_MAX = 600.0


class Shell:
    """Runs plumb against a server on loopback and keeps what each run said of its machine."""

    def __init__(self, plumb: Path, server: str, folder: Path) -> None:
        self._plumb, self._server, self._folder = plumb, server, folder
        self.meanwhile: list[str] = []

    def measure(self, words: tuple[str, ...]) -> list[Record]:
        """The results of one command, in the order of its labels; shows the command."""
        print(f"\n    plumb {' '.join(words)}\n", flush=True)
        named = [self._server if word == "HOST" else word for word in words]
        out = self._folder / f"run-{len(self.meanwhile)}"
        command = [str(self._plumb), *named, "--json", "--out", str(out)]
        said = process.run(command, RUN_SECONDS_MAX)
        results: list[Record] = sorted(json.loads(said)["results"], key=place)
        shares = [r.get("host", {}).get("foreign_pct") for r in results]
        told = [f"{share:.0f} %" for share in shares if share is not None]
        self.meanwhile.append(f"{words[1]} {words[3]} {words[4]}: {', '.join(told) or 'too short'}")
        return results


def place(result: Record) -> tuple[int, int]:
    """Where a result stands in its table: results come in the random order of the run."""
    labels = result["labels"]
    return int(labels.get("size", "0B").removesuffix("B")), int(labels.get("streams", "0"))


def table(heads: list[str], rows: list[list[str]]) -> None:
    """Prints a table as Markdown, figures on the right."""
    print("| " + " | ".join(heads) + " |")
    print("|" + "--:|" * len(heads))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def by_size(results: list[Record]) -> None:
    """Latency and throughput by size."""
    rows = []
    for r in results:
        times, niping = r["response_ns"], r["niping"]
        rows.append(
            [
                r["labels"]["size"],
                *(f"{times[name] / 1e3:.1f} us" for name in ("p50", "p99")),
                f"{niping['av2_ms']:.4f} ms",
                f"{niping['tr2_kb_s']:,.0f} kB/s",
                f"{r['throughput_per_s']:,.0f}",
            ]
        )
    table(["size", "p50", "p99", "av2", "tr2", "messages/s"], rows)


def processor_seconds(results: list[Record]) -> None:
    """What messages cost, once and five times at the same time."""
    rows = []
    for r in results:
        cpu, count = r["cpu"], r["operations"]
        client, server = cpu["client_ns_per_op"], cpu.get("server_ns_per_op")
        of_server = "-" if server is None else f"{server / 1e3:.2f} us"
        whole = "-" if server is None else f"{(client + server) * count / 1e9:.2f} s"
        rows.append(
            [
                r["labels"]["size"],
                r["labels"].get("clients", "1") + "x",
                f"{count:,}",
                f"{r['duration_ns'] / 1e9:.2f} s",
                f"{client / 1e3:.2f} us",
                of_server,
                whole,
            ]
        )
    heads = ["size", "parallel", "messages", "time", "client CPU", "server CPU", "CPU-seconds"]
    table(heads, rows)


def stream_costs(results: list[Record]) -> None:
    """One stream and five, with what they cost."""
    rows = []
    for r in results:
        stream = r["stream"]
        way = stream["to_server"]
        gigabytes = way["received_bytes"] / 1e9
        costs = [stream[side] / 1e9 for side in ("client_cpu_ns", "server_cpu_ns")]
        rows.append(
            [
                str(stream["streams"]),
                f"{way['bits_per_s'] / 1e9:.1f} Gbit/s",
                f"{gigabytes:.1f} GB",
                *(f"{seconds:.2f} s" for seconds in costs),
                f"{sum(costs) / gigabytes:.2f} s",
            ]
        )
    table(["streams", "to server", "received", "client CPU", "server CPU", "CPU a GB"], rows)


def clients(results: list[Record]) -> None:
    """A row a client, and all together. Each client's rate is that of its own time, so that their sum
    would be more than was carried."""
    [result] = results
    rows = []
    for one in result["clients"]:
        niping = one["niping"]
        figures = [f"{niping['av2_ms']:.3f} ms", f"{niping['tr2_kb_s']:,.0f} kB/s"]
        rows.append([str(one["client"]), f"{one['operations']:,}", *figures])
    rows.append(["all", f"{result['operations']:,}", "-", "-"])
    table(["client", "messages", "av2", "tr2"], rows)


def packets(results: list[Record]) -> None:
    """Rates of small messages each way, and who received them."""
    [result] = results
    rows = []
    for figure in result["figures"]:
        value, unit = figure["value"], figure["unit"]
        large = unit == "bit/s"
        shown = f"{value / 1e6:,.0f} Mbit/s" if large else f"{value:,.0f} messages/s"
        rows.append([figure["name"], shown])
    receive = result.get("host", {}).get("receive")
    if receive:
        rows.append(["processors that receive", f"{receive['effective_cpus']:.1f}"])
    table(["figure", "value"], rows)


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plumb", type=Path, help="take this program, and do not build")
    parser.add_argument("--no-build", action="store_true", help="take target/release/plumb")
    words = parser.parse_args()
    try:
        plumb = build.plumb(words.plumb, not words.no_build)
        serve = [str(plumb), "net", "serve", "--listen", "127.0.0.1:0"]
        os.environ["PLUMB_FOREIGN_LIMIT"] = "100%"  # what others took is told below the tables
        with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as log, process.running(
            serve, stderr=log.fileno()
        ) as server:
            address = f"127.0.0.1:{process.announced_port(server)}"
            shell = Shell(plumb, address, Path(folder))
            by_size(shell.measure(SIZES))
            processor_seconds(shell.measure(ONE))
            processor_seconds(shell.measure(FIVE))
            stream_costs(shell.measure(STREAMS))
            clients(shell.measure(FOUR))
            packets(shell.measure(PACKETS))
            print("\nProcessor time that others took: " + "; ".join(shell.meanwhile) + ".")
    except BenchFailure as failure:
        print(f"examples: {failure}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
