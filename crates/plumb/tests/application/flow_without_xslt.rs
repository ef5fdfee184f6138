//! A runtime on a machine that has no `plumb-xslt`.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::flow_serve::{ORDER, TWO, XML};
use crate::kit::{PLUMB, Program, Server};

/// A transaction that makes another document first.
const STYLED: &str =
    "mode = \"sync\"\n[[action]]\nxslt = \"same.xsl\"\n[[action]]\nrespond = \"styled\"\n";
const SAME: &str = "<xsl:stylesheet version=\"1.0\" \
    xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\">\
    <xsl:template match=\"/\"><xsl:copy-of select=\".\"/></xsl:template></xsl:stylesheet>";
/// What a user reads, wherever it is said.
const REMEDY: &str = "nor in PATH: install libxslt1-dev and libxml2-dev";
/// No folder has programs.
const NO_PATH: [(&str, &str); 1] = [("PATH", "")];

/// `plumb` alone in a folder beside the tests' own, with transactions.
fn alone() -> (TempDir, PathBuf) {
    // a link of the file needs the same file system
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
    let program = folder.path().join("plumb");
    fs::hard_link(PLUMB, &program).expect("it can be linked");
    fs::create_dir(folder.path().join("flows")).expect("it can be written");
    for (name, text) in [("order.toml", ORDER), ("styled.toml", STYLED), ("same.xsl", SAME)] {
        fs::write(folder.path().join("flows").join(name), text).expect("it can be written");
    }
    (folder, program)
}

#[test]
fn only_stylesheets_need_the_program_that_applies_them() {
    let (folder, program) = alone();
    let words = ["flow", "serve", "flows", "--listen", "127.0.0.1:0", "--queue", "queue"];
    let server = Server::ready(Program::start_told(&program, &words, folder.path(), &NO_PATH));
    let told = server.log();
    assert!(told.contains("stylesheets are not applied") && told.contains(REMEDY), "{told}");
    let ask = |path: &str| server.web().ask("POST", path, &[XML], TWO.as_bytes());
    assert_eq!(ask("/runner/order?mode=sync").with(200).text(), "<rows plant=\"1000\">2</rows>");
    let failed = ask("/runner/styled").with(500);
    assert!(failed.text().contains("xslt in line 3: `plumb-xslt` is neither"), "{}", failed.text());
    assert!(failed.text().contains(REMEDY), "{}", failed.text());
}

#[test]
fn what_is_missing_is_told_before_anything_runs() {
    let (folder, program) = alone();
    let words = ["flow", "check", "flows"];
    let checked = Program::start_told(&program, &words, folder.path(), &NO_PATH).wait().with(1);
    let said = format!("{}{}", checked.stdout, checked.stderr);
    assert!(said.contains("order: async"), "{said}");
    assert!(said.contains("styled.toml") && said.contains(REMEDY), "{said}");
}
