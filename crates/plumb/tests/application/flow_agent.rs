//! `plumb flow agent` end to end: with the runtime, killed, and with its spool looked at from outside.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::flow_serve::Flow;
use crate::kit::authority::{Authority, TestAuthority};
use crate::kit::{Ended, Program, plumb};

/// Rows of changes, counted.
const EVENT: &str = r#"
mode = "async"
persist = "always"
[[action]]
name = "changes"
repeat = "/TagChanges/Change"
assign = { tag = "Tag", value = "Value" }
[[action]]
respond = "${changes.rows}"
type = "text/plain"
"#;

/// An agent of `changes` simulated changes in bundles of 20, for the runtime at `address`.
fn agent(address: &str, changes: u32, rest: &str) -> String {
    format!(
        "[source.sim]\nchanges = {changes}\n\
         tag = [{{ name = \"t\", count = 5, shape = \"random-walk\", low = 0, high = 9, step = 1 }}]\n\
         [bundle]\ncount = 20\n\
         [retry]\ninterval = \"20ms\"\ntimes = 1000000\n\
         [target]\nurl = \"http://{address}/runner/event?mode=async\"\n{rest}\n"
    )
}

fn run(folder: &Path, words: &[&str]) -> Ended {
    plumb(&[&["flow", "agent", "agent.toml", "--spool", "spool"], words].concat(), folder)
}

/// The ledger of the only agent, which closes.
pub(crate) fn ledger(folder: &Path) -> Value {
    // an agent that has just been started may not have made its spool yet
    let list = ["flow", "agent", "list", "--json", "--spool", "spool"];
    let mut listed = std::iter::repeat_with(|| plumb(&list, folder)).take(1_000);
    ledger_of(&listed.find(|listed| !listed.stdout.is_empty()).expect("a spool"))
}

/// The ledger that a list shows.
pub(crate) fn ledger_of(listed: &Ended) -> Value {
    let ledger: Value = listed.json();
    assert_eq!(ledger["closes"], true, "{ledger}");
    let count = |name: &str| ledger[name].as_u64().expect("a count");
    let stock = |name: &str| ledger[name]["changes"].as_u64().expect("a count");
    let kept = stock("main") + stock("failed") + stock("expired");
    let gone = count("delivered") + count("dropped") + count("deleted");
    assert_eq!(count("produced"), kept + gone, "{ledger}");
    ledger
}

/// Executions that the runtime accepted.
fn accepted(flow: &Flow) -> u64 {
    let text = flow.get("/metrics", &[]).with(200).text();
    let line = text.lines().find(|line| line.starts_with("plumb_flow_queue_accepted_total "));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).expect("a count")
}

#[test]
fn every_change_reaches_the_runtime_once() {
    let flow = Flow::of("", &[("event.toml", EVENT)]);
    let folder = flow.folder.path();
    fs::write(folder.join("agent.toml"), agent(&flow.server.address, 1_000, "")).expect("written");
    let checked = run(folder, &["--check"]).with(0);
    assert!(
        checked.stdout.starts_with("agent: 5 simulated tags to 127.0.0.1:"),
        "{}",
        checked.stdout
    );
    let ended = run(folder, &["--until-empty"]).with(0);
    let told = "1,000 changes produced, 1,000 delivered in 50 messages, 0 wait in 0 messages";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert_eq!(ledger(folder)["delivered"], 1_000);
    assert_eq!(accepted(&flow), 50);
    // a second run has nothing to add: the source has brought all it has
    run(folder, &["--until-empty"]).with(0);
    assert_eq!((ledger(folder)["produced"].as_u64(), accepted(&flow)), (Some(1_000), 50));
}

#[test]
fn a_killed_agent_goes_on_where_it_was_and_nothing_is_there_twice() {
    let flow = Flow::of("", &[("event.toml", EVENT)]);
    let folder = flow.folder.path();
    fs::write(folder.join("agent.toml"), agent(&flow.server.address, 6_000, "")).expect("written");
    for _ in 0..4 {
        let words = ["flow", "agent", "agent.toml", "--spool", "spool", "--until-empty"];
        let running = Program::start(&words, folder);
        let before = accepted(&flow);
        // killed in the middle of it, or at its end
        let looks = std::iter::repeat_with(|| accepted(&flow)).take(20_000);
        let mut looks = looks;
        looks.find(|count| *count >= (before + 40).min(300)).expect("it sends");
        running.signal(Signal::KILL);
        running.wait();
        let ledger = ledger(folder);
        assert!(ledger["delivered"].as_u64() <= Some(accepted(&flow) * 20), "{ledger}");
    }
    run(folder, &["--until-empty"]).with(0);
    let ledger = ledger(folder);
    assert_eq!(
        (ledger["produced"].as_u64(), ledger["delivered"].as_u64()),
        (Some(6_000), Some(6_000))
    );
    assert_eq!(accepted(&flow), 300);
}

#[test]
fn what_nobody_takes_waits_fails_is_listed_and_sent_again() {
    let flow = Flow::of("", &[("event.toml", EVENT)]);
    let folder = flow.folder.path();
    let text = agent(&flow.server.address, 100, "").replace("runner/event", "runner/order");
    // an order without items is accepted, so it is the form that is refused
    let text = text.replace("mode=async", "mode=async&nonsense=1");
    fs::write(folder.join("agent.toml"), text).expect("written");
    run(folder, &["--until-empty"]).with(0);
    let before = ledger(folder);
    assert_eq!(
        (before["failed"]["messages"].as_u64(), before["delivered"].as_u64()),
        (Some(5), Some(0))
    );
    let listed = plumb(&["flow", "agent", "list", "failed", "--spool", "spool"], folder).with(0);
    assert_eq!(listed.stdout.lines().count(), 5);
    assert!(listed.stdout.contains("status 400"), "{}", listed.stdout);

    fs::write(folder.join("agent.toml"), agent(&flow.server.address, 100, "")).expect("written");
    let sent = plumb(&["flow", "agent", "send", "failed", "--spool", "spool"], folder).with(0);
    assert_eq!(sent.stdout, "5 messages back in the main queue\n");
    run(folder, &["--until-empty"]).with(0);
    assert_eq!((ledger(folder)["delivered"].as_u64(), accepted(&flow)), (Some(100), 5));
    let refused = plumb(&["flow", "agent", "send", "main", "--spool", "spool"], folder).with(2);
    assert!(refused.stderr.contains("sent anyway"), "{}", refused.stderr);
}

#[test]
fn an_agent_shows_its_figures_and_ends_when_it_is_told_to() {
    let flow = Flow::of("", &[("event.toml", EVENT)]);
    let folder = flow.folder.path();
    let endless = agent(&flow.server.address, 100, "").replace("changes = 100\n", "rate = 200.0\n");
    fs::write(folder.join("agent.toml"), endless).expect("written");
    let words = ["flow", "agent", "agent.toml", "--spool", "spool", "--metrics", "127.0.0.1:0"];
    let server = crate::kit::Server::ready(Program::start(&words, folder));
    let figure = |name: &str| {
        let text = server.web().ask("GET", "/metrics", &[], b"").with(200).text().to_owned();
        let line = text.lines().find(|line| line.starts_with(name)).expect("a figure").to_owned();
        line.rsplit(' ').next().and_then(|it| it.parse::<f64>().ok()).expect("a number")
    };
    let delivered = "plumb_agent_delivered_total{agent=\"agent\"}";
    let mut looks = std::iter::repeat_with(|| figure(delivered)).take(100_000);
    looks.find(|count| *count >= 40.0).expect("it delivers");
    // beside it another process may look, and none may send
    assert!(ledger(folder)["produced"].as_u64() >= Some(40));
    let second = run(folder, &[]).with(2);
    assert!(second.stderr.contains("used by another process"), "{}", second.stderr);
    let ended = server.stop();
    assert!(ended.stderr.contains("changes produced"), "{}", ended.stderr);
    ledger(folder);
}

#[test]
fn a_target_is_reached_over_tls_and_only_where_its_authority_is_trusted() {
    let ours = TestAuthority::new();
    let signed = ours.authority.sign("127.0.0.1");
    let settings = format!(
        "[tls]\ncert = \"{}\"\nkey = \"{}\"\n[users]\npress = \"secret-word\"\n",
        signed.cert, signed.key
    );
    let flow = Flow::of(&settings, &[("event.toml", EVENT)]);
    let folder = flow.folder.path();
    fs::write(folder.join("password"), "secret-word\n").expect("written");
    let other = Authority::new(folder, "other");
    let tried = |ca: &str, password: &str| {
        let rest = format!("user = \"press\"\npassword-file = \"{password}\"\nca = \"{ca}\"\n");
        let text = agent(&flow.server.address, 100, &rest).replace("http://", "https://");
        let text = text.replace("times = 1000000", "times = 1");
        fs::write(folder.join("agent.toml"), text).expect("written");
        let _ = fs::remove_dir_all(folder.join("spool"));
        let ended = run(folder, &["--until-empty"]).with(0);
        assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
        (ledger(folder), ended.stderr)
    };
    let (refused, told) = tried(&other.ca(), "password");
    assert_eq!(refused["failed"]["changes"], 100);
    assert!(told.contains("certificate"), "{told}");
    fs::write(folder.join("wrong"), "another-word\n").expect("written");
    let (unknown, told) = tried(&ours.authority.ca(), "wrong");
    assert_eq!(unknown["delivered"], 0);
    assert!(told.contains("status 401"), "{told}");
    let (delivered, _) = tried(&ours.authority.ca(), "password");
    assert_eq!(delivered["delivered"], 100);
}

const XML_CHANGE: &str = "<TagChanges><Change><Tag>a</Tag><Value>1</Value>\
    <Time>1970-01-01T00:00:00Z</Time></Change></TagChanges>";

#[test]
fn the_agents_of_the_examples_are_right() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents");
    let checked = plumb(&["flow", "agent", "--check", "."], &examples).with(0);
    assert_eq!(checked.stdout.lines().count(), 3, "{}", checked.stdout);
    // the runtime that all of them name takes what they send, in either form
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (runtime, change) = (examples.join("runtime"), "a is 1 at 1970-01-01T00:00:00Z");
    for (name, message) in [
        ("event.xml", XML_CHANGE),
        (
            "event.json",
            r#"{"changes": [{"tag": "a", "value": 1, "time": "1970-01-01T00:00:00Z"}]}"#,
        ),
    ] {
        fs::write(folder.path().join(name), message).expect("written");
        let words =
            ["flow", "try", "event", name, "--transactions", &runtime.display().to_string()];
        let tried = plumb(&words, folder.path()).with(0);
        assert!(tried.stdout.contains(change), "{}", tried.stdout);
    }
}
