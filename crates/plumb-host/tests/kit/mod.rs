//! Recorded machines, and texts as they stand in `tests/golden`. `UPDATE_GOLDEN=1` writes them anew.
#![allow(dead_code, reason = "each test file takes what it needs")]
#![allow(clippy::panic, reason = "a test that differs should say where")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plumb_host::{Monitor, MonitorPlan, Sample};
use plumb_measure::Clock;
use plumb_procfs::Root;
use tempfile::TempDir;

/// A clock that stands where it was put.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<AtomicU64>);

impl Held {
    /// Puts it on by `ns`, and tells what it shows then.
    pub(crate) fn advance(&self, ns: u64) -> u64 {
        self.0.fetch_add(ns, Ordering::Relaxed) + ns
    }
}

impl Clock for Held {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A machine of `tests/machines`: `NAME.0.txt` and `NAME.1.txt` hold its files at two moments.
pub(crate) struct Machine {
    name: &'static str,
    folder: TempDir,
    clock: Held,
    pub(crate) monitor: Monitor,
}

impl Machine {
    /// The machine at its first moment, read once.
    pub(crate) fn new(name: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        unpack(name, 0, folder.path());
        let clock = Held::default();
        clock.0.store(1_000_000_000, Ordering::Relaxed);
        let plan = MonitorPlan { root: Root::below(folder.path()), ..MonitorPlan::default() };
        let mut monitor = Monitor::new(&plan, Box::new(clock.clone()));
        assert!(monitor.sample().is_none(), "there is nothing to compare the first reading with");
        Self { name, folder, clock, monitor }
    }

    pub(crate) fn root(&self) -> Root {
        Root::below(self.folder.path())
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What happened up to the second moment, `interval_ns` later.
    pub(crate) fn second(&mut self, interval_ns: u64) -> Sample {
        unpack(self.name, 1, self.folder.path());
        self.clock.advance(interval_ns);
        let sample = self.monitor.sample().expect("it is the second reading");
        // what depends on when and where the test runs
        Sample { wall_ns: 1_300_634_013_000_000_000, cost_ns: 250_000, ..sample.clone() }
    }
}

/// Puts the files of `NAME.MOMENT.txt` below `folder`. A file that is open stays the same file.
fn unpack(name: &str, moment: u32, folder: &Path) {
    let text = read(&tests().join("machines").join(format!("{name}.{moment}.txt")));
    for part in text.split("==> ").skip(1) {
        let (path, text) = part.split_once(" <==\n").expect("a heading `==> path <==`");
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("it is below a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

/// Compares `got` with the golden file `name`.
pub(crate) fn check(name: &str, got: &str) {
    let file = tests().join("golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, got).expect("the source folder can be written");
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    let differs = (1..).zip(got.lines().zip(expected.lines())).find(|(_, (a, b))| a != b);
    if let Some((line, (got, expected))) = differs {
        panic!(
            "{} differs in line {line}:\n  expected {expected}\n  got      {got}",
            file.display()
        );
    }
    assert_eq!(got.lines().count(), expected.lines().count(), "{} has more", file.display());
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
