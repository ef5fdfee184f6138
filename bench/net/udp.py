#!/usr/bin/env python3
"""What plumb, sockperf and iperf3 count of the same kind of load over UDP, in turns.

Round trips: the median of `plumb net ping --transport udp` beside that of
`sockperf ping-pong`, and the ratio of each round. Streams: what each side of
`plumb net stream --transport udp` and of `iperf3 -u` says was sent, received and
lost, and the jitter. With `--loss` the line between two network namespaces loses
that share (tc netem), so that both are asked the same question with a known answer.

Exits with 0 when it ran, and 2 when it could not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import build, process  # noqa: E402
from lib.console import say  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.namespace import inside  # noqa: E402
from lib.placement import PINNED, PLACEMENTS, VETH, Placement, placed  # noqa: E402
from peers import PATIENCE_SECONDS, sockperf_figures  # noqa: E402

# The names of the columns, and how a stream of either program is read.
COLUMNS = ("sent", "received", "lost %", "jitter us", "Mbit/s")


def main(words: Sequence[str]) -> int:
    """Runs what is asked for."""
    options = _options(words)
    try:
        program = build.plumb(options.plumb, build=True)
        with placed(VETH if options.loss else options.placement) as placement:
            if options.loss:
                _lose(placement, options.loss)
            _round_trips(program, placement, options)
            _streams(program, placement, options)
    except BenchFailure as failure:
        print(f"udp.py: {failure}", file=sys.stderr)
        return 2
    return 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--placement", choices=PLACEMENTS, default=PINNED)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=2, help="length of one measurement")
    parser.add_argument("--size", type=int, default=500, help="content of a datagram")
    parser.add_argument("--rate", default="100", help="of streams, Mbit/s")
    parser.add_argument("--loss", help="share that the line loses, for example 1%%; needs root")
    parser.add_argument("--plumb", type=Path, help="take this program, and do not build")
    return parser.parse_args(words)


def _lose(placement: Placement, share: str) -> None:
    """What the client sends is lost in this share."""
    namespace = placement.client[3]
    command = [*inside(namespace), "tc", "qdisc", "add", "dev", "veth0", "root"]
    done = subprocess.run(
        [*command, "netem", "loss", share], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BenchFailure(f"this kernel loses nothing on purpose: {done.stderr.strip()}")


@contextmanager
def _plumb_server(program: Path, placement: Placement) -> Iterator[str]:
    """Its address, `udp:` in front."""
    command = [*placement.server, str(program), "net", "serve", "--quiet"]
    with process.running([*command, "--listen", f"udp:{placement.host}:0"]) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        yield line.removeprefix("listening on ").strip()


@contextmanager
def _peer_server(words: Sequence[str], placement: Placement) -> Iterator[None]:
    quiet = subprocess.DEVNULL
    with process.running([*placement.server, *words], stdout=quiet, stderr=quiet) as server:
        _await_bound(server, int(words[-1]))
        yield


def _await_bound(server: subprocess.Popen[str], port: int) -> None:
    """Waits until a socket of UDP has the port, in the network namespace of the server."""
    deadline = time.monotonic() + process.READY_SECONDS
    while time.monotonic() < deadline:
        rows = Path(f"/proc/{server.pid}/net/udp").read_text(encoding="ascii").splitlines()[1:]
        if any(row.split()[1].endswith(f":{port:04X}") for row in rows):
            return
        time.sleep(0.01)
    raise BenchFailure(f"nothing has the port {port} of UDP")


def _plumb(program: Path, placement: Placement, words: Sequence[str], seconds: int) -> dict:
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        command = [*placement.client, str(program), "net", *words, "--for", f"{seconds}s"]
        command += ["--host-interval", "0s", "--foreign-limit", "100%", "--json"]
        command += ["--out", str(Path(scratch, "out"))]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=seconds + 30
        )
    if not done.stdout:
        raise BenchFailure(f"plumb: {done.stderr[-500:]}")
    return json.loads(done.stdout)["results"][0]


def _round_trips(program: Path, placement: Placement, options: argparse.Namespace) -> None:
    port = process.free_port()
    server = ["sockperf", "server", "-i", placement.host, "-p", str(port)]
    ratios = []
    with _plumb_server(program, placement) as address, _peer_server(server, placement):
        for number in range(options.rounds):
            ours = lambda: _our_median(program, placement, address, options)  # noqa: E731
            theirs = lambda: _their_median(placement, port, options)  # noqa: E731
            # each goes first in every other round
            if number % 2 == 0:
                mine, other = ours(), theirs()
            else:
                other, mine = theirs(), ours()
            ratios.append(mine / other)
            say(f"round trip {number + 1}: plumb {mine / 1e3:.1f} us, sockperf {other / 1e3:.1f} us")
    if ratios:
        low, high = min(ratios), max(ratios)
        say(f"plumb / sockperf: median {statistics.median(ratios):.3f}, {low:.3f} to {high:.3f}")


def _our_median(
    program: Path, placement: Placement, address: str, options: argparse.Namespace
) -> float:
    words = ["ping", address, "--size", f"{options.size}B", "--timeout", "500ms"]
    return float(_plumb(program, placement, words, options.seconds)["service_ns"]["p50"])


def _their_median(placement: Placement, port: int, options: argparse.Namespace) -> float:
    command = [*placement.client, "sockperf", "ping-pong", "--full-rtt", "-i", placement.host]
    command += ["-p", str(port), "-m", str(options.size), "-t", str(options.seconds)]
    figures = sockperf_figures(process.run(command, options.seconds + PATIENCE_SECONDS))
    return float(figures["p50_ns"])


def _streams(program: Path, placement: Placement, options: argparse.Namespace) -> None:
    port = process.free_port()
    rows: dict[str, list[list[float]]] = {"plumb": [], "iperf3": []}
    with _plumb_server(program, placement) as address:
        for _ in range(options.rounds):
            words = ["stream", address, "--size", f"{options.size}B"]
            words += ["--rate", f"{options.rate}Mbit"]
            rows["plumb"].append(_our_row(_plumb(program, placement, words, options.seconds)))
            server = ["iperf3", "-s", "-1", "-B", placement.host, "-p", str(port)]
            command = [*placement.server, *server]
            quiet = subprocess.DEVNULL
            with process.running(command, stdout=quiet, stderr=quiet) as theirs:
                process.await_listening(theirs, port)
                rows["iperf3"].append(_their_row(placement, port, options))
    say(f"{'':8}" + "".join(f"{name:>12}" for name in COLUMNS))
    for name, list_of in rows.items():
        medians = [statistics.median(row[at] for row in list_of) for at in range(len(COLUMNS))]
        say(f"{name:8}" + "".join(f"{median:12.2f}" for median in medians))


def _our_row(result: dict) -> list[float]:
    way = result["stream"]["to_server"]
    flow = way["datagrams"]
    lost = 100 * flow["lost"] / max(flow["sent"], 1)
    rate = way["bits_per_s"] / 1e6
    return [flow["sent"], flow["received"], lost, flow["jitter_ns"] / 1e3, rate]


def _their_row(placement: Placement, port: int, options: argparse.Namespace) -> list[float]:
    command = [*placement.client, "iperf3", "-u", "-c", placement.host, "-p", str(port), "-J"]
    command += ["-b", f"{options.rate}M", "-l", str(options.size), "-t", str(options.seconds)]
    end = json.loads(process.run(command, options.seconds + PATIENCE_SECONDS))["end"]["sum"]
    received = end["packets"] - end["lost_packets"]
    rate = received * options.size * 8 / end["seconds"] / 1e6
    return [end["packets"], received, end["lost_percent"], end["jitter_ms"] * 1e3, rate]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
