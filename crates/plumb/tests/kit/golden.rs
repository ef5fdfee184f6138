//! Texts as they stand in `tests/golden`. `UPDATE_GOLDEN=1` writes them anew.

use std::fs;
use std::path::Path;

/// Compares `got` with the golden file `name`.
pub(crate) fn check(name: &str, got: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, got).expect("the source folder can be written");
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    let longest = got.lines().count().max(expected.lines().count());
    let ended = || std::iter::repeat("(nothing)");
    let pairs = got.lines().chain(ended()).zip(expected.lines().chain(ended())).take(longest);
    let difference = (1..).zip(pairs).find(|(_, (got, expected))| got != expected);
    if let Some((line, (got, expected))) = difference {
        panic!(
            "{} differs in line {line}:\n  expected {expected}\n  got      {got}\n\
             look at it, then write it anew with UPDATE_GOLDEN=1",
            file.display()
        );
    }
}

/// The same text without what is of the moment: a run of digits that does not follow a letter (so
/// not that of `av2`) becomes one `#`, and a line that is a time as C's `ctime` prints it becomes
/// `<time>`.
pub(crate) fn without_figures(text: &str) -> String {
    let mut plain = String::new();
    for line in text.lines() {
        plain += &if is_time(line) { "<time>".into() } else { masked(line) };
        plain.push('\n');
    }
    plain
}

/// `Sun Mar 20 15:13:33 2011`.
fn is_time(line: &str) -> bool {
    let shape: String = line
        .chars()
        .map(|c| match c {
            c if c.is_ascii_digit() => '9',
            c if c.is_alphabetic() => 'a',
            c => c,
        })
        .collect();
    matches!(shape.as_str(), "aaa aaa 99 99:99:99 9999" | "aaa aaa  9 99:99:99 9999")
}

fn masked(line: &str) -> String {
    let mut plain = String::new();
    for c in line.chars() {
        if !c.is_ascii_digit() || plain.ends_with(|before: char| before.is_alphanumeric()) {
            plain.push(c);
        } else if !plain.ends_with('#') {
            plain.push('#');
        }
    }
    plain
}
