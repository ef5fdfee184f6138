//! What goes on, with what it was begun with and with nothing else.

use std::fs;

use serde_json::Value;

use super::{ALL_COUNT, PRINTED, SCRIPTED, SERVERS, blocks, experiment, folder, order};
use crate::kit::{self, Program, plumb, read};

#[test]
fn an_interrupted_experiment_goes_on_with_the_same_order() {
    let at = folder();
    // the program that measures is the parent of each shell
    let stopping = "echo x >> count; test $(wc -l < count) -ne 11 || kill -INT $PPID; ";
    let text = PRINTED.replace("exec = \"", &format!("exec = \"{stopping}"));
    experiment(at.path(), &text);
    let ended = plumb(&["lab", "run", "x.toml", "--out", "one"], at.path()).with(130);
    assert!(ended.stderr.contains("plumb lab run --resume one"), "{ended:?}");
    let stored = at.path().join("one");
    assert_eq!(blocks(&stored).len(), 10);
    assert_eq!(order(&stored)["cut_short"], "interrupted");
    plumb(&["compare", "one"], at.path()).with(0);

    let ended = plumb(&["lab", "run", "x.toml", "--resume", "one", "--json"], at.path()).with(3);
    let resumed = blocks(&stored);
    assert_eq!(order(&stored)["cut_short"], Value::Null);
    plumb(&["lab", "run", "x.toml", "--out", "two"], at.path()).with(3);
    assert_eq!(resumed, blocks(&at.path().join("two")));
    assert_eq!(ended.json()["design"]["complete_rounds"], 6);

    // what is finished is only compared again
    let count = || read(&at.path().join("count")).lines().count();
    let before = count();
    plumb(&["lab", "run", "--resume", "one"], at.path()).with(3);
    assert_eq!(count(), before);
}

#[test]
fn one_process_at_a_time_works_in_the_folder_of_an_experiment() {
    let at = folder();
    experiment(at.path(), SCRIPTED);
    let script = "touch begun; until test -e go; do sleep 0.01; done; echo 10\n";
    fs::write(at.path().join("figure.sh"), script).expect("writable");
    let running = Program::start(&["lab", "run", "x.toml", "--out", "one"], at.path());
    kit::until(|| at.path().join("begun").exists().then_some(()));
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2).stderr;
    let holder = format!("another process works in one (process {} on ", running.id());
    assert!(refused.contains(&holder), "{refused}");
    fs::write(at.path().join("go"), "").expect("writable");
    running.wait().with(0);
    assert_eq!(blocks(&at.path().join("one")).len(), 12, "nobody else has taken one");
    assert!(!at.path().join("one/.in-use").exists());
    plumb(&["lab", "run", "--resume", "one"], at.path()).with(0);
}

#[test]
fn an_experiment_that_nobody_reads_of_takes_all_of_its_blocks() {
    let at = folder();
    experiment(at.path(), PRINTED);
    let ended = plumb(&["lab", "run", "x.toml", "--out", "one"], at.path());
    assert_eq!(kit::unread(&["lab", "run", "x.toml", "--out", "two"], at.path()), ended.code);
    assert_eq!(blocks(&at.path().join("two")), blocks(&at.path().join("one")));
}

#[test]
fn what_variants_keep_secret_stands_in_no_file_and_goes_on_with_the_experiment_file() {
    let at = folder();
    let text = PRINTED
        .replace("factor = 1", "factor = 1, api_key = 's3cret'")
        .replace("factor = 2", "factor = 2, api_key = 's3cret'")
        .replace("exec = \"", "exec = \": -H 'X-Api-Key: ${api_key}' '-HX-Api-Key: ${api_key}'; ");
    experiment(at.path(), &text);
    plumb(&["lab", "run", "x.toml", "--out", "one"], at.path()).with(3);
    for name in ["experiment.toml", "order.json", "comparison.json", "report.html"] {
        assert!(!read(&at.path().join("one").join(name)).contains("s3cret"), "{name}");
    }
    assert!(read(&at.path().join("one/experiment.toml")).contains("api_key = \"MASKED\""));
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("name the experiment file again"), "{refused:?}");
    plumb(&["lab", "run", "x.toml", "--resume", "one"], at.path()).with(3);
}

#[test]
fn only_the_experiment_that_was_begun_goes_on() {
    let at = folder();
    let path = experiment(at.path(), PRINTED);
    plumb(&["lab", "run", "x.toml", "--out", "one"], at.path()).with(3);
    let changed = PRINTED.replace("[10, 20]", "[10, 30]").replace("rounds = 6", "rounds = 9");
    fs::write(&path, changed).expect("writable");
    let refused = plumb(&["lab", "run", "x.toml", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("rounds was 6 and is 9"), "{refused:?}");
    assert!(refused.stderr.contains("factor.size.levels was [10, 20] and is [10, 30]"));
    let refused = plumb(&["lab", "run", "--resume", "."], at.path()).with(2);
    assert!(refused.stderr.contains(". is no experiment"), "{refused:?}");

    let asked = at.path().join("one/experiment.toml");
    let other =
        PRINTED.replace("factor = 2", "factor = 9").replace("cheap\"", "cheap\"\nafter = \"true\"");
    fs::write(&asked, other).expect("writable");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("variant.dear.set.factor was 2 and is 9"), "{refused:?}");
    assert!(refused.stderr.contains("variant.cheap.after (\"true\") is new"), "{refused:?}");
    fs::write(&asked, PRINTED).expect("writable");

    let file = at.path().join("one/order.json");
    let order = read(&file);
    fs::write(&file, order.replace("plumb.order/2", "plumb.order/9")).expect("writable");
    let refused = plumb(&["compare", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("order.json is not what was written"), "{refused:?}");
    fs::remove_file(at.path().join("one/SHA256SUMS")).expect("it was written");
    for words in [&["lab", "run", "--resume", "one"][..], &["compare", "one"]] {
        let refused = plumb(words, at.path()).with(2);
        assert!(refused.stderr.contains("plumb.order/9"), "{refused:?}");
    }
    fs::write(&file, order.replace("\"size\": \"10\"", "\"size\": \"11\"")).expect("writable");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("do not belong together"), "{refused:?}");
    let version = concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\"");
    fs::write(&file, order.replace(version, "\"version\": \"0.0.9\"")).expect("writable");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("was begun with plumb 0.0.9"), "{refused:?}");

    fs::write(&file, order).expect("writable");
    let block = fs::read_dir(at.path().join("one/blocks")).expect("blocks").flatten().next();
    let run = block.expect("a block").path().join("run.json");
    fs::write(&run, read(&run).replace("plumb.run/1", "plumb.run/9")).expect("writable");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("plumb.run/9"), "{refused:?}");
}

#[test]
fn an_order_of_the_first_form_is_still_compared_and_not_gone_on_with() {
    let at = folder();
    plumb(&["ab", "--exec", "--pairs", "6", "echo 1", "echo 2", "--out", "one"], at.path()).with(0);
    let file = at.path().join("one/order.json");
    let mut order: Value = serde_json::from_str(&read(&file)).expect("JSON");
    order["schema"] = "plumb.order/1".into();
    order["figure"] = "lower".into();
    let keys = order.as_object_mut().expect("an object");
    for key in ["cells", "extent", "asked", "surroundings"] {
        keys.remove(key);
    }
    for block in order["blocks"].as_array_mut().expect("blocks") {
        let block = block.as_object_mut().expect("an object");
        block.remove("cell");
        block.remove("took_ns");
        block.remove("record");
    }
    fs::write(&file, order.to_string()).expect("writable");
    fs::remove_file(at.path().join("one/SHA256SUMS")).expect("it was written");
    let document = plumb(&["compare", "one", "--json"], at.path()).with(0).json();
    assert_eq!(document["contrasts"][0]["endpoints"][0]["verdict"], "worse");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("earlier version"), "{refused:?}");
}

#[test]
fn what_had_failed_is_tried_again_when_its_cause_is_mended() {
    let at = folder();
    let text = SCRIPTED.replace("name = \"two\"", "name = \"two\"\nbefore = \"test -e ready\"");
    experiment(at.path(), &text.replace("sh figure.sh", "echo 10"));
    let ended = plumb(&["lab", "run", "x.toml", "--out", "one"], at.path()).with(3);
    assert!(ended.stderr.contains("it ended early: two failed 3 times"), "{ended:?}");
    let ended = plumb(&["lab", "run", "--resume", "one"], at.path()).with(3);
    assert!(ended.stderr.contains("it ended early: two failed 3 times"), "{ended:?}");
    fs::write(at.path().join("ready"), "").expect("writable");
    let document = plumb(&["lab", "run", "--resume", "one", "--json"], at.path()).with(0).json();
    assert_eq!(document["design"]["complete_rounds"], 6);
    assert_eq!(document["design"]["cut_short"], Value::Null);
}

#[test]
fn an_experiment_goes_on_only_with_the_environment_that_its_commands_name() {
    let at = folder();
    let script = SCRIPTED.replace("sh figure.sh", "echo ${RATE:-10}").replace("${", "$${");
    experiment(at.path(), &script);
    let words = ["lab", "run", "x.toml", "--out", "one"];
    Program::start_told(kit::PLUMB.as_ref(), &words, at.path(), &[("RATE", "10")]).wait().with(0);
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("the variable RATE of the environment was set, and is not"));
    assert!(!read(&at.path().join("one/order.json")).contains("\"RATE\": \"10\""));
    let resume = ["lab", "run", "--resume", "one"];
    Program::start_told(kit::PLUMB.as_ref(), &resume, at.path(), &[("RATE", "10")]).wait().with(0);
}

#[test]
fn an_experiment_goes_on_only_with_the_files_that_it_was_begun_with() {
    let at = folder();
    experiment(at.path(), SCRIPTED);
    let script = at.path().join("figure.sh");
    fs::write(&script, "echo 10\n").expect("writable");
    plumb(&["lab", "run", "x.toml", "--out", "one"], at.path()).with(0);
    assert_eq!(order(&at.path().join("one"))["inputs"][0]["path"], "figure.sh");
    fs::write(&script, "echo 11\n").expect("writable");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("figure.sh was changed: put it back as it was"), "{refused:?}");
    fs::write(&script, "echo 10\n").expect("writable");
    plumb(&["lab", "run", "--resume", "one"], at.path()).with(0);
    fs::remove_file(&script).expect("it was written");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("figure.sh cannot be read"), "{refused:?}");
}

#[test]
fn an_experiment_ends_when_somebody_changes_a_file_that_it_measures_with() {
    let at = folder();
    let text =
        SERVERS.replace("rounds = 2", "rounds = 1000").replace("--lag 10s", "--options o.toml");
    experiment(at.path(), &text);
    let options = at.path().join("o.toml");
    fs::write(&options, "lag = \"10s\"\n").expect("writable");
    let running = Program::start(&ALL_COUNT, at.path());
    while !running.log_line().starts_with("round 1, ") {}
    fs::write(&options, "lag = \"11s\"\n").expect("writable");
    let document = running.wait().with(3).json();
    let reason = document["design"]["cut_short"].as_str().expect("it did not come to its end");
    assert!(reason.starts_with("o.toml was changed while the experiment ran"), "{reason}");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("o.toml was changed"), "{refused:?}");
}

#[test]
fn what_commands_of_the_experiment_change_themselves_is_no_reason_to_end() {
    let at = folder();
    let switch = |figure: u8| format!("before = \"echo echo {figure} > figure.sh\"");
    let text = SCRIPTED
        .replace("name = \"one\"", &format!("name = \"one\"\n{}", switch(1)))
        .replace("name = \"two\"", &format!("name = \"two\"\n{}", switch(2)));
    experiment(at.path(), &text);
    fs::write(at.path().join("figure.sh"), "echo 3\n").expect("writable");
    let document = plumb(&["lab", "run", "x.toml", "--out", "one", "--json"], at.path()).with(0);
    assert_eq!(document.json()["design"]["complete_rounds"], 6);
    assert_eq!(order(&at.path().join("one"))["inputs"], Value::Null);
    plumb(&["lab", "run", "--resume", "one"], at.path()).with(0);
}
