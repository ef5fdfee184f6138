//! `plumb host show` from end to end: text, page, Markdown and JSON of the same recordings.

use crate::kit;

use std::fs;
use std::path::Path;

use kit::golden::check;
use kit::{Ended, plumb};
use tempfile::{TempDir, tempdir};

/// A folder with the recordings of these names.
fn folder(names: &[&str]) -> TempDir {
    let folder = tempdir().expect("a temporary folder");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plumb-nmon/tests/fixtures");
    for name in names {
        fs::copy(fixtures.join(name), folder.path().join(name)).expect("it can be copied");
    }
    folder
}

fn show(folder: &TempDir, words: &[&str]) -> Ended {
    plumb(&[&["host", "show"], words].concat(), folder.path())
}

/// The page that `words` write.
fn page(folder: &TempDir, words: &[&str]) -> String {
    show(folder, &[words, &["--html", "page.html"]].concat()).with(0);
    let page = fs::read_to_string(folder.path().join("page.html")).expect("it was written");
    page.replace(&format!("plumb {}", env!("CARGO_PKG_VERSION")), "plumb VERSION")
}

#[test]
fn the_page_of_a_small_recording() {
    let folder = folder(&["small.nmon"]);
    check("host-show.html", &page(&folder, &["small.nmon"]));
}

#[test]
fn the_markdown_and_the_json_of_a_partition() {
    let folder = folder(&["aix-shared.nmon"]);
    let markdown = show(&folder, &["aix-shared.nmon", "--markdown"]).with(0).stdout;
    check("host-show.md", &markdown);
    let json = show(&folder, &["aix-shared.nmon", "--json"]).with(0);
    assert_eq!(json.json()["schema"], "plumb.show/1");
    check("host-show.json", &json.stdout);
}

#[test]
fn several_recordings_share_a_page() {
    let names = ["aix-shared.nmon", "linux-16n.nmon", "small.nmon", "aix-locale.nmon"];
    let folder = folder(&names);
    let page = page(&folder, &names);
    for expected in [
        "4 recordings",
        "<h2 class=\"host\">aix01</h2>",
        "<h2 class=\"host\">host01</h2>",
        "the clock jumped by -3600 s: daylight saving time?",
        "The clock of the host was set meanwhile",
        "Processors of the partition",
        "clock of the host, 2026-11-21",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(page.matches("<script").count() == 1 && !page.contains("LNaN"), "{page}");
}

#[test]
fn figures_that_cannot_be_true_are_named_in_every_form() {
    let folder = folder(&["small.nmon"]);
    let file = "AAA,progname,nmon\nAAA,host,<i>h\nCPU_ALL,CPU,User%,Sys%,Wait%,Idle%\n\
                ZZZZ,T0001,10:00:00,01-MAY-2026\nCPU_ALL,T0001,50,20,0,70\n\
                ZZZZ,T0002,10:00:01,01-MAY-2026\nCPU_ALL,T0002,10,20,0,70\n";
    fs::write(folder.path().join("wrong.nmon"), file).expect("it can be written");
    let text = show(&folder, &["wrong.nmon", "--html", "page.html"]).with(1).stdout;
    for expected in [
        "  check           1 figure cannot be true beside the others, in 10 comparisons\n",
        "  finding         line 5 (CPU_ALL of T0001), User% + Sys% + Wait% + Idle%: 140, expected 99.75",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let page = fs::read_to_string(folder.path().join("page.html")).expect("it was written");
    assert!(page.contains("NOT CONSISTENT"), "{page}");
    assert!(page.contains("&lt;i&gt;h") && !page.contains("<i>h"), "{page}");
    let markdown = show(&folder, &["wrong.nmon", "--markdown"]).with(1).stdout;
    assert!(markdown.contains("**NOT CONSISTENT**: 1 figure cannot be true"), "{markdown}");
    let json = show(&folder, &["small.nmon", "wrong.nmon", "--json"]).with(1).json();
    let findings = |file: usize| {
        json["files"][file]["recordings"][0]["check"]["findings"].as_array().map(Vec::len)
    };
    assert_eq!((findings(0), findings(1)), (Some(0), Some(1)), "{json}");
    let agreed = show(&folder, &["small.nmon"]).with(0).stdout;
    assert!(agreed.contains(" comparisons, nothing found\n"), "{agreed}");
}

#[test]
fn a_recording_without_figures_is_a_page_all_the_same() {
    let folder = folder(&[]);
    fs::write(folder.path().join("empty.nmon"), "AAA,host,idle01\n").expect("it can be written");
    let ended = show(&folder, &["empty.nmon", "--html", "page.html"]).with(3);
    assert!(ended.stderr.contains("empty.nmon: no snapshot in it could be read"), "{ended:#?}");
    let page = fs::read_to_string(folder.path().join("page.html")).expect("it was written");
    assert!(page.contains("Nothing is drawn over time"), "{page}");
    assert!(!page.contains("<svg"), "{page}");
}

/// A log of Windows of the machine `host`, with these rows of Available MBytes, Pages/sec and
/// Processor time.
fn windows(host: &str, rows: &[&str]) -> String {
    let counters =
        [r"Memory\Available MBytes", r"Memory\Pages/sec", r"Processor(_Total)\% Processor Time"];
    let paths: Vec<String> = counters.map(|it| format!(r#""\\{host}\{it}""#)).to_vec();
    let mut log = format!("\"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)\",{}\n", paths.join(","));
    for (at, row) in rows.iter().enumerate() {
        log += &format!("\"11/28/2026 10:00:{:02}.000\",{row}\n", 15 * at);
    }
    log
}

#[test]
fn logs_of_windows_are_drawn_and_stand_side_by_side() {
    let folder = folder(&[]);
    let write = |name: &str, text: String| {
        fs::write(folder.path().join(name), text).expect("it can be written");
    };
    write("node1.csv", windows("MII01", &["5000,10,13.5", "4000,30,15.5", "6000,20,14.5"]));
    write("node2.csv", windows("MII02", &["500,0,93", "400,0,95"]));
    let page = page(&folder, &["node1.csv", "node2.csv"]);
    for expected in [
        "Side by side",
        "Memory: Available MBytes",
        "Memory: Pages/sec",
        "Processor(_Total): % Processor Time",
        "Zero throughout: Memory: Pages/sec.",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    assert_eq!(page.matches("<figcaption").count(), 5, "three charts and two");
    let shown = show(&folder, &["node1.csv", "node2.csv"]).with(0).stdout;
    let rows: Vec<Vec<&str>> = shown
        .lines()
        .take_while(|line| !line.is_empty())
        .map(|it| it.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["counter", "unit", "node1.csv", "node2.csv"], "{shown}");
    let row = ["Memory:", "Available", "MBytes", "MB", "average", "5,000.00", "450.00"];
    assert!(rows.iter().any(|it| *it == row), "{shown}");
    let markdown = show(&folder, &["node1.csv", "node2.csv", "--markdown"]).with(0).stdout;
    assert!(markdown.starts_with("## Side by side\n\n| counter |"), "{markdown}");
    let alone = show(&folder, &["node1.csv"]).with(0).stdout;
    assert!(alone.starts_with("node1.csv\n"), "{alone}");
    let words = ["node1.csv", "--from", "10:00:10", "--to", "10:00:05"];
    let turned = show(&folder, &words).with(0);
    assert!(turned.stderr.contains("taken as one of the next day"), "{turned:#?}");
}

#[test]
fn a_page_that_cannot_be_written_is_refused_with_the_remedy() {
    let folder = folder(&["small.nmon"]);
    let ended = show(&folder, &["small.nmon", "--html", "no/such/folder.html"]).with(2);
    assert!(ended.stderr.contains("name a file in a folder you may write to"), "{ended:#?}");
    let both = show(&folder, &["small.nmon", "--json", "--markdown"]).with(2);
    assert!(both.stderr.contains("cannot be used with"), "{both:#?}");
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_others_are_shown() {
    let folder = folder(&["small.nmon"]);
    fs::write(folder.path().join("notes.txt"), "hello\n").expect("it can be written");
    let names = ["missing.nmon", "notes.txt", "small.nmon"];
    let text = show(&folder, &names).with(2);
    assert!(text.stdout.contains("plumb01, Linux"), "{text:#?}");
    let complaints: Vec<&str> = text.stderr.lines().collect();
    assert_eq!(complaints.len(), 2, "{text:#?}");
    assert!(complaints[0].starts_with("plumb: cannot open missing.nmon: "), "{text:#?}");
    assert!(complaints[1].starts_with("plumb: notes.txt: not an nmon file"), "{text:#?}");
    let json = show(&folder, &[&names[..], &["--json"]].concat()).with(2).json();
    assert_eq!(json["files"].as_array().map(Vec::len), Some(1), "{json}");
    assert_eq!(json["unread"][1]["path"], "notes.txt");
    let none = show(&folder, &["notes.txt", "--json"]).with(2);
    assert_eq!(none.stdout, "");
}

#[test]
fn a_part_of_a_recording_is_summed_up_by_itself() {
    let folder = folder(&["small.nmon"]);
    let words = ["small.nmon", "--json", "--from", "02:57:55", "--to", "2026-11-21T02:57:57"];
    let json = show(&folder, &words).with(0).json();
    let recording = &json["files"][0]["recordings"][0];
    assert_eq!((&recording["snapshots"], &recording["duration_s"]), (&2.into(), &2.0.into()));
    assert_eq!(recording["first"], "2026-11-21T02:57:56");
    let counters = recording["counters"].as_array().expect("a list");
    let received = counters.iter().find(|counter| counter["counter"] == "Network received");
    assert_eq!(received.map(|counter| &counter["average"]), Some(&35.0.into()), "{recording:#}");
    assert_eq!(json["files"][0]["troubles"], serde_json::json!([]), "the rest is not lacking");
    let page = page(&folder, &["small.nmon", "--from", "02:57:55"]);
    assert!(page.contains("3 snapshots"), "{page}");
    let nothing = show(&folder, &["small.nmon", "--from", "09:00"]).with(2).stderr;
    assert!(
        nothing.contains("it goes from 2026-11-21T02:57:54 to 2026-11-21T02:57:58"),
        "{nothing}"
    );
    let wrong = show(&folder, &["small.nmon", "--to", "noon"]).with(2).stderr;
    assert!(wrong.contains("10:30:15"), "{wrong}");
}
