"""Programs under test: started, awaited, and ended by process id."""

from __future__ import annotations

import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lib.failure import BenchFailure

READY_SECONDS = 10.0
END_SECONDS = 3.0
POLL_SECONDS = 0.01
SAID_CHARACTERS = 2000
LISTEN_STATE = "0A"  # in /proc/net/tcp
STATUS_KIB = re.compile(r"^(VmRSS|VmHWM):\s+(\d+) kB$", re.MULTILINE)


# A process is charged with the memory of whoever started it up to its first instruction: a small one
# starts the program, and tells what that took.
STARTER = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, used = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
"""


@dataclass(frozen=True)
class Cost:
    """What a program took; its memory at least some 9 MB, which its starter has."""

    cpu_seconds: float
    peak_bytes: int


def cost(command: Sequence[str], folder: Path | None = None) -> Cost:
    """Runs a program to its end, without its output."""
    starter = [sys.executable, "-I", "-S", "-c", STARTER, *command]
    said = subprocess.run(starter, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    status, cpu_seconds, peak_bytes = said.split()
    if status != "0":
        raise BenchFailure(f"`{' '.join(command)}` ended with {status}")
    return Cost(float(cpu_seconds), int(peak_bytes))


@contextmanager
def running(
    command: Sequence[str],
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """A program that runs until the block ends, however it ends."""
    try:
        process = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, text=True)
    except FileNotFoundError as error:
        raise BenchFailure(f"cannot start `{command[0]}`: {error.strerror}") from error
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Asks a program to stop, and insists after END_SECONDS."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


@dataclass(frozen=True)
class Ended:
    """What a program left when it ended."""

    status: int
    out: str
    err: str

    def said(self) -> str:
        """The end of what it said, errors first."""
        return (self.err.strip() or self.out.strip() or "and said nothing")[-SAID_CHARACTERS:]


def ended(command: Sequence[str], timeout_seconds: float | None = None) -> Ended:
    """Runs a program to its end, whatever that is."""
    with running(command, stderr=subprocess.PIPE) as process:
        try:
            out, err = process.communicate(timeout=timeout_seconds)
        except subprocess.TimeoutExpired as error:
            raise BenchFailure(f"`{_shown(command)}` took over {timeout_seconds:.0f} s") from error
    return Ended(process.returncode, out, err)


def run(command: Sequence[str], timeout_seconds: float) -> str:
    """Standard output of a program that must succeed in time."""
    program = ended(command, timeout_seconds)
    if program.status != 0:
        raise BenchFailure(f"`{_shown(command)}` ended with {program.status}: {program.said()}")
    return program.out


def raise_file_limit() -> None:
    """Lets this process and those it starts open as many files as they may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def announced_port(server: subprocess.Popen[str]) -> int:
    """The port in the line `listening on ADDRESS` a server prints when ready."""
    assert server.stdout is not None
    line = server.stdout.readline()
    found = re.fullmatch(r"listening on \S+:(\d+)\s*", line)
    if found is None:
        raise BenchFailure(
            f"`{_shown(server.args)}` printed {line!r}, expected 'listening on ADDRESS:PORT'"
        )
    return int(found.group(1))


def free_port() -> int:
    """A port nothing listens on now, for servers that cannot pick one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_listening(server: subprocess.Popen[str], port: int) -> None:
    """Waits until `port` is open in the network namespace of the server.

    Read from /proc and not tried by connecting, so that the server under test
    sees no connection that is not measured."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        if _listens(server.pid, port):
            return
        time.sleep(POLL_SECONDS)
    raise BenchFailure(f"`{_shown(server.args)}` does not listen on port {port}")


def _listens(pid: int, port: int) -> bool:
    wanted = f":{port:04X}"
    tables = (Path(f"/proc/{pid}/net/{name}") for name in ("tcp", "tcp6"))
    lines = (line for it in tables if it.exists() for line in it.read_text().splitlines()[1:])
    columns = (line.split() for line in lines)
    return any(c[1].endswith(wanted) and c[3] == LISTEN_STATE for c in columns)


def cpu_seconds(pid: int) -> float:
    """Processor time of a process, all its threads, those that ended included.

    The clock id is the one clock_getcpuclockid(3) returns: the complement of
    the process id above three bits, 2 for the time the scheduler counted. Its
    unit is the nanosecond, where /proc/PID/stat counts in hundredths."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError as error:
        raise BenchFailure(f"process {pid} has ended; it was expected to go on") from error


def parents(until: Collection[int]) -> Iterator[int]:
    """The processes that wait for this one, up to one in `until` or to init,
    neither of which is named."""
    pid = os.getppid()
    while pid > 1 and pid not in until:
        yield pid
        stat = Path(f"/proc/{pid}/stat").read_text()
        pid = int(stat.rpartition(")")[2].split()[1])


def memory_bytes(pid: int) -> dict[str, int]:
    """Resident memory now (VmRSS) and at its highest (VmHWM); empty once ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {name: 1024 * int(kib) for name, kib in STATUS_KIB.findall(status)}


def _shown(command: object) -> str:
    words = command if isinstance(command, (list, tuple)) else [command]
    return " ".join(str(word) for word in words)
