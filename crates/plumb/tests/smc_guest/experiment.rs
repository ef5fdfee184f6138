//! The experiment of SMC, as short as it can be, with a PostgreSQL outside of the guest, and one whose
//! variant falls back.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::guest::{Guest, Kernel, Plan, say};
use crate::kit::postgres::{PASSWORD, Postgres};

/// The host of a guest, as its network device has it.
const HOST: &str = "10.0.2.2";
/// A network device of the guest that leads to the host, whose loopback is behind [`HOST`].
const DEVICES: [&str; 4] = ["-netdev", "user,id=lan", "-device", "virtio-net-pci,netdev=lan"];

/// What an experiment of minutes is made shorter by.
const SHORTER: [(&str, &str); 4] = [
    (
        "levels = [\"500B\", \"1000B\", \"1400B\", \"1500B\", \"4000B\", \"10000B\"]",
        "levels = [\"1000B\"]",
    ),
    ("levels = [1, 5]", "levels = [2]"),
    ("rounds = 11", "rounds = 1"),
    ("block = \"800ms\"", "block = \"500ms\""),
];

/// A copy of the experiments.
pub(crate) fn seeds() -> TempDir {
    let folder = tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/seeds/.");
    let copied = Command::new("cp").arg("-r").arg(from).arg(folder.path()).status().unwrap();
    assert!(copied.success(), "cp fails");
    folder
}

/// Those in which `smc.toml` is short, and its database is `postgres`.
fn short(postgres: &Postgres) -> TempDir {
    let folder = seeds();
    let file = folder.path().join("smc.toml");
    let mut text = fs::read_to_string(&file).unwrap();
    let port = postgres.address.rsplit(':').next().unwrap();
    let outside = format!("{HOST}:{port}");
    for (long, short) in SHORTER.into_iter().chain([("${database}", outside.as_str())]) {
        assert!(text.contains(long), "{long}: {text}");
        text = text.replace(long, short);
    }
    let (servers, rest) = text.split_once("[[server]]\nname = \"database\"\n").unwrap();
    let (_, others) = rest.split_once("[[server]]\nname = \"line\"\n").unwrap();
    fs::write(file, format!("{servers}[[server]]\nname = \"line\"\n{others}")).unwrap();
    let environment = format!("export PGPASSWORD={PASSWORD}\n");
    fs::write(folder.path().join("environment"), environment).unwrap();
    folder
}

/// What each block of the experiment used, its cell among the labels of the record.
fn proven(records: &Value) {
    let mut blocks = 0;
    for run in records.as_array().unwrap() {
        let over = run["plan"]["options"]["transport"].as_str();
        let used = run["results"][0]["transports"].as_array();
        let Some(used) = used.filter(|used| !used.is_empty()) else { continue };
        blocks += 1;
        let asked = run["target"]["address"].as_str().is_some_and(|it| it.starts_with("smc:"));
        let expected = if asked || over == Some("smc") { "smc-r" } else { "tcp" };
        for way in used {
            assert_eq!(way["kind"], expected, "{run:#}");
        }
    }
    say(&format!("{blocks} blocks used what they were to use"));
    assert!(blocks >= 15, "{blocks} blocks with connections of ours");
}

#[test]
fn the_experiment_of_smc_runs_and_what_falls_back_is_left_out() {
    let Some(kernel) = Kernel::find() else { return };
    let postgres = Postgres::start("");
    let folder = short(&postgres);
    let plan =
        Plan { steps: "seeds", processors: 2, seeds: folder.path(), devices: &DEVICES, under: &[] };
    let guest = Guest::boot(&kernel, &plan).steps();
    let planned = guest.step("plan");
    assert!(planned.stdout.starts_with("smc: 1 round"), "{planned:#?}");

    let compared = guest.step("experiment");
    let comparison = compared.json();
    assert_eq!(comparison["design"]["complete_rounds"], 1, "{compared:#?}");
    for variant in comparison["variants"].as_array().unwrap() {
        say(&format!(
            "{}: {} blocks, left out {}",
            variant["name"], variant["blocks"], variant["left_out"]
        ));
        assert_eq!(variant["left_out"], Value::Array(Vec::new()), "{variant:#}");
    }
    proven(&guest.step("proofs").json());

    let fallen = guest.step("fallen");
    assert_ne!(fallen.code, 0, "{fallen:#?}");
    let said = fallen.text() + &fallen.messages;
    assert!(said.contains("not all connections are proven to use SMC"), "{fallen:#?}");
}
