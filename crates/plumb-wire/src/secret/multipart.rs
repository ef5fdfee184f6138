//! Secrets in forms of several parts.
//!
//! # Source
//! RFC 7578, section 4; RFC 2046, section 5.1.1.

use super::{Found, is_secret};

/// Between the head of a part and its content; the second as an editor writes it.
const GAPS: [&str; 2] = ["\r\n\r\n", "\n\n"];

/// The contents of the secret fields in `text`. The delimiter is what the first line tells.
pub(super) fn secrets(text: &str) -> Vec<Found> {
    let first = text.lines().find(|line| line.starts_with("--"));
    let Some(delimiter) = first.map(|line| line.trim_end()).filter(|line| line.len() > 2) else {
        return Vec::new();
    };
    let starts = text.match_indices(delimiter).map(|(at, _)| at + delimiter.len());
    let parts = starts.map(|start| {
        let end = text[start..].find(delimiter).map_or(text.len(), |length| start + length);
        (start, &text[start..end])
    });
    parts.filter_map(|(start, part)| in_part(start, part)).collect()
}

/// The content of one part that begins at the byte `start` of its text.
fn in_part(start: usize, part: &str) -> Option<Found> {
    let gaps = GAPS.iter().filter_map(|gap| Some((part.find(gap)?, gap.len())));
    let (head, gap) = gaps.min()?;
    let name = name(&part[..head]).filter(|name| is_secret(name))?;
    let content = &part[head + gap..];
    let content = content.strip_suffix('\n').map_or(content, |line| line.trim_end_matches('\r'));
    let from = start + head + gap;
    (!content.is_empty()).then(|| Found::text(name, from..from + content.len()))
}

/// The field that the head of a part names.
fn name(head: &str) -> Option<&str> {
    let mut lines = head.lines();
    let line = lines.find(|line| line.to_ascii_lowercase().starts_with("content-disposition:"))?;
    let mut parameters = line.split(';').skip(1).filter_map(|each| each.trim().split_once('='));
    let (_, name) =
        parameters.find(|(key, _)| key.trim_end_matches('*').eq_ignore_ascii_case("name"))?;
    Some(name.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::super::{MASK, masked};
    use super::*;

    #[test]
    fn only_the_content_of_secret_fields_goes() {
        for end in ["\r\n", "\n"] {
            let part = |name: &str, content: &str| {
                let head = format!("Content-Disposition: form-data; name=\"{name}\"");
                [format!("--x-1{end}").as_str(), &head, end, end, content, end].concat()
            };
            let body = |secret: &str| {
                part("user", "demo")
                    + &part("password", secret)
                    + &part("pin", "")
                    + "--x-1--"
                    + end
            };
            let found = secrets(&body("s3 cret"));
            assert_eq!(found[0].name, "password");
            assert_eq!(masked(&body("s3 cret"), &found), body(MASK));
        }
        for text in ["", "--", "--\r\n--\r\n", "x", "--x"] {
            assert_eq!(secrets(text), []);
        }
    }
}
