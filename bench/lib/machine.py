"""Facts of the machine a result was taken on."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lib import foreign

SETTINGS = (
    "kernel/sched_autogroup_enabled",
    "net/core/rmem_max",
    "net/core/somaxconn",
    "net/core/wmem_max",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_wmem",
)


def facts(repository: Path, version_commands: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Processor, kernel, settings, versions of the peers, and the commit."""
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": _first_line(Path("/proc/meminfo")),
        "clock": _first_line(
            Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        ),
        "governor": _first_line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "load_average": os.getloadavg(),
        "foreign_share_max": foreign.share_max(),
        "settings": {name: _first_line(Path("/proc/sys") / name) for name in SETTINGS},
        "commit": _said(["git", "-C", str(repository), "describe", "--always", "--dirty"]),
        "versions": {name: _said(command) for name, command in version_commands.items()},
    }


def _processor() -> str | None:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return None


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text().splitlines()[0]
    except (OSError, IndexError):
        return None


def _said(command: Sequence[str]) -> str | None:
    """First line a command prints; None when it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip().partition("\n")[0] or None
