//! Header lines of a call: their names are fixed, their values templates.

use std::collections::BTreeMap;

use plumb_scenario::template::Template;
use plumb_scenario::variables::{Names, Variables};
use plumb_wire::document::Wrong;
use toml::Spanned;

use super::compile::Compiler;
use super::run::written;

/// What says how a message is framed, where it goes and who asks, or has a key of its own: no action sets it.
const FIXED: [(&str, &str); 17] = [
    ("accept-encoding", "answers are not unpacked"),
    ("authorization", "who asks stands in back-ends.toml: `user` and `password-file`"),
    ("connection", "back-ends.toml says it: `keep`"),
    ("content-encoding", "a body is sent as it is"),
    ("content-length", "a body is counted as it is sent"),
    ("content-type", "write `type`"),
    ("expect", "a body is sent at once"),
    ("host", "it is that of the URL in back-ends.toml"),
    ("keep-alive", "back-ends.toml says it: `keep`"),
    ("proxy-authorization", "no proxy is asked"),
    ("proxy-connection", "no proxy is asked"),
    ("te", "a body is counted as it is sent"),
    ("traceparent", "that of the request is passed on"),
    ("tracestate", "that of the request is passed on"),
    ("trailer", "a body is counted as it is sent"),
    ("transfer-encoding", "a body is counted as it is sent"),
    ("upgrade", "calls are of HTTP/1.1"),
];

const NO_VALUE: &str =
    "the value of a header is one line of ASCII; other characters are written ${NAME:url}";

/// Header lines of a call, in the order of their names.
pub(super) type Headers = Vec<(Box<str>, Template)>;

impl Compiler<'_> {
    pub(super) fn headers(
        &mut self,
        given: &BTreeMap<Spanned<String>, Spanned<String>>,
    ) -> Result<Headers, Wrong> {
        let mut headers: Headers = Vec::with_capacity(given.len());
        for (name, value) in given {
            let (text, at) = (name.get_ref().as_str(), name.span());
            if text.is_empty() || !text.bytes().all(is_of_name) {
                return Err(
                    self.wrong(&at, format!("`{}` is no name of a header", text.escape_debug()))
                );
            }
            if let Some((_, why)) = FIXED.iter().find(|(fixed, _)| text.eq_ignore_ascii_case(fixed))
            {
                return Err(self.wrong(&at, format!("`{text}` is not set by a call: {why}")));
            }
            if headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(text)) {
                return Err(self.wrong(&at, format!("`{text}` is there twice")));
            }
            let template = self.template(value)?;
            if !template.texts().all(|text| text.bytes().all(is_of_value)) {
                return Err(self.wrong(&value.span(), NO_VALUE));
            }
            headers.push((text.into(), template));
        }
        Ok(headers)
    }
}

/// The lines with the values of now.
///
/// # Errors
/// A value that would be no header, or another one; it is not repeated.
pub(super) fn lines<'a>(
    headers: &'a Headers,
    names: &Names,
    variables: &Variables,
) -> Result<Vec<(&'a str, String)>, String> {
    let line = |(name, template): &'a (Box<str>, Template)| {
        let value = written(template, names, variables)?;
        if value.bytes().all(is_of_value) {
            Ok((&**name, value))
        } else {
            Err(format!("the header {name} cannot be sent: {NO_VALUE}"))
        }
    };
    headers.iter().map(line).collect()
}

/// `tchar` of RFC 9110, section 5.6.2.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// What a field value holds, without what RFC 9110, section 5.5 calls obsolete.
fn is_of_value(byte: u8) -> bool {
    byte == b'\t' || byte == b' ' || byte.is_ascii_graphic()
}

#[cfg(test)]
mod tests {
    use crate::Transaction;

    fn parsed(headers: &str) -> Result<(), String> {
        let call = "[parameters]\norder = \"\"\n[[action]]\ncall = \"erp\"\ntarget = \"/\"\n";
        let text = format!("{call}headers = {{ {headers} }}\n");
        Transaction::parse("t", &text).map(drop).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn lines_that_no_call_could_send_are_told_with_their_place() {
        for (headers, expected) in [
            ("Host = \"a\"", "line 6, column 13: `Host` is not set by a call"),
            ("\"X A\" = \"a\"", "`X A` is no name of a header"),
            ("X-A = \"a\", x-a = \"b\"", "`x-a` is there twice"),
            ("X-A = \"Zoë\"", "line 6, column 19: the value of a header is one line of ASCII"),
            ("X-A = \"Zoë ${order}\"", "line 6, column 19: the value of a header is one"),
            ("X-A = \"${order:url}\\n\"", "the value of a header is one line of ASCII"),
        ] {
            let wrong = parsed(headers).unwrap_err();
            assert!(wrong.contains(expected), "{headers}: {wrong}");
        }
        parsed("SOAPAction = \"\\\"urn:${order}\\\"\", X-A = \"\", X-B = \"${order}\"").unwrap();
    }
}
