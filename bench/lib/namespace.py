"""Network namespaces: hosts of their own on one machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from lib.failure import BenchFailure


def ip(*words: str) -> None:
    """Runs `ip`, which needs root to make something."""
    try:
        done = subprocess.run(
            ["ip", *words], capture_output=True, text=True, check=False, timeout=30.0
        )
    except FileNotFoundError as error:
        raise BenchFailure("no `ip` command; install iproute2, or measure without namespaces") from error
    except subprocess.TimeoutExpired as error:
        raise BenchFailure(f"`ip {' '.join(words)}` did not end within 30 s") from error
    if done.returncode != 0:
        raise BenchFailure(f"`ip {' '.join(words)}`: {done.stderr.strip()}; namespaces need root")


def inside(name: str) -> tuple[str, ...]:
    """The words that run a command in a namespace."""
    return ("ip", "netns", "exec", name)


@contextmanager
def namespaces(*names: str) -> Iterator[None]:
    """Namespaces whose loopback is up, until the block ends; with them go their interfaces."""
    made: list[str] = []
    try:
        for name in names:
            ip("netns", "add", name)
            made.append(name)
            ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for name in made:
            ip("netns", "del", name)
