//! What lies in `deploy/`, and the package made of it: checked by the tools it is for, and tried.

#![allow(clippy::panic, reason = "a test that cannot go on should say why")]

#[path = "../kit/mod.rs"]
mod kit;

mod booted;
mod compose;
mod credentials;
mod image;
mod kubernetes;
mod package;
mod pipelines;
mod units;
mod words;

use std::path::{Path, PathBuf};

use kit::{Ended, Program};

/// The folder of the sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the sources as text.
fn text(path: &str) -> String {
    let file = sources().join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Runs `program`, found in PATH or where administrators have theirs, in `folder` to its end.
fn ran(program: &str, words: &[&str], folder: &Path, told: &[(&str, &str)]) -> Ended {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{path}:/usr/sbin:/sbin");
    let told = [&[("PATH", path.as_str()), ("LC_ALL", "C.UTF-8")], told].concat();
    Program::start_told(Path::new(program), words, folder, &told).wait()
}
