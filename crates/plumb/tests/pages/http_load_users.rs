//! `plumb http load`: who takes part and when, on how many threads, and until when.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use kit::http::{Reply, ReplyServer};
use kit::scenario::{field, list_of, part, play, played, reasons, scenario, with_base};
use kit::{Program, only_run, read};
use serde_json::{Value, json};

#[test]
fn users_share_a_fixed_total_and_a_sweep_has_a_row_for_each_number_of_them() {
    let site = list_of(60);
    let text = format!(
        "{}[[prepare]]\nget = \"/list\"\n\
         extract = [{{ name = \"ids\", json = \"$.items[*].id\", pick = \"all\" }}]\n\
         [[scenario]]\nname = \"r\"\niterations = 1\n\
         [[scenario.step]]\neach = \"ids\"\nas = \"id\"\nturns = \"shared\"\n\
         [[scenario.step.step]]\nname = \"detail\"\nget = \"/detail/${{id}}\"\n",
        with_base(&site, "")
    );
    let folder = scenario(&text);
    let path = folder.path().join("s.toml");
    let ended = play(&path, &["--users", "1,5,20"], folder.path()).with(0);
    for word in ["How it scales", "total time", "p95", "users"] {
        assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout);
    }
    let record: Value =
        serde_json::from_str(&read(&only_run(folder.path()).join("run.json"))).expect("a record");
    let results = field(&record, "/results").as_array().expect("a list");
    let mut users: Vec<&str> =
        results.iter().filter_map(|result| result["labels"]["users"].as_str()).collect();
    users.sort_unstable();
    assert_eq!(users, ["1", "20", "5"]);
    for result in results {
        assert_eq!(result["operations"], 60, "all users together do each once");
    }
    // once for the preparation, and not again for each point
    assert_eq!(site.asked().iter().filter(|head| head.starts_with("GET /list")).count(), 1);
}

#[test]
fn think_times_are_left_out_and_counted_as_due() {
    let site = ReplyServer::always(Reply::page("hello"));
    let record = played(
        &with_base(
            &site,
            "for = \"600ms\"\n[[scenario]]\nname = \"a\"\nusers = 3\nthink = \"100ms\"\n\
             [[scenario.step]]\nget = \"/\"\n",
        ),
        &[],
        0,
    );
    // at 0, 100, ..., 500 ms and a little more each time
    let operations = field(&record, "/results/0/operations").as_u64().expect("a number");
    assert!((3..=18).contains(&operations), "{operations}");
    assert!(field(&record, "/results/0/driver/lag_ns/count").as_u64() >= Some(operations - 3));
}

#[test]
fn scripts_of_a_rate_begin_whatever_the_server_does_and_scenarios_run_side_by_side() {
    let site = ReplyServer::always(Reply::page("hello"));
    let record = played(
        &with_base(
            &site,
            r#"
for = "1s"
[[scenario]]
name = "open"
rate = "50/s"
users = 20
[[scenario.step]]
name = "first"
get = "/1"
[[scenario.step]]
name = "second"
get = "/2"
[[scenario]]
name = "closed"
users = 2
iterations = 7
[[scenario.step]]
name = "other"
get = "/3"
"#,
        ),
        &[],
        0,
    );
    let count = |name: &str| part(&record, name)["operations"].as_u64().expect("a number");
    assert_eq!((count("first"), count("other")), (50, 14));
    // the last script may be under way when the time is over
    assert!((1..=50).contains(&count("second")), "{}", count("second"));
    assert_eq!(field(&record, "/results/0/dropped"), 0);
    let loads: Vec<&str> = field(&record, "/results/0/scenarios")
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|scenario| scenario["load"].as_str())
        .collect();
    assert_eq!(loads, ["open", "closed"]);
    assert_eq!(field(&record, "/plan/load"), "open");
}

#[test]
fn users_come_and_go_in_stages() {
    let site = ReplyServer::always(Reply::page("hello"));
    let record = played(
        &with_base(
            &site,
            "[[scenario]]\nname = \"a\"\nthink = \"10ms\"\n\
             stages = [{ over = \"200ms\", users = 4 }, { over = \"200ms\", users = 4 }, \
             { over = \"200ms\", users = 0 }]\n\
             [[scenario.step]]\nget = \"/\"\n",
        ),
        &[],
        0,
    );
    assert_eq!(field(&record, "/results/0/scenarios/0/begun"), 4);
    assert_eq!(field(&record, "/results/0/scenarios/0/users"), 4);
    assert_eq!(field(&record, "/results/0/driver/start_up_ns/count"), 4);
    assert!(field(&record, "/results/0/duration_ns").as_u64() >= Some(600_000_000));
}

#[test]
fn a_rate_falls_to_none_and_rises_again() {
    let site = ReplyServer::always(Reply::page("hello"));
    let record = played(
        &with_base(
            &site,
            "[[scenario]]\nname = \"a\"\nstages = [{ over = \"200ms\", rate = \"100/s\" }, \
             { over = \"200ms\", rate = \"0/s\" }, { over = \"100ms\", rate = \"0/s\" }, \
             { over = \"200ms\", rate = \"100/s\" }]\n[[scenario.step]]\nget = \"/\"\n",
        ),
        &[],
        0,
    );
    assert_eq!(field(&record, "/results/0/operations"), 30, "three halves of 20");
}

#[test]
fn independent_arrivals_are_as_many_as_their_rate() {
    let site = ReplyServer::always(Reply::page("hello"));
    let record = played(
        &with_base(
            &site,
            "for = \"1s\"\n[[scenario]]\nname = \"a\"\nrate = \"200/s\"\narrivals = \"poisson\"\n\
             [[scenario.step]]\nget = \"/\"\n",
        ),
        &["--seed", "11"],
        0,
    );
    let begun = field(&record, "/results/0/operations").as_u64().expect("a number");
    // a standard deviation is 14
    assert!(begun.abs_diff(200) < 85, "{begun}");
    assert_eq!(field(&record, "/results/0/dropped"), 0);
}

#[test]
fn threads_share_the_users_and_everything_they_have_in_common() {
    let site = list_of(40);
    let text = format!(
        "{}[[prepare]]\nget = \"/list\"\n\
         extract = [{{ name = \"ids\", json = \"$.items[*].id\", pick = \"all\" }}]\n\
         [[scenario]]\nname = \"r\"\nusers = 7\nramp = \"70ms\"\niterations = 2\n\
         [[scenario.step]]\nname = \"mine\"\nget = \"/detail/0\"\n\
         [[scenario.step]]\neach = \"ids\"\nas = \"id\"\nturns = \"shared\"\n\
         [[scenario.step.step]]\nname = \"ours\"\nget = \"/detail/${{id}}\"\n",
        with_base(&site, "")
    );
    let record = played(&text, &["--threads", "2"], 0);
    assert_eq!(part(&record, "mine")["operations"], 14);
    assert_eq!(part(&record, "ours")["operations"], 40);
    assert_eq!(field(&record, "/results/0/driver/threads"), 2);
    assert_eq!(field(&record, "/results/0/scenarios/0/begun"), 7);
}

#[test]
fn an_interruption_leaves_what_was_measured() {
    let site = ReplyServer::always(Reply::page("hello"));
    let text = with_base(
        &site,
        "for = \"1h\"\n[[scenario]]\nname = \"a\"\nusers = 2\nthink = \"20ms\"\n\
         [[scenario.step]]\nget = \"/\"\n",
    );
    let folder = scenario(&text);
    let path = folder.path().join("s.toml").display().to_string();
    let program = Program::start(&["http", "load", &path, "--interval", "50ms"], folder.path());
    while site.asked().len() < 20 {
        std::thread::yield_now();
    }
    program.signal(rustix::process::Signal::INT);
    let ended = program.wait().with(130);
    assert!(ended.stdout.contains("interrupted"), "{}", ended.stdout);
    let record = read(&only_run(folder.path()).join("run.json"));
    let record: Value = serde_json::from_str(&record).expect("a record");
    assert!(field(&record, "/results/0/operations").as_u64() > Some(0));
    assert!(field(&record, "/plan/options/scenario-text").as_str().expect("text").contains("20ms"));
}

#[test]
fn a_connection_that_the_server_ends_after_each_answer_loses_nothing() {
    let site = ReplyServer::always(Reply::Close(
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello".to_vec(),
    ));
    let text = with_base(
        &site,
        "[[scenario]]\nname = \"a\"\nusers = 3\niterations = 4\nthink = \"5ms\"\n\
         [[scenario.step]]\nget = \"/\"\n",
    );
    let record = played(&text, &[], 0);
    assert_eq!(field(&record, "/results/0/operations"), 12);
    // no connection is made to think with
    assert_eq!(field(&record, "/results/0/connect_ns/count"), 12);
}

#[test]
fn what_was_dropped_and_how_users_began_is_told_of_each_scenario() {
    let site = ReplyServer::start(|head, _| match head.starts_with("GET /stuck") {
        true => Reply::Silence,
        false => Reply::page("hello"),
    });
    let record = played(
        &with_base(
            &site,
            r#"
for = "400ms"
timeout = "50ms"
[[scenario]]
name = "stuck"
rate = "200/s"
users = 1
[[scenario.step]]
get = "/stuck"
[[scenario]]
name = "sound"
users = 3
iterations = 4
[[scenario.step]]
get = "/"
"#,
        ),
        &[],
        1,
    );
    let result = field(&record, "/results/0");
    let dropped = field(result, "/scenarios/0/dropped").as_u64().expect("a number");
    assert!(dropped > 0, "{result:#}");
    assert_eq!(field(result, "/scenarios/1/dropped"), 0);
    assert_eq!(field(result, "/dropped"), dropped);
    assert!(reasons(&record).contains(&format!("({dropped} of stuck)")), "{}", reasons(&record));
    let begun = |path: &str| field(result, path).as_u64().expect("a number");
    assert_eq!(begun("/scenarios/1/start_up_ns/count"), 3);
    let all = begun("/scenarios/0/start_up_ns/count") + 3;
    assert_eq!(begun("/driver/start_up_ns/count"), all);
}

#[test]
fn no_scenario_goes_on_longer_than_the_command_line_says() {
    let site = ReplyServer::always(Reply::page("hello"));
    let text = with_base(
        &site,
        r#"
[[scenario]]
name = "long"
for = "1h"
think = "10ms"
[[scenario.step]]
get = "/1"
[[scenario]]
name = "stages"
think = "10ms"
stages = [{ over = "1h", users = 2 }]
[[scenario.step]]
get = "/2"
[[scenario]]
name = "short"
for = "50ms"
rate = "100/s"
[[scenario.step]]
name = "short"
get = "/3"
"#,
    );
    let record = played(&text, &["--for", "200ms"], 0);
    assert_eq!(part(&record, "short")["operations"], 5, "its own time is shorter");
    assert_eq!(field(&record, "/plan/options/for"), &json!("200ms"));
    assert!(field(&record, "/results/0/duration_ns").as_u64() >= Some(200_000_000));
}
