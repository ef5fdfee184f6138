#!/usr/bin/env python3
"""Whether what was accepted is in the table, dead or waiting, each once.

    count.py events.log --table table.txt --dead dead.txt --waiting waiting.txt

The log is that of `send.py`. The table is a file with the number of an event a line, as
`psql -qAtc 'select number from event'` prints it; dead and waiting are files with the id of an
execution a line. An accepted event that is nowhere is lost; one that is in the table twice, or there
and dead or waiting as well, was doubled; a number in the table that was never sent is foreign. One in the
table that was refused each time it was sent is denied: whoever sends it again doubles it. An event whose
answer was not heard may be there or not, and is counted by itself. Exits with 0 when nothing was lost,
doubled, foreign or denied, else with 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import console  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402

ACCEPTED = range(200, 300)
SHOWN = 5
FAULTS = ("lost", "doubled", "foreign", "denied")


@dataclass
class Log:
    """What a client knows."""

    # how often, by the number of the event
    sent: Counter[int] = field(default_factory=Counter)
    # of an accepted event
    executions: dict[int, str] = field(default_factory=dict)
    # how often
    refused: Counter[int] = field(default_factory=Counter)

    def denied(self, number: int) -> bool:
        """Whether each answer was heard, and none accepted the event."""
        refused = self.refused[number]
        return number not in self.executions and 0 < refused >= self.sent[number]


@dataclass(frozen=True)
class Counted:
    """Numbers of events by what became of them."""

    accepted: int
    in_table: int
    dead: int
    waiting: int
    unheard_in_table: int
    lost: list[int]
    doubled: list[int]
    foreign: list[int]
    denied: list[int]

    def holds(self) -> bool:
        """Whether accepted = in the table + dead + waiting, each once, and nothing else is there."""
        return not any(getattr(self, name) for name in FAULTS)

    def __str__(self) -> str:
        text = (
            f"accepted {self.accepted} = in the table {self.in_table} + dead {self.dead}"
            f" + waiting {self.waiting} + lost {len(self.lost)};"
            f" in the table without an answer heard {self.unheard_in_table}"
        )
        for name in FAULTS:
            found = getattr(self, name)
            if found:
                text += f"; {name} {len(found)}: {', '.join(map(str, found[:SHOWN]))}"
                text += ", ..." if len(found) > SHOWN else ""
        return text


def read(lines: Iterable[str]) -> Log:
    """Reads a log. A last line without its end was not written whole, and counts for nothing."""
    log = Log()
    for line in lines:
        if not line.endswith("\n"):
            continue
        match line.split():
            case ["sent", number]:
                log.sent[int(number)] += 1
            case ["answered", number, status, execution]:
                if int(status) in ACCEPTED:
                    log.executions[int(number)] = execution
                else:
                    log.refused[int(number)] += 1
            case _:
                raise BenchFailure(f"no line of a log: {line.strip()!r}")
    return log


def count(log: Log, table: Iterable[int], dead: Iterable[str], waiting: Iterable[str]) -> Counted:
    """Holds the log against the other three."""
    rows, dead_ids, waiting_ids = Counter(table), set(dead), set(waiting)
    lost, doubled = [], sorted(number for number, times in rows.items() if times > 1)
    places = Counter[str]()
    for number, execution in log.executions.items():
        found = {
            "table": number in rows, "dead": execution in dead_ids,
            "waiting": execution in waiting_ids,
        }  # fmt: skip
        first = next((place for place, is_there in found.items() if is_there), "lost")
        places[first] += 1
        if first == "lost":
            lost.append(number)
        elif sum(found.values()) > 1:
            doubled.append(number)
    denied = sorted(number for number in rows if log.denied(number))
    unheard = rows.keys() & log.sent.keys() - log.executions.keys() - set(denied)
    return Counted(
        accepted=len(log.executions), in_table=places["table"], dead=places["dead"],
        waiting=places["waiting"], unheard_in_table=len(unheard), lost=sorted(lost),
        doubled=sorted(set(doubled)), foreign=sorted(rows.keys() - log.sent.keys()), denied=denied,
    )  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Reads the files and counts; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("log", type=Path, help="what send.py wrote")
    parser.add_argument("--table", type=Path, required=True, help="numbers in the table")
    parser.add_argument("--dead", type=Path, help="ids of dead executions")
    parser.add_argument("--waiting", type=Path, help="ids of waiting executions")
    options = parser.parse_args(arguments)
    try:
        with options.log.open(encoding="ascii") as lines:
            log = read(lines)
        table = [int(line) for line in options.table.read_text().split()]
        ids = [it.read_text().split() if it else [] for it in (options.dead, options.waiting)]
    except (OSError, ValueError) as error:
        raise BenchFailure(str(error)) from error
    counted = count(log, table, *ids)
    print(counted)
    return 0 if counted.holds() else 1


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
