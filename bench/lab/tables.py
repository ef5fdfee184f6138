#!/usr/bin/env python3
"""Runs the experiments of examples/seeds on this machine and prints their tables as Markdown.

The tables are those of docs/seed-tables.md, which has a place for each between `<!-- NAME -->`
and `<!-- /NAME -->`. Figures are medians over the blocks that count; changes, intervals and
verdicts are those of `plumb lab run`.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import stored  # noqa: E402
from lib import build  # noqa: E402
from lib.console import COULD_NOT_RUN, say, status_of  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.options import names, positive  # noqa: E402
from printers import TABLES  # noqa: E402
from stored import Experiment  # noqa: E402

EXPERIMENTS = BENCH.parent / "examples" / "seeds"
# The user of an application server that names none.
LOG_ON = {"PLUMB_HTTP_USER": "demo", "PLUMB_HTTP_PASSWORD": "demo"}
# Blocks of milliseconds among them, in which nobody can tell what other programs took.
TOO_SHORT_TO_CHECK = {"locks-create"}


def main(arguments: Sequence[str]) -> int:
    """Reads the options, runs, prints."""
    options = parse(arguments)
    plumb = build.plumb(options.plumb, not options.no_build)
    chapter = options.fill and options.fill.resolve()
    options.out = options.out and options.out.resolve()
    os.environ.update(LOG_ON)
    os.chdir(EXPERIMENTS)
    words = ["--rounds", str(options.rounds)] if options.rounds else []
    words += ["--accept-invalid"] if options.accept_invalid else []
    expected = estimate(plumb, options.only, words)
    if options.estimate:
        return 0
    failed = False
    for name in options.only:
        say(f"running {name}, about {expected[name] / 60:.1f} minutes")
        try:
            with folder(options.out, name) as out:
                more = ["--accept-unchecked"] if name in TOO_SHORT_TO_CHECK else []
                text = made(name, stored.run(plumb, f"{name}.toml", out, words + more))
        except BenchFailure as failure:
            say(f"{name}: {failure}")
            failed = True
            continue
        print(f"### {name}\n\n{text}", flush=True)
        if chapter:
            fill(chapter, name, text)
    return COULD_NOT_RUN if failed else 0


def estimate(plumb: Path, only: Sequence[str], words: Sequence[str]) -> dict[str, float]:
    """Says how long each experiment is expected to take, in seconds; servers start beside that."""
    expected = {name: stored.predicted_s(plumb, f"{name}.toml", words) for name in only}
    for name, seconds in expected.items():
        say(f"{name:<20} {seconds:5.0f} s")
    say(f"{'all':<20} {sum(expected.values()) / 60:5.1f} minutes, and starting servers")
    return expected


@contextmanager
def folder(kept: Path | None, name: str) -> Iterator[Path]:
    """Where an experiment lies: in a folder that stays, or in one that goes with its tables."""
    if kept:
        yield kept / name
        return
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        yield Path(scratch, name)


def made(name: str, experiment: Experiment) -> str:
    """The tables of an experiment, and what must be known about them."""
    text = io.StringIO()
    with redirect_stdout(text):
        TABLES[name](experiment)
        print(f"\n{experiment.rounds()}; {meanwhile(experiment)}.")
    return text.getvalue()


def fill(chapter: Path, name: str, text: str) -> None:
    """Puts tables into their place in a chapter."""
    before, begin, rest = chapter.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, end, behind = rest.partition(f"<!-- /{name} -->\n")
    if not begin or not end:
        raise BenchFailure(f"{chapter} has no place <!-- {name} --> to <!-- /{name} -->")
    chapter.write_text(f"{before}{begin}\n{text}\n{end}{behind}", encoding="utf-8")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--plumb", type=Path, help="take this program, and do not build")
    add("--no-build", action="store_true", help="take target/release/plumb")
    add("--rounds", type=positive(int), help="so many rounds, whatever the files say")
    add("--accept-invalid", action="store_true", help="let blocks that are not valid count")
    add("--estimate", action="store_true", help="say how long it will take, and run nothing")
    add("--out", type=Path, metavar="DIR", help="keep the experiments, each in a folder of DIR")
    add("--fill", type=Path, metavar="FILE", help="put the tables into this chapter, too")
    add("--only", type=names(list(TABLES)), default=[name for name in TABLES if name != "smc"],
        metavar="NAME,...", help="run these only; smc, which needs a device for it, runs only so")  # fmt: skip
    return parser.parse_args(arguments)


def meanwhile(experiment: Experiment) -> str:
    """What others did on the machine."""
    share = experiment.foreign()
    if share is None:
        return "the blocks are too short to tell what others took"
    return f"others took at most {share:.0f} % of all processors"


if __name__ == "__main__":
    raise SystemExit(status_of(lambda: main(sys.argv[1:])))
