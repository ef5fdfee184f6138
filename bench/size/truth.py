"""What is true of a landscape: measured, never computed by the model."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from landscapes import PAGE, Landscape
from lib import process
from lib.failure import BenchFailure

ATTEMPTS = 3
# Sessions that are opened at most until the server has no more memory.
SESSIONS_MAX = 2_000
LOG_ON = "Basic " + base64.b64encode(b"demo:demo").decode()

Server = Callable[[], AbstractContextManager["Popen[str]"]]


@dataclass(frozen=True)
class Load:
    """What so many users saw."""

    users: int
    throughput_per_s: float
    mean_s: float
    p95_s: float
    valid: bool
    why: str


@dataclass(frozen=True)
class Truth:
    """The knee, and the load beyond the ladder."""

    knee_users: float
    beyond: Load
    # one user alone, where the knee follows from it
    alone: Load | None = None

    def doubts(self) -> list[str]:
        """Why it is not true, a sentence for each load that is not valid."""
        loads = [it for it in (self.beyond, self.alone) if it is not None]
        return [f"with {it.users} at once: {it.why}" for it in loads if not it.valid]


@dataclass(frozen=True)
class Client:
    """Who loads: the words before its own, and how late it may be."""

    words: Sequence[str]
    lag: str


def measured(of: Landscape, client: Client, server: Server, folder: Path,
             seconds: int) -> Truth:  # fmt: skip
    """One user alone, then as many as the truth has; of a server whose memory is bounded the users it
    holds."""
    beyond = valid_load(of.beyond(), client, server, folder, seconds)
    if of.limit_bytes:
        with server() as started:
            return Truth(sessions_held(process.announced_port(started)), beyond)
    alone = valid_load(1, client, server, folder, max(3, seconds // 2))
    knee = beyond.throughput_per_s * (of.think_ms / 1e3 + alone.mean_s)
    return Truth(knee, beyond, alone)


def valid_load(users: int, client: Client, server: Server, folder: Path,
               seconds: int) -> Load:  # fmt: skip
    """The first of a few attempts that is valid, else the last."""
    for attempt in range(ATTEMPTS):
        found = load(users, client, server, folder, (seconds, attempt))
        if found.valid:
            break
    return found


def load(users: int, client: Client, server: Server, folder: Path,
         how: tuple[int, int]) -> Load:  # fmt: skip
    """One run against a server of its own; `how` is its length and the number of the attempt."""
    seconds, attempt = how
    out = folder / f"truth-{users}-{attempt}"
    with server() as started:
        port = process.announced_port(started)
        words = [*client.words, "http", "load", str(folder / "user.toml")]
        words += ["--base", f"http://127.0.0.1:{port}", "--users", str(users), "--lag", client.lag]
        words += ["--for", f"{seconds}s", "--warmup", "3s", "--out", str(out)]
        ended = process.ended(words, 60 + seconds)
    if not (out / "run.json").exists():
        raise BenchFailure(f"no record of {users} users: {ended.said()}")
    record = json.loads((out / "run.json").read_text())
    result = record["results"][0]
    if "response_ns" not in result:
        raise BenchFailure(f"{users} users had no answer: {ended.said()}")
    validity, response = result["validity"], result["response_ns"]
    reasons = [reason["text"] for reason in validity["reasons"]]
    return Load(
        users,
        # operations begin within the length that was asked for, whatever is waited for behind it
        result["operations"] / seconds,
        response["mean"] / 1e9,
        response["p95"] / 1e9,
        validity["valid"] and validity["latency_valid"],
        reasons[0] if reasons else "",
    )


def sessions_held(port: int) -> int:
    """How many users can log on, each with a connection, before the server has no more memory."""
    open_connections = []
    with suppress(OSError, http.client.HTTPException):
        for _ in range(SESSIONS_MAX):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            open_connections.append(connection)
            connection.request("GET", PAGE, headers={"Authorization": LOG_ON})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 302:
                raise BenchFailure(f"a log-on was answered with {answer.status}, 302 expected")
    held = len(open_connections) - 1
    for connection in open_connections:
        connection.close()
    if held in (0, SESSIONS_MAX - 1):
        raise BenchFailure(f"{held} sessions: the limit of memory shows nothing")
    return held
