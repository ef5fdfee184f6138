"""The runtime under test: `plumb flow serve` with a transaction that inserts a row for an event."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from lib import process
from lib.cluster import USER
from lib.failure import BenchFailure

SERVERS = """
[server.plant]
url = "postgres://{user}@127.0.0.1:{port}/postgres?sslmode=disable"
pool = {{ initial = 4, maximum = 16 }}
"""
EVENT = """
about = "An event becomes a row"
persist = "on-error"

[[action]]
repeat = "/event"
assign = { number = "number", part = "part" }

[[action.do]]
sql = "INSERT INTO event (number, part) VALUES (CAST(${number} AS bigint), ${part})"
server = "plant"
"""
PLACE = "/runner/event"
POLL_SECONDS = 0.05


@contextmanager
def serving(
    plumb: Path, database: int, folder: Path, place: Sequence[str], transaction: str = EVENT
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The runtime, inserting at the server on port `database`; its port."""
    transactions = folder / "transactions"
    transactions.mkdir()
    (transactions / "data-servers.toml").write_text(SERVERS.format(user=USER, port=database))
    (transactions / "event.toml").write_text(transaction)
    words = ["flow", "serve", str(transactions), "--queue", str(folder / "queue")]
    command = [*place, str(plumb), *words, "--listen", "127.0.0.1:0", "--quiet"]
    with process.running(command) as server:
        yield server, process.announced_port(server)


def post(url: str, message: bytes) -> None:
    """One document, which must be taken."""
    request = Request(url, data=message, headers={"Content-Type": "application/xml"})
    with urlopen(request, timeout=60) as answer:
        answer.read()


def executions(port: int, state: str) -> list[str]:
    """The ids of all executions in a state, `waiting` or `failed`, as the manager knows them."""
    found: list[str] = []
    while True:
        before = f"&before={found[-1]}" if found else ""
        url = f"http://127.0.0.1:{port}/manager?state={state}&most=1000{before}"
        with urlopen(Request(url, headers={"Accept": "application/json"}), timeout=30) as answer:
            page = [it["id"] for it in json.load(answer)["executions"]]
        if not page:
            return found
        found += page


def await_rows(count: int, rows: Callable[[], int], seconds: float) -> None:
    """Waits until `rows()` says that so many are in the table."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if rows() >= count:
            return
        time.sleep(POLL_SECONDS)
    raise BenchFailure(f"after {seconds:.0f} s only {rows()} of {count} rows are there")
