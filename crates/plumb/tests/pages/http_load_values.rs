//! Built-in values: what servers see of them, and that a seed repeats them.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::collections::BTreeSet;

use kit::http::{Reply, ReplyServer};
use kit::scenario::{play_in, refused_in, scenario, with_base};

const SCRIPT: &str = r#"
variables = { part = "north", whole = "${part}/${upper(${part})}" }
[[scenario]]
name = "a"
users = 2
iterations = 3
[[scenario.step]]
path = "/${whole}/${user()}/${iteration()}/${counter(all, load)}"
method = "GET"
set = { order = "${uuid()}", n = "${random(1, 1000000)}" }
headers = { X-Order = "${order}", X-Again = "${order}", X-Sum = "${sha256(${order})}", X-N = "${n}" }
"#;

/// The heads that a server got for one load.
fn heads(words: &[&str]) -> Vec<String> {
    let site = ReplyServer::always(Reply::page("yes"));
    let folder = scenario(&with_base(&site, SCRIPT));
    play_in(folder.path(), words).with(0);
    site.asked()
}

fn line<'a>(head: &'a str, name: &str) -> &'a str {
    let found = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    found.unwrap_or_else(|| panic!("no {name}: {head}"))
}

/// What is drawn, without the number of all users together, which depends on who comes first.
fn drawn(words: &[&str]) -> BTreeSet<String> {
    let heads = heads(words);
    let one = |head: &String| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let (path, _) = path.rsplit_once('/').unwrap_or_default();
        format!("{path} {} {}", line(head, "X-Order"), line(head, "X-N"))
    };
    heads.iter().map(one).collect()
}

#[test]
fn requests_carry_built_in_values() {
    let heads = heads(&["--seed", "5"]);
    let mut paths: Vec<&str> = heads.iter().filter_map(|head| head.split(' ').nth(1)).collect();
    paths.sort_unstable();
    let number = |path: &&str| path.rsplit('/').next().and_then(|n| n.parse::<u32>().ok());
    let counted: BTreeSet<u32> = paths.iter().filter_map(number).collect();
    assert_eq!(counted, (1..=6).collect(), "each number once: {paths:?}");
    for user in [1, 2] {
        for turn in [1, 2, 3] {
            let begin = format!("/north/NORTH/{user}/{turn}/");
            assert_eq!(
                paths.iter().filter(|path| path.starts_with(&begin)).count(),
                1,
                "{paths:?}"
            );
        }
    }
    for head in &heads {
        assert_eq!(line(head, "X-Order"), line(head, "X-Again"));
        assert_eq!((line(head, "X-Order").len(), line(head, "X-Sum").len()), (36, 64));
    }
    let orders: BTreeSet<&str> = heads.iter().map(|head| line(head, "X-Order")).collect();
    assert_eq!(orders.len(), 6);
}

#[test]
fn a_seed_repeats_what_was_drawn() {
    let first = drawn(&["--seed", "5"]);
    assert_eq!(first.len(), 6);
    assert_eq!(first, drawn(&["--seed", "5"]));
    assert!(first.is_disjoint(&drawn(&["--seed", "6"])));
}

#[test]
fn a_variable_has_the_value_that_is_said_with_the_load() {
    let heads = heads(&["--variable", "part=south"]);
    assert!(heads.iter().all(|head| head.starts_with("GET /south/SOUTH/")), "{heads:?}");
    let site = ReplyServer::always(Reply::page("yes"));
    let folder = scenario(&with_base(&site, SCRIPT));
    let shown = play_in(folder.path(), &["--dry-run", "--variable", "part=west"]).with(0);
    assert!(shown.stdout.contains("part = west"), "{}", shown.stdout);
    assert!(shown.stdout.contains("set order = ${uuid()}"), "{}", shown.stdout);
    refused_in(folder.path(), &["--variable", "prat=x"], "did you mean `part`?");
    refused_in(folder.path(), &["--variable", "token=x"], "the name of a secret");
    assert_eq!(site.asked(), [] as [String; 0]);
}

#[test]
fn steps_are_repeated_while_a_condition_holds() {
    let site = ReplyServer::start(|_, before| {
        Reply::page(if before % 3 == 2 { "state=done" } else { "state=busy" })
    });
    let text = r#"
[[scenario]]
name = "a"
iterations = 2
variables = { state = "" }
[[scenario.step]]
while = "${state} != 'done'"
set = { state = "new" }
[[scenario.step.step]]
repeat = 1
[[scenario.step.step.step]]
get = "/state"
extract = [{ name = "state", regex = "state=(.*)" }]
[[scenario.step]]
while = "${state} == 'done'"
most = 2
[[scenario.step.step]]
get = "/again"
"#;
    let folder = scenario(&with_base(&site, text));
    play_in(folder.path(), &[]).with(0);
    let paths: Vec<String> =
        site.asked().iter().filter_map(|head| head.split(' ').nth(1).map(str::to_owned)).collect();
    let turn = ["/state", "/state", "/state", "/again", "/again"];
    // the second turn begins behind five answers: the sixth is the one that is done
    assert_eq!(paths, [&turn[..], &["/state", "/again", "/again"]].concat());
    let shown = play_in(folder.path(), &["--dry-run"]).with(0);
    assert!(shown.stdout.contains("while ${state} == 'done', 2 at most"), "{}", shown.stdout);
}

#[test]
fn what_cannot_be_made_is_said_with_its_line() {
    let site = ReplyServer::always(Reply::page("yes"));
    for (step, reason) in [
        ("get = \"/${uid()}\"", "line 6, column 7: byte 1: `uid()`"),
        ("get = \"/\"\nset = { a = \"${random(1)}\" }", "set.a: byte 0: `random(1)`"),
        ("get = \"/${hmac(sha256, k, t)}\"", "the key of hmac is a variable"),
    ] {
        let text =
            format!("[[scenario]]\nname = \"a\"\niterations = 1\n[[scenario.step]]\n{step}\n");
        refused_in(scenario(&with_base(&site, &text)).path(), &[], reason);
    }
    assert_eq!(site.asked(), [] as [String; 0]);
}
