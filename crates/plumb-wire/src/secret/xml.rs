//! Secrets in XML, found without understanding all of it: also in a text that is none.

use std::ops::Range;

use super::{Found, is_secret};

/// `<name ...>value</`, and attributes `name="value"`.
pub(super) fn secrets(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('<').map(|found| at + found + 1) {
        let Some(close) = text[open..].find('>').map(|found| open + found) else { break };
        at = close + 1;
        let tag = &text[open..close];
        let name = tag.split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default();
        let name = name.rsplit(':').next().unwrap_or_default();
        found.extend(in_attributes(text, open..close));
        let end = text[at..].find('<').map_or(text.len(), |found| at + found);
        if is_secret(name) && !text[at..end].trim().is_empty() && !tag.ends_with('/') {
            found.push(Found::text(name, at..end));
        }
    }
    found
}

fn in_attributes(text: &str, tag: Range<usize>) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = tag.start;
    while let Some(equals) = text[at..tag.end].find('=').map(|found| at + found) {
        let before = text[at..equals].trim_end();
        let name = before.rsplit(|c: char| c.is_whitespace() || c == ':').next();
        let quote = text[equals + 1..tag.end].find(['"', '\'']).map(|found| equals + 1 + found);
        let Some(quote) = quote else { break };
        let mark = &text[quote..=quote];
        let Some(end) = text[quote + 1..tag.end].find(mark).map(|found| quote + 1 + found) else {
            break;
        };
        if let Some(name) = name.filter(|name| is_secret(name) && end > quote + 1) {
            found.push(Found::text(name, quote + 1..end));
        }
        at = end + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::masked;
    use super::*;

    #[test]
    fn elements_and_attributes() {
        let mask = |text: &str| masked(text, &secrets(text));
        assert_eq!(
            mask("<a><w:Password t='x'>p q</w:Password><u token=\"q\"/></a>"),
            "<a><w:Password t='x'>MASKED</w:Password><u token=\"MASKED\"/></a>"
        );
        assert_eq!(
            mask("<password/>text<password> </password>"),
            "<password/>text<password> </password>"
        );
    }
}
