"""Builds and installs what a bench runs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lib.failure import BenchFailure

REPOSITORY = Path(__file__).resolve().parents[2]
TARGET = REPOSITORY / "target"
C_FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread")


def c_program(source: Path, into: Path, libraries: Sequence[str] = ()) -> Path:
    """Compiles one C file with `cc`; the program has the name of the file."""
    into.mkdir(parents=True, exist_ok=True)
    program = into / source.stem
    linked = [f"-l{library}" for library in libraries]
    _must(["cc", *C_FLAGS, "-o", str(program), str(source), *linked])
    return program


def plumb(given: Path | None, build: bool) -> Path:
    """The program that was given, or that of the repository, built first."""
    if given is None and build:
        _cargo_release()
    program = (given or TARGET / "release" / "plumb").resolve()
    if not program.exists():
        raise BenchFailure(f"no {program}; build it, or name another with --plumb")
    return program


def package(command: str, name: str) -> None:
    """Installs a package with apt-get unless its command is there."""
    if shutil.which(command) is None:
        _install(name)


def library(header: str, name: str) -> None:
    """Installs a package with apt-get unless `cc` finds its header."""
    probe = ["cc", "-E", "-include", header, "-x", "c", "/dev/null", "-o", "/dev/null"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        _install(name)


def _install(name: str) -> None:
    try:
        _must(["apt-get", "install", "--yes", "--no-install-recommends", name])
    except BenchFailure as failure:
        hint = f"install {name} by hand, or try `apt-get update`"
        raise BenchFailure(f"{failure}; {hint}") from failure


def crate(name: str) -> Path:
    """The program of a crate, installed below target/ unless it is there."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    root = TARGET / "bench" / "crates"
    program = root / "bin" / name
    if not program.exists():
        _must(["cargo", "install", "--locked", "--root", str(root), name])
    return program


def _cargo_release() -> None:
    _must(
        ["cargo", "build", "--release", "--locked"]
        + ["--manifest-path", str(REPOSITORY / "Cargo.toml")]
        + ["--target-dir", str(TARGET)]
    )


def _must(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise BenchFailure(f"`{command[0]}` is not installed") from error
    except subprocess.CalledProcessError as error:
        raise BenchFailure(f"`{' '.join(command)}` ended with {error.returncode}") from error
