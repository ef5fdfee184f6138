//! Secrets in XML, found without understanding all of it: also in a text that is none.

use std::ops::Range;

use super::{Found, is_secret};

const CDATA: &str = "![CDATA[";
const COMMENT: &str = "!--";

/// `<name ...>value</`, and attributes `name="value"`.
pub(super) fn secrets(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut inside: Option<&str> = None; // the secret element whose own text stands here
    let mut comment: Option<(usize, Option<&str>)> = None; // where it ends, and what it stands in
    let mut at = 0;
    loop {
        let end = comment.map_or(text.len(), |(end, _)| end);
        let open = text[at..end].find('<').map(|length| at + length);
        let piece = at..open.unwrap_or(end);
        found.extend(inside.and_then(|name| value(text, name, piece)));
        let Some(open) = open.map(|open| open + 1) else {
            let Some((_, around)) = comment.take() else { break };
            (at, inside) = (end, around);
            continue;
        };
        let rest = &text[open..end];
        if rest.starts_with(CDATA) {
            at = open + CDATA.len();
            if let Some(name) = inside {
                let length = text[at..end].find("]]>").unwrap_or(end - at);
                found.extend(value(text, name, at..at + length));
                at = (at + length + "]]>".len()).min(end);
            }
        } else if rest.starts_with(COMMENT) && comment.is_none() {
            at = open + COMMENT.len();
            let end = text[at..].find("-->").map_or(text.len(), |length| at + length + "-->".len());
            comment = Some((end, inside.take()));
            let length = text[at..end].find(['<', '>']).unwrap_or(end - at);
            found.extend(in_attributes(text, at..at + length));
        } else {
            let Some(close) = end_of_tag(rest).map(|length| open + length) else {
                at = end; // a comment may go on behind it
                continue;
            };
            at = close + 1;
            let tag = &text[open..close];
            let name = tag.split(|c: char| c.is_whitespace() || c == '/').next();
            let name = name.and_then(|name| name.rsplit(':').next()).unwrap_or_default();
            found.extend(in_attributes(text, open..close));
            inside = (is_secret(name) && !tag.ends_with('/')).then_some(name);
        }
    }
    found
}

/// The text of the secret element `name` at `at`, unless it is blank.
fn value(text: &str, name: &str, at: Range<usize>) -> Option<Found> {
    (!text[at.clone()].trim().is_empty()).then(|| Found::text(name, at))
}

/// The length of a tag: its `>` is the first that stands in no value of an attribute.
fn end_of_tag(rest: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let sign = at + rest[at..].find(['>', '"', '\''])?;
        let mark = &rest[sign..=sign];
        if mark == ">" {
            return Some(sign);
        }
        at = sign + 1;
        if rest[..sign].trim_end().ends_with('=')
            && let Some(length) = rest[at..].find(mark)
            && !rest[at..at + length].contains('<')
        {
            at += length + 1;
        }
    }
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

    #[test]
    fn a_text_may_be_cdata_and_stand_beside_comments() {
        let mask = |text: &str| masked(text, &secrets(text));
        for (text, expected) in [
            ("<pin><![CDATA[7&<b>7]]></pin>", "<pin><![CDATA[MASKED]]></pin>"),
            ("<pin> <!-- x -->\n77</pin>", "<pin> <!-- x -->MASKED</pin>"),
            ("<pin>7<![CDATA[8]]>9</pin>", "<pin>MASKED<![CDATA[MASKED]]>MASKED</pin>"),
            ("<pin><![CDATA[]]></pin><a>b</a>", "<pin><![CDATA[]]></pin><a>b</a>"),
            ("<pin><![CDATA[77", "<pin><![CDATA[MASKED"),
            ("<a><![CDATA[<pin>77</pin>]]></a>", "<a><![CDATA[<pin>MASKED</pin>]]></a>"),
            ("<!-- <pin>77</pin> --><a>b</a>", "<!-- <pin>MASKED</pin> --><a>b</a>"),
            ("<!-- pin='7' --><a/>", "<!-- pin='MASKED' --><a/>"),
            ("<!-- a < b --><pin>7</pin>", "<!-- a < b --><pin>MASKED</pin>"),
        ] {
            assert_eq!(mask(text), expected);
        }
    }

    #[test]
    fn a_value_of_an_attribute_may_hold_the_end_of_a_tag() {
        let mask = |text: &str| masked(text, &secrets(text));
        for (text, expected) in [
            ("<a t=\"x>y\" pin=\"q\"/>", "<a t=\"x>y\" pin=\"MASKED\"/>"),
            ("<a t= 'x>y'><pin a='>'>7</pin>", "<a t= 'x>y'><pin a='>'>MASKED</pin>"),
            ("<p it's=><pin>7</pin><p it's=>", "<p it's=><pin>MASKED</pin><p it's=>"),
            ("<a b='><pin c='d'>7</pin>", "<a b='><pin c='d'>MASKED</pin>"),
        ] {
            assert_eq!(mask(text), expected);
        }
    }
}
