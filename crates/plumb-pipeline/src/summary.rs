//! A verdict in a few lines of Markdown, for a pull request or the summary of a job.

use plumb_page::table::{Column, Table, escaped};

use crate::{Case, State, Verdict};

/// Rows of the table; the others are counted.
const ROWS_MAX: usize = 30;
/// Bytes of the folded details. A comment at GitHub has 65,536 characters.
const DETAILS_MAX: usize = 48 << 10;
/// Characters of what was found.
const FOUND_MAX: usize = 240;

/// The summary: the answer, one table, and everything folded away.
#[must_use]
pub fn render(verdict: &Verdict) -> String {
    let state = verdict.state();
    let mut out = format!("### {}: {}\n\n", escaped(&verdict.title), state.word());
    out += &format!("{}\n\n", escaped(&verdict.sentence));
    // what failed comes first: of many rows the last are left out
    let mut cases: Vec<&Case> = verdict.cases.iter().collect();
    cases.sort_by_key(|case| std::cmp::Reverse(case.state()));
    let several = verdict.groups().len() > 1;
    let mut table =
        Table::new(["verdict", "what", "found"].into_iter().map(Column::words).collect());
    for case in cases.iter().take(ROWS_MAX) {
        table.push(vec![case.state().word().into(), name(case, several), found(case)]);
    }
    if !cases.is_empty() {
        out += &table.markdown();
    }
    if cases.len() > ROWS_MAX {
        out += &format!("\nand {} more, none of them graver.\n", cases.len() - ROWS_MAX);
    }
    out + &details(verdict)
}

fn name(case: &Case, several: bool) -> String {
    if several { format!("{}: {}", case.group, case.name) } else { case.name.clone() }
}

/// Why it did not pass, or what was found.
fn found(case: &Case) -> String {
    let reason = case.reasons().next().filter(|_| case.state() != State::Passed);
    let text = reason.map_or(&case.found, |reason| &reason.text);
    if text.chars().count() <= FOUND_MAX {
        return text.clone();
    }
    text.chars().take(FOUND_MAX).collect::<String>() + "..."
}

fn details(verdict: &Verdict) -> String {
    let mut about = format!("plumb {}, {}", verdict.version, verdict.started);
    if let Some(record) = &verdict.record {
        about += &format!(", `{}`", record.replace('`', "'"));
    }
    let everything = verdict.everything.trim_end();
    if everything.len() > DETAILS_MAX {
        return format!("\n{about}. The whole report is too long for a comment.\n");
    }
    format!("\n<details><summary>All figures</summary>\n\n{everything}\n\n</details>\n\n{about}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grade;
    use crate::testing::{case, verdict};

    #[test]
    fn what_failed_comes_first_and_much_is_left_out() {
        let mut cases: Vec<Case> = (0..ROWS_MAX).map(|at| case(&format!("c{at}"), &[])).collect();
        cases.push(case("worst", &[Grade::Fails]));
        let text = render(&verdict(cases.clone()));
        assert!(text.starts_with("### net ping db1:3298: failed\n"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert!(rows[2].contains("worst") && rows[2].contains("failures \\<&"), "{}", rows[2]);
        assert!(text.contains("and 1 more"), "{text}");
        assert!(text.contains("<summary>All figures</summary>\n\n## All\n"), "{text}");
        let long = Verdict { everything: "x".repeat(DETAILS_MAX + 1), ..verdict(cases) };
        assert!(!render(&long).contains("<details>"));
        assert!(render(&long).len() < 65_536);
    }
}
