//! `plumb http load` against the application server and servers that answer as a test wants.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

mod kit;

use std::fs;
use std::path::{Path, PathBuf};

use kit::authority::Authority;
use kit::http::{Reply, Site};
use kit::web::Web;
use kit::{Ended, PLUMB, Program, Server, only_run, read};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const WHO: [(&str, &str); 2] = [("PLUMB_HTTP_USER", "demo"), ("PLUMB_HTTP_PASSWORD", "demo")];

/// The scenarios that stand as examples.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios")
}

/// A folder with `text` as its scenario.
fn scenario(text: &str) -> TempDir {
    let folder = tempdir().expect("a temporary folder");
    fs::write(folder.path().join("s.toml"), text).expect("it can be written");
    folder
}

/// Plays the scenario at `path` in `folder`.
fn play(path: &Path, words: &[&str], folder: &Path) -> Ended {
    let path = path.display().to_string();
    let words = [&["http", "load", &path, "--lag", "10s"], words].concat();
    Program::start_told(Path::new(PLUMB), &words, folder, &WHO).wait()
}

/// The record of `text`, played to its end with `code`.
fn played(text: &str, words: &[&str], code: i32) -> Value {
    let folder = scenario(text);
    let words = [words, &["--json"]].concat();
    play(&folder.path().join("s.toml"), &words, folder.path()).with(code).json()
}

fn field<'a>(value: &'a Value, path: &str) -> &'a Value {
    value.pointer(path).unwrap_or_else(|| panic!("no {path} in {value:#}"))
}

/// The part of the only result with this name.
fn part<'a>(record: &'a Value, name: &str) -> &'a Value {
    let parts = field(record, "/results/0/parts").as_array().expect("a list");
    parts
        .iter()
        .find(|part| part["name"] == name)
        .unwrap_or_else(|| panic!("no {name}: {parts:#?}"))
}

fn texts(record: &Value) -> String {
    let reasons = field(record, "/results/0/validity/reasons").as_array().expect("a list");
    reasons.iter().filter_map(|reason| reason["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// A site with a list of `n` details, and the details.
fn list_of(n: usize) -> Site {
    Site::start(move |head, _| {
        if head.starts_with("GET /list") {
            let items: Vec<String> = (0..n).map(|id| format!("{{\"id\":\"{id}\"}}")).collect();
            return Reply::page(&format!("{{\"items\":[{}]}}", items.join(",")));
        }
        let id = head.split_whitespace().nth(1).and_then(|path| path.strip_prefix("/detail/"));
        match id {
            Some(id) => Reply::page(&format!("detail {id}")),
            None => Reply::answer(404, "", "no"),
        }
    })
}

const LIST: &str = r#"
[[scenario]]
name = "reader"
users = 2
iterations = 1
[[scenario.step]]
name = "list"
get = "/list"
extract = [{ name = "ids", json = "$.items[*].id", pick = "all" }]
[[scenario.step]]
each = "ids"
as = "id"
[[scenario.step.step]]
name = "detail"
get = "/detail/${id}"
check = { status = "200", contains = ["detail ${id}"] }
"#;

fn with_base(site: &Site, text: &str) -> String {
    format!("base = \"{}\"\n{text}", site.url(""))
}

#[test]
fn every_user_reads_the_list_and_each_of_its_details() {
    let site = list_of(400);
    let list = LIST.replace("contains = [\"detail ${id}\"]", "contains = [\"detail \"]");
    let record = played(&with_base(&site, &list), &[], 0);
    let result = field(&record, "/results/0");
    assert_eq!(result["operations"], 802);
    assert_eq!(result["codes"], json!({"200": 802}));
    assert_eq!(
        (&part(&record, "list")["operations"], &part(&record, "detail")["operations"]),
        (&json!(2), &json!(800))
    );
    assert_eq!(field(result, "/scenarios/0/scripts"), 2);
    assert_eq!(field(result, "/driver/start_up_ns/count"), 2);
    let mut asked: Vec<String> = site.asked();
    assert_eq!(asked.len(), 802);
    asked.retain(|head| head.starts_with("GET /detail/399 "));
    assert_eq!(asked.len(), 2);
    for times in ["response_ns", "service_ns", "first_byte_ns"] {
        assert_eq!(part(&record, "detail")[times]["count"], 800, "{times}");
    }
}

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
fn steps_groups_loops_and_shares_are_counted_apart() {
    let site = Site::always(Reply::page("hello"));
    let record = played(
        &with_base(
            &site,
            r#"
[[scenario]]
name = "a"
users = 4
iterations = 50
[[scenario.login]]
name = "log on"
path = "/logon"
body = "user=${user}"
[scenario.variables]
user = "u"
kind = "b"
[[scenario.step]]
group = "page"
[[scenario.step.step]]
get = "/a"
[[scenario.step.step]]
repeat = 3
[[scenario.step.step.step]]
get = "/b"
[[scenario.step]]
name = "seldom"
get = "/c"
share = "20%"
[[scenario.step]]
name = "never"
get = "/d"
if = "${kind} == a"
[[scenario.step]]
name = "always"
get = "/e"
if = "${kind} == b"
"#,
        ),
        &["--seed", "7"],
        0,
    );
    let count = |name: &str| part(&record, name)["operations"].as_u64().expect("a number");
    assert_eq!((count("log on"), count("GET /a"), count("GET /b")), (4, 200, 600));
    assert_eq!((count("never"), count("always")), (0, 200));
    // 40 expected, with a standard deviation of 5.7
    assert!((8..=80).contains(&count("seldom")), "{}", count("seldom"));
    let group = field(&record, "/results/0/groups/0");
    assert_eq!((&group["name"], &group["operations"]), (&json!("page"), &json!(200)));
    assert_eq!(group["labels"]["scenario"], "a");
    let all = 4 + 200 + 600 + 200 + count("seldom");
    assert_eq!(field(&record, "/results/0/operations"), all, "groups are no operations");
    assert!(
        site.asked()
            .iter()
            .any(|head| head.starts_with("POST /logon") && head.contains("Content-Length: 6"))
    );
}

#[test]
fn think_times_are_left_out_and_counted_as_due() {
    let site = Site::always(Reply::page("hello"));
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
    let site = Site::always(Reply::page("hello"));
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
fn thresholds_decide_the_exit_code_and_are_listed() {
    let site = Site::always(Reply::page("hello"));
    let text = with_base(
        &site,
        "thresholds = [\"page p95 < 1h\", \"failures < 0.1%\", \"ttfb p50 < 1h\", \"requests >= 6\"]\n\
         [[scenario]]\nname = \"a\"\nusers = 2\niterations = 3\n\
         [[scenario.step]]\nname = \"page\"\nget = \"/\"\n",
    );
    let record = played(&text, &[], 0);
    let thresholds = field(&record, "/results/0/thresholds").as_array().expect("a list");
    assert_eq!(thresholds.len(), 4);
    assert!(thresholds.iter().all(|threshold| threshold["met"] == true), "{thresholds:#?}");
    let strict = text.replace("page p95 < 1h", "page p95 < 1ns");
    let record = played(&strict, &[], 1);
    assert_eq!(field(&record, "/results/0/thresholds/0/met"), false);
    assert_eq!(field(&record, "/validity/valid"), true, "the figures may be used");
    assert!(texts(&record).contains("1 threshold missed: page p95 < 1ns"), "{}", texts(&record));
    let folder = scenario(&strict);
    let shown = play(&folder.path().join("s.toml"), &[], folder.path()).with(1);
    assert!(shown.stdout.contains("missed"), "{}", shown.stdout);
}

#[test]
fn what_is_not_there_fails_its_step_with_a_kind_and_a_place() {
    let site = Site::start(|head, _| match head.split_whitespace().nth(1) {
        Some("/gone") => Reply::answer(404, "", "no"),
        Some("/old") => Reply::answer(302, "Location: /new\r\n", ""),
        _ => Reply::page("hello"),
    });
    let record = played(
        &with_base(
            &site,
            r#"[[scenario]]
name = "a"
iterations = 2
[[scenario.step]]
name = "empty"
get = "/"
extract = [{ name = "token", between = ["token=", ";"] }]
[[scenario.step]]
name = "unsent"
get = "/x/${token}"
[[scenario.step]]
name = "gone"
get = "/gone"
[[scenario.step]]
name = "moved"
get = "/old"
[[scenario.step]]
name = "wrong"
get = "/"
check = { contains-not = ["hello"] }
[[scenario.step]]
name = "late"
get = "/"
check = { within = "1ns" }
"#,
        ),
        &[],
        1,
    );
    let kinds = |name: &str| part(&record, name)["failures"].clone();
    assert_eq!(kinds("empty"), json!({"nothing-extracted": 2}));
    assert_eq!(kinds("unsent"), json!({"not-sent": 2}));
    assert_eq!(kinds("gone"), json!({"unexpected-status": 2}));
    assert_eq!(kinds("wrong"), json!({"check-failed": 2}));
    assert_eq!(kinds("late"), json!({"late": 2}));
    assert_eq!(part(&record, "moved")["codes"], json!({"302": 2}), "a redirect is an answer");
    assert_eq!(part(&record, "moved")["operations"], 2);
    let said = texts(&record);
    assert!(said.contains("empty (line 7): token: nothing matches"), "{said}");
    assert!(said.contains("unsent (line 11): ${token} has no value"), "{said}");
    assert!(!site.asked().iter().any(|head| head.contains("/x/")));
}

#[test]
fn a_failure_may_restart_the_script_or_stop_the_user() {
    let site = Site::start(|head, _| match head.starts_with("GET /bad") {
        true => Reply::answer(500, "", "no"),
        false => Reply::page("hello"),
    });
    let text = |manner: &str| {
        with_base(
            &site,
            &format!(
                "[[scenario]]\nname = \"a\"\nusers = 2\niterations = 3\non-failure = \"{manner}\"\n\
                 [[scenario.step]]\nname = \"bad\"\nget = \"/bad\"\n\
                 [[scenario.step]]\nname = \"good\"\nget = \"/\"\n"
            ),
        )
    };
    for (manner, bad, good, broken) in
        [("continue", 6, 6, 0), ("restart", 6, 0, 6), ("stop", 2, 0, 2)]
    {
        let record = played(&text(manner), &[], 1);
        assert_eq!(part(&record, "bad")["codes"], json!({"500": bad}), "{manner}");
        assert_eq!(part(&record, "good")["operations"], good, "{manner}");
        assert_eq!(field(&record, "/results/0/scenarios/0/broken"), broken, "{manner}");
    }
}

#[test]
fn lines_of_a_data_file_go_to_users_and_running_dry_is_counted() {
    let site = Site::always(Reply::page("hello"));
    let folder = scenario(&with_base(
        &site,
        r#"
[[scenario]]
name = "a"
users = 3
iterations = 5
data = [{ file = "users.csv", at-end = "stop" }]
[[scenario.step]]
name = "page"
get = "/${user}?word=${word:url}"
"#,
    ));
    fs::write(folder.path().join("users.csv"), "user,word\nu1,a b\nu2,c\nu3,d\nu4,e\n")
        .expect("a file");
    let ended = play(&folder.path().join("s.toml"), &["--json"], folder.path()).with(0);
    let record = ended.json();
    assert_eq!(part(&record, "page")["operations"], 4);
    assert_eq!(field(&record, "/results/0/scenarios/0/ended"), &json!({"users.csv ran dry": 3}));
    assert!(texts(&record).contains("3 users of a ended before the load did: users.csv ran dry"));
    let asked = site.asked();
    assert!(asked.iter().any(|head| head.starts_with("GET /u1?word=a%20b ")), "{asked:#?}");
}

#[test]
fn cookies_belong_to_one_user_and_last_as_the_scenario_says() {
    let site = Site::start(|head, number| {
        let cookie = head.lines().find_map(|line| line.strip_prefix("Cookie: sid="));
        match cookie {
            Some(_) => Reply::page("known"),
            None => Reply::answer(200, &format!("Set-Cookie: sid={number}; Path=/\r\n"), "new"),
        }
    });
    let text = |cookies: &str| {
        with_base(
            &site,
            &format!(
                "[[scenario]]\nname = \"a\"\nusers = 3\niterations = 4\ncookies = \"{cookies}\"\n\
                 [[scenario.step]]\nname = \"one\"\nget = \"/1\"\n\
                 [[scenario.step]]\nname = \"two\"\nget = \"/2\"\n"
            ),
        )
    };
    for (cookies, fresh) in [("keep", 3), ("clear", 12), ("off", 24)] {
        let before = site.asked().len();
        played(&text(cookies), &[], 0);
        let asked = &site.asked()[before..];
        let unknown = asked.iter().filter(|head| !head.contains("Cookie: sid=")).count();
        assert_eq!((asked.len(), unknown), (24, fresh), "{cookies}");
    }
}

#[test]
fn headers_of_three_levels_and_of_the_command_line_are_sent() {
    let site = Site::always(Reply::page("hello"));
    let folder = scenario(&with_base(
        &site,
        r#"
headers = { A = "file", B = "file", C = "file", D = "file" }
[[scenario]]
name = "a"
iterations = 1
headers = { B = "scenario", C = "scenario", D = "scenario" }
[[scenario.step]]
get = "/"
headers = { C = "step", d = "step", Authorization = "Bearer s3cret" }
"#,
    ));
    let words = ["--header", "D: told", "--json"];
    let ended = play(&folder.path().join("s.toml"), &words, folder.path()).with(0);
    let head = site.asked().remove(0);
    for line in ["A: file", "B: scenario", "C: step", "D: told", "Authorization: Bearer s3cret"] {
        assert!(head.contains(&format!("{line}\r\n")), "{line}: {head}");
    }
    assert_eq!(head.matches("uthorization").count(), 1, "{head}");
    let run = only_run(folder.path());
    let kept = [read(&run.join("run.json")), read(&run.join("report.html")), ended.stdout].concat();
    assert!(!kept.contains("s3cret"), "a secret stands in the record");
    assert!(kept.contains("Bearer") || kept.contains("***"));
}

#[test]
fn packed_content_is_looked_into() {
    let site = Site::start(|_, _| {
        use flate2::{Compression, write::GzEncoder};
        use std::io::Write as _;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(b"the token=42; of the day").expect("memory");
        let body = gzip.finish().expect("memory");
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        Reply::Drip([head.into_bytes(), body].concat())
    });
    let record = played(
        &with_base(
            &site,
            r#"[[scenario]]
name = "a"
iterations = 1
[[scenario.step]]
get = "/"
headers = { Accept-Encoding = "gzip" }
check = { contains = ["of the day"] }
extract = [{ name = "token", between = ["token=", ";"] }]
[[scenario.step]]
get = "/${token}"
"#,
        ),
        &[],
        0,
    );
    assert_eq!(field(&record, "/results/0/operations"), 2);
    assert!(site.asked()[1].starts_with("GET /42 "));
}

#[test]
fn steps_may_be_left_out() {
    let site = Site::always(Reply::page("hello"));
    let text = with_base(
        &site,
        r#"[[scenario]]
name = "a"
iterations = 2
[[scenario.step]]
get = "/page.htm"
[[scenario.step]]
group = "images"
[[scenario.step.step]]
get = "/a.gif"
[[scenario.step.step]]
get = "/b.gif?x"
"#,
    );
    let record = played(&text, &["--exclude", ".gif"], 0);
    assert_eq!(field(&record, "/results/0/operations"), 2);
    assert_eq!(field(&record, "/results/0").get("groups"), None);
    let record = played(&text, &["--exclude", "*.gif"], 0);
    assert_eq!(field(&record, "/results/0/operations"), 4);
    let folder = scenario(&text);
    let refused = play(&folder.path().join("s.toml"), &["--exclude", "*"], folder.path()).with(2);
    assert!(refused.stderr.contains("--exclude leaves nothing"), "{}", refused.stderr);
}

/// A scenario with `step` as its only step.
fn with_step(step: &str) -> String {
    format!(
        "base = \"http://127.0.0.1:1\"\n[[scenario]]\nname = \"a\"\niterations = 1\n\
         [[scenario.step]]\n{step}\n"
    )
}

#[test]
fn what_cannot_be_is_refused_with_its_place_before_anything_is_asked() {
    let scenario_with = |keys: &str| {
        format!(
            "base = \"http://127.0.0.1:1\"\n[[scenario]]\nname = \"a\"\n{keys}\n\
             [[scenario.step]]\nget = \"/\"\n"
        )
    };
    for (text, says) in [
        (with_step("gte = \"/\""), "line 6, column 1: unknown field `gte`"),
        (with_step("get = \"/\"\nthnik = \"1s\""), "did you mean `think`?"),
        (with_step("name = \"x\""), "exactly one of get, path, each, repeat and group"),
        (with_step("get = \"/\"\npath = \"/\""), "exactly one of"),
        (with_step("get = \"/\"\nbody = \"x\""), "`body` belongs to path"),
        (with_step("get = \"/${nmae}\"\n[scenario.variables]\nname = \"x\""), "did you mean `name`?"),
        (with_step("get = \"/${idd}\"\nextract = [{ name = \"id\", regex = \"x\" }]"), "did you mean `id`?"),
        (with_step("get = \"/${id\""), "without `}`"),
        (with_step("get = \"http://other:1/\""), "another server"),
        (with_step("repeat = 2"), "asks for nothing"),
        (with_step("repeat = 0\n[[scenario.step.step]]\nget = \"/\""), "does nothing"),
        (with_step("each = \"x\"\n[[scenario.step.step]]\nget = \"/\""), "each needs as"),
        (with_step("get = \"/\"\nshare = \"120%\""), "share:"),
        (with_step("get = \"/\"\nif = \"${a} == 1 == 2\""), "if:"),
        (with_step("get = \"/\"\ncheck = { status = \"20x\" }"), "check:"),
        (with_step("get = \"/\"\nextract = [{ name = \"x\", json = \"a[\" }]"), "extract:"),
        (with_step("get = \"/\"\nheaders = { Host = \"x\" }"), "header `Host`"),
        (with_step("get = \"/\"\nheaders = { \"a b\" = \"x\" }"), "no name of a header"),
        (with_step("path = \"/\"\nmethod = \"get\""), "no method"),
        (with_step("path = \"/\"\nbody-file = \"nowhere\""), "cannot read"),
        (with_step("get = \"/\"\nthink = \"10\""), "a think time is"),
        (with_step("repeat = 2\nname = \"x\"\n[[scenario.step.step]]\nget = \"/\""), "no row to name"),
        (scenario_with(""), "has no end"),
        (scenario_with("users = 0\nfor = \"1s\""), "users"),
        (scenario_with("rate = \"10/s\"\niterations = 2"), "iterations are for users"),
        (scenario_with("rate = \"10/s\"\nramp = \"2s\"\nfor = \"1s\""), "written as stages"),
        (scenario_with("arrivals = \"poisson\"\nfor = \"1s\""), "those of a rate"),
        (scenario_with("users = 2\nstages = [{ over = \"1s\", users = 2 }]"), "stages say how many"),
        (scenario_with("stages = [{ over = \"1s\", users = 2, rate = \"1/s\" }]"), "each stage has"),
        (scenario_with("stages = [{ over = \"0s\", users = 2 }]"), "no length"),
        (scenario_with("iterations = 0"), "iterations = 0"),
        (scenario_with("for = \"1s\"\nstart = \"2s\"\ndata = [{ file = \"no.csv\" }]"), "no.csv"),
        (scenario_with("for = \"1s\"\n[[scenario.step]]\nget = \"/\"\n[[scenario]]\nname = \"a\"\nfor = \"1s\""), "two scenarios"),
        ("base = \"http://h/path\"\n[[scenario]]\nname = \"a\"\nstep = []\n".into(), "has a path"),
        ("[[scenario]]\nname = \"a\"\nstep = []\n".into(), "no server is named"),
        ("base = \"http://h\"\n[[scenario]]\nname = \"a\"\nfor = \"1s\"\nstep = []\n".into(), "asks for nothing"),
        ("base = \"http://h\"\nthresholds = [\"x p95 < 1s\"]\n[[scenario]]\nname = \"a\"\nfor = \"1s\"\n[[scenario.step]]\nget = \"/\"\n".into(), "no step or group `x`"),
        ("[[scenario]\n".into(), "line 1"),
        (String::new(), "scenario"),
    ] {
        let folder = scenario(&text);
        let ended = play(&folder.path().join("s.toml"), &[], folder.path());
        assert_eq!(ended.code, Some(2), "{text}\n{ended:#?}");
        assert!(ended.stderr.contains(says), "{says}\n{text}\n{}", ended.stderr);
        assert!(!folder.path().join("plumb-runs").exists(), "{text}");
    }
    let folder = tempdir().expect("a temporary folder");
    let ended = play(&folder.path().join("nowhere.toml"), &[], folder.path()).with(2);
    assert!(ended.stderr.contains("cannot read the scenario"), "{}", ended.stderr);
}

#[test]
fn a_server_that_is_not_there_leaves_no_record_and_a_preparation_that_fails_neither() {
    let folder = scenario(&with_step("get = \"/\""));
    let ended = play(&folder.path().join("s.toml"), &[], folder.path()).with(2);
    assert!(ended.stderr.contains("cannot connect to 127.0.0.1:1"), "{}", ended.stderr);
    let site = Site::always(Reply::answer(401, "", "no"));
    let text = with_base(
        &site,
        "[[prepare]]\nname = \"log on\"\nget = \"/\"\n[[scenario]]\nname = \"a\"\niterations = 1\n[[scenario.step]]\nget = \"/\"\n",
    );
    let folder = scenario(&text);
    let ended = play(&folder.path().join("s.toml"), &[], folder.path()).with(2);
    assert!(ended.stderr.contains("the preparation failed: log on (line 4)"), "{}", ended.stderr);
    assert!(!folder.path().join("plumb-runs").join("x").exists());
}

#[test]
fn an_interruption_leaves_what_was_measured() {
    let site = Site::always(Reply::page("hello"));
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
fn the_same_seed_draws_the_same() {
    let site = Site::always(Reply::page("hello"));
    let text = with_base(
        &site,
        "[[scenario]]\nname = \"a\"\niterations = 40\n\
         [[scenario.step]]\nname = \"half\"\nget = \"/half\"\nshare = \"50%\"\n\
         [[scenario.step]]\nget = \"/all\"\n",
    );
    let order = |seed: &str| {
        let before = site.asked().len();
        played(&text, &["--seed", seed], 0);
        let asked = site.asked();
        asked[before..].iter().map(|head| head.starts_with("GET /half")).collect::<Vec<bool>>()
    };
    let first = order("5");
    assert_eq!(first, order("5"));
    assert_ne!(first, order("6"));
}

#[test]
fn the_list_and_its_details_are_read_from_the_application_server() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let base = format!("http://{}", server.address);
    let folder = tempdir().expect("a temporary folder");
    let words = ["--base", &base, "--users", "2", "--json"];
    let path = examples().join("list-details.toml");
    let record = play(&path, &words, folder.path()).with(0).json();
    assert_eq!(field(&record, "/results/0/operations"), 401);
    assert_eq!(part(&record, "list")["operations"], 1);
    assert_eq!(part(&record, "detail")["operations"], 400);
    assert_eq!(field(&record, "/results/0/codes"), &json!({"200": 401}));
}

#[test]
fn pages_of_the_application_server_are_of_their_length() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let base = format!("http://{}", server.address);
    let folder = tempdir().expect("a temporary folder");
    let words = ["--base", &base, "--for", "300ms", "--warmup", "50ms", "--json"];
    let text =
        read(&examples().join("pages.toml")).replace("< 50ms", "< 1h").replace("< 20ms", "< 1h");
    fs::write(folder.path().join("s.toml"), text).expect("a file");
    let record = play(&folder.path().join("s.toml"), &words, folder.path()).with(0).json();
    for (name, length) in [("text 1 KB", 1024), ("text 4 KB", 4096), ("image 1 KB", 1024)] {
        let part = part(&record, name);
        assert!(part["operations"].as_u64() > Some(0), "{name}");
        assert_eq!(part["length"], json!({"min": length, "p50": length, "max": length}), "{name}");
    }
}

#[test]
fn a_mix_of_users_with_a_background_load_runs() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let base = format!("http://{}", server.address);
    let folder = tempdir().expect("a temporary folder");
    let text = read(&examples().join("user-mix.toml"))
        .replace("ramp = \"30s\"", "ramp = \"100ms\"")
        .replace("\"10s\", max = \"100s\"", "\"100ms\", max = \"1s\"")
        .replace("\"30s\", max = \"300s\"", "\"300ms\", max = \"3s\"")
        .replace("0.2/s", "10/s")
        .replace("< 1s", "< 1h");
    fs::write(folder.path().join("s.toml"), text).expect("a file");
    let words = ["--base", &base, "--users", "10", "--for", "1s", "--warmup", "0s", "--json"];
    let record = play(&folder.path().join("s.toml"), &words, folder.path()).with(0).json();
    assert_eq!(part(&record, "message")["operations"], 10);
    assert_eq!(part(&record, "message")["codes"], json!({"201": 10}));
    let groups = field(&record, "/results/0/groups").as_array().expect("a list");
    let names: Vec<&str> = groups.iter().filter_map(|group| group["name"].as_str()).collect();
    assert_eq!(names, ["click", "look"]);
    assert!(groups.iter().all(|group| group["operations"].as_u64() > Some(0)), "{groups:#?}");
    let users: Vec<u64> = field(&record, "/results/0/scenarios")
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|scenario| scenario["begun"].as_u64())
        .collect();
    assert_eq!(users[..2], [5, 5]);
    assert_eq!(field(&record, "/results/0/labels/users"), "10");
}

#[test]
fn clerks_take_orders_to_their_invoices() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let base = format!("http://{}", server.address);
    let folder = tempdir().expect("a temporary folder");
    let text = read(&examples().join("sales.toml"))
        .replace("for = \"5m\"", "")
        .replace("users = 50", "users = 3\niterations = 4")
        .replace("\"10s\"", "\"5ms\"")
        .replace("< 1s", "< 1h");
    fs::write(folder.path().join("s.toml"), text).expect("a file");
    fs::copy(examples().join("customers.csv"), folder.path().join("customers.csv"))
        .expect("a file");
    let words = ["--base", &base, "--json"];
    let record = play(&folder.path().join("s.toml"), &words, folder.path()).with(0).json();
    let steps = field(&record, "/results/0/parts").as_array().expect("a list");
    assert_eq!(steps.len(), 6);
    assert!(steps.iter().all(|step| step["operations"] == 12), "{steps:#?}");
    let figures = Web::connect(&server.address).get("/sap/bc/sd/throughput").with(200).json();
    assert_eq!(figures["itemsInvoiced"], 60, "five of each order");
}

#[test]
fn users_come_and_go_in_stages() {
    let site = Site::always(Reply::page("hello"));
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
fn independent_arrivals_are_as_many_as_their_rate() {
    let site = Site::always(Reply::page("hello"));
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
fn a_scenario_is_played_over_tls() {
    let folder = scenario("");
    let authority = Authority::new(folder.path(), "ours");
    let site = Site::encrypted(&authority.sign("127.0.0.1"), |_, _| Reply::page("hello"));
    let text = with_base(
        &site,
        "[[scenario]]\nname = \"a\"\nusers = 2\niterations = 5\n[[scenario.step]]\nget = \"/\"\n",
    );
    let path = folder.path().join("s.toml");
    fs::write(&path, text).expect("a file");
    let record = play(&path, &["--ca", &authority.ca(), "--json"], folder.path()).with(0).json();
    assert_eq!(field(&record, "/results/0/operations"), 10);
    assert_eq!(field(&record, "/results/0/tls_ns/count"), 2);
    let refused = play(&path, &["--out", "again"], folder.path()).with(2);
    assert!(refused.stderr.contains("certificate"), "{}", refused.stderr);
}

#[test]
fn a_connection_that_the_server_ends_after_each_answer_loses_nothing() {
    let site = Site::always(Reply::Close(
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
