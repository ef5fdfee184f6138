//! `plumb flow check` and `plumb flow try` with stylesheets.
//!
//! They find the program as they do where they are installed: beside, or above the folder of tests.

use std::fs;
use std::path::Path;

use plumb_engine::Stop;
use plumb_engine::layer::{Job, Layer as _};
use plumb_flow::Flow;

/// What a verb prints, or why it fails; and whether it has findings.
fn said(words: &[&str]) -> (Result<String, String>, bool) {
    let command = Flow.command().no_binary_name(true);
    let matches = command.try_get_matches_from(words).unwrap();
    let Ok(Job::Verb(mut verb)) = Flow.job(&matches) else { unreachable!("these are verbs") };
    let (mut out, mut progress) = (Vec::new(), Vec::new());
    let done = verb.run(&mut out, &mut progress, &Stop::new().unwrap());
    let out = String::from_utf8(out).unwrap();
    (done.map(|()| out).map_err(|error| error.to_string()), verb.has_findings())
}

#[test]
fn the_example_is_right_and_does_what_it_says() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/flow");
    let transactions = format!("{folder}/xslt");
    let (checked, findings) = said(&["check", &transactions]);
    assert_eq!(checked.unwrap(), "rowsets: sync\n1 checked, nothing found\n");
    assert!(!findings);
    let message = format!("{folder}/order.xml");
    let (tried, _) = said(&["try", "rowsets", &message, "--transactions", &transactions]);
    let tried = tried.unwrap();
    let expected = "\
rows: order = 000001000042, operation = 0010, item = 0001, material = SCREW-M4
  log in line 12: logs order 000001000042, operation 0010: item 0001 is SCREW-M4
";
    assert!(tried.starts_with("xslt in line 4: makes a document of "), "{tried}");
    assert!(tried.contains(expected), "{tried}");
    assert!(tried.ends_with("completed: 200 application/json\n{\"rows\": 3}\n"), "{tried}");
}

#[test]
fn check_names_what_is_wrong_with_stylesheets() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let action = |sheet: &str| format!("[[action]]\nxslt = \"{sheet}\"\n");
    write("absent.toml", &action("absent.xsl"));
    write("broken.toml", &action("broken.xsl"));
    write("broken.xsl", "<xsl:stylesheet>\n<");
    write("latin.toml", &action("latin.xsl"));
    write(
        "latin.xsl",
        "<x:stylesheet version='1.0' xmlns:x='http://www.w3.org/1999/XSL/Transform'>\
         <x:output encoding='ISO-8859-1'/></x:stylesheet>",
    );
    write("outside.toml", &action("../outside.xsl"));
    write("linked.toml", &action("linked.xsl"));
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("linked.xsl")).unwrap();
    let path = folder.path().to_str().unwrap();
    let (checked, findings) = said(&["check", path]);
    let checked = checked.unwrap();
    assert!(findings);
    for expected in [
        "absent.xsl: No such file",
        "broken.toml: broken.xsl: stylesheet, line 1, column 16: Namespace prefix xsl",
        "latin.xsl: it writes ISO-8859-1, expected <xsl:output encoding=\"UTF-8\"/>",
        "outside.toml, line 2, column 8: a stylesheet is a file below the folder of transactions",
        "`linked.xsl` is not below ",
        "5 to mend",
    ] {
        assert!(checked.contains(expected), "{expected}:\n{checked}");
    }
    let (tried, _) = said(&["try", "linked", "-", "--transactions", path]);
    assert!(tried.unwrap_err().contains("`linked.xsl` is not below "));
}

#[test]
fn an_error_names_the_action_and_the_stylesheet() {
    let folder = tempfile::tempdir().unwrap();
    let message = folder.path().join("message.xml");
    fs::write(&message, "<a>").unwrap();
    fs::write(
        folder.path().join("t.toml"),
        "[[action]]\nname = \"rows\"\nxslt = \"rowsets.xsl\"\n",
    )
    .unwrap();
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flow/xslt/rowsets.xsl");
    fs::copy(example, folder.path().join("rowsets.xsl")).unwrap();
    let path = folder.path().to_str().unwrap();
    let (tried, _) = said(&["try", "t", message.to_str().unwrap(), "--transactions", path]);
    let error = tried.unwrap_err();
    assert!(error.starts_with("t: rows: rowsets.xsl: document, line 1, column 4: "), "{error}");
}
