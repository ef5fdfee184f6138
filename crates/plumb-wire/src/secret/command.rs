//! Secrets in command lines, of ours or of a shell, and in files that hold such lines.

use std::ops::Range;

use super::name::is_of_command;
use super::quoted::{Quoted, is_quote};
use super::{Found, MASK, in_header, in_url, masked};

/// The options that give a header line: ours, and that of curl, whose value may stand directly behind it.
const HEADERS: [&str; 2] = ["--header", SHORT];
const SHORT: &str = "-H";

/// The secrets of the header line `Name: value`.
#[must_use]
pub fn in_header_line(line: &str) -> Vec<Found> {
    let Some((name, value)) = line.split_once(':') else { return Vec::new() };
    let start = line.len() - value.trim_start().len();
    moved(in_header(&name.trim().to_ascii_lowercase(), &line[start..]), start)
}

/// The words of a command line without their secrets: those of header lines, of addresses, and of options
/// whose names give them away. A word that is a command line itself loses its own.
#[must_use]
pub fn masked_words(words: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 && names_secret(&words[at - 1]) && !word.starts_with("--") {
            out.push(MASK.to_owned());
            continue;
        }
        if let Some((option, value)) = word.split_once('=')
            && names_secret(option)
            && !value.is_empty()
        {
            out.push(format!("{option}={MASK}"));
            continue;
        }
        let is_line = at > 0 && HEADERS.contains(&words[at - 1].as_str());
        let line = if is_line { Some(word.as_str()) } else { line_of_word(word) };
        let found = line.map(|line| moved(in_header_line(line), word.len() - line.len()));
        let found = found.filter(|found| !found.is_empty()).unwrap_or_else(|| in_commands(word));
        out.push(masked(word, &found));
    }
    out
}

/// True for an option, a dash or two and a name, behind which a secret stands.
fn names_secret(option: &str) -> bool {
    let name = option.strip_prefix('-').map(|name| name.strip_prefix('-').unwrap_or(name));
    name.is_some_and(|name| name.chars().all(is_of_name) && is_of_command(name))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// The header line of a word that is an option and its value: all that stands behind the option, blanks
/// as well.
fn line_of_word(word: &str) -> Option<&str> {
    let [long, short] = HEADERS;
    match word.strip_prefix(long) {
        Some(value) => value.strip_prefix('='),
        None => word.strip_prefix(short).filter(|line| !line.is_empty()),
    }
}

/// The secrets of command lines in `text`, wherever in it they stand: in the value of each option
/// that gives a header line, behind each option and variable whose name gives it away, and in each address.
#[must_use]
pub fn in_commands(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = HEADERS.iter().flat_map(|it| in_options(text, it)).collect();
    let mut named = in_named(text);
    for (at, _) in text.match_indices("://") {
        let url = address(text, at);
        let in_it = moved(in_url(&text[url.clone()]), url.start);
        // where a parameter ends, its address says, and not the word around it
        named.retain(|one| {
            let is_parameter = at < one.at.start && one.at.end <= url.end;
            !(is_parameter && in_it.iter().any(|it| it.at.contains(&one.at.start)))
        });
        found.extend(in_it);
    }
    found.extend(named);
    found.sort_by_key(|one| (one.at.start, one.at.end));
    let mut apart: Vec<Found> = Vec::new();
    for one in found {
        match apart.last_mut() {
            Some(last) if one.at.start < last.at.end || one.at == last.at => {
                last.at.end = last.at.end.max(one.at.end);
            }
            _ => apart.push(one),
        }
    }
    apart
}

/// The secrets of the header lines that each `option` in `text` gives.
fn in_options(text: &str, option: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut quoted = Quoted::start_of(text);
    for (at, _) in text.match_indices(option) {
        let before = text[..at].chars().next_back();
        let begins = before.is_none_or(|c| c.is_whitespace() || is_quote(c));
        if !begins || at < quoted.at() {
            continue;
        }
        quoted.go_to(at);
        let pieces = value_of(text, &mut quoted, option);
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { continue };
        let secrets = moved(in_header_line(&text[first.start..last.end]), first.start);
        if !secrets.is_empty() {
            quoted.skip_to(last.end); // marks in a secret are none of the text
        }
        found.extend(secrets.iter().flat_map(|secret| without_marks(secret, &pieces)));
    }
    found
}

/// The values of options and variables in `text` whose names give a secret away: `--password VALUE`,
/// `--password=VALUE` and `NAME=VALUE`.
fn in_named(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut quoted = Quoted::start_of(text);
    let mut behind = 0;
    let mut outputs: Vec<usize> = Vec::new(); // where those of commands end
    while let Some(begin) = text[behind..].find(is_of_name).map(|length| behind + length) {
        let name = &text[begin..];
        let name = &name[..name.find(|c| !is_of_name(c)).unwrap_or(name.len())];
        let before = text[..begin].chars().next_back();
        behind = begin + name.len();
        let begins =
            before.is_none_or(|c| c.is_whitespace() || is_quote(c) || ";&|({,[".contains(c));
        let is_variable = !name.starts_with('-') && text[behind..].starts_with('=');
        let is_named = if is_variable { is_of_command(name) } else { names_secret(name) };
        if !begins || !is_named || begin < quoted.at() {
            continue;
        }
        quoted.go_to(begin);
        let pieces = if is_variable {
            quoted.skip_to(behind + 1);
            quoted.word(behind + 1)
        } else {
            value_of(text, &mut quoted, name)
        };
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { continue };
        if text[first.start..].starts_with("--") {
            continue; // a switch, and behind it an option
        }
        let mut held: Vec<_> = pieces.iter().filter(|piece| !piece.is_empty()).cloned().collect();
        if let [one] = &mut held[..] {
            *one = with_output(text, one.clone());
            if is_reference(text, one.clone()) {
                // a command whose output it is may have secrets of its own
                outputs.extend(closing(text, one.start));
                continue;
            }
        }
        if let Some(last) = held.last_mut() {
            let ends = outputs.iter().filter(|end| (last.start..last.end).contains(*end));
            last.end = ends.min().copied().unwrap_or(last.end);
        }
        let end = held.last().map_or(last.end, |last| last.end);
        behind = behind.max(end);
        quoted.skip_to(end);
        let held = held.into_iter().filter(|piece| !piece.is_empty());
        found.extend(held.map(|piece| Found::text(name, piece)));
    }
    found
}

/// The piece of a word at `at`; where it begins with the output of a command, `$(...)`, that with all that
/// stands up to its end, and what follows without a blank.
fn with_output(text: &str, at: Range<usize>) -> Range<usize> {
    match closing(text, at.start) {
        Some(end) if at.end <= end => {
            let ends = |c: char| c.is_whitespace() || is_quote(c) || c == '\\';
            let rest = text[end..].find(ends).map_or(text.len(), |length| end + length);
            at.start..rest
        }
        _ => at,
    }
}

/// Where the `)` stands that closes the `$(` at `start`.
fn closing(text: &str, start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let inside = text[start..].strip_prefix('$').filter(|it| it.starts_with('('))?;
    for (length, c) in inside.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(start + 1 + length),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// True where the value at `at` only names what a shell puts there: `$NAME`, `${NAME}` or the output of
/// `$(...)`. In single quotes it stands for itself.
fn is_reference(text: &str, at: Range<usize>) -> bool {
    let Some(named) = text[at.clone()].strip_prefix('$') else { return false };
    let is_name = |name: &str| !name.is_empty() && name.chars().all(is_of_name);
    let braced = named.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    let is_output = || {
        let rest = closing(text, at.start).and_then(|end| text.get(end + 1..at.end));
        rest.is_some_and(|rest| rest.chars().all(|c| ";&|)]},".contains(c)))
    };
    let is_named = braced.map_or_else(|| is_name(named) || is_output(), is_name);
    is_named && !text[..at.start].ends_with('\'')
}

/// What of `secret` stands in the `pieces` of a word, so that the marks between them stay.
fn without_marks<'a>(
    secret: &'a Found,
    pieces: &'a [Range<usize>],
) -> impl Iterator<Item = Found> + 'a {
    let at = &secret.at;
    let empty = at.is_empty().then(|| secret.clone());
    let inside = pieces.iter().map(|piece| piece.start.max(at.start)..piece.end.min(at.end));
    let inside = inside.filter(|at| at.start < at.end);
    empty.into_iter().chain(inside.map(|at| Found::text(secret.name.as_str(), at)))
}

/// The pieces of the value of the `option` that begins where `quoted` is; none when it has no value.
fn value_of(text: &str, quoted: &mut Quoted<'_>, option: &str) -> Vec<Range<usize>> {
    let around = quoted.just_opened();
    let from = quoted.at() + option.len();
    quoted.skip_to(from);
    let alone = around.and_then(|mark| quoted.behind_closing(mark));
    if let Some(behind) = alone {
        quoted.go_to(behind);
    }
    let behind = &text[quoted.at()..];
    let between =
        |c: char| c == ' ' || c == '\t' || if alone.is_some() { c == ',' } else { c == '=' };
    let start = text.len() - behind.trim_start_matches(between).len();
    let attached = start == from && option == SHORT;
    if start == quoted.at() && !attached {
        return Vec::new(); // another option, whose name only begins so
    }
    let is_one_word = (attached || behind.starts_with('=')) && !quoted.is_mark(start);
    match around.filter(|_| alone.is_none() && is_one_word) {
        Some(mark) => quoted.inside(mark, start),
        None => quoted.word(start),
    }
}

/// The address around the `://` at `at`.
fn address(text: &str, at: usize) -> Range<usize> {
    let scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let start = text[..at]
        .rfind(|c| !scheme(c))
        .map_or(0, |before| before + text[before..].chars().next().map_or(1, char::len_utf8));
    let ends = |c: char| c.is_whitespace() || is_quote(c) || matches!(c, '\\' | '<' | '>');
    let end = text[at..].find(ends).map_or(text.len(), |length| at + length);
    start..end
}

fn moved(mut found: Vec<Found>, by: usize) -> Vec<Found> {
    for one in &mut found {
        one.at = one.at.start + by..one.at.end + by;
    }
    found
}

#[cfg(test)]
mod tests;
