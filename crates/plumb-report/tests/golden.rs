//! Every format of every kind of run, as it stands. `UPDATE_GOLDEN=1` writes them anew.

mod records;

use std::fs;
use std::path::Path;

use plumb_measure::RunRecord;
use plumb_report::{html, markdown, terminal};

#[test]
fn terminal() -> Result<(), String> {
    check("txt", terminal::render)
}

#[test]
fn markdown() -> Result<(), String> {
    check("md", markdown::render)
}

#[test]
fn html() -> Result<(), String> {
    check("html", html::render)
}

fn check(extension: &str, render: fn(&RunRecord) -> String) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, record) in records::all() {
        let file = folder.join(format!("{name}.{extension}"));
        let got = render(&record);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&file, &got).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        if let Some((at, (got, expected))) = first_difference(&got, &expected) {
            return Err(format!(
                "{} differs in line {at}:\n  expected {expected}\n  got      {got}\n\
                 look at it, then write it anew with UPDATE_GOLDEN=1",
                file.display()
            ));
        }
    }
    Ok(())
}

fn first_difference<'a>(got: &'a str, expected: &'a str) -> Option<(usize, (&'a str, &'a str))> {
    let longest = got.lines().count().max(expected.lines().count());
    let ended = std::iter::repeat("(nothing)");
    let pairs = got.lines().chain(ended.clone()).zip(expected.lines().chain(ended)).take(longest);
    (1..).zip(pairs).find(|(_, (got, expected))| got != expected)
}
