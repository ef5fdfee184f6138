//! Secrets in command lines, of ours or of a shell, and in files that hold such lines.

use std::ops::Range;

use super::{Found, in_header, in_url, masked};

/// The options that give a header line.
const HEADERS: [&str; 2] = ["--header", "-H"];

/// The secrets of the header line `Name: value`.
#[must_use]
pub fn in_header_line(line: &str) -> Vec<Found> {
    let Some((name, value)) = line.split_once(':') else { return Vec::new() };
    let start = line.len() - value.trim_start().len();
    moved(in_header(&name.trim().to_ascii_lowercase(), &line[start..]), start)
}

/// The words of a command line without their secrets: those of header lines, and of addresses.
/// A word that is a command line itself loses its own.
#[must_use]
pub fn masked_words(words: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_line = at > 0 && HEADERS.contains(&words[at - 1].as_str());
        let found = if is_line { in_header_line(word) } else { in_commands(word) };
        out.push(masked(word, &found));
    }
    out
}

/// The secrets of command lines in `text`, wherever in it they stand: in the value of each option
/// that gives a header line, and in each address.
#[must_use]
pub fn in_commands(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for option in HEADERS {
        for (at, _) in text.match_indices(option) {
            let begins =
                text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || is_quote(c));
            let value = begins.then(|| value_of(text, at + option.len())).flatten();
            found.extend(
                value.into_iter().flat_map(|at| moved(in_header_line(&text[at.clone()]), at.start)),
            );
        }
    }
    for (at, _) in text.match_indices("://") {
        let url = address(text, at);
        let inside = |one: &Found| url.start <= one.at.start && one.at.start < url.end;
        if !found.iter().any(inside) {
            found.extend(moved(in_url(&text[url.clone()]), url.start));
        }
    }
    found.sort_by_key(|one| (one.at.start, one.at.end));
    let mut until = 0;
    found.retain(|one| {
        let apart = one.at.start >= until;
        until = until.max(one.at.end);
        apart
    });
    found
}

/// The value behind an option whose name ends at `from`: between quotation marks, or up to the
/// next blank.
fn value_of(text: &str, from: usize) -> Option<Range<usize>> {
    let behind = &text[from..];
    let start = from + behind.len() - behind.trim_start_matches(['=', ' ', '\t']).len();
    if start == from {
        return None; // another option, whose name only begins so
    }
    // a file may have to write a quotation mark as `\"`
    let marks = text[start..].len() - text[start..].trim_start_matches(['\\', '"', '\'']).len();
    let mark = &text[start..start + marks];
    let start = start + marks;
    let length = match mark {
        "" => text[start..].find(char::is_whitespace),
        mark => text[start..].find(mark),
    };
    Some(start..length.map_or(text.len(), |length| start + length))
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

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

fn moved(mut found: Vec<Found>, by: usize) -> Vec<Found> {
    for one in &mut found {
        one.at = one.at.start + by..one.at.end + by;
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> String {
        masked(text, &in_commands(text))
    }

    #[test]
    fn words_lose_the_secrets_of_headers_and_addresses() {
        let words = [
            "plumb",
            "http",
            "ping",
            "http://h/p?api_key=s3cret&a=1",
            "--header",
            "X-Api-Key: s3cret s3cret",
            "--header",
            "Accept: text/html",
            "--header=sid:s3cret",
            "--header-like=x",
            "postgres://me:s3cret@db/x",
        ];
        let out = masked_words(&words.map(str::to_owned));
        assert_eq!(
            out[3..],
            [
                "http://h/p?api_key=MASKED&a=1",
                "--header",
                "X-Api-Key: MASKED",
                "--header",
                "Accept: text/html",
                "--header=sid:MASKED",
                "--header-like=x",
                "postgres://MASKED@db/x",
            ]
        );
    }

    #[test]
    fn lines_in_lines_and_in_files_lose_them_too() {
        for (line, expected) in [
            (
                "http ping http://h --header 'X-Api-Key: a b' --for 1s",
                "http ping http://h --header 'X-Api-Key: MASKED' --for 1s",
            ),
            (
                "run = \"http ping u --header \\\"X-Token: a b\\\" --for 1s\"",
                "run = \"http ping u --header \\\"X-Token: MASKED\\\" --for 1s\"",
            ),
            (
                "curl -H \"Authorization: Bearer abc\" 'https://h/x?sig=1'",
                "curl -H \"Authorization: Bearer MASKED\" 'https://h/x?sig=MASKED'",
            ),
            ("--header X-Token:abc next", "--header X-Token:MASKED next"),
            ("--header Referer:http://h/?code=1", "--header Referer:http://h/?code=MASKED"),
            ("nothing to see", "nothing to see"),
        ] {
            assert_eq!(text(line), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_masked_once_and_for_all(
            line in r#"(\PC|--header |-H|://|[?&=:'"\\ ]|token|\u{e9}){0,30}"#,
        ) {
            let once = text(&line);
            prop_assert_eq!(text(&once), once.clone());
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let once = masked_words(&words);
            prop_assert_eq!(masked_words(&once), once);
        }

        #[test]
        fn a_secret_is_gone_from_any_command_that_quotes_it(secret in "[a-z0-9]{12,16}") {
            let line = format!("http ping http://h/?token={secret} --header 'X-Api-Key: {secret}'");
            prop_assert!(!text(&line).contains(&secret));
        }
    }
}
