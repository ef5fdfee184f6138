//! `plumb flow`: transactions are checked and tried.

use std::fs;
use std::path::{Path, PathBuf};

use crate::kit::{Ended, plumb};
use tempfile::tempdir;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flow")
}

fn tried(words: &[&str]) -> Ended {
    let folder = examples();
    let folder = folder.display().to_string();
    let message = format!("{folder}/order.xml");
    let fixed = ["flow", "try", "components", &message, "--transactions", &folder];
    plumb(&[&fixed, words].concat(), Path::new("."))
}

#[test]
fn a_message_is_taken_through_a_transaction_action_by_action() {
    let shown = tried(&["--set", "plant=2000"]).with(0).stdout;
    let expected = "components: order = 000001000042, operation = 0010, item = 0001, \
        material = SCREW-M4, quantity = 250, unit = PCE\n  if in line 20: takes branch 1\n    \
        log in line 23: logs order 000001000042 takes 250 PCE of SCREW-M4 in plant 2000\n";
    assert!(shown.starts_with(expected), "{shown}");
    assert!(shown.contains("material = PAINT & PRIMER, quantity = 0.5"), "{shown}");
    assert!(shown.ends_with("completed: 200 application/json\n{\"components\": 3}\n"), "{shown}");
    let short = tried(&["--rows", "1"]).with(0).stdout;
    assert_eq!(short.matches("components: order").count(), 1, "{short}");
    assert!(short.contains("\ncomponents: 3 rows\n"), "{short}");
}

#[test]
fn a_message_that_cannot_be_done_names_the_action_the_place_and_the_cause() {
    let refused = tried(&["--type", "json"]).with(2).stderr;
    assert!(refused.contains("components: components: line 1, column 1: not JSON"), "{refused}");
    let refused = tried(&["--set", "plnt=1"]).with(2).stderr;
    assert!(refused.contains("components has no parameter `plnt`"), "{refused}");
    assert!(tried(&["--set", "plant"]).with(2).stderr.contains("expected NAME=VALUE"));
    let folder = tempdir().expect("a temporary folder");
    let words = ["flow", "try", "component", "none.xml", "--transactions"];
    let known = examples().display().to_string();
    let unknown = plumb(&[&words[..], &[&known]].concat(), folder.path()).with(2).stderr;
    assert!(unknown.contains("did you mean `components`?"), "{unknown}");
    let words = ["flow", "try", "components", "none.xml", "--transactions"];
    let missing = plumb(&[&words[..], &[&known]].concat(), folder.path()).with(2).stderr;
    assert!(missing.contains("cannot read none.xml"), "{missing}");
}

#[test]
fn transactions_of_a_folder_are_checked_together() {
    let right = plumb(&["flow", "check", &examples().display().to_string()], Path::new("."));
    let right = right.with(0).stdout;
    assert!(right.starts_with("components: async; parameters plant\n1 checked"), "{right}");
    let folder = tempdir().expect("a temporary folder");
    let empty = plumb(&["flow", "check", "."], folder.path()).with(2).stderr;
    assert!(empty.contains("holds no transaction"), "{empty}");
    for (name, text) in [
        ("a", "[[action]]\ntransaction = \"bb\"\n"),
        ("b", "[parameters]\nof = {}\n[[action]]\nlog = \"${of}\"\n"),
        ("c", "[[action]]\ntransaction = \"b\"\n"),
        ("d", "[[action]]\ntransaction = \"b\"\nwith = { of = \"\", no = \"\" }\n"),
        ("e", "[[action]]\nlog = \"${x}\"\n"),
    ] {
        fs::write(folder.path().join(format!("{name}.toml")), text).expect("a file");
    }
    let found = plumb(&["flow", "check", "."], folder.path()).with(1).stdout;
    for expected in [
        "a.toml: it calls `bb`, which is not here",
        "c.toml: it calls `b` without its parameter `of`",
        "d.toml: it gives `b` the parameter `no`, which that has not",
        "e.toml, line 2, column 7: nothing gives `x` a value",
        "\n4 to mend\n",
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}
