#!/usr/bin/env python3
"""Plays one plan of JMeter with JMeter and with plumb: the same requests, and what one costs.

First both play it once: two users ask for a list and its 400 details, and the counts and the
lengths must agree. Then they take turns at the same plan with more loops, and the processor
time of the client for a request is compared once each is warm; `limit_users.c`, which only waits,
sends and receives, shows what no client can save. Exits with 0 when all is met, 1 when something
is missed, and 2 when it could not be judged.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import web  # noqa: E402
from lib import build, console, experiment, foreign, machine, process, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.experiment import DISTURBED, Comparison  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.options import add_shared, names, positive, seed_of  # noqa: E402
from lib.outcome import AGAIN, PLUMB, cells  # noqa: E402
from lib.placement import on_cpu  # noqa: E402
from lib.table import figure, ratio, table  # noqa: E402
from lib.verdict import Verdict, at_most, exit_status  # noqa: E402

HERE = Path(__file__).resolve().parent
FLIGHTS, USERS, THINK_MS, REQUESTS = 400, 2, 2, 802
# Users and milliseconds between two requests at most. With two users who wait, sleeping and
# waking up costs both clients more than their own work.
LOADS = {"as it is": (USERS, THINK_MS), "50 users who do not wait": (50, 0)}
JMETER, LIMIT = "jmeter", "limit"
LIMIT_SECONDS = 60.0
ROUNDS, SECONDS, LOOPS = 7, 3.0, 100_000
WARM_SECONDS = {JMETER: 8.0, AGAIN: 8.0, PLUMB: 1.0, LIMIT: 1.0}
BEGIN_SECONDS_MAX = 30.0
TARGET = at_most(0.30)


@dataclass
class Outcome(results.Outcome):
    """All that was measured so far."""

    once: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    agree: Verdict = Verdict.UNKNOWN
    cpu: dict[str, Comparison] = field(default_factory=dict)
    cheaper: dict[str, Verdict] = field(default_factory=dict)


def files() -> dict[str, bytes]:
    """The list, and a page for each flight."""
    numbers = range(FLIGHTS)
    flights = [{"carrier": "LH", "number": f"{number:04}"} for number in numbers]
    detail = {f"flight-{n:04}.json": json.dumps({"number": n, "text": "x" * 700}).encode()
              for n in numbers}  # fmt: skip
    return {"flights.json": json.dumps({"flights": flights}).encode(), **detail}


def install() -> Path:
    """JMeter from its packages, below target/bench."""
    home = build.REPOSITORY / "target" / "bench" / "jmeter"
    if not (home / "bin" / "jmeter.properties").exists():
        build.package("mvn", "maven")
        say("installing JMeter")
        words = ["mvn", "--quiet", "--batch-mode", "--file", str(HERE / "jmeter.xml")]
        words += ["dependency:copy-dependencies", f"-DoutputDirectory={home / 'lib'}"]
        process.run(words, 600.0)
        config = next((home / "lib").glob("ApacheJMeter_config-*.jar"))
        process.run([sys.executable, "-m", "zipfile", "-e", str(config), str(home)], 60.0)
    return home


def plan(folder: Path, port: int, loops: int, users: int, think_ms: int) -> Path:
    """The plan for a server at `port`."""
    text = (HERE / "flights.jmx").read_text(encoding="utf-8")
    filled = {"port": port, "loops": loops, "users": users, "think_ms": think_ms}
    for name, value in filled.items():
        text = text.replace(f"{{{name}}}", str(value))
    path = folder / f"flights-{loops}-{users}.jmx"
    path.write_text(text, encoding="utf-8")
    return path


def jmeter(home: Path, jmx: Path, folder: Path, jtl: Path | None = None) -> list[str]:
    """The command that plays it."""
    words = ["java", "-Xms512m", "-Xmx512m", "-Djava.awt.headless=true", f"-Djmeter.home={home}"]
    words += [f"-Djava.util.prefs.userRoot={folder}", "-cp", f"{home / 'lib'}/*"]
    words += ["org.apache.jmeter.NewDriver", "-d", str(home), "-n", "-t", str(jmx)]
    words += ["-j", str(folder / "jmeter.log"), "-Jsummariser.name="]
    # it finds its elements in jars that it is told of
    words += [f"-Jsearch_paths={';'.join(str(jar) for jar in (home / 'lib').glob('Apache*.jar'))}"]
    return words + (["-l", str(jtl)] if jtl else [])


def imported(program: Path, jmx: Path) -> Path:
    """The scenario that plumb makes of a plan."""
    scenario = jmx.with_suffix(".toml")
    process.run([str(program), "http", "import", str(jmx), "--out", str(scenario)], 30.0)
    return scenario


def plays(program: Path, scenario: Path, out: Path) -> list[str]:
    """The command that plays it, with its run below `out`."""
    return [str(program), "http", "load", str(scenario), "--out", str(out)]


def counted(jtl: Path) -> tuple[int, int, int]:
    """Samples, errors, and bytes in all."""
    with open(jtl, encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    errors = sum(row["success"] != "true" for row in rows)
    return len(rows), errors, sum(int(row["bytes"]) for row in rows)


def heads(site: web.Site, names: Sequence[str]) -> int:
    """Bytes of the heads of one round of answers: JMeter counts them, plumb does not."""
    total = 0
    for name in names:
        total += int(process.run(["curl", "-s", "-o", os.devnull, "-w", "%{size_header}",
                                  f"http://{web.HOST}:{site.port}/{name}"], 10.0))  # fmt: skip
    return total


def once(program: Path, home: Path, site: web.Site, folder: Path, outcome: Outcome) -> None:
    """Both play the plan as it is."""
    jmx = plan(folder, site.port, 1, USERS, THINK_MS)
    theirs, ours = folder / "jmeter.jtl", folder / "plumb.jtl"
    process.run(jmeter(home, jmx, folder, theirs), 120.0)
    words = plays(program, imported(program, jmx), folder / "once")
    # a plan that thinks for milliseconds says nothing of the machine: its figures are not used
    process.run([*words, "--jtl", str(ours), "--foreign-limit", "100%"], 120.0)
    outcome.once = {JMETER: counted(theirs), PLUMB: counted(ours)}
    pages = files()
    expected = USERS * sum(len(content) for content in pages.values())
    with_heads = expected + USERS * heads(site, list(pages))
    agree = outcome.once[JMETER] == (REQUESTS, 0, with_heads)
    agree = agree and outcome.once[PLUMB] == (REQUESTS, 0, expected)
    outcome.agree = Verdict.MET if agree else Verdict.MISSED


def entry(words: Sequence[str], port: int, server: int, warm: float, seconds: float) -> int:
    """Prints nanoseconds of processor time a request of the client `words`."""
    site = web.Site(port, server, 0)
    quiet = subprocess.DEVNULL
    with process.running(words, stdout=quiet, stderr=quiet) as client:
        before = site.requests()
        patience = time.monotonic() + BEGIN_SECONDS_MAX
        while site.requests() - before < REQUESTS:
            if client.poll() is not None or time.monotonic() > patience:
                raise BenchFailure(f"`{words[0]}` does not begin")
            time.sleep(0.1)
        time.sleep(warm)
        family = [os.getpid(), server, client.pid]
        seen = foreign.look(family)
        first, cpu = site.requests(), process.cpu_seconds(client.pid)
        time.sleep(seconds)
        last, spent = site.requests(), process.cpu_seconds(client.pid) - cpu
        reason = foreign.between(seen, foreign.look(family)).reason()
    if reason:
        print(reason, file=sys.stderr)
        return DISTURBED
    print(spent * 1e9 / (last - first))
    return 0


def in_turns(
    program: Path, home: Path, site: web.Site, folder: Path, load: str, options: argparse.Namespace
) -> Comparison:
    """JMeter, JMeter again, plumb, and the limit."""
    users, think_ms = LOADS[load]
    jmx = plan(folder, site.port, LOOPS, users, think_ms)
    theirs = jmeter(home, jmx, folder)
    limit = build.c_program(HERE / "limit_users.c", build.TARGET / "bench")
    least = [limit, site.port, users, think_ms, FLIGHTS, LIMIT_SECONDS]
    ours = plays(program, imported(program, jmx), folder / "run")
    commands = {}
    for name, words in (
        (JMETER, theirs), (AGAIN, theirs), (PLUMB, ours), (LIMIT, [str(it) for it in least]),
    ):  # fmt: skip
        line = [sys.executable, str(HERE / "jmeter.py"), "--entry", str(site.port)]
        line += ["--server", str(site.pid), "--warm", str(WARM_SECONDS[name])]
        line += ["--seconds", str(options.seconds), "--", *on_cpu(0), *words]
        text = " ".join(f"'{word}'" for word in line)
        commands[name] = text if name != PLUMB else f"rm -rf '{folder / 'run'}'; {text}"
    seed = seed_of(options.seed, "jmeter")
    return experiment.compare(
        program, commands, ["--exec", "--pairs", str(options.rounds), "--seed", str(seed)]
    )


def main(arguments: Sequence[str]) -> int:
    """Reads the options, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--rounds", type=positive(int), default=ROUNDS, help="to keep: %(default)s")
    add("--seconds", type=positive(float), default=SECONDS, help="of each entry: %(default)s")
    add("--loads", type=names(list(LOADS)), default=list(LOADS),
        help=f"comma-separated: {list(LOADS)}")  # fmt: skip
    add("--entry", type=int, help=argparse.SUPPRESS)
    add("--server", type=int, help=argparse.SUPPRESS)
    add("--warm", type=float, help=argparse.SUPPRESS)
    add("words", nargs="*", help=argparse.SUPPRESS)
    add_shared(parser)
    options = parser.parse_args(arguments)
    if options.entry is not None:
        return entry(options.words, options.entry, options.server, options.warm, options.seconds)
    program = build.plumb(options.plumb, not options.no_build)
    build.package("nginx", "nginx-light")
    home = install()
    facts = machine.facts(build.REPOSITORY, {PLUMB: [str(program), "--version"]})
    outcome = Outcome(facts, vars(options))
    with (
        tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch,
        web.serving(on_cpu(1), files()) as site,
    ):
        once(program, home, site, Path(scratch), outcome)
        say("played once by both")
        for name in options.loads:
            found = in_turns(program, home, site, Path(scratch), name, options)
            outcome.cpu[name] = found
            outcome.cheaper[name] = TARGET.judge(found.judged(PLUMB, JMETER))
            say(f"{name}: done")
        outcome.complete = True
    print_outcome(outcome)
    return exit_status([outcome.agree, *outcome.cheaper.values()])


def print_outcome(outcome: Outcome) -> None:
    """The tables, the targets, and where everything lies."""
    rows = [[name, "", *(f"{it:,}" for it in found)] for name, found in outcome.once.items()]
    print(table(("once", "", "samples", "errors", "bytes"), rows))
    print(f"{REQUESTS} samples, no error, the same lengths: {outcome.agree.value}")
    head = ("processor time a request", "", "jmeter ns", "plumb ns", "plumb/jmeter", "A/A",
            "interval", "kept", "thrown", "target", "verdict")  # fmt: skip
    rows = [
        [name, "", *cells(found, JMETER), str(TARGET), outcome.cheaper[name].value]
        for name, found in outcome.cpu.items()
    ]
    print(table(head, rows))
    for name, found in outcome.cpu.items():
        least = found.effect(LIMIT, JMETER)
        print(f"{name}, the limit: {figure(least and least.candidate)} ns, {ratio(least)} of JMeter's")
        for fault in found.faults():
            print(f"{name}: {fault}")
    print(f"all figures in {results.write('jmeter', outcome)}")


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
