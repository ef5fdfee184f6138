//! Properties of Java: keys and values, each with its line.
//!
//! # Source
//! `java.util.Properties.load(Reader)` of the Java platform.

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) key: String,
    pub(super) value: String,
    /// Where it begins, from 1.
    pub(super) line: usize,
}

/// The properties of `text`, in its order; of a key that comes again, the last.
pub(super) fn read(text: &str) -> Vec<Property> {
    let mut found: Vec<Property> = Vec::new();
    let mut lines = (1..).zip(text.split('\n').map(|line| line.trim_end_matches('\r')));
    while let Some((line, first)) = lines.next() {
        let first = first.trim_start_matches(is_space);
        if first.is_empty() || first.starts_with(['#', '!']) {
            continue;
        }
        let mut whole = first.to_owned();
        while goes_on(&whole) {
            whole.pop();
            let Some((_, next)) = lines.next() else { break };
            whole += next.trim_start_matches(is_space);
        }
        let (key, value) = split(&whole);
        let property = Property { key: plain(key), value: plain(value), line };
        found.retain(|known| known.key != property.key);
        found.push(property);
    }
    found
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

/// True for a line whose end is escaped: an odd number of backslashes.
fn goes_on(line: &str) -> bool {
    line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1
}

/// A key ends at the first `=`, `:` or space that is not escaped.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.char_indices().find(|(_, c)| {
        let ends = !escaped && (matches!(c, '=' | ':') || is_space(*c));
        escaped = !escaped && *c == '\\';
        ends
    });
    let Some((end, _)) = end else { return (line, "") };
    let rest = line[end..].trim_start_matches(is_space);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (&line[..end], rest.trim_start_matches(is_space))
}

/// Without escapes.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let unit = match c {
            '\\' => match chars.next() {
                Some('u') => Some(unit(&mut chars)),
                Some('t') => push(&mut out, &mut units, '\t'),
                Some('n') => push(&mut out, &mut units, '\n'),
                Some('r') => push(&mut out, &mut units, '\r'),
                Some('f') => push(&mut out, &mut units, '\u{c}'),
                Some(other) => push(&mut out, &mut units, other),
                None => None,
            },
            c => push(&mut out, &mut units, c),
        };
        units.extend(unit);
    }
    flush(&mut out, &mut units);
    out
}

/// A character behind the units of UTF-16 that came before it.
fn push(out: &mut String, units: &mut Vec<u16>, c: char) -> Option<u16> {
    flush(out, units);
    out.push(c);
    None
}

fn flush(out: &mut String, units: &mut Vec<u16>) {
    out.extend(
        char::decode_utf16(units.drain(..)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)),
    );
}

/// The four digits behind `\u`; others are read as nothing.
fn unit(chars: &mut std::str::Chars<'_>) -> u16 {
    let digits: String = chars.clone().take(4).take_while(char::is_ascii_hexdigit).collect();
    for _ in 0..digits.len() {
        chars.next();
    }
    u16::from_str_radix(&digits, 16).unwrap_or(0xfffd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Vec<(String, String, usize)> {
        read(text).into_iter().map(|one| (one.key, one.value, one.line)).collect()
    }

    fn pair(key: &str, value: &str, line: usize) -> (String, String, usize) {
        (key.into(), value.into(), line)
    }

    #[test]
    fn lines_comments_and_continuations() {
        let text =
            "# c\r\n\n a = b c \r\nkey:\\\n   one,\\\n\ttwo\n! d\nlone\nspace  value=1\na=again";
        assert_eq!(
            pairs(text),
            [
                pair("key", "one,two", 4),
                pair("lone", "", 8),
                pair("space", "value=1", 9),
                pair("a", "again", 10)
            ]
        );
        assert_eq!(pairs("a=b\\\\\nc=d"), [pair("a", "b\\", 1), pair("c", "d", 2)]);
    }

    #[test]
    fn escapes() {
        assert_eq!(
            pairs("a\\=b\\ c = \\u00e9\\ud83d\\ude00\\t\\q\\u12"),
            [pair("a=b c", "\u{e9}\u{1f600}\tq\u{12}", 1)]
        );
        assert_eq!(pairs("a=\\ud83dx\\"), [pair("a", "\u{fffd}x", 1)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(\\PC|\\\\|\\\\u|=|:|\r|\n| ){0,60}") {
            let lines = text.split('\n').count();
            prop_assert!(read(&text).iter().all(|one| one.line <= lines));
        }
    }
}
