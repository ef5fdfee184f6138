"""The servers under test, and one load of theirs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from lib import process
from lib.failure import BenchFailure

SEGMENT = "/sap(bD1lbiZjPTAwMA==)"
PAGE = f"{SEGMENT}/bc/bsp/sap/it03/text1kb.htm"
IMAGE = f"{SEGMENT}/bc/bsp/sap/it03/image1kb.gif"
AUTHORIZATION = "Authorization: Basic ZGVtbzpkZW1v"
RATE = re.compile(r"^Requests/sec:\s+([\d.]+)$", re.MULTILINE)
WRONG = ("Non-2xx", "Socket errors")

NGINX = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log stderr crit;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""


@contextmanager
def nginx(folder: Path, place: Sequence[str]) -> Iterator[str]:
    """nginx with one worker serving `page.htm` of 1,024 bytes; its address."""
    port = process.free_port()
    (folder / "page.htm").write_bytes(b"x" * 1024)
    folder.chmod(0o755)
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=folder, port=port))
    command = [*place, "nginx", "-p", str(folder), "-c", str(configuration)]
    with process.running(command) as server:
        process.await_listening(server, port)
        yield f"127.0.0.1:{port}"


@contextmanager
def app(
    plumb: Path, folder: Path, place: Sequence[str], settings: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`plumb app serve` with these settings, and its address."""
    configuration = folder / "app.toml"
    configuration.write_text(settings)
    command = [*place, str(plumb), "app", "serve", str(configuration), "--listen", "127.0.0.1:0"]
    with process.running(command) as server:
        yield server, f"127.0.0.1:{process.announced_port(server)}"


def load(address: str, path: str, connections: int, seconds: int, place: Sequence[str]) -> float:
    """Requests a second that wrk gets, if every one of them was answered well."""
    url = f"http://{address}{path}"
    words = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-H", AUTHORIZATION, url]
    said = process.run([*place, *words], seconds + 30)
    wrong = [line.strip() for line in said.splitlines() if any(it in line for it in WRONG)]
    found = RATE.search(said)
    if wrong or found is None:
        raise BenchFailure(f"{url}: {' '.join(wrong) or 'wrk printed no rate'}")
    return float(found.group(1))


def read(address: str, path: str) -> bytes:
    """One answer, as curl gets it."""
    url = f"http://{address}{path}"
    command = ["curl", "-sS", "--fail", "-g", "-H", AUTHORIZATION, url]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    if done.returncode != 0:
        raise BenchFailure(f"{url}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def status(address: str) -> Mapping[str, object]:
    """What the server says of itself."""
    return json.loads(read(address, "/status.json"))


if __name__ == "__main__":
    sys.exit("this file is read by run.py and entry.py")
