//! Lines of `SECONDS<tab>SESSION<tab>STATEMENT`: for statements of any other source.

use std::io::BufRead;

use crate::lines::numbered_lines;
use crate::{Entry, Logged};

/// Microseconds of a second.
const SECOND_US: f64 = 1e6;
/// Longer is no recording.
const SECONDS_MAX: f64 = 1e9;

/// The statements in `bytes`. Empty lines, and those that begin with `#`, are none.
pub(crate) fn lines(bytes: impl BufRead) -> impl Iterator<Item = Result<Entry, String>> {
    numbered_lines(bytes).map(|line| {
        let (number, line) = line?;
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(Entry::Other);
        }
        read(&line, number).map_err(|complaint| format!("line {number}: {complaint}"))
    })
}

fn read(line: &str, number: u64) -> Result<Entry, String> {
    let mut fields = line.splitn(3, '\t');
    let (Some(seconds), Some(session), Some(text)) = (fields.next(), fields.next(), fields.next())
    else {
        return Err("expected SECONDS, SESSION and STATEMENT with a tab between them, as in \
                    `0.250<tab>7<tab>SELECT 1`"
            .into());
    };
    let at = seconds.trim().parse::<f64>().ok();
    let at = at.filter(|at| at.is_finite() && (0.0..SECONDS_MAX).contains(at));
    let at = at.ok_or("it does not begin with seconds since the beginning, as in 0.250")?;
    #[expect(clippy::cast_possible_truncation, reason = "it is below a thousand million seconds")]
    let at_us = (at * SECOND_US).round() as i64;
    Ok(Entry::Statement(Logged {
        line: number,
        at_us,
        logged_us: at_us,
        session: session.trim().into(),
        text: unescaped(text),
        parameters: Vec::new(),
    }))
}

/// A statement of several lines stands in one: `\n` is a new line, `\t` a tab, `\\` a backslash.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        if next != '\\' {
            out.push(next);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('\\') => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}
