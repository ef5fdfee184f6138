"""nginx with one worker: the server that every client asks."""

from __future__ import annotations

import http.client
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lib import process
from lib.failure import BenchFailure

HOST = "127.0.0.1"
PAGE, PAGE_BYTES = "/page", 1024
STATUS = "/status"
REQUESTS = re.compile(r"^\s*\d+ \d+ (\d+)\s*$", re.MULTILINE)
CONFIGURATION = """
worker_processes 1;
daemon off;
master_process off;
pid {place}/pid;
error_log {place}/error;
events {{ worker_connections 20000; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path {place}/1;
    proxy_temp_path {place}/2;
    fastcgi_temp_path {place}/3;
    uwsgi_temp_path {place}/4;
    scgi_temp_path {place}/5;
    server {{
        listen {host}:{port} backlog=4096;
        listen {host}:{h2_port} http2 backlog=4096;
        root {place};
        location = {status} {{ stub_status; }}
    }}
}}
"""


@dataclass(frozen=True)
class Site:
    """A server that is ready."""

    port: int
    pid: int
    # Where it speaks HTTP/2, and nothing else.
    h2_port: int

    @property
    def url(self) -> str:
        """Of the page that is asked for."""
        return f"http://{HOST}:{self.port}{PAGE}"

    @property
    def h2_url(self) -> str:
        """The same page over HTTP/2."""
        return f"http://{HOST}:{self.h2_port}{PAGE}"

    def requests(self) -> int:
        """Requests since it started, as it counts them, this one included."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", STATUS)
            said = connection.getresponse().read().decode()
        finally:
            connection.close()
        found = REQUESTS.search(said)
        if found is None:
            raise BenchFailure(f"nginx does not say how much it was asked: {said!r}")
        return int(found.group(1))


@contextmanager
def serving(
    place: Sequence[str], files: Mapping[str, bytes] | None = None
) -> Iterator[Site]:
    """Until the block ends, with `files` beside the page; `place` stands in
    front of the command."""
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        port, h2_port = process.free_port(), process.free_port()
        Path(scratch, PAGE[1:]).write_bytes(b"x" * PAGE_BYTES)
        for name, content in (files or {}).items():
            Path(scratch, name).write_bytes(content)
        configuration = Path(scratch, "nginx.conf")
        configuration.write_text(
            CONFIGURATION.format(
                place=scratch, host=HOST, port=port, h2_port=h2_port, status=STATUS
            )
        )
        command = [*place, "nginx", "-e", f"{scratch}/error", "-c", str(configuration)]
        with process.running(command) as server:
            process.await_listening(server, port)
            yield Site(port, server.pid, h2_port)
