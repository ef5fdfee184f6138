"""Landscapes with a limit that is set on purpose, drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
# Beside what is set, a step of the application server takes about so much processor time.
OWN_SECONDS = 0.0006
PROCESSOR, POOL, MEMORY = "cores", "work-processes", "memory"
KINDS = (PROCESSOR, PROCESSOR, PROCESSOR, MEMORY, MEMORY, POOL, POOL, POOL)
STEPS = 7
# How far beyond the ladder the truth is measured.
BEYOND = 1.5
# Memory of a server without a session, at most.
BASE_BYTES = 48 * MIB


@dataclass(frozen=True)
class Landscape:
    """What is set, and which limit follows from it."""

    name: str
    bottleneck: str
    work_processes: int
    wait_ms: int
    cpu_us: int
    think_ms: int
    users_max: int
    session_bytes: int = 0
    limit_bytes: int = 0

    def held_seconds(self) -> float:
        """How long a step holds its work process when it is alone."""
        return self.wait_ms / 1e3 + self.cpu_us / 1e6 + OWN_SECONDS

    def beyond(self) -> int:
        """The users of the truth."""
        return round(BEYOND * self.users_max)

    def levels(self) -> list[int]:
        """Users of the ladder, each so many times the one before."""
        first = 2
        times = (self.users_max / first) ** (1 / (STEPS - 1))
        return sorted({round(first * times**step) for step in range(STEPS)})


def drawn(seed: int) -> list[Landscape]:
    """The eight landscapes of a seed, in an order of its own."""
    dice = random.Random(f"{seed} landscapes")
    kinds = list(KINDS)
    dice.shuffle(kinds)
    draw = {PROCESSOR: _processor, POOL: _pool, MEMORY: _memory}
    return [draw[kind](dice, f"{number} {kind}") for number, kind in enumerate(kinds, 1)]


def _processor(dice: random.Random, name: str) -> Landscape:
    """One processor, and more than enough work processes for it."""
    cpu_us = dice.randrange(6_000, 12_001, 500)
    wait_ms = dice.randint(5, 15)
    processes = dice.randint(6, 12)
    demand = cpu_us / 1e6 + OWN_SECONDS
    held = demand + wait_ms / 1e3
    knee = dice.randint(22, 32)
    think = knee * demand - held
    return Landscape(name, PROCESSOR, processes, wait_ms, cpu_us, round(think * 1e3),
                     round(1.5 * knee))  # fmt: skip


def _pool(dice: random.Random, name: str) -> Landscape:
    """Few work processes that wait for the database."""
    cpu_us = dice.randrange(600, 1_501, 100)
    wait_ms = dice.randint(30, 60)
    processes = dice.randint(2, 5)
    held = wait_ms / 1e3 + cpu_us / 1e6 + OWN_SECONDS
    knee = dice.randint(16, 32)
    think = knee * held / processes - held
    return Landscape(name, POOL, processes, wait_ms, cpu_us, round(think * 1e3),
                     round(1.5 * knee))  # fmt: skip


def _memory(dice: random.Random, name: str) -> Landscape:
    """A control group that is full long before work processes or processors are."""
    cpu_us = dice.randrange(1_000, 1_501, 100)
    wait_ms = dice.randint(10, 20)
    session = dice.randint(3, 8) * MIB
    held = dice.randint(50, 70)
    limit = BASE_BYTES + held * session
    return Landscape(name, MEMORY, dice.randint(8, 12), wait_ms, cpu_us, dice.randint(250, 350),
                     round(0.55 * held), session, limit)  # fmt: skip


def written(of: Landscape, folder: Path) -> None:
    """The files of the server and of its users."""
    lines = [
        "[dispatcher]",
        f"work-processes = {of.work_processes}",
        "[step]",
        f'database-wait = "{of.wait_ms}ms"',
        f'cpu = "{of.cpu_us}us"',
        "[sessions]",
        "max = 5000",
    ]
    if of.session_bytes:
        lines.append(f'memory = "{of.session_bytes}B"')
    (folder / "app.toml").write_text("\n".join(lines) + "\n")
    low, high = round(0.5 * of.think_ms), round(1.5 * of.think_ms)
    (folder / "user.toml").write_text(f"""
[[scenario]]
name = "user"
think = {{ uniform = ["{low}ms", "{high}ms"] }}
[[scenario.login]]
name = "log on"
get = "{PAGE}"
extract = [{{ name = "page", header = "Location" }}]
[[scenario.step]]
name = "page"
get = "${{page}}"
""")


PAGE = "/sap/bc/bsp/it03/text1kb.htm"


def ladder(of: Landscape, folder: Path, server: str, how: tuple[int, str]) -> str:
    """The file of its ladder; `server` is the shell command that starts it, `how` the seconds of a
    step and how late the load generator may be."""
    seconds, lag = how
    return f"""
name = "size"
[[server]]
name = "app"
exec = '''{server}'''
ready = "listening on ${{address}}"
start = "block"
[ladder]
run = "http load {folder / 'user.toml'} --base http://${{app}} --lag {lag}"
users = {of.levels()}
until = "end"
step = "{seconds}s"
step-max = "{2 * seconds}s"
warmup = "1500ms"
width = "8%"
pools = {{ work-processes = {of.work_processes} }}
"""
