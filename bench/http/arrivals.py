#!/usr/bin/env python3
"""Are the arrivals of an open load a Poisson process, as the server sees them?

Plays a scenario with random arrivals against a server that notes when each
request comes, and prints the p value of a Kolmogorov-Smirnov test of the gaps
against the exponential distribution of the rate, and how many gaps are short.
A machine that wakes a program late makes gaps of its own: where plumb finds that
the times of its run may not be used the gaps are printed, nothing is concluded,
and it exits with 2.

Usage: arrivals.py PLUMB [--rate 200] [--seconds 60] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import math
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SHORT_NS = 300_000
PATIENCE_SECONDS = 60


class Listener(threading.Thread):
    """Answers every request, and notes when it came."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.socket.getsockname()[1]
        self.came: list[int] = []
        self.ended = threading.Event()

    def run(self) -> None:
        selector = selectors.DefaultSelector()
        self.socket.setblocking(False)
        selector.register(self.socket, selectors.EVENT_READ)
        while not self.ended.is_set():
            ready = selector.select(timeout=0.5)
            now = time.monotonic_ns()
            for key, _ in ready:
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                if connection is self.socket:
                    accepted, _ = connection.accept()
                    accepted.setblocking(False)
                    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    selector.register(accepted, selectors.EVENT_READ)
                elif self.take(connection):
                    self.came.append(now)
                else:
                    selector.unregister(connection)
                    connection.close()

    @staticmethod
    def take(connection: socket.socket) -> bool:
        try:
            asked = connection.recv(65536)
            if asked:
                connection.sendall(ANSWER)
        except OSError:
            return False
        return bool(asked)


def p_value(gaps: Sequence[float], mean: float) -> float:
    """Kolmogorov (1933), with the correction for finite samples of Stephens (1970)."""
    n = len(gaps)
    far = 0.0
    for at, gap in enumerate(sorted(gaps)):
        expected = 1.0 - math.exp(-gap / mean)
        far = max(far, expected - at / n, (at + 1) / n - expected)
    x = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * far
    terms = ((-1) ** (k - 1) * math.exp(-2.0 * k * k * x * x) for k in range(1, 101))
    return min(1.0, max(0.0, 2.0 * sum(terms)))


def scenario(port: int, rate: float, seconds: float, seed: int) -> str:
    return (
        f'base = "http://127.0.0.1:{port}"\nseed = {seed}\n[[scenario]]\nname = "arrivals"\n'
        f'rate = "{rate}/s"\narrivals = "poisson"\nfor = "{seconds}s"\nusers = 200\n'
        '[[scenario.step]]\nget = "/"\n'
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plumb", type=Path)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    server = Listener()
    server.start()
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        path = Path(scratch, "arrivals.toml")
        text = scenario(server.port, options.rate, options.seconds, options.seed)
        path.write_text(text, encoding="utf-8")
        command = [options.plumb.resolve(), "http", "load", path, "--json"]
        limit = options.seconds + PATIENCE_SECONDS
        ended = subprocess.run(command, cwd=scratch, timeout=limit, capture_output=True, text=True)
    server.ended.set()
    server.join()
    if ended.returncode == 2 or len(server.came) < 100:
        print(ended.stderr, file=sys.stderr)
        return 2
    mean = 1e9 / options.rate
    gaps = [float(b - a) for a, b in zip(server.came, server.came[1:])]
    short = sum(gap < SHORT_NS for gap in gaps)
    expected = len(gaps) * (1.0 - math.exp(-SHORT_NS / mean))
    print(f"{len(gaps)} gaps at {options.rate:g}/s, seed {options.seed}")
    print(f"gaps below 0.3 ms: {short}, expected {expected:.0f} +- {math.sqrt(expected):.0f}")
    print(f"Kolmogorov-Smirnov p = {p_value(gaps, mean):.4f}")
    validity = json.loads(ended.stdout)["validity"]
    holds = validity["latency_valid"]
    for reason in validity["reasons"]:
        print(f"{'a remark' if holds else 'nothing can be concluded'}: {reason['text']}")
    return 0 if holds else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
