//! The chapter of commands is what the program says of itself, and every manual page can be made.

use crate::kit;

use kit::golden;

/// Every command, by its words.
const COMMANDS: [&[&str]; 67] = [
    &[],
    &["checkup"],
    &["net", "ping"],
    &["net", "stream"],
    &["net", "serve"],
    &["net", "check"],
    &["net", "delay"],
    &["http", "ping"],
    &["http", "load"],
    &["http", "import"],
    &["http", "record"],
    &["db", "ping"],
    &["db", "replay"],
    &["app", "serve"],
    &["app", "generate"],
    &["flow", "check"],
    &["flow", "try"],
    &["flow", "serve"],
    &["flow", "load"],
    &["flow", "agent"],
    &["flow", "agent", "list"],
    &["flow", "agent", "send"],
    &["flow", "agent", "delete"],
    &["flow", "list"],
    &["flow", "show"],
    &["flow", "retry"],
    &["flow", "drop"],
    &["lock", "serve"],
    &["lock", "load", "pairs"],
    &["lock", "load", "sd"],
    &["lock", "load", "create"],
    &["lock", "load", "destroy"],
    &["lock", "load", "verify"],
    &["lock", "load", "live"],
    &["lock", "witness"],
    &["lock", "promote"],
    &["lock", "watch"],
    &["lock", "status"],
    &["lock", "show"],
    &["lock", "journal", "dump"],
    &["lock", "journal", "verify"],
    &["lock", "journal", "repair"],
    &["host", "watch"],
    &["host", "record"],
    &["host", "serve"],
    &["host", "show"],
    &["host", "idle"],
    &["ab"],
    &["compare"],
    &["baseline", "set"],
    &["baseline", "check"],
    &["baseline", "list"],
    &["baseline", "remove"],
    &["lab", "run"],
    &["lab", "calibrate"],
    &["check"],
    &["size"],
    &["report"],
    &["ui"],
    &["smc", "status"],
    &["smc", "setup"],
    &["remote"],
    &["on"],
    &["paths"],
    &["watch"],
    &["man"],
    &["complete"],
];

fn said(words: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    kit::plumb(words, folder.path()).with(0).stdout
}

#[test]
fn the_chapter_of_commands_is_what_help_says() {
    let mut chapter = String::from(
        "# Commands\n\nWhat `--help` prints, command by command. Sizes and times carry units: `500B`, \
         `64KiB`, `250us`, `2s`.\n",
    );
    for words in COMMANDS {
        let name = [&["plumb"], words].concat().join(" ");
        let help = said(&[words, &["--help"]].concat());
        chapter += &format!("\n## {name}\n\n```text\n{}\n```\n", help.trim_end());
    }
    golden::check("../../../../docs/commands.md", &chapter);
}

#[test]
fn no_command_is_left_out() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    kit::plumb(&["man", "--out", "."], folder.path()).with(0);
    let pages = kit::names_in(folder.path());
    let pages: Vec<&str> = pages.iter().filter_map(|page| page.strip_suffix(".1")).collect();
    let known: Vec<String> =
        COMMANDS.iter().map(|words| [&["plumb"], *words].concat().join("-")).collect();
    for page in &pages {
        let is_group = pages.iter().any(|other| other.starts_with(&format!("{page}-")));
        assert!(is_group || known.iter().any(|name| name == page), "{page}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    for words in COMMANDS {
        let page = said(&[&["man"], words].concat());
        assert!(page.contains(".SH NAME"), "{words:?}: {page}");
    }
}

#[test]
fn completions_know_the_verbs() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(said(&["complete", shell]).contains("ping"), "{shell}");
    }
}
