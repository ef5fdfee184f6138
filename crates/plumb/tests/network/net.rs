//! `plumb net ping` against `plumb net serve`: what is measured, and where it is written down.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::collections::BTreeSet;
use std::path::Path;

use kit::{
    Ended, FILES_OF_A_RUN, Program, Server, files_of, names_in, only_run, ping, plumb, read,
    record, runs,
};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// Words that make a run short and the same everywhere: no warm-up, and a patience that only a
/// driver which is out of order would use up.
const CALM: &[&str] = &["--warmup", "0s", "--lag", "50s", "--timeout", "50s"];

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// One run against a server of its own: how it ended, and its record.
fn measured(words: &[&str]) -> (Ended, Value) {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let ended = ping(&server.address, &[CALM, words].concat(), folder.path()).with(0);
    (ended, record(&only_run(folder.path())))
}

fn only_result(record: &Value) -> &Value {
    let results = record["results"].as_array().expect("results");
    assert_eq!(results.len(), 1);
    &results[0]
}

/// The results of a sweep as `size/connections`, in their order.
fn order(record: &Value) -> Vec<String> {
    let results = record["results"].as_array().expect("results");
    let label = |result: &Value, name: &str| {
        result["labels"][name].as_str().expect("every result has this label").to_owned()
    };
    results
        .iter()
        .map(|result| format!("{}/{}", label(result, "size"), label(result, "connections")))
        .collect()
}

/// What the socket of the only connection tells is `kind` over `network`.
fn reaches(listen: &str, words: &[&str], kind: &str, network: &str) {
    let server = Server::listening(listen, &["--quiet"]);
    let folder = folder();
    let words = [CALM, &["--count", "200"], words].concat();
    ping(&server.address, &words, folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    assert_eq!(only_result(&record)["operations"], 200);
    assert_eq!(record["target"]["address"], server.address);
    let transport = &record["target"]["transport"];
    assert_eq!(transport["kind"], kind);
    assert_eq!(transport["network"].as_str().unwrap_or("none"), network);
    assert_eq!(transport["peer"], server.address);
    let mut used = transport.clone();
    used["connections"] = 1.into();
    assert_eq!(only_result(&record)["transports"], Value::Array(vec![used]));
    server.stop().with(0);
}

#[test]
fn round_trips_are_measured_over_ipv4() {
    reaches("127.0.0.1:0", &["-4"], "tcp", "ipv4");
}

#[test]
fn round_trips_are_measured_over_ipv6() {
    reaches("[::1]:0", &["-6"], "tcp", "ipv6");
}

#[test]
fn round_trips_are_measured_over_a_unix_socket_whose_file_goes_with_the_server() {
    let folder = folder();
    let path = folder.path().join("echo");
    reaches(&format!("unix:{}", path.display()), &[], "unix", "none");
    assert!(!path.exists());
}

#[test]
fn an_ipv4_address_in_the_form_of_ipv6_is_told_as_ipv4() {
    let server = Server::start(&["--quiet"]);
    let (_, port) = server.address.rsplit_once(':').expect("a port");
    let folder = folder();
    let words = [CALM, &["--count", "30", "--connections", "3"]].concat();
    ping(&format!("[::ffff:127.0.0.1]:{port}"), &words, folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    let used = only_result(&record)["transports"].as_array().expect("transports");
    assert_eq!((used.len(), &used[0]["connections"]), (1, &3.into()));
    assert_eq!((&used[0]["kind"], &used[0]["network"]), (&"tcp".into(), &"ipv4".into()));
    assert_eq!(used[0]["peer"], format!("[::ffff:127.0.0.1]:{port}"));
}

#[test]
fn the_server_behind_a_unix_socket_is_under_test() {
    let folder = folder();
    let socket = format!("unix:{}", folder.path().join("echo").display());
    let _server = Server::listening(&socket, &["--quiet"]);
    ping(&socket, &[CALM, &["--for", "300ms"]].concat(), folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    let tested = only_result(&record)["host"]["tested"].as_array().map_or(0, Vec::len);
    assert_eq!(tested, 1, "{:#}", only_result(&record)["host"]);
}

#[test]
fn a_unix_socket_may_be_named_as_the_transport() {
    let folder = folder();
    let socket = format!("unix:{}", folder.path().join("echo").display());
    let _server = Server::listening(&socket, &["--quiet"]);
    let words = [CALM, &["--transport", &socket, "--count", "10"]].concat();
    ping("localhost", &words, folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    assert_eq!(record["target"]["transport"]["kind"], "unix");
}

#[test]
fn a_name_with_several_addresses_leads_to_the_one_that_answers() {
    let server = Server::start(&["--quiet"]);
    let (_, port) = server.address.rsplit_once(':').expect("a port");
    let folder = folder();
    let words = [CALM, &["--count", "10"]].concat();
    ping(&format!("localhost:{port}"), &words, folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    assert_eq!(record["target"]["transport"]["peer"], server.address);
}

#[test]
fn one_server_listens_on_several_addresses() {
    let server = Server::start(&["--quiet", "--listen", "[::1]:0"]);
    let second = server.also();
    assert!(second.starts_with("[::1]:"), "{second}");
    for address in [&server.address, &second] {
        let folder = folder();
        ping(address, &[CALM, &["--count", "10"]].concat(), folder.path()).with(0);
    }
}

const SWEEP: &[&str] = &["--size", "1B,100B,64KiB", "--connections", "1,2,5", "--count", "20"];

#[test]
fn a_sweep_measures_every_point_once_and_its_seed_gives_its_order() {
    let of_seed = |seed: &str| {
        let (_, record) = measured(&[SWEEP, &["--seed", seed]].concat());
        assert_eq!(record["plan"]["seed"].to_string(), seed);
        order(&record)
    };
    let once = of_seed("7");
    assert_eq!(once, of_seed("7"));
    assert_ne!(once, of_seed("8"));

    let points: BTreeSet<String> = once.iter().cloned().collect();
    let sizes = ["1B", "100B", "64KiB"].into_iter();
    let expected = sizes.flat_map(|size| ["1", "2", "5"].map(|n| format!("{size}/{n}")));
    assert_eq!(points, expected.collect());
    assert_eq!(once.len(), points.len());
}

#[test]
fn an_order_that_was_not_asked_for_can_be_repeated_from_its_record() {
    let (_, first) = measured(SWEEP);
    let seed = first["plan"]["seed"].to_string();
    let (_, second) = measured(&[SWEEP, &["--seed", &seed]].concat());
    assert_eq!(order(&first), order(&second));
}

#[test]
fn the_interval_log_follows_the_order_of_the_results() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    ping(&server.address, &[CALM, SWEEP].concat(), folder.path()).with(0);
    let run = only_run(folder.path());
    let log = read(&run.join("intervals.hlog"));
    let mut logged: Vec<String> = Vec::new();
    for line in log.lines().filter(|line| line.starts_with("Tag=response;")) {
        let (tag, _) = line.split_once(',').expect("a tag, then figures");
        let label = |name: &str| {
            let part = tag.split(';').find_map(|part| part.strip_prefix(name));
            part.unwrap_or_else(|| panic!("{tag} has no {name}")).to_owned()
        };
        logged.push(format!("{}/{}", label("size="), label("connections=")));
    }
    logged.dedup();
    assert_eq!(logged, order(&record(&run)));
}

#[test]
fn json_prints_the_run_record_and_nothing_else() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = [CALM, &["--count", "300", "--json"]].concat();
    let ended = ping(&server.address, &words, folder.path()).with(0);
    assert_eq!(ended.stdout, read(&only_run(folder.path()).join("run.json")));
    assert_eq!(ended.json()["status"], "complete");
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_run_is_a_folder_of_its_own_and_two_runs_are_two_folders() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = [CALM, &["--count", "10"]].concat();
    for n in 1..=3 {
        let ended = ping(&server.address, &words, folder.path()).with(0);
        assert_eq!(runs(folder.path()).len(), n);
        let named = ended.stdout.lines().last().and_then(|line| line.strip_prefix("report: "));
        assert!(folder.path().join(named.expect("the page is named last")).exists());
    }
    for run in runs(folder.path()) {
        assert_eq!(files_of(&run), FILES_OF_A_RUN);
        let name = run.file_name().expect("a name").to_string_lossy().into_owned();
        let digits = |c: char| if c.is_ascii_digit() { '9' } else { c };
        let shape: String = name.chars().map(digits).collect();
        let shape = shape.strip_suffix("-9").unwrap_or(&shape);
        assert_eq!(shape, "9999-99-99T999999Z-net-ping", "{name}");
        assert_eq!(record(&run)["results"][0]["operations"], 10);
        assert!(read(&run.join("report.html")).starts_with("<!DOCTYPE html>"));
    }
}

#[test]
fn a_folder_that_is_named_is_made_with_its_parents() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = [CALM, &["--count", "10", "--out", "a/b/c"]].concat();
    ping(&server.address, &words, folder.path()).with(0);
    let run = folder.path().join("a/b/c");
    assert_eq!(files_of(&run), FILES_OF_A_RUN);
    assert_eq!(names_in(folder.path()), ["a"]);
}

#[test]
fn a_count_is_kept_exactly_whatever_the_connections_threads_and_depth() {
    let many = ["--connections", "7", "--threads", "2", "--depth", "3"];
    let cases: [(&str, &[&str], u64); 4] =
        [("1", &[], 1), ("1001", &[], 1), ("1001", &many, 7), ("2", &many, 7)];
    for (count, words, connections) in cases {
        let server = Server::start(&[]);
        let folder = folder();
        let words = [CALM, &["--count", count], words].concat();
        ping(&server.address, &words, folder.path()).with(0);
        let record = record(&only_run(folder.path()));
        let result = only_result(&record);
        assert_eq!(result["operations"].to_string(), count, "{words:?}");
        assert_eq!(result["service_ns"]["count"].to_string(), count, "{words:?}");

        let mut echoed = 0;
        for _ in 0..connections {
            echoed += messages(&server.farewell());
        }
        // each connection begins with one message that is not recorded
        assert_eq!((echoed - connections).to_string(), count, "{words:?}");
    }
}

#[test]
fn a_warm_up_is_driven_and_not_counted() {
    let server = Server::start(&[]);
    let folder = folder();
    let words = ["--warmup", "50ms", "--count", "100"];
    ping(&server.address, &words, folder.path()).with(0);
    assert_eq!(only_result(&record(&only_run(folder.path())))["operations"], 100);
    assert!(messages(&server.farewell()) > 101, "the greeting, the warm-up and 100");
}

/// The number of messages in a line `client 1 from ... gone after ...: 1 message, ...`.
fn messages(line: &str) -> u64 {
    let (before, _) = line.split_once(" message").expect("a count of messages");
    let (_, count) = before.rsplit_once(' ').expect("words before it");
    count.replace(',', "").parse().expect("a number")
}

#[test]
fn an_open_load_keeps_its_count_and_both_times() {
    let (_, record) = measured(&["--rate", "2000/s", "--count", "300", "--connections", "3"]);
    let result = only_result(&record);
    assert_eq!(record["plan"]["load"], "open");
    assert_eq!((&result["operations"], &result["dropped"]), (&300.into(), &0.into()));
    for times in ["response_ns", "service_ns", "first_byte_ns"] {
        assert_eq!(result[times]["count"], 300, "{times}");
    }
    let on_time = result["driver"]["lag_ns"]["count"].as_u64().unwrap();
    assert!(
        (1..=300).contains(&on_time),
        "the lag of work that found a free connection: {on_time}"
    );
    let mean = |times: &str| result[times]["mean"].as_u64().unwrap();
    assert!(mean("response_ns") >= mean("service_ns"), "the due time comes before the send");
}

#[test]
fn a_depth_is_the_number_of_messages_under_way_on_one_connection() {
    let address = kit::peer::in_eights();
    let folder = folder();
    let words = [CALM, &["--depth", "8", "--count", "80"]].concat();
    ping(&address, &words, folder.path()).with(0);
    assert_eq!(only_result(&record(&only_run(folder.path())))["operations"], 80);
}

#[test]
fn threads_share_the_connections() {
    let server = Server::start(&[]);
    let folder = folder();
    let words = [CALM, &["--threads", "2", "--connections", "4", "--count", "400"]].concat();
    ping(&server.address, &words, folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    assert_eq!(only_result(&record)["driver"]["threads"], 2);
    let opened: Vec<String> = (0..4).map(|_| server.log()).collect();
    assert!(opened.iter().all(|line| line.contains(" connected from 127.0.0.1:")), "{opened:?}");
}

#[test]
fn a_delay_gives_every_message_but_the_first_a_due_time() {
    let (_, record) = measured(&["--delay", "1ms", "--count", "20"]);
    let result = only_result(&record);
    assert_eq!(record["plan"]["options"]["delay"], "1ms");
    assert_eq!(record["plan"]["load"], "closed");
    assert_eq!(
        (&result["operations"], &result["driver"]["lag_ns"]["count"]),
        (&20.into(), &19.into())
    );
}

#[test]
fn the_way_of_waiting_is_written_down() {
    for (words, wait) in [
        (["--count", "50", "--spin"].as_slice(), "busy poll"),
        (&["--count", "50"], "blocking receive"),
        (&["--count", "50", "--depth", "2"], "epoll"),
    ] {
        let (_, record) = measured(words);
        let result = only_result(&record);
        assert_eq!((&result["operations"], &result["driver"]["wait"]), (&50.into(), &wait.into()));
        assert!(record["floor"]["method"].as_str().unwrap().contains(wait));
    }
}

#[test]
fn a_size_named_twice_is_measured_once() {
    let (_, record) = measured(&["--count", "5", "--size", "1B,2B,1B"]);
    assert_eq!(record["results"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_time_ends_a_run_that_has_no_count() {
    let (_, record) = measured(&["--for", "300ms", "--interval", "100ms"]);
    let result = only_result(&record);
    let intervals = result["intervals"].as_array().expect("intervals");
    let of_all: u64 = intervals.iter().map(|i| i["operations"].as_u64().unwrap()).sum();
    assert_eq!(result["operations"], of_all);
    let starts: Vec<u64> = intervals.iter().map(|i| i["start_ns"].as_u64().unwrap()).collect();
    let whole = |pair: &[u64]| pair[1] > pair[0] && (pair[1] - pair[0]).is_multiple_of(100_000_000);
    assert!(!starts.is_empty() && starts.windows(2).all(whole), "{starts:?}");
}

#[test]
fn markdown_is_printed_for_a_ticket_and_nothing_else() {
    let (ended, _) = measured(&["--count", "200", "--markdown"]);
    assert!(ended.stdout.starts_with('#'), "{}", ended.stdout);
    assert!(ended.stdout.contains("\n|"), "no table: {}", ended.stdout);
    assert!(!ended.stdout.contains("report: "), "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_summary_is_short_and_says_how_to_see_everything() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let shown = |words: &[&str]| {
        let words = [CALM, &["--count", "200"], words].concat();
        ping(&server.address, &words, folder.path()).with(0).stdout
    };
    let (summary, full) = (shown(&[]), shown(&["--full"]));
    assert!(summary.contains("--full") && summary.contains("tool's floor"), "{summary}");
    assert!(summary.contains("placement") && summary.contains("tick free"), "{summary}");
    assert!(!summary.contains("one-way bits") && full.contains("one-way bits"), "{summary}{full}");
    assert!(summary.lines().all(|line| line.chars().count() <= 80), "{summary}");
    assert!(!summary.contains('\u{1b}'), "no colour without a terminal");
}

#[test]
fn a_stored_run_is_shown_as_it_was_and_its_page_is_made_again() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = [CALM, &["--count", "200", "--out", "run", "--full"]].concat();
    let first = ping(&server.address, &words, folder.path()).with(0).stdout;
    for path in ["run", "run/run.json"] {
        let again = plumb(&["report", path, "--html", "page.html"], folder.path()).with(0);
        assert_eq!(format!("{}report: run/report.html\n", again.stdout), first);
        let of_run = read(&folder.path().join("run/report.html"));
        assert!(read(&folder.path().join("page.html")) == of_run, "another page");
    }
}

#[test]
fn a_server_stops_cleanly_at_either_signal() {
    for signal in [Signal::INT, Signal::TERM] {
        let words = ["net", "serve", "--listen", "127.0.0.1:0"];
        let server = Program::start(&words, Path::new("."));
        assert!(server.line().starts_with("listening on 127.0.0.1:"));
        server.signal(signal);
        let ended = server.wait().with(0);
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    }
}
