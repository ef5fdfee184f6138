//! `plumb http load`: what the users of a scenario ask for, and what is counted.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;

use kit::http::{Reply, ReplyServer};
use kit::scenario::{field, list_of, part, play_in, played, reader, reasons, scenario, with_base};
use serde_json::json;

#[test]
fn every_user_reads_the_list_and_each_of_its_details() {
    let site = list_of(400);
    let list = reader(
        r#"get = "/list"
extract = [{ name = "ids", json = "$.items[*].id", pick = "all" }]"#,
        ["ids", "id"],
        r#"get = "/detail/${id}"
check = { status = "200", contains = ["detail "] }"#,
    );
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
fn steps_groups_loops_and_shares_are_counted_apart() {
    let site = ReplyServer::always(Reply::page("hello"));
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
fn thresholds_decide_the_exit_code_and_are_listed() {
    let site = ReplyServer::always(Reply::page("hello"));
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
    assert!(
        reasons(&record).contains("1 threshold missed: page p95 < 1ns"),
        "{}",
        reasons(&record)
    );
    let folder = scenario(&strict);
    let shown = play_in(folder.path(), &[]).with(1);
    assert!(shown.stdout.contains("missed"), "{}", shown.stdout);
}

#[test]
fn what_is_not_there_fails_its_step_with_a_kind_and_a_place() {
    let site = ReplyServer::start(|head, _| match head.split_whitespace().nth(1) {
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
check = { status = "302" }
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
    let said = reasons(&record);
    assert!(said.contains("empty (line 7): token: nothing matches"), "{said}");
    assert!(said.contains("unsent (line 11): ${token} has no value"), "{said}");
    assert!(!site.asked().iter().any(|head| head.contains("/x/")));
}

#[test]
fn a_failure_may_restart_the_script_or_stop_the_user() {
    let site = ReplyServer::start(|head, _| match head.starts_with("GET /bad") {
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
    for end in ["iterations = 5", "# the data is its end"] {
        let site = ReplyServer::always(Reply::page("hello"));
        let load = r#"
[[scenario]]
name = "a"
users = 3
END
data = [{ file = "users.csv", at-end = "stop" }]
[[scenario.step]]
name = "page"
get = "/${user}?word=${word:url}"
"#;
        let folder = scenario(&with_base(&site, &load.replace("END", end)));
        fs::write(folder.path().join("users.csv"), "user,word\nu1,a b\nu2,c\nu3,d\nu4,e\n")
            .expect("a file");
        let ended = play_in(folder.path(), &["--json"]).with(0);
        let record = ended.json();
        assert_eq!(part(&record, "page")["operations"], 4);
        let why = field(&record, "/results/0/scenarios/0/ended");
        assert_eq!(why, &json!({"users.csv ran dry": 3}));
        let said = "3 users of a ended: users.csv ran dry";
        assert!(reasons(&record).contains(said));
        let asked = site.asked();
        assert!(asked.iter().any(|head| head.starts_with("GET /u1?word=a%20b ")), "{asked:#?}");
    }
}

#[test]
fn cookies_belong_to_one_user_and_last_as_the_scenario_says() {
    let site = ReplyServer::start(|head, number| {
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
fn a_login_has_the_line_of_the_first_script_and_that_has_its_cookies() {
    let site = ReplyServer::start(|head, _| match head.starts_with("GET /in/") {
        true => Reply::answer(200, "Set-Cookie: sid=1; Path=/\r\n", "hello"),
        false => Reply::page("hello"),
    });
    let text = |cookies: &str| {
        with_base(
            &site,
            &format!(
                "[[scenario]]\nname = \"a\"\niterations = 2\ncookies = \"{cookies}\"\n\
                 data = [{{ file = \"users.csv\" }}]\n\
                 [[scenario.login]]\nname = \"log on\"\nget = \"/in/${{user}}\"\n\
                 [[scenario.step]]\nname = \"page\"\nget = \"/${{user}}\"\n"
            ),
        )
    };
    for (cookies, last) in [("keep", true), ("clear", false)] {
        let before = site.asked().len();
        let folder = scenario(&text(cookies));
        fs::write(folder.path().join("users.csv"), "user\nu1\nu2\nu3\n").expect("a file");
        play_in(folder.path(), &[]).with(0);
        let asked = &site.asked()[before..];
        let lines: Vec<&str> = asked.iter().filter_map(|head| head.lines().next()).collect();
        let expected = ["/in/u1", "/u1", "/u2"].map(|path| format!("GET {path} HTTP/1.1"));
        assert_eq!(lines, expected, "{cookies}");
        let known: Vec<bool> = asked.iter().map(|head| head.contains("Cookie: sid=1")).collect();
        assert_eq!(known, [false, true, last], "{cookies}");
    }
}

#[test]
fn packed_content_is_looked_into() {
    let site = ReplyServer::start(|_, _| {
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
fn the_same_seed_draws_the_same() {
    let site = ReplyServer::always(Reply::page("hello"));
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
