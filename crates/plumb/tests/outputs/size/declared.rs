//! What `ladder.json` says of a ladder.

use serde_json::Value;

use super::*;

#[test]
fn a_ladder_says_which_runs_count_and_which_pools_there_are() {
    let at = tempdir().expect("a folder");
    let mut steps = Vec::new();
    for (number, users) in LADDER.into_iter().enumerate() {
        let mut one = record(&[users]);
        one.target.address = format!("http://127.0.0.1:{}/", 40_000 + number);
        let folder = format!("blocks/{number}");
        written(&one, at.path(), &format!("ladder/{folder}"));
        steps.push(json!({ "level": users, "folder": folder, "counts": true }));
    }
    // a short run of 10 users, in whose place a longer one stands
    let mut short = record(&[10]);
    short.results[0].throughput_per_s /= 3.0;
    short.results[0].duration_ns *= 3;
    written(&short, at.path(), "ladder/blocks/short");
    steps.push(json!({ "level": 10, "folder": "blocks/short", "counts": false }));
    // and the step of 20 users once more
    written(&record(&[20]), at.path(), "ladder/blocks/again");
    steps.push(json!({ "level": 20, "folder": "blocks/again", "counts": true, "repeated": true }));
    let write = |stepped: &str, drift: Value| {
        let ladder = json!({
            "stepped": stepped, "steps": steps, "pools": { "threads": 50 }, "servers": {},
            "drift": drift,
        });
        std::fs::write(at.path().join("ladder/ladder.json"), ladder.to_string()).expect("writable");
    };
    let still = json!([{ "share": 0.066, "within": 0.353 }, { "share": -0.02, "within": 0.252 }]);
    write("users", still);
    let size = ["size", "ladder", "--users", "30", "--json"];
    let json = plumb(&size, at.path()).with(0).json();
    assert_eq!(json["sizing"]["model"]["setup"]["pool"], json!(["threads", 50]));
    assert_eq!(json["sizing"]["ladder"]["steps"].as_array().map(Vec::len), Some(LADDER.len() + 1));
    let other = [&size[..], &["--pool", "processes=60"]].concat();
    let json = plumb(&other, at.path()).with(0).json();
    assert_eq!(json["sizing"]["model"]["setup"]["pool"], json!(["processes", 60]));
    let text = plumb(&size[..4], at.path()).with(0).stdout.replace('\n', " ");
    assert!(text.contains("the step of 20 users of ladder differs by +6.6 %"), "{text}");
    assert!(text.contains("no drift is shown"), "{text}");
    let moved = json!([{ "share": 0.066, "within": 0.353 }, { "share": -0.465, "within": 0.252 }]);
    write("users", moved);
    let text = plumb(&size[..4], at.path()).with(3).stdout.replace('\n', " ");
    assert!(text.starts_with("Not answered: the machine drifted while ladder was taken"), "{text}");
    assert!(text.contains("-46.5 % in the mean from the first time; take the"), "{text}");
    let json = plumb(&size, at.path()).with(3).json();
    assert_eq!(
        (&json["sizing"]["answer"], &json["runs"]["repeated"][0]["users"]),
        (&Value::Null, &json!(20))
    );
    let what_if = [&size[..4], &["--what-if", "cores=4"]].concat();
    let text = plumb(&what_if, at.path()).with(3).stdout.replace('\n', " ");
    assert!(text.contains("What if cores=4") && !text.contains("simulated"), "{text}");
    let why = "Not answered: the machine drifted while ladder was taken: the step of 20 users, taken again, \
               differs by +6.6 %";
    assert_eq!(text.matches(why).count(), 2, "said in one way: {text}");
    let asked = [&size[..], &["--what-if", "cores=4", "--saps-like"]].concat();
    let json = plumb(&asked, at.path()).with(3).json();
    assert_eq!(json["what_if"], Value::Null, "{json}");
    let saps_like = json["saps_like"]["Err"].as_str().expect("refused");
    assert!(saps_like.starts_with("the machine drifted"), "{saps_like}");
    write("rate", Value::Null);
    let refused = plumb(&size, at.path()).with(2).stderr;
    assert!(refused.contains("steps a rate"), "{refused}");
}
