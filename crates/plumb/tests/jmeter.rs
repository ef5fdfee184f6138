//! Files of single operations, read by the report generator of JMeter.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

mod kit;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kit::http::ReplyServer;
use kit::not_tried;
use kit::operations::{page, run};
use kit::scenario::{play_in, scenario, with_base};
use kit::{Program, read};
use serde_json::Value;

const NO_JMETER: &str = "PLUMB_TEST_JMETER names none; ./test --full installs it";

/// What the report generator of JMeter makes of `samples.jtl` in `folder`, by label; `None` where there
/// is none.
fn counted_by_jmeter(folder: &Path) -> Option<BTreeMap<String, Value>> {
    let home = std::env::var_os("PLUMB_TEST_JMETER").map(PathBuf::from)?;
    let (place, at) = (home.display(), folder.display());
    let words = [
        "-Djava.awt.headless=true",
        &format!("-Djava.util.prefs.userRoot={at}"),
        &format!("-Djmeter.home={place}"),
        "-cp",
        &format!("{place}/lib/*"),
        "org.apache.jmeter.NewDriver",
        "-d",
        &place.to_string(),
        "-g",
        "samples.jtl",
        "-o",
        "page",
        "-j",
        "jmeter.log",
    ];
    let ended = Program::start_as(Path::new("java"), &words, folder).wait().with(0);
    assert!(folder.join("page/index.html").exists(), "{ended:?}");
    let figures = read(&folder.join("page/statistics.json"));
    Some(serde_json::from_str(&figures).expect("JSON"))
}

#[test]
fn the_report_generator_of_jmeter_counts_the_same() {
    let (folder, record, _) = run(&["--connections=2"]);
    let Some(figures) = counted_by_jmeter(folder.path()) else { return not_tried(NO_JMETER) };
    let total = &figures["Total"];
    assert_eq!(total["sampleCount"], 40);
    let failures = record["results"][0]["failures"]["unexpected-status"].as_u64();
    assert_eq!(total["errorCount"].as_u64(), failures);
    assert_eq!(figures.len(), 3, "two pages and the sum: {figures:?}");
}

#[test]
fn the_report_generator_of_jmeter_tells_the_steps_of_users_apart() {
    let site = ReplyServer::start(page);
    let folder = scenario(&with_base(
        &site,
        "[[scenario]]\nname = \"a\"\nusers = 2\niterations = 3\n[[scenario.step]]\nget = \"/1\"\n\
         [[scenario]]\nname = \"b\"\nusers = 3\niterations = 5\n[[scenario.step]]\nget = \"/gone\"\n",
    ));
    play_in(folder.path(), &["--jtl", "samples.jtl"]).with(1);
    let Some(figures) = counted_by_jmeter(folder.path()) else { return not_tried(NO_JMETER) };
    let counts = |label: &str| [&figures[label]["sampleCount"], &figures[label]["errorCount"]];
    assert_eq!(counts("a GET /1"), [6, 0]);
    assert_eq!(counts("b GET /gone"), [15, 15]);
    assert_eq!(counts("Total"), [21, 15]);
}
