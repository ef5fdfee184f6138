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
    found.extend(in_named(text));
    for (at, _) in text.match_indices("://") {
        let url = address(text, at);
        let inside = |one: &Found| url.start <= one.at.start && one.at.start < url.end;
        if !found.iter().any(inside) {
            found.extend(moved(in_url(&text[url.clone()]), url.start));
        }
    }
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
        behind = behind.max(last.end);
        quoted.skip_to(last.end);
        let held: Vec<_> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        if let [one] = &held[..]
            && is_reference(text, one.clone())
        {
            continue;
        }
        found.extend(held.into_iter().map(|piece| Found::text(name, piece)));
    }
    found
}

/// True where the value at `at` only names what a shell puts there: `$NAME`, `${NAME}` or the output of
/// `$(...)`. In single quotes it stands for itself.
fn is_reference(text: &str, at: Range<usize>) -> bool {
    let Some(named) = text[at.clone()].strip_prefix('$') else { return false };
    let is_name = |name: &str| !name.is_empty() && name.chars().all(is_of_name);
    let braced = named.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    let is_named = braced.map_or(named.starts_with('(') || is_name(named), is_name);
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
            "--header=X-Api-Key: s3cret s3cret",
            "--header=X-See: http://h/?token=s3cret",
            "-HX-Api-Key: s3cret",
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
                "--header=X-Api-Key: MASKED",
                "--header=X-See: http://h/?token=MASKED",
                "-HX-Api-Key: MASKED",
                "--header-like=x",
                "postgres://MASKED@db/x",
            ]
        );
        let words =
            ["x", "--password", "a b", "--token=a b", "--keep-secrets", "--pin", "0", "-pw"];
        let out = masked_words(&words.map(str::to_owned));
        assert_eq!(out[1..4], ["--password", "MASKED", "--token=MASKED"]);
        assert_eq!(out[4..], words[4..]);
    }

    #[test]
    fn what_follows_the_name_of_a_secret_is_one() {
        for (line, expected) in [
            ("./a --password s3cret -v", "./a --password MASKED -v"),
            ("./a --password=s3cret -v", "./a --password=MASKED -v"),
            ("./a --api-key 's3 cret' -v", "./a --api-key 'MASKED' -v"),
            ("PGPASSWORD=s3cret psql -c 'x'", "PGPASSWORD=MASKED psql -c 'x'"),
            ("exec = \"A=b DB_PASS=s3cret ./a\"", "exec = \"A=b DB_PASS=MASKED ./a\""),
            ("DB_PASS='s3 cret'; ./a", "DB_PASS='MASKED'; ./a"),
            (r#"["a", "--password", "s3cret"]"#, r#"["a", "--password", "MASKED"]"#),
            ("psql postgres://u:s3cret@h/x", "psql postgres://MASKED@h/x"),
            ("./a --password-file p --pin 0", "./a --password-file p --pin 0"),
            ("./a --token --for 1s", "./a --token --for 1s"),
            ("cd $PWD; PWD=/x ./a --password", "cd $PWD; PWD=/x ./a --password"),
            // what only names a secret is none
            ("./a --password \"$PW\" -v", "./a --password \"$PW\" -v"),
            ("PGPASSWORD=${PW} psql", "PGPASSWORD=${PW} psql"),
            ("./a --token=$(cat t)", "./a --token=$(cat t)"),
            ("./a --password '$PW' -v", "./a --password 'MASKED' -v"),
            ("./a --password ${PW:-s3cret}", "./a --password MASKED"),
            ("./a --password $PW.s3cret", "./a --password MASKED"),
        ] {
            assert_eq!(text(line), expected);
        }
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

    #[test]
    fn a_value_is_all_that_a_shell_takes_for_it() {
        for (line, expected) in [
            ("u '--header=X-Api-Key: a b' --for 1s", "u '--header=X-Api-Key: MASKED' --for 1s"),
            (r#""--header=X-Api-Key: a \"b\" c" u"#, r#""--header=X-Api-Key: MASKED" u"#),
            ("u --header='X-Api-Key: a b' u", "u --header='X-Api-Key: MASKED' u"),
            (r"u --header X-Api-Key:\ a\ b u", r"u --header X-Api-Key:MASKED u"),
            ("u --header X-Api-Key:'a b' u", "u --header X-Api-Key:'MASKED' u"),
            (
                r"u --header 'X-Api-Key: a'\''b c' u",
                "u --header 'X-Api-Key: MASKED'MASKED'MASKED' u",
            ),
            ("curl -H'X-Api-Key: a b' u", "curl -H'X-Api-Key: MASKED' u"),
            ("curl -HX-Api-Key:a u", "curl -HX-Api-Key:MASKED u"),
            ("curl -Host:a u", "curl -Host:a u"),
            (r#"["curl", "-H", "X-Api-Key: a b"]"#, r#"["curl", "-H", "X-Api-Key: MASKED"]"#),
            ("$(curl -H 'X-Api-Key: a b')", "$(curl -H 'X-Api-Key: MASKED')"),
            ("curl -H 'X-Api-Key: cut o", "curl -H 'X-Api-Key: MASKED"),
        ] {
            assert_eq!(text(line), expected);
        }
    }

    #[test]
    fn what_stands_around_a_command_is_kept() {
        for (before, behind) in [
            ("run = \"u ", "\"\nx = \"y\""),
            ("run = \"\"\"u ", "\"\"\" # it's"),
            ("run = '''\nu ", "'''"),
            ("run = 'curl \"u\" ", " -v'"),
            ("`u ", "`: no"),
            ("sh -c \"", "\""),
        ] {
            let of = |value: &str| format!("{before}--header X-Token:{value}{behind}");
            assert_eq!(text(&of("a")), of("MASKED"));
        }
        for (before, behind) in [("\"u '", "' -v\" # it's"), (r#""u \""#, r#"\" -v" x"#)] {
            let of = |value: &str| format!("{before}--header=X-Token: {value}{behind}");
            assert_eq!(text(&of("a b")), of("MASKED"));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_masked_once_and_for_all(
            line in r#"(\PC|--header |-H|--token|://|[?&=:'"\\ ]|token|\u{e9}){0,30}"#,
        ) {
            let once = text(&line);
            prop_assert_eq!(text(&once), once.clone());
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let once = masked_words(&words);
            prop_assert_eq!(masked_words(&once), once);
        }

        #[test]
        fn a_secret_is_gone_from_any_command_that_quotes_it(secret in "[a-z0-9]{12,16}") {
            let line = format!(
                "A_TOKEN={secret} http ping http://h/?token={secret} --header 'X-Api-Key: {secret}' \
                 --password '{secret}'"
            );
            prop_assert!(!text(&line).contains(&secret));
        }
    }
}
