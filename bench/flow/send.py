#!/usr/bin/env python3
"""Sends events, each with a number of its own, and writes down what was sent and what was answered.

    send.py http://127.0.0.1:50000/runner/event?mode=async --log events.log --events 10000

A line of the log is `sent NUMBER`, written each time before the event leaves, or `answered NUMBER STATUS
EXECUTION` once its answer is whole. An event whose answer was not heard, or says to come again, is sent again
with the same idempotency key with --again, and else left at that. `count.py` holds the log against the table.
"""

from __future__ import annotations

import argparse
import http.client
import sys
import threading
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import console  # noqa: E402
from lib.options import positive  # noqa: E402

EVENT = '<event><number>{}</number><part>PART-{}</part><note>{}</note></event>'
TIMEOUT_SECONDS = 30.0
PAUSE_SECONDS = 0.05


class Log:
    """Lines of all senders in one file, each written at once."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("a", buffering=1, encoding="ascii")
        self.lock = threading.Lock()

    def write(self, line: str) -> None:
        """Adds one line."""
        with self.lock:
            self.file.write(line + "\n")


class Sender(threading.Thread):
    """One connection, one event after the other."""

    def __init__(self, options: argparse.Namespace, numbers: count[int], log: Log) -> None:
        super().__init__()
        self.options = options
        self.numbers = numbers
        self.log = log
        self.url = urlsplit(options.url)
        self.connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        last = self.options.first + self.options.events
        while (number := next(self.numbers)) < last:
            tries = self.options.again + 1
            while tries and not self.answered(number):
                tries -= 1
                time.sleep(PAUSE_SECONDS)

    def answered(self, number: int) -> bool:
        """Sends one event; whether its answer was heard."""
        self.log.write(f"sent {number}")
        body = EVENT.format(number, number % 1499, "x" * self.options.size)
        headers = {"Content-Type": "application/xml", "Idempotency-Key": str(number)}
        try:
            if self.connection is None:
                host, port = self.url.hostname or "", self.url.port
                self.connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
            target = f"{self.url.path}?{self.url.query}"
            self.connection.request("POST", target, body, headers)
            answer = self.connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self.connection = None
            return False
        execution = answer.getheader("X-Execution-Id", "-")
        self.log.write(f"answered {number} {answer.status} {execution}")
        return answer.status not in (429, 503)


def main(arguments: Sequence[str]) -> int:
    """Reads the options and sends; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("url", help="where events are sent")
    add("--log", type=Path, required=True, help="a file that lines are added to")
    add("--events", type=positive(int), default=10_000, help="default %(default)s")
    add("--first", type=int, default=1, help="number of the first: %(default)s")
    add("--senders", type=positive(int), default=16, help="connections: %(default)s")
    add("--size", type=int, default=200, help="bytes beside number and part: %(default)s")
    add("--again", type=int, default=0, help="times that an event is sent again: %(default)s")
    options = parser.parse_args(arguments)
    numbers, log = count(options.first), Log(options.log)
    senders = [Sender(options, numbers, log) for _ in range(options.senders)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    return 0


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
