//! The package in `python/`: it installs from its folder, and what it reads of runs and experiments is
//! what the program says of them.

use crate::kit;

use std::fs;
use std::path::{Path, PathBuf};

use kit::{Ended, PLUMB, Program, Server, ping, plumb};
use tempfile::tempdir;

fn python(words: &[&str], folder: &Path, told: &[(&str, &str)]) -> Ended {
    let python = std::env::var_os("PLUMB_TEST_PYTHON").map(PathBuf::from);
    let python = python.expect("PLUMB_TEST_PYTHON must name a Python that has pandas: run ./test");
    Program::start_told(&python, words, folder, told).wait()
}

/// Copies the files of `from`, whose folders hold nothing else, below `to`.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("it is there").map(|entry| entry.expect("an entry")) {
        let (path, into) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &into);
        } else {
            fs::copy(&path, &into).expect("a temporary folder can be written");
        }
    }
}

#[test]
fn the_python_package_reads_what_the_program_says() {
    let home = tempdir().expect("a folder");
    let at = home.path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    for part in ["plumbline", "tests", "examples"] {
        copy(&source.join(part), &at.join("source").join(part));
    }
    for file in ["pyproject.toml", "README.md"] {
        fs::copy(source.join(file), at.join("source").join(file)).expect("it is there");
    }
    let manifest = kit::read(&at.join("source/pyproject.toml"));
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(manifest.contains(&version), "it has the version of the program: {manifest}");
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"];
    let words = ["--no-deps", "--no-build-isolation", "--target=site", "./source"];
    python(&[&pip[..], &words].concat(), at, &[]).with(0);

    let server = Server::start(&[]);
    let sizes = ["--size=100B,4KiB", "--for=300ms", "--interval=50ms", "--warmup=0s"];
    ping(&server.address, &[&sizes[..], &["--out=runs/ping"]].concat(), at).with(0);
    let ab = ["ab", "--exec", "--pairs=6", "--out=runs/ab", "echo 1", "echo 2"];
    plumb(&ab, at).with(0);

    let (site, runs) = (at.join("site"), at.join("runs"));
    let (site, runs) = (site.display().to_string(), runs.display().to_string());
    let told = [
        ("PYTHONPATH", site.as_str()),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PLUMB_TEST_PROGRAM", PLUMB),
        ("PLUMB_TEST_RUNS", &runs),
    ];
    let ended = python(&["-m", "unittest", "discover", "-s", "source/tests"], at, &told).with(0);
    assert!(ended.stderr.contains("\nOK"), "nothing may be skipped: {ended:#?}");
    assert!(!ended.stderr.contains("skipped"), "{ended:#?}");

    copy(&at.join("runs/ab"), &at.join("runs/a-first"));
    fs::remove_file(at.join("runs/a-first/comparison.json")).expect("it was there");
    let shown = python(&["source/examples/overview.py", "runs"], at, &told).with(0).stdout;
    assert!(shown.contains("<Run ping: net ping") && shown.contains("worse: "), "{shown}");
    assert!(shown.contains("not compared"), "an experiment that is under way: {shown}");
}
