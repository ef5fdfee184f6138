//! Every format of every kind of run and comparison, as it stands. `UPDATE_GOLDEN=1` writes them anew.

use crate::comparisons;
use crate::page::without_script;
use crate::records;

use std::fs;
use std::path::Path;

use plumb_comparison::Comparison;
use plumb_measure::RunRecord;
use plumb_page::wrap::WIDTH;
use plumb_report::{comparison, html, markdown, terminal};

#[test]
fn terminal() -> Result<(), String> {
    runs("txt", |record| terminal::render(record, WIDTH))
}

#[test]
fn summaries() -> Result<(), String> {
    const NAMES: [&str; 4] = ["single", "sweep", "refused", "clients"];
    let mut all = records::all().into_iter().filter(|(name, _)| NAMES.contains(name));
    all.try_for_each(|(name, record)| {
        check(&format!("{name}-summary.txt"), &terminal::summary(&record, WIDTH))
    })
}

#[test]
fn markdown() -> Result<(), String> {
    runs("md", markdown::render)
}

#[test]
fn html() -> Result<(), String> {
    runs("html", |record| without_script(&html::render(record)))
}

#[test]
fn comparison_in_a_terminal() -> Result<(), String> {
    comparisons("txt", |record| comparison::terminal(record, WIDTH))
}

#[test]
fn comparison_as_markdown() -> Result<(), String> {
    comparisons("md", comparison::markdown)
}

#[test]
fn comparison_as_html() -> Result<(), String> {
    comparisons("html", |record| without_script(&comparison::html(record)))
}

fn runs(extension: &str, render: fn(&RunRecord) -> String) -> Result<(), String> {
    let mut all = records::all().into_iter();
    all.try_for_each(|(name, record)| check(&format!("{name}.{extension}"), &render(&record)))
}

fn comparisons(extension: &str, render: fn(&Comparison) -> String) -> Result<(), String> {
    let mut all = comparisons::all().into_iter();
    all.try_for_each(|(name, record)| {
        check(&format!("comparison-{name}.{extension}"), &render(&record))
    })
}

fn check(name: &str, got: &str) -> Result<(), String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, got).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    match first_difference(got, &expected) {
        None => Ok(()),
        Some((at, (got, expected))) => Err(format!(
            "{} differs in line {at}:\n  expected {expected}\n  got      {got}\n\
             look at it, then write it anew with UPDATE_GOLDEN=1",
            file.display()
        )),
    }
}

fn first_difference<'a>(got: &'a str, expected: &'a str) -> Option<(usize, (&'a str, &'a str))> {
    let longest = got.lines().count().max(expected.lines().count());
    let ended = std::iter::repeat("(nothing)");
    let pairs = got.lines().chain(ended.clone()).zip(expected.lines().chain(ended)).take(longest);
    (1..).zip(pairs).find(|(_, (got, expected))| got != expected)
}
