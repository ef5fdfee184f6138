use clap::{Args as _, Command, FromArgMatches as _};
use serde_json::Value;

use super::*;
use crate::scenario::ScenarioOptions;

const MIX: &str = r#"
base = "http://h:1"
for = "10m"
warmup = "1m"
seed = 7
headers = { Accept = "a", X-Token = "s3cret" }
[variables]
pages = "/it03"
password = "s3cret"
token = ""
[[scenario]]
name = "eager"
users = 250
ramp = "30s"
pause = "10s"
think = "1s"
data = [{ file = "users.csv" }]
[[scenario.login]]
path = "/logon"
body = "user=${user}&password=${password}"
[[scenario.step]]
group = "click"
[[scenario.step.step]]
name = "part"
get = "${pages}/a?u=${user}&$${pages}"
headers = { accept = "b" }
[[scenario.step.step]]
repeat = 3
[[scenario.step.step.step]]
get = "/b"
share = "50%"
think = { uniform = ["0s", "4s"] }
[[scenario.step]]
get = "/image.gif"
[[scenario]]
name = "background"
rate = "0.2/s"
arrivals = "poisson"
[[scenario.step]]
name = "list"
get = "/list"
extract = [{ name = "ids", json = "$[*]", pick = "all" }]
check = { contains = ["x"] }
[[scenario.step]]
each = "ids"
as = "id"
most = 5
[[scenario.step.step]]
get = "/d/${id}"
"#;

fn shown(text: &str, words: &[&str]) -> (String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("users.csv"), "user\nanna\nben\n").unwrap();
    let words = [&["load", path.to_str().unwrap()], words].concat();
    let matches = ScenarioOptions::augment_args(Command::new("load")).get_matches_from(words);
    let options = ScenarioOptions::from_arg_matches(&matches).unwrap();
    let preview = Preview::of(&ScenarioLoad::new(options).unwrap()).unwrap();
    (text::of(&preview), serde_json::to_value(&preview).unwrap())
}

/// Whether the number at `path` is `expected`.
fn is(value: &Value, path: &str, expected: f64) -> bool {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.is_some_and(|found| (found - expected).abs() < 1e-6)
}

#[test]
fn what_is_said_of_a_load_follows_from_its_file() {
    let (text, value) = shown(MIX, &["--exclude", ".gif"]);
    for line in [
        "  length       a warm-up of 1m, then 10m recorded, 11m in all; what is under way then is",
        "  seed         7",
        "eager: closed load",
        "  users        0 to 250 from 0s to 30s, 250 from 30s on; at most 44.6 requests/s",
        "  a script     2.50 requests; 14.0 s of think times and pauses in the mean",
        "  data         users.csv: 2 lines, one for each script, then again from the first",
        "  variable     user from users.csv",
        "  variable     pages = /it03",
        "  variable     password = MASKED",
        "  variable     token is empty",
        "    line 22   timed as one: click",
        "      line 25   part: GET /it03/a?u=${user}&$${pages}",
        "      line 28   3 times",
        "in 50% of the turns",
        "think 0s to 4s",
        "background: open load",
        "  scripts/s    0.2 from 0s on; at most 1,000 users at once; 120 scripts recorded",
        "  a script     1 request, and what lists and conditions decide on",
        "    line 45   for each id of ids, 5 at most",
        "check status 2xx, holds `x`",
        "extract ids: json $[*], all",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("image") && !text.contains("s3cret"), "{text}");
    assert_eq!(value["schema"], "plumb.http-load-plan/1");
    assert_eq!(value["predicted_ns"], 660_000_000_000_u64);
    let step = "/scenarios/0/steps/0/steps/0";
    assert_eq!(value.pointer(&format!("{step}/headers/Accept")).unwrap(), "b");
    assert_eq!(value.pointer(&format!("{step}/think")).unwrap(), "1s");
    assert_eq!(value.pointer(&format!("{step}/line")).unwrap(), 25);
    assert_eq!(value.pointer("/scenarios/1/steps/1/steps/0/path").unwrap(), "/d/${id}");
    assert!(value.pointer("/scenarios/0/steps/1").is_none(), "{value:#}");
    // 250 users, 2.5 requests in 14 s
    assert!(
        is(&value, "/points/0/scenarios/0/requests_per_s_most", 250.0 * 2.5 / 14.0),
        "{value:#}"
    );
    assert!(value.pointer("/points/0/scenarios/1/requests_per_s_most").is_none());
    assert!(is(&value, "/points/0/scenarios/1/scripts", 120.0), "{value:#}");
    assert!(!value.to_string().contains("s3cret"), "{value:#}");
}

#[test]
fn a_sweep_has_its_users_for_each_point() {
    let (text, value) = shown(MIX, &["--users", "20,10", "--for", "1m", "--warmup", "0s"]);
    assert!(text.contains("1m recorded, 2 times, 2m in all"), "{text}");
    assert!(
        text.contains("  users        of 10: 0 to 10 from 0s to 30s, 10 from 30s on"),
        "{text}"
    );
    assert_eq!(value["points"].as_array().unwrap().len(), 2);
    assert_eq!(value["predicted_ns"], 120_000_000_000_u64);
    let unseeded = MIX.replace("seed = 7\n", "");
    let (text, value) = shown(&unseeded, &["--users", "20,10"]);
    assert!(text.contains("10, 20 users, in an order that is drawn"), "{text}");
    assert!(value.get("seed").is_none());
}

#[test]
fn users_who_decide_when_they_are_done_have_no_predicted_length() {
    let text = "base = \"http://h\"\n[[scenario]]\nname = \"a\"\nusers = 3\niterations = 2\n\
                variables = { one = \"1\" }\n\
                [[scenario.step]]\neach = \"one\"\nas = \"x\"\n\
                [[scenario.step.step]]\nget = \"/${x}\"\n\
                [[scenario.step]]\nget = \"/\"\nif = \"${x} == 1\"\n";
    let (said, value) = shown(text, &[]);
    assert!(said.contains("  length       until the users are done"), "{said}");
    assert!(
        said.contains(
            "1 request, and what lists and conditions decide on; each user does it 2 times"
        )
    );
    assert!(value.get("predicted_ns").is_none());
    assert!(is(&value, "/scenarios/0/script/requests", 1.0), "{value:#}");
    // a rate that does not hold for ever
    let stages = "base = \"http://h\"\nwarmup = \"10s\"\n[[scenario]]\nname = \"a\"\n\
                  stages = [{ over = \"10s\", rate = \"10/s\" }, { over = \"20s\", rate = \"10/s\" }]\n\
                  [[scenario.step]]\nget = \"/\"\n";
    let (said, value) = shown(stages, &[]);
    assert!(said.contains("0 to 10 from 0s to 10s, 10 from 10s to 30s; at most 1,000"), "{said}");
    // what is due in the warm-up is not recorded
    assert!(is(&value, "/points/0/scenarios/0/scripts", 200.0), "{value:#}");
    assert!(is(&value, "/points/0/scenarios/0/requests_per_s_most", 10.0), "{value:#}");
}
