"""Processor time that somebody else took while an entry was measured.

Two counts, because each is blind on one side; the larger one decides.
- By difference: the busy time of all cores in /proc/stat, minus the time of
  the processes under test. It sees everything, but most kernels count it by
  sampling at the timer tick: over an entry of half a second the sample is off
  by several hundredths of a second either way, mostly below the truth when
  the work comes in pieces far shorter than a tick.
- By name: the time of every other process, with that of the children it has
  waited for, so that a short-lived compiler is found in its parent. The
  scheduler counts it exactly, and /proc/PID/stat rounds it to a jiffy of
  10 ms. It misses the kernel's own work, and children nobody waits for.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from lib.failure import BenchFailure
from lib.process import cpu_seconds

SHARE_MAX = 0.01
# Raises that, percent of all cores, on a machine that is never so quiet: the
# noise is then in the intervals, of the A/A as well.
LIMIT = "PLUMB_BENCH_LIMIT"
# Both sources count whole jiffies, so a difference of two readings is off by
# up to one at each end. On two cores for 0.6 s, 1 % is 1.2 jiffies: a bound
# below 2 would throw entries away for rounding alone.
JIFFIES_MIN = 2
JIFFY_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
# Runs in the name of the sockets under test, and of nobody else.
SOFTIRQ_THREADS = "ksoftirqd/"


@dataclass(frozen=True)
class Look:
    """All counters at one moment, in seconds."""

    at: float
    busy: float
    steal: float
    own: float
    others: float


@dataclass(frozen=True)
class Disturbance:
    """What happened beside the programs under test between two looks.

    Times are seconds of processor time, over all cores."""

    elapsed_s: float
    allowed_s: float
    foreign_by_difference_s: float
    foreign_by_name_s: float
    steal_s: float

    def reason(self) -> str | None:
        """Why an entry measured meanwhile does not count; None when it does."""
        foreign = max(self.foreign_by_difference_s, self.foreign_by_name_s)
        if foreign > self.allowed_s:
            return f"foreign load of {foreign:.3f} s, allowed {self.allowed_s:.3f} s"
        if self.steal_s > self.allowed_s:
            return f"steal of {self.steal_s:.3f} s, allowed {self.allowed_s:.3f} s"
        return None


def look(family: Collection[int]) -> Look:
    """Reads the counters. `family` are the processes that live on and are not
    foreign: the servers under test, and the parents that wait for this
    process. A client under test starts and ends between two looks, as a child."""
    busy, steal = _all_cores()
    return Look(
        at=time.monotonic(),
        busy=busy,
        steal=steal,
        own=_own(family),
        others=sum(_others({os.getpid(), *family})),
    )


def between(before: Look, after: Look) -> Disturbance:
    """What the looks before and after an entry say about it."""
    elapsed = after.at - before.at
    share = share_max() * elapsed * (os.cpu_count() or 1)
    own = after.own - before.own
    return Disturbance(
        elapsed_s=_micros(elapsed),
        allowed_s=_micros(max(share, JIFFIES_MIN * JIFFY_SECONDS)),
        foreign_by_difference_s=_micros(after.busy - before.busy - own),
        foreign_by_name_s=_micros(after.others - before.others),
        steal_s=_micros(after.steal - before.steal),
    )


def share_max() -> float:
    """What others, and the hypervisor, may each take, a share of all cores."""
    raised = os.environ.get(LIMIT)
    if raised is None:
        return SHARE_MAX
    try:
        return float(raised) / 100
    except ValueError:
        raise BenchFailure(f"{LIMIT} is '{raised}', expected a number of percent") from None


def _micros(seconds: float) -> float:
    """Without the last digits of a float, so that 2 jiffies are not more than 2."""
    return round(seconds, 6)


def _all_cores() -> tuple[float, float]:
    """Busy time without steal, and steal, of all cores since boot."""
    with open("/proc/stat", encoding="ascii") as stat:
        jiffies = [int(word) for word in stat.readline().split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = jiffies[:8]
    return (user + nice + system + irq + softirq) * JIFFY_SECONDS, steal * JIFFY_SECONDS


def _own(family: Collection[int]) -> float:
    usages = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ended = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    return ended + sum(cpu_seconds(pid) + _reaped_seconds(pid) for pid in family)


def _reaped_seconds(pid: int) -> float:
    """Time of the children that a process has waited for: qperf's server makes
    one for every client."""
    rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    return sum(int(word) for word in rest.split()[13:15]) * JIFFY_SECONDS


def _others(family: set[int]) -> Iterator[float]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) not in family:
            try:
                yield _process_seconds(Path(entry.path, "stat").read_text())
            except (FileNotFoundError, ProcessLookupError):
                continue  # ended while the folder was read; its parent has its time


def _process_seconds(stat: str) -> float:
    """utime + stime + cutime + cstime of one line of /proc/PID/stat."""
    name, _, rest = stat.partition("(")[2].rpartition(")")
    if name.startswith(SOFTIRQ_THREADS):
        return 0.0
    return sum(int(word) for word in rest.split()[11:15]) * JIFFY_SECONDS
