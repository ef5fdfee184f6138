//! Known faults, put into a landscape one at a time, and what a checkup says of each.
//!
//! `PLUMB_FAULT_ROUNDS=10 cargo test --test checkup_faults -- --nocapture` tries each ten times and
//! prints how often the fault was named: nine times at least. Without the variable each is tried until
//! it is named, three times at most: whoever is right nine times of ten is wrong three times in a row
//! once in a thousand. `PLUMB_FAULT=loss` tries only faults with that word in their name.

mod kit;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;

use kit::foreign::installed;
use kit::lossy_line::LossyLine;
use kit::namespace::{ENDS, allowed};
use kit::peer::{in_pieces, nobody};
use kit::postgres::{PASSWORD, Postgres};
use kit::{PATIENCE, PLUMB, Program, Server, locks, until};
use serde_json::Value;
use tempfile::tempdir;

/// Of ten checkups nine must be right.
const RIGHT_OF_TEN: u32 = 9;
/// Tries until a fault is named, where nobody asks for a number of rounds.
const TRIES_MAX: u32 = 3;
/// Time of each server; a rare event needs more of it.
const SHORT: [&str; 2] = ["--for", "3s"];
const LONG: [&str; 2] = ["--for", "8s"];
/// Losses are drawn from here and from the number of the round.
const SEED: u64 = 20_261_122;
/// A page of the application server that asks its database.
const FLIGHT: &str = "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/\
                      FlightCollection(carrid='AA',connid='0017',fldate='20110601')?$format=json";

/// A fault, and what must be said of it.
struct Fault {
    name: &'static str,
    /// Kind of the first finding, and its layer; `None`: there must be no finding.
    expected: Option<(&'static str, Option<&'static str>)>,
    /// A checkup, in this folder, of a landscape with the fault; `Err` says why it cannot be had
    /// here.
    checkup: fn(&Path, u64) -> Result<Value, String>,
}

const FAULTS: [Fault; 15] = [
    Fault { name: "nothing", expected: None, checkup: nothing },
    Fault {
        name: "a delay before an echo server",
        expected: Some(("wire", Some("network"))),
        checkup: delay_before_echo,
    },
    Fault {
        name: "a delay before a database",
        expected: Some(("wire", Some("database"))),
        checkup: delay_before_database,
    },
    Fault {
        name: "a delay before pages",
        expected: Some(("wire", Some("pages"))),
        checkup: delay_before_pages,
    },
    Fault { name: "2 % loss", expected: Some(("loss", Some("network"))), checkup: loss },
    Fault {
        name: "answers in pieces under Nagle",
        expected: Some(("delayed-acknowledgement", Some("network"))),
        checkup: pieces,
    },
    Fault {
        name: "a slow statement",
        expected: Some(("slow", Some("database"))),
        checkup: slow_statement,
    },
    Fault { name: "a slow step", expected: Some(("slow", Some("pages"))), checkup: slow_step },
    Fault {
        name: "a slow action",
        expected: Some(("slow", Some("messages"))),
        checkup: slow_action,
    },
    Fault {
        name: "one work process, 10 users",
        expected: Some(("pool", Some("pages"))),
        checkup: one_work_process,
    },
    Fault { name: "a hog", expected: Some(("foreign-load", None)), checkup: hog },
    Fault {
        name: "a full lock table",
        expected: Some(("failures", Some("locks"))),
        checkup: full_lock_table,
    },
    Fault {
        name: "a server that is not there",
        expected: Some(("unreachable", Some("locks"))),
        checkup: absent,
    },
    Fault {
        name: "a server that goes away",
        expected: Some(("failures", Some("locks"))),
        checkup: leaving,
    },
    Fault {
        name: "a lock that every statement takes",
        expected: Some(("saturation", Some("database"))),
        checkup: one_statement_at_a_time,
    },
];

#[test]
#[allow(clippy::print_stderr, reason = "whoever runs the tests should see how often it was right")]
fn a_known_fault_is_named_and_nothing_is_where_nothing_is_wrong() {
    let rounds: Option<u32> = std::env::var("PLUMB_FAULT_ROUNDS")
        .ok()
        .map(|rounds| rounds.parse().expect("PLUMB_FAULT_ROUNDS is a number"));
    let word = std::env::var("PLUMB_FAULT").unwrap_or_default();
    let chosen: Vec<&Fault> = FAULTS.iter().filter(|fault| fault.name.contains(&word)).collect();
    assert!(!chosen.is_empty(), "PLUMB_FAULT: no fault has `{word}` in its name");
    let mut missed = Vec::new();
    for fault in chosen {
        let mut right = 0;
        let mut wrong = Vec::new();
        for round in 0..rounds.unwrap_or(TRIES_MAX) {
            let folder = tempdir().expect("a temporary folder");
            let Some(said) = allowed((fault.checkup)(folder.path(), u64::from(round))) else {
                break;
            };
            match verdict(fault, &said) {
                Ok(()) => right += 1,
                Err(sentence) => wrong.push(sentence),
            }
            if rounds.is_none() && right > 0 {
                break;
            }
        }
        let tried = right + u32::try_from(wrong.len()).expect("few");
        eprintln!("{:<32} right {right} of {tried}", fault.name);
        wrong.iter().for_each(|sentence| eprintln!("    said: {sentence}"));
        let enough = match rounds {
            Some(_) => right * 10 >= tried * RIGHT_OF_TEN,
            None => right > 0 || tried == 0, // it cannot be had here, and that was said
        };
        if !enough {
            missed.push(format!("{}: {wrong:#?}", fault.name));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Whether `said` is what must be said of `fault`; its sentence if it is not.
fn verdict(fault: &Fault, said: &Value) -> Result<(), String> {
    let verdict = &said["verdict"];
    let first = &verdict["findings"][0];
    let right = match fault.expected {
        None => {
            let sentence = verdict["sentence"].as_str().unwrap_or_default();
            first.is_null() && sentence.starts_with("No fault was found; ")
        }
        Some((kind, layer)) => first["kind"] == kind && first["layer"].as_str() == layer,
    };
    let costs = verdict["findings"].as_array().into_iter().flatten().map(|it| &it["cost"]);
    for cost in costs.filter(|cost| !cost.is_null()) {
        let ns = |name: &str| cost[name].as_u64().unwrap_or(u64::MAX);
        assert!(ns("high_ns") <= ns("whole_ns"), "a part exceeds the whole: {verdict:#}");
    }
    if right { Ok(()) } else { Err(format!("{}; {:#}", verdict["sentence"], verdict["findings"])) }
}

/// A checkup of the landscape `text`, started by `start`, whatever it comes to.
fn checkup_by(
    start: impl FnOnce(&[&str], &[(&str, &str)]) -> Program,
    text: &str,
    at: &Path,
    words: &[&str],
) -> Value {
    fs::write(at.join("landscape.toml"), text).expect("a temporary folder can be written");
    let credentials = at.join("demo");
    fs::write(&credentials, "demo:demo\n").expect("a temporary folder can be written");
    fs::set_permissions(&credentials, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let words = [&["checkup", "--target", "landscape.toml", "--json"], words].concat();
    let told = [("PGPASSWORD", PASSWORD), ("HOME", at.to_str().expect("UTF-8"))];
    start(&words, &told).wait_within(4 * PATIENCE).json()
}

fn checkup(text: &str, at: &Path, words: &[&str]) -> Value {
    let start = |words: &[&str], told: &[(&str, &str)]| {
        Program::start_told(Path::new(PLUMB), words, at, told)
    };
    checkup_by(start, text, at, words)
}

fn echo() -> Server {
    Server::start(&["--quiet"])
}

fn pages(address: &str) -> String {
    format!("[http]\npages = [\"http://{address}{FLIGHT}\"]\ncredentials = \"demo\"\n")
}

fn database(address: &str, more: &str) -> String {
    format!("[database]\nurl = \"{}\"\n{more}", kit::postgres::url(address))
}

fn has_postgres() -> Result<(), String> {
    installed("psql", "postgresql")
}

fn nothing(at: &Path, _: u64) -> Result<Value, String> {
    has_postgres()?;
    let (echo, locks, app) = (echo(), Server::of_locks(), Server::of_pages(&["--quiet"]));
    let data = Postgres::start("");
    let folder = tempdir().expect("a temporary folder");
    let runtime = runtime(folder.path(), READ_ONLY);
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 10\n[lock]\nserver = \"{}\"\n{}{}{}",
        echo.address,
        locks.address,
        pages(&app.address),
        messages(&runtime.address),
        database(&data.address, "")
    );
    Ok(checkup(&text, at, &SHORT))
}

fn delay_before_echo(at: &Path, _: u64) -> Result<Value, String> {
    let (echo, locks) = (echo(), Server::of_locks());
    let line = Server::of_delay(&echo.address, &["--delay", "10ms", "--delay-back", "10ms"]);
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 1\n[lock]\nserver = \"{}\"\n",
        line.address, locks.address
    );
    Ok(checkup(&text, at, &SHORT))
}

fn delay_before_database(at: &Path, _: u64) -> Result<Value, String> {
    has_postgres()?;
    let (echo, data) = (echo(), Postgres::start(""));
    let line = Server::of_delay(&data.address, &["--delay", "10ms", "--delay-back", "10ms"]);
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 1\n{}",
        echo.address,
        database(&line.address, "")
    );
    Ok(checkup(&text, at, &SHORT))
}

fn delay_before_pages(at: &Path, _: u64) -> Result<Value, String> {
    let (echo, app) = (echo(), Server::of_pages(&["--quiet"]));
    let line = Server::of_delay(&app.address, &["--delay", "10ms", "--delay-back", "10ms"]);
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 1\n{}",
        echo.address,
        pages(&line.address)
    );
    Ok(checkup(&text, at, &SHORT))
}

fn loss(at: &Path, round: u64) -> Result<Value, String> {
    let line = LossyLine::start(0.02, SEED + round)?;
    let [here, there] = line.ends();
    let any = format!("{}:0", ENDS[1]);
    let folder = tempdir().expect("a temporary folder");
    let serve = |words: &[&str]| {
        let program = there.start(&[words, &["--listen", &any, "--quiet"]].concat(), folder.path());
        locks::Server::ready(program)
    };
    let (echo, locks) = (serve(&["net", "serve"]), serve(&["lock", "serve"]));
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 10\n[lock]\nserver = \"{}\"\n",
        echo.address, locks.address
    );
    let start = |words: &[&str], told: &[(&str, &str)]| here.start_told(words, at, told);
    Ok(checkup_by(start, &text, at, &LONG))
}

fn pieces(at: &Path, _: u64) -> Result<Value, String> {
    let locks = Server::of_locks();
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 1\n[lock]\nserver = \"{}\"\n",
        in_pieces(),
        locks.address
    );
    Ok(checkup(&text, at, &SHORT))
}

fn slow_statement(at: &Path, _: u64) -> Result<Value, String> {
    has_postgres()?;
    let (echo, data) = (echo(), Postgres::start(""));
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 1\n{}",
        echo.address,
        database(&data.address, "statement = \"SELECT pg_sleep(0.03)\"\n")
    );
    Ok(checkup(&text, at, &SHORT))
}

fn slow_step(at: &Path, _: u64) -> Result<Value, String> {
    let echo = echo();
    let (_config, app) = Server::configured("[step]\ndatabase-wait = \"150ms\"\n");
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 1\n{}",
        echo.address,
        pages(&app.address)
    );
    Ok(checkup(&text, at, &SHORT))
}

/// Waits long in one of two actions, at its data server.
const SLOW_ACTION: &str = r#"
[[action]]
name = "components"
repeat = "/LOIPRO01/IDOC/E1AFKOL/E1AFFLL/E1AFVOL/E1RESBL"
assign = { item = "POSNR" }
[[action]]
name = "stock"
sql = "SELECT plumb_wait(150000000) AS found"
[[action]]
respond = "${components.rows} ${stock.found}"
"#;

/// Only reads its message.
const READ_ONLY: &str = include_str!("../src/checkup/transactions/count.toml");

/// A runtime of one transaction, `order`.
fn runtime(folder: &Path, transaction: &str) -> Server {
    let flows = folder.join("flows");
    fs::create_dir(&flows).expect("a temporary folder can be written");
    fs::write(flows.join("order.toml"), transaction).expect("it can be written");
    fs::write(flows.join("data-servers.toml"), "[server.plant]\nurl = \"../plant.db\"\n")
        .expect("it can be written");
    let words = ["flow", "serve", "flows", "--listen", "127.0.0.1:0"];
    Server::ready(Program::start(&words, folder))
}

fn messages(address: &str) -> String {
    format!("[flow]\nserver = \"http://{address}\"\ntransaction = \"order\"\n")
}

fn slow_action(at: &Path, _: u64) -> Result<Value, String> {
    let folder = tempdir().expect("a temporary folder");
    let (echo, locks) = (echo(), Server::of_locks());
    let runtime = runtime(folder.path(), SLOW_ACTION);
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 1\n[lock]\nserver = \"{}\"\n{}connections = 1\n",
        echo.address,
        locks.address,
        messages(&runtime.address)
    );
    let said = checkup(&text, at, &SHORT);
    let first = &said["verdict"]["findings"][0];
    if first["layer"] == "messages" {
        let evidence = first["evidence"].as_str().unwrap_or_default();
        assert!(evidence.starts_with("The integration runtime 127.0.0.1:"), "{evidence}");
        assert!(evidence.contains("most of it is the action stock"), "{evidence}");
    }
    Ok(said)
}

fn one_work_process(at: &Path, _: u64) -> Result<Value, String> {
    let echo = echo();
    let config = "[dispatcher]\nwork-processes = 1\n[step]\ncpu = \"4ms\"\n";
    let (_config, app) = Server::configured(config);
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 10\n{}",
        echo.address,
        pages(&app.address)
    );
    Ok(checkup(&text, at, &SHORT))
}

fn hog(at: &Path, _: u64) -> Result<Value, String> {
    let (echo, locks) = (echo(), Server::of_locks());
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let spin = ["-c", "while :; do :; done"];
    let hogs: Vec<Program> =
        (0..processors).map(|_| Program::start_as(Path::new("/bin/sh"), &spin, at)).collect();
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 10\n[lock]\nserver = \"{}\"\n",
        echo.address, locks.address
    );
    let said = checkup(&text, at, &[&LONG[..], &["--foreign-limit", "20%"]].concat());
    drop(hogs);
    Ok(said)
}

fn full_lock_table(at: &Path, _: u64) -> Result<Value, String> {
    let folder = tempdir().expect("a temporary folder");
    let (echo, locks) = (echo(), locks::Server::start(&["--table-size", "1KiB"], folder.path()));
    // two owners with a lock each are all that this table holds
    let fill = ["lock", "load", "create", &locks.address, "2", "1"];
    kit::plumb(&fill, folder.path()).with(0);
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 1\n[lock]\nserver = \"{}\"\n",
        echo.address, locks.address
    );
    Ok(checkup(&text, at, &SHORT))
}

fn absent(at: &Path, _: u64) -> Result<Value, String> {
    let echo = echo();
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 1\n[lock]\nserver = \"{}\"\n",
        echo.address,
        nobody()
    );
    Ok(checkup(&text, at, &SHORT))
}

fn leaving(at: &Path, _: u64) -> Result<Value, String> {
    let locks = Server::of_locks();
    let text = format!("[lock]\nserver = \"{}\"\n", locks.address);
    let start = |words: &[&str], told: &[(&str, &str)]| {
        let program = Program::start_told(Path::new(PLUMB), words, at, told);
        until(|| is_measured(&at.join("checked/parts")).then_some(()));
        locks.kill();
        program
    };
    let said = checkup_by(start, &text, at, &[&SHORT[..], &["--out", "checked"]].concat());
    let evidence = said["verdict"]["findings"][0]["evidence"].as_str().unwrap_or_default();
    assert!(evidence.contains("went away while it was measured: it answered "), "{evidence}");
    Ok(said)
}

/// True once one of the runs in the folder `parts` is over.
fn is_measured(parts: &Path) -> bool {
    let runs = fs::read_dir(parts).into_iter().flatten().flatten();
    runs.map(|run| run.path().join("run.json")).any(|record| record.exists())
}

fn one_statement_at_a_time(at: &Path, _: u64) -> Result<Value, String> {
    has_postgres()?;
    let (echo, data) = (echo(), Postgres::start(""));
    let statement = "statement = \"SELECT pg_advisory_xact_lock(1), pg_sleep(0.006)\"\n";
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 1\n{}",
        echo.address,
        database(&data.address, statement)
    );
    Ok(checkup(&text, at, &SHORT))
}
