#!/usr/bin/env python3
"""Holds idle connections to an NI echo server, then checks each of them.

    idle.py HOST PORT CONNECTIONS

Prints "holding N" when all are connected, waits for a line on standard input,
sends one frame of 20 bytes on each, checks each echo, and prints
{"held": N, "answered": N}. Exits with 1 when a connection was lost.
"""

from __future__ import annotations

import json
import resource
import socket
import struct
import sys

PAYLOAD_BYTES = 20
ANSWER_SECONDS = 10.0
FILES_BESIDE = 64


def main(host: str, port: int, count: int) -> int:
    """Opens, waits, checks; the exit status."""
    raise_file_limit(count + FILES_BESIDE)
    held = [connect(host, port) for _ in range(count)]
    print(f"holding {count}", flush=True)
    sys.stdin.readline()
    asked = [ask(connection, number) for number, connection in enumerate(held)]
    answers = [ok and answered(c, number) for number, (c, ok) in enumerate(zip(held, asked))]
    print(json.dumps({"held": count, "answered": sum(answers)}), flush=True)
    return 0 if all(answers) else 1


def raise_file_limit(needed: int) -> None:
    """Lifts the limit of open files; only root can lift the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        lifted = hard if hard == resource.RLIM_INFINITY else max(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, lifted))


def connect(host: str, port: int) -> socket.socket:
    """One connection that sends at once and never waits for ever."""
    connection = socket.create_connection((host, port), ANSWER_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def frame(number: int) -> bytes:
    """A frame no other connection sends, so that a mixed-up echo is seen."""
    return struct.pack(">I", PAYLOAD_BYTES) + struct.pack(">Q", number).ljust(PAYLOAD_BYTES, b"i")


def ask(connection: socket.socket, number: int) -> bool:
    """False when the connection is lost already."""
    try:
        connection.sendall(frame(number))
    except OSError:
        return False
    return True


def answered(connection: socket.socket, number: int) -> bool:
    """True when exactly the frame sent came back."""
    expected = frame(number)
    got = b""
    try:
        while len(got) < len(expected):
            part = connection.recv(len(expected) - len(got))
            if not part:
                return False
            got += part
    except OSError:
        return False
    return got == expected


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} HOST PORT CONNECTIONS")
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
