//! Bodies and queries without the secrets in them: forms, JSON, XML and multipart.

use std::ops::Range;

use super::secret::{Secrets, is_secret};
use super::template::literal;

/// A value of a text that is a secret.
#[derive(Debug, PartialEq, Eq)]
struct Cut {
    name: String,
    at: Range<usize>,
}

/// How values are written in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Form,
    Json,
    Xml,
    Multipart,
    Other,
}

/// The body `text` of the type `mime` as a template; secrets are variables.
pub(crate) fn masked(mime: &str, text: &str, secrets: &mut Secrets) -> String {
    let (cuts, how) = found(mime, text);
    replaced(text, &cuts, how, secrets)
}

/// The template `text` of the type `mime`; secrets that are written out are variables.
pub(crate) fn masked_template(mime: &str, text: &str, secrets: &mut Secrets) -> String {
    let (mut cuts, how) = found(mime, text);
    cuts.retain(|cut| !text[cut.at.clone()].contains("${"));
    let mut out = text.to_owned();
    // from the end, so that the places before stay where they are
    for cut in cuts.iter().rev() {
        let template = secrets.template(&cut.name, &text[cut.at.clone()], how);
        out.replace_range(cut.at.clone(), &template);
    }
    out
}

/// The secrets of a text, and how each must be written there.
fn found(mime: &str, text: &str) -> (Vec<Cut>, &'static str) {
    let kind = kind(mime, text);
    let cuts = match kind {
        Kind::Form => cuts_of_pairs(text),
        Kind::Json => cuts_of_json(text),
        Kind::Xml => cuts_of_xml(text),
        Kind::Multipart => cuts_of_parts(text),
        Kind::Other => Vec::new(),
    };
    let how = match kind {
        Kind::Form => " percent-encoded",
        Kind::Json => " as it stands between quotation marks of JSON",
        Kind::Xml => " as XML writes it",
        Kind::Multipart | Kind::Other => "",
    };
    (cuts, how)
}

/// The path and query `target` as a template; secrets of the query are variables.
pub(crate) fn masked_target(target: &str, secrets: &mut Secrets) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return literal(target);
    };
    let cuts = cuts_of_pairs(query);
    format!("{}?{}", literal(path), replaced(query, &cuts, " percent-encoded", secrets))
}

/// The path and query `target`, a template; secrets of the query that are written out are
/// variables.
pub(crate) fn masked_target_template(target: &str, secrets: &mut Secrets) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let form = "application/x-www-form-urlencoded";
    format!("{path}?{}", masked_template(form, query, secrets))
}

fn kind(mime: &str, text: &str) -> Kind {
    let mime = mime.to_ascii_lowercase();
    let start = text.trim_start().chars().next();
    if mime.starts_with("application/x-www-form-urlencoded") {
        Kind::Form
    } else if mime.starts_with("multipart/") {
        Kind::Multipart
    } else if mime.contains("json") || matches!(start, Some('{' | '[')) {
        Kind::Json
    } else if mime.contains("xml") || start == Some('<') {
        Kind::Xml
    } else if text.contains('=') && !text.contains(char::is_whitespace) {
        Kind::Form
    } else {
        Kind::Other
    }
}

fn replaced(text: &str, cuts: &[Cut], how: &'static str, secrets: &mut Secrets) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        out += &literal(&text[from..cut.at.start]);
        out += &secrets.template(&cut.name, &text[cut.at.clone()], how);
        from = cut.at.end;
    }
    out + &literal(&text[from..])
}

/// `name=value&name=value`.
fn cuts_of_pairs(text: &str) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut from = 0;
    for pair in text.split('&') {
        if let Some((name, value)) = pair.split_once('=') {
            let start = from + name.len() + 1;
            if is_secret(name) && !value.is_empty() {
                cuts.push(Cut { name: name.into(), at: start..start + value.len() });
            }
        }
        from += pair.len() + 1;
    }
    cuts
}

/// `"name": "value"` and `"name": 1234`, wherever they stand.
fn cuts_of_json(text: &str) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut at = 0;
    while let Some(key) = next_string(text, at) {
        at = key.end + 1;
        let behind = text[at..].trim_start();
        let Some(value) = behind.strip_prefix(':') else { continue };
        if !is_secret(&text[key.clone()]) {
            continue;
        }
        let start = text.len() - value.trim_start().len();
        let at_value = match text[start..].starts_with('"') {
            true => next_string(text, start),
            false => number_at(text, start),
        };
        if let Some(at_value) = at_value.filter(|range| !range.is_empty()) {
            at = at_value.end + usize::from(text[at_value.end..].starts_with('"'));
            cuts.push(Cut { name: text[key].into(), at: at_value });
        }
    }
    cuts
}

/// The inside of the first string of JSON that begins at or behind the byte `from`.
fn next_string(text: &str, from: usize) -> Option<Range<usize>> {
    let start = from + text.get(from..)?.find('"')? + 1;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(start..at),
            _ => {}
        }
    }
    None
}

fn number_at(text: &str, start: usize) -> Option<Range<usize>> {
    let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| start..start + digits)
}

/// `<name ...>value</`, and attributes `name="value"`.
fn cuts_of_xml(text: &str) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('<').map(|found| at + found + 1) {
        let Some(close) = text[open..].find('>').map(|found| open + found) else { break };
        at = close + 1;
        let tag = &text[open..close];
        let name = tag.split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default();
        let name = name.rsplit(':').next().unwrap_or_default();
        cuts.extend(cuts_of_attributes(text, open..close));
        let end = text[at..].find('<').map_or(text.len(), |found| at + found);
        if is_secret(name) && !text[at..end].trim().is_empty() && !tag.ends_with('/') {
            cuts.push(Cut { name: name.into(), at: at..end });
        }
    }
    cuts
}

fn cuts_of_attributes(text: &str, tag: Range<usize>) -> Vec<Cut> {
    let mut cuts = Vec::new();
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
            cuts.push(Cut { name: name.into(), at: quote + 1..end });
        }
        at = end + 1;
    }
    cuts
}

/// Parts `Content-Disposition: form-data; name="..."`, an empty line, the value, the boundary.
fn cuts_of_parts(text: &str) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let Some(boundary) = text.lines().next().filter(|line| line.starts_with("--")) else {
        return cuts;
    };
    let mut at = 0;
    while let Some(part) = text[at..].find(boundary).map(|found| at + found + boundary.len()) {
        let end = text[part..].find(boundary).map_or(text.len(), |found| part + found);
        at = end;
        let inside = &text[part..end];
        let name = inside.split_once("name=\"").and_then(|(_, rest)| rest.split('"').next());
        let head = ["\r\n\r\n", "\n\n"].iter().find_map(|gap| Some(inside.find(gap)? + gap.len()));
        if let (Some(name), Some(head)) = (name, head) {
            let value = inside[head..].trim_end_matches(['\r', '\n']);
            if is_secret(name) && !value.is_empty() {
                let start = part + head;
                cuts.push(Cut { name: name.into(), at: start..start + value.len() });
            }
        }
        if end == text.len() {
            break;
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mask(mime: &str, text: &str) -> String {
        masked(mime, text, &mut Secrets::default())
    }

    #[test]
    fn forms_and_queries() {
        let form = "application/x-www-form-urlencoded";
        assert_eq!(
            mask(form, "user=me&password=a%26b&x=${y}&token="),
            "user=me&password=${password}&x=$${y}&token="
        );
        let target = masked_target("/a${b}?sap-password=x&c=d", &mut Secrets::default());
        assert_eq!(target, "/a$${b}?sap-password=${sap_password}&c=d");
        let target = masked_target_template("/${a}?pwd=x&pin=${b}", &mut Secrets::default());
        assert_eq!(target, "/${a}?pwd=${pwd}&pin=${b}");
    }

    #[test]
    fn json_keeps_its_form() {
        assert_eq!(
            mask(
                "application/json",
                r#"{ "user":"a", "passWord" : "x\"y","pin": 1234 , "n":null}"#
            ),
            r#"{ "user":"a", "passWord" : "${password}","pin": ${pin} , "n":null}"#
        );
        assert_eq!(mask("", r#"[{"token":{"a":1}}]"#), r#"[{"token":{"a":1}}]"#);
    }

    #[test]
    fn a_template_keeps_its_variables() {
        let text = r#"{"user":"${u}","password":"${p}","pin":"1","token":"2"}"#;
        assert_eq!(
            masked_template("", text, &mut Secrets::default()),
            r#"{"user":"${u}","password":"${p}","pin":"${pin}","token":"${token}"}"#
        );
    }

    #[test]
    fn elements_and_attributes_of_xml() {
        assert_eq!(
            mask("text/xml", "<a><w:Password t='x'>p</w:Password><u token=\"q\"/></a>"),
            "<a><w:Password t='x'>${password}</w:Password><u token=\"${token}\"/></a>"
        );
    }

    #[test]
    fn parts() {
        let text = "--X\r\nContent-Disposition: form-data; name=\"pwd\"\r\n\r\nsecret\r\n--X\r\n\
                    Content-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--X--\r\n";
        assert_eq!(mask("multipart/form-data; boundary=X", text), text.replace("secret", "${pwd}"));
    }

    proptest! {
        #[test]
        fn any_text_of_any_kind_keeps_what_is_no_secret(
            text in "(\\PC|[<>\"'=&:{}\\[\\]\r\n-]|pwd|name=\"pwd\"){0,60}",
            mime in prop::sample::select(vec![
                "application/json", "text/xml", "multipart/form-data",
                "application/x-www-form-urlencoded", "",
            ]),
        ) {
            let out = mask(mime, &text);
            if !text.contains("pwd") && !text.contains("$") {
                let masks = out.matches("${").count();
                prop_assert!(masks > 0 || out == text);
            }
        }
    }
}
