//! The units are what systemd takes, and confined.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{ran, sources, text};
use crate::kit::foreign::installed;
use crate::kit::namespace::allowed;
use crate::kit::{Ended, PLUMB};

/// Every unit, and for a template an instance of it.
const UNITS: [&str; 6] = [
    "plumb-remote.service",
    "plumb-host-record.service",
    "plumb-net@a.service",
    "plumb-lock@a.service",
    "plumb-app@a.service",
    "plumb-flow@a.service",
];
/// The names of the files.
pub(super) const FILES: [&str; 6] = [
    "plumb-remote.service",
    "plumb-host-record.service",
    "plumb-net@.service",
    "plumb-lock@.service",
    "plumb-app@.service",
    "plumb-flow@.service",
];
const HARDENING: &str = "plumb-.service.d/hardening.conf";
/// Of 10, at which everything is open; in tenths.
const EXPOSED_AT_MOST: &str = "20";

/// The units in a folder of their own, with the program where it is; `Err` says why nobody can look
/// at them.
fn copied() -> Result<TempDir, String> {
    installed("systemd-analyze", "systemd")?;
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("plumb-.service.d")).expect("a folder");
    for name in FILES.iter().chain([&HARDENING]) {
        let unit = text(&format!("deploy/systemd/{name}")).replace("/usr/bin/plumb", PLUMB);
        fs::write(folder.path().join(name), unit).expect("a temporary folder can be written");
    }
    Ok(folder)
}

fn analyze(verb: &str, options: &[&str], units: &[&str], folder: &Path) -> Ended {
    let paths: Vec<String> = units.iter().map(|unit| format!("./{unit}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    ran("systemd-analyze", &[&[verb], options, &paths].concat(), folder, &[])
}

#[test]
fn every_unit_is_looked_at() {
    let folder = fs::read_dir(sources().join("deploy/systemd")).expect("units");
    let mut found: Vec<String> = folder
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".service"))
        .collect();
    found.sort();
    let mut known = FILES.map(String::from);
    known.sort();
    assert_eq!(found, known);
}

#[test]
fn systemd_takes_every_unit() {
    let Some(folder) = allowed(copied()) else { return };
    let said = analyze("verify", &["--man=no"], &UNITS, folder.path()).with(0);
    // what it does not understand it says, and goes on
    assert_eq!(said.stdout + &said.stderr, "");

    let wrong =
        text("deploy/systemd/plumb-remote.service").replace("MemoryMax=2G", "MemoryMaximum=2G");
    fs::write(folder.path().join(FILES[0]), wrong.replace("/usr/bin/plumb", PLUMB))
        .expect("a file");
    let said = analyze("verify", &["--man=no"], &UNITS[..1], folder.path());
    assert!(said.stderr.contains("MemoryMaximum"), "{said:#?}");
}

#[test]
fn every_unit_is_confined() {
    let Some(folder) = allowed(copied()) else { return };
    let threshold = format!("--threshold={EXPOSED_AT_MOST}");
    let options = ["--offline=yes", "--no-pager", &threshold];
    for unit in FILES {
        let judged = analyze("security", &options, &[unit], folder.path()).with(0);
        assert!(judged.stdout.contains("Overall exposure level"), "{judged:#?}");
    }
    fs::remove_file(folder.path().join(HARDENING)).expect("it is there");
    assert_eq!(analyze("security", &options, &[FILES[0]], folder.path()).code, Some(1));
}

#[test]
fn only_a_recording_may_use_no_network() {
    let Some(folder) = allowed(copied()) else { return };
    let kept_from = |unit: &str| {
        let judged = analyze("security", &["--offline=yes", "--no-pager"], &[unit], folder.path());
        let mut lines = judged.stdout.lines();
        let line = lines.find(|line| line.contains("RestrictAddressFamilies=~AF_(INET|INET6)"));
        line.unwrap_or_else(|| panic!("{judged:#?}")).contains("Service cannot allocate")
    };
    let confined: Vec<&str> = FILES.into_iter().filter(|unit| kept_from(unit)).collect();
    assert_eq!(confined, ["plumb-host-record.service"]);
}

#[test]
fn a_unit_is_started_again_however_often_it_has_ended() {
    // systemd gives up a unit that began five times within ten seconds, unless it is told
    assert!(text(&format!("deploy/systemd/{HARDENING}")).contains("\nStartLimitIntervalSec=0\n"));
    for name in FILES {
        let unit = text(&format!("deploy/systemd/{name}"));
        assert!(unit.contains("\nRestart=") && !unit.contains("StartLimit"), "{name}");
    }
}

#[test]
fn old_recordings_are_named_as_systemd_wants_it() {
    let Some(()) = allowed(installed("systemd-tmpfiles", "systemd")) else { return };
    let root = tempfile::tempdir().expect("a temporary folder");
    let kept = root.path().join("var/lib/private/plumb-host-record/plumb-runs");
    fs::create_dir_all(kept.join("a-run")).expect("a folder");
    let at = format!("--root={}", root.path().display());
    let file = sources().join("deploy/systemd/tmpfiles.conf");
    let file = file.canonicalize().expect("it is there").display().to_string();
    let clean = |file: &str| ran("systemd-tmpfiles", &[&at, "--clean", file], root.path(), &[]);
    let said = clean(&file).with(0);
    assert_eq!(said.stderr, "");
    assert!(kept.join("a-run").is_dir(), "it is of today");

    let wrong = root.path().join("wrong.conf");
    fs::write(&wrong, text("deploy/systemd/tmpfiles.conf").replace("35d", "35moons"))
        .expect("a file");
    assert_ne!(clean(&wrong.display().to_string()).code, Some(0));
}
