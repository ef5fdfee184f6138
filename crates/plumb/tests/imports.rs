//! Who may import whom, and what stands in one place only.

#[path = "imports/circles.rs"]
mod circles;
#[path = "imports/scripts.rs"]
mod scripts;
#[path = "imports/sizes.rs"]
mod sizes;
#[path = "imports/styles.rs"]
mod styles;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each crate and the crates of ours that it may import. A new edge is a commit of its own, with
/// its reason.
const TABLE: &[(&str, &[&str])] = &[
    ("plumb-measure", &["plumb-statistics"]),
    ("plumb-statistics", &[]),
    ("plumb-wire", &[]),
    ("plumb-netlink", &["plumb-measure"]),
    ("plumb-options", &["plumb-measure", "plumb-wire"]),
    ("plumb-socket", &["plumb-measure", "plumb-netlink", "plumb-wire"]),
    ("plumb-link", &["plumb-measure", "plumb-socket"]),
    ("plumb-engine", &["plumb-link", "plumb-measure", "plumb-socket", "plumb-wire"]),
    ("plumb-relay", &["plumb-engine", "plumb-measure"]),
    ("plumb-terminal", &[]),
    (
        "plumb-net",
        &["plumb-engine", "plumb-measure", "plumb-relay", "plumb-terminal", "plumb-wire"],
    ),
    ("plumb-scenario", &["plumb-measure", "plumb-wire"]),
    ("plumb-draft", &["plumb-measure", "plumb-scenario", "plumb-wire"]),
    ("plumb-jmx", &["plumb-draft", "plumb-measure", "plumb-scenario", "plumb-wire"]),
    (
        "plumb-import",
        &["plumb-draft", "plumb-jmx", "plumb-measure", "plumb-scenario", "plumb-wire"],
    ),
    ("plumb-trace", &["plumb-engine", "plumb-measure", "plumb-serve"]),
    (
        "plumb-telemetry",
        &["plumb-engine", "plumb-measure", "plumb-serve", "plumb-trace", "plumb-wire"],
    ),
    (
        "plumb-http",
        &[
            "plumb-engine",
            "plumb-http2",
            "plumb-measure",
            "plumb-negotiate",
            "plumb-over-http2",
            "plumb-scenario",
            "plumb-terminal",
            "plumb-trace",
            "plumb-wire",
        ],
    ),
    ("plumb-http2", &[]),
    ("plumb-over-http2", &["plumb-engine", "plumb-http2", "plumb-measure", "plumb-wire"]),
    ("plumb-negotiate", &[]),
    (
        "plumb-record",
        &["plumb-engine", "plumb-measure", "plumb-scenario", "plumb-serve", "plumb-wire"],
    ),
    ("plumb-remote", &["plumb-engine", "plumb-measure"]),
    (
        "plumb-db",
        &[
            "plumb-db-login",
            "plumb-engine",
            "plumb-measure",
            "plumb-odbc",
            "plumb-serve",
            "plumb-sql",
            "plumb-sql-log",
        ],
    ),
    (
        "plumb-db-login",
        &["plumb-engine", "plumb-measure", "plumb-serve", "plumb-sql", "plumb-terminal"],
    ),
    ("plumb-odbc", &["plumb-engine", "plumb-measure"]),
    ("plumb-sql", &[]),
    ("plumb-sql-log", &[]),
    ("plumb-agent", &["plumb-engine", "plumb-measure", "plumb-serve", "plumb-wire"]),
    ("plumb-serve", &["plumb-engine", "plumb-measure", "plumb-wire"]),
    ("plumb-app", &["plumb-engine", "plumb-measure", "plumb-odata", "plumb-serve", "plumb-wire"]),
    ("plumb-odata", &["plumb-serve", "plumb-wire"]),
    (
        "plumb-flow",
        &[
            "plumb-data",
            "plumb-engine",
            "plumb-measure",
            "plumb-page",
            "plumb-queue",
            "plumb-serve",
            "plumb-trace",
            "plumb-transaction",
            "plumb-wire",
        ],
    ),
    (
        "plumb-data",
        &[
            "plumb-engine",
            "plumb-measure",
            "plumb-queue",
            "plumb-serve",
            "plumb-transaction",
            "plumb-wire",
        ],
    ),
    (
        "plumb-transaction",
        &["plumb-engine", "plumb-measure", "plumb-queue", "plumb-scenario", "plumb-wire"],
    ),
    ("plumb-mutation", &[]),
    ("plumb-queue", &["plumb-engine", "plumb-measure", "plumb-serve"]),
    ("plumb-size", &["plumb-measure"]),
    ("plumb-xslt", &["plumb-wire"]),
    (
        "plumb-lock-server",
        &["plumb-engine", "plumb-lock-pair", "plumb-lock-table", "plumb-measure", "plumb-wire"],
    ),
    (
        "plumb-lock",
        &["plumb-engine", "plumb-lock-server", "plumb-lock-table", "plumb-measure", "plumb-wire"],
    ),
    ("plumb-lock-pair", &[]),
    ("plumb-lock-table", &[]),
    (
        "plumb-capacity",
        &[
            "plumb-chart",
            "plumb-folder",
            "plumb-measure",
            "plumb-nmon",
            "plumb-options",
            "plumb-page",
            "plumb-size",
        ],
    ),
    ("plumb-nmon", &[]),
    ("plumb-check", &["plumb-nmon", "plumb-wire"]),
    (
        "plumb-host",
        &[
            "plumb-checkup",
            "plumb-engine",
            "plumb-folder",
            "plumb-measure",
            "plumb-netlink",
            "plumb-nmon",
            "plumb-procfs",
            "plumb-terminal",
        ],
    ),
    ("plumb-procfs", &[]),
    ("plumb-checkup", &["plumb-measure"]),
    ("plumb-comparison", &["plumb-measure"]),
    ("plumb-folder", &["plumb-checkup", "plumb-comparison", "plumb-measure"]),
    ("plumb-page", &["plumb-measure"]),
    ("plumb-chart", &["plumb-comparison", "plumb-measure", "plumb-page"]),
    ("plumb-pipeline", &["plumb-checkup", "plumb-comparison", "plumb-measure", "plumb-page"]),
    (
        "plumb-report",
        &["plumb-chart", "plumb-comparison", "plumb-folder", "plumb-measure", "plumb-page"],
    ),
    (
        "plumb-diagnostics",
        &[
            "plumb-chart",
            "plumb-checkup",
            "plumb-folder",
            "plumb-measure",
            "plumb-page",
            "plumb-report",
        ],
    ),
    ("plumb-show", &["plumb-chart", "plumb-check", "plumb-measure", "plumb-nmon", "plumb-page"]),
    (
        "plumb-ui",
        &[
            "plumb-chart",
            "plumb-checkup",
            "plumb-comparison",
            "plumb-engine",
            "plumb-folder",
            "plumb-measure",
            "plumb-page",
            "plumb-serve",
            "plumb-wire",
        ],
    ),
    ("plumb-lab", &["plumb-comparison", "plumb-folder", "plumb-measure"]),
    ("plumb-experiment", &["plumb-engine", "plumb-lab", "plumb-measure", "plumb-wire"]),
    ("plumb-command", &["plumb-engine", "plumb-measure", "plumb-page"]),
    (
        "plumb-compat",
        &[
            "plumb-command",
            "plumb-engine",
            "plumb-lock",
            "plumb-measure",
            "plumb-net",
            "plumb-report",
            "plumb-wire",
        ],
    ),
    (
        "plumb",
        &[
            "plumb-agent",
            "plumb-app",
            "plumb-capacity",
            "plumb-check",
            "plumb-checkup",
            "plumb-command",
            "plumb-comparison",
            "plumb-compat",
            "plumb-db",
            "plumb-diagnostics",
            "plumb-engine",
            "plumb-experiment",
            "plumb-flow",
            "plumb-folder",
            "plumb-host",
            "plumb-http",
            "plumb-import",
            "plumb-lab",
            "plumb-lock",
            "plumb-measure",
            "plumb-net",
            "plumb-netlink",
            "plumb-nmon",
            "plumb-options",
            "plumb-page",
            "plumb-pipeline",
            "plumb-procfs",
            "plumb-record",
            "plumb-remote",
            "plumb-report",
            "plumb-show",
            "plumb-ui",
            "plumb-telemetry",
            "plumb-terminal",
            "plumb-wire",
        ],
    ),
];

#[test]
fn every_crate_imports_only_what_the_table_allows() {
    for folder in crates() {
        let manifest = text(&folder.join("Cargo.toml"));
        let name = name(&folder);
        let allowed = TABLE.iter().find(|(known, _)| *known == name);
        assert!(
            allowed.is_some(),
            "{name} stands in no line of the import table: add one to crates/plumb/tests/imports.rs"
        );
        for imported in ours(&manifest) {
            assert!(
                allowed.is_some_and(|(_, allowed)| allowed.contains(&imported)),
                "{name} must not import {imported}; the table in crates/plumb/tests/imports.rs \
                 says whom it may"
            );
        }
    }
}

#[test]
fn every_line_of_the_table_is_a_crate() {
    let there: BTreeSet<String> = crates().iter().map(|folder| name(folder)).collect();
    for (known, _) in TABLE {
        assert!(there.contains(*known), "{known} is gone: take it out of the import table");
    }
}

#[test]
fn only_one_clock_reads_time() {
    let clock = Path::new("plumb-socket/src/clock.rs");
    // the calls that a confined program may still make are named there, not made
    let filter = Path::new("plumb-xslt/src/confinement.rs");
    let words = ["clock_gettime", "Instant", "SystemTime"];
    assert!(words.iter().any(|word| mentions(&root().join(clock), word)), "the clock has moved");
    for file in sources() {
        for word in words {
            assert!(
                file.ends_with(clock) || file.ends_with(filter) || !mentions(&file, word),
                "{} mentions {word}: take the clock that is handed in",
                file.display()
            );
        }
    }
}

#[test]
fn only_the_program_prints() {
    for file in sources() {
        // what a test prints is for whoever runs it
        let test = file.iter().any(|part| part == "tests" || part == "tests.rs");
        let program = file.starts_with(root().join("plumb"));
        for word in ["println!", "eprintln!", "print!(", "eprint!("] {
            assert!(
                test || program || !mentions(&file, word),
                "{} says {word}: only the program knows where output goes",
                file.display()
            );
        }
    }
}

#[test]
fn no_tracked_file_holds_a_conflict_of_a_merge() {
    // in an archive of the sources nothing is tracked
    if !root().join("../.git").exists() {
        return;
    }
    let listed =
        Command::new("git").args(["ls-files", "-z"]).current_dir(root().join("..")).output();
    let listed = listed.expect("git lists its files");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("names are text");
    let names: Vec<&str> = names.split_terminator('\0').collect();
    assert!(names.contains(&"docs/principles.md"), "they are of this workspace");
    for name in names {
        // what was removed and is not committed yet is no file, and bytes that are no text hold none
        let Ok(text) = fs::read_to_string(root().join("..").join(name)) else { continue };
        let line = text.lines().position(is_conflict);
        assert!(line.is_none(), "{name}, line {}: a conflict of a merge", line.unwrap_or(0) + 1);
    }
}

/// True for a line that git writes around the two sides of a conflict.
fn is_conflict(line: &str) -> bool {
    ['<', '|', '>'].into_iter().any(|side| {
        let rest = line.trim_start_matches(side);
        line.len() - rest.len() == 7 && (rest.is_empty() || rest.starts_with(' '))
    })
}

#[test]
fn a_forbidden_import_would_be_seen() {
    let manifest = "[package]\nname = \"plumb-net\"\n\n[dependencies]\nclap.workspace = true\n\
                    plumb-report.workspace = true\nplumb-wire = { path = \"x\" }\n\n\
                    [dev-dependencies]\nplumb-lab.workspace = true\n";
    assert_eq!(ours(manifest), ["plumb-report", "plumb-wire"]);
}

/// The names of our crates in the section `[dependencies]`, which must be the only one of its kind
/// beside `[dev-dependencies]`.
fn ours(manifest: &str) -> Vec<&str> {
    for line in manifest.lines().filter(|line| line.starts_with('[') && line.contains("depend")) {
        let known = ["[dependencies]", "[dev-dependencies]"].contains(&line.trim());
        assert!(known, "{line} is not looked at: write the crate into [dependencies]");
    }
    let section = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    section
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', '=', ' ']).next())
        .filter(|name| *name == "plumb" || name.starts_with("plumb-"))
        .collect()
}

/// The folder of all crates.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("it is above this one")
}

fn crates() -> Vec<PathBuf> {
    let found: Vec<PathBuf> =
        inside(&root()).into_iter().filter(|folder| folder.join("Cargo.toml").exists()).collect();
    assert!(found.len() > 1, "no crates found");
    found
}

/// Every source file of every crate.
fn sources() -> Vec<PathBuf> {
    files("rs")
}

/// Every file of every crate's sources whose name ends so.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = crates().iter().map(|folder| folder.join("src")).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in inside(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                files.push(path);
            }
        }
    }
    files
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of this workspace");
    entries.map(|entry| entry.expect("a readable folder").path()).collect()
}

fn name(folder: &Path) -> String {
    folder.file_name().expect("a crate's folder has a name").to_string_lossy().into_owned()
}

fn mentions(file: &Path, word: &str) -> bool {
    text(file).contains(word)
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).expect("a text file of this workspace")
}
