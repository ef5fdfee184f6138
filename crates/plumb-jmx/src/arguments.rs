//! Arguments of requests: a query, a form, or a body as it is written, in the charset that the request
//! names.

use plumb_draft::body::masked_template;
use plumb_scenario::placeholder::{Piece, call_of, pieces};
use plumb_wire::percent::form_encoded;
use plumb_wire::secret::is_secret;

use super::Importer;
use super::element::Element;
use super::scope::Scope;
use super::segment::{Segment, parts};
use super::upload::{BODIES, is_form};

/// Charsets that write the letters of Latin-1 in one byte, the one of their code point.
const LATIN: [&str; 6] =
    ["ISO-8859-1", "ISO8859-1", "ISO_8859-1", "LATIN1", "WINDOWS-1252", "CP1252"];

/// The charset in which the letters of a request are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    Utf8,
    /// One of [`LATIN`].
    Latin(String),
    /// Another one, of which only the letters of ASCII are the same here.
    Other(String),
}

impl Letters {
    fn named(name: &str) -> Self {
        let plain = name.trim().to_ascii_uppercase();
        match plain.as_str() {
            "" | "UTF-8" | "UTF8" => Self::Utf8,
            "WINDOWS-1252" | "CP1252" => Self::Latin("windows-1252".into()),
            plain if LATIN.contains(&plain) => Self::Latin("ISO-8859-1".into()),
            _ => Self::Other(name.trim().to_owned()),
        }
    }

    /// As it stands in a content type.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Latin(name) | Self::Other(name) => name,
        }
    }

    /// True when `text` is written as it is in UTF-8.
    fn are_utf8(&self, text: &str) -> bool {
        *self == Self::Utf8 || text.is_ascii()
    }

    /// True when `text` can be percent-encoded.
    fn have(&self, text: &str) -> bool {
        let is_latin = |c: char| c.is_ascii() || ('\u{a0}'..='\u{ff}').contains(&c);
        self.are_utf8(text) || matches!(self, Self::Latin(_)) && text.chars().all(is_latin)
    }

    /// `text` of a form, decoded and encoded again; `None` where a percent sign in it begins no pair of
    /// digits. What is encoded stays the bytes that it is, in whatever charset they are letters.
    fn encoded_once(&self, text: &str) -> Option<String> {
        let plain = |text: &str| self.percent_encoded(&text.replace('+', " "));
        let mut pieces = text.split('%');
        let mut out = plain(pieces.next()?);
        for piece in pieces {
            let digits = piece.get(..2).filter(|it| it.bytes().all(|b| b.is_ascii_hexdigit()))?;
            let byte = u8::from_str_radix(digits, 16).ok()?;
            out += &match byte.is_ascii() {
                true => form_encoded(char::from(byte).encode_utf8(&mut [0; 4])),
                false => format!("%{byte:02X}"),
            };
            out += &plain(&piece[2..]);
        }
        Some(out)
    }

    fn percent_encoded(&self, text: &str) -> String {
        if self.are_utf8(text) {
            return form_encoded(text);
        }
        let one = |c: char| match u8::try_from(u32::from(c)) {
            Ok(byte @ 0xa0..) => format!("%{byte:02X}"),
            _ => form_encoded(c.encode_utf8(&mut [0; 4])),
        };
        text.chars().map(one).collect()
    }
}

/// Where the arguments of a request stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Query,
    Body,
}

impl Importer {
    /// The charset of `request`.
    pub(super) fn letters(&mut self, request: &Element<'_>, scope: &Scope<'_>) -> Letters {
        let text = scope.property(request, "HTTPSampler.contentEncoding");
        match self.words.known(text) {
            Some(known) => Letters::named(&known),
            None => {
                let why = format!(
                    "its content encoding `{text}` is not known before the load; letters are sent in \
                     UTF-8"
                );
                self.draft.notes.add(request.place(), request.what(), why);
                Letters::Utf8
            }
        }
    }

    /// Why a request cannot be sent in its charset; `None` when it can. What only its variables may
    /// hold is named.
    pub(super) fn unsendable_letters(
        &mut self,
        request: &Element<'_>,
        method: &str,
        letters: &Letters,
    ) -> Option<String> {
        let in_body = is_raw(request, method) || BODIES.contains(&method);
        let is_written_out = in_body && (!has_form(request) || is_form(request));
        let mut later = false;
        for argument in request.arguments() {
            let (name, value) = (argument.text("Argument.name"), argument.text("Argument.value"));
            let texts = match in_body {
                true => [name, value],
                false if argument.flag(ENCODED) => ["", value],
                // a query that is written out stays
                false => continue,
            };
            for text in texts {
                let has_variables = parts(text).iter().any(|it| !matches!(it, Segment::Text(_)));
                let known = self.words.known(text);
                later |= has_variables && known.is_none();
                let whole = known.as_deref().unwrap_or(text);
                let is_carried = match is_written_out || has_variables {
                    true => letters.are_utf8(whole),
                    false => letters.have(whole),
                };
                if !is_carried {
                    let charset = letters.name();
                    return Some(format!(
                        "its letters are sent in {charset}, which is not possible here; the request \
                         is left out"
                    ));
                }
            }
        }
        if later && *letters != Letters::Utf8 {
            let charset = letters.name();
            let why = format!("letters in its variables are sent in UTF-8, and not in {charset}");
            self.draft.notes.add(request.place(), request.what(), why);
        }
        None
    }

    /// The body as it is written, or the arguments as a form.
    pub(super) fn body(&mut self, request: &Element<'_>, letters: &Letters) -> Option<String> {
        let list = request.arguments();
        if list.is_empty() {
            return None;
        }
        if has_form(request) {
            return Some(self.form(request, Form::Body, letters));
        }
        let mut whole = String::new();
        for argument in list {
            let value = argument.text("Argument.value");
            let value = self.words.template(value, request, &mut self.draft.notes);
            whole += &match argument.flag(ENCODED) {
                true => encoded_template(&value, letters),
                false => value,
            };
        }
        Some(masked_template("", &whole, &mut self.secrets))
    }

    /// The arguments as they follow the path `target` of a request by `method`.
    pub(super) fn query(
        &mut self,
        request: &Element<'_>,
        method: &str,
        letters: &Letters,
        target: &str,
    ) -> String {
        let query = self.form(request, Form::Query, letters);
        if query.is_empty() {
            return query;
        }
        if method == "DELETE" {
            let why = "JMeter sends its arguments as a form, too; here they are its query alone";
            self.draft.notes.add(request.place(), request.what(), why);
        }
        Self::query_mark(target) + &query
    }

    /// What stands between the path `target` and a query. Where a variable may hold a query already, the
    /// load asks its value, as JMeter does.
    fn query_mark(target: &str) -> String {
        let mut open = String::new();
        for piece in pieces(target) {
            match piece {
                Piece::Text(text) if text.contains('?') => return "&".into(),
                Piece::Text(_) => {}
                Piece::Placeholder(inner) if may_hold_query(inner) => {
                    open += &format!("${{{inner}}}");
                }
                Piece::Placeholder(_) => {}
            }
        }
        if open.is_empty() { "?".into() } else { format!("${{query-mark({open})}}") }
    }

    /// The arguments as `name=value&name=value`, without those that have no name.
    fn form(&mut self, request: &Element<'_>, place: Form, letters: &Letters) -> String {
        let mut pairs = Vec::new();
        for argument in request.arguments() {
            let written = argument.text("Argument.name");
            if self.has_no_name(&argument) {
                continue;
            }
            let name = self.words.template(written, request, &mut self.draft.notes);
            let value = self.words.template(
                argument.text("Argument.value"),
                request,
                &mut self.draft.notes,
            );
            let encoded = |template: &str, letters| match (argument.flag(ENCODED), place) {
                (true, _) => encoded_template(template, letters),
                (false, Form::Body) => encoded_again(template, letters),
                (false, Form::Query) => template.to_owned(),
            };
            // names in a query are in UTF-8, whatever the request says
            let of_name = if place == Form::Query { &Letters::Utf8 } else { letters };
            let value = if is_secret(written) && !value.is_empty() && !value.contains("${") {
                self.secrets.template(written, &value, " percent-encoded")
            } else {
                encoded(&value, letters)
            };
            let has_equals = argument.given("HTTPArgument.use_equals") != Some("false");
            let sign = if has_equals || !value.is_empty() { "=" } else { "" };
            pairs.push(format!("{}{sign}{value}", encoded(&name, of_name)));
        }
        pairs.join("&")
    }

    /// True of an argument of a form that is not sent: one without a name, such as one whose name is an
    /// empty variable.
    pub(super) fn has_no_name(&self, argument: &Element<'_>) -> bool {
        let name = self.words.known(argument.text("Argument.name"));
        name.is_some_and(|name| name.trim().is_empty())
    }
}

/// The switch of an argument that is not percent-encoded yet.
const ENCODED: &str = "HTTPArgument.always_encode";

/// False where the arguments are a body as it is written: said so, or all without names.
pub(super) fn has_form(request: &Element<'_>) -> bool {
    !request.flag("HTTPSampler.postBodyRaw")
        && request.arguments().iter().any(|argument| !argument.text("Argument.name").is_empty())
}

/// True when the arguments are a body as it is written with a method that usually has none.
pub(super) fn is_raw(request: &Element<'_>, method: &str) -> bool {
    let all_nameless = matches!(method, "GET" | "DELETE") && !has_form(request);
    (request.flag("HTTPSampler.postBodyRaw") || all_nameless) && !request.arguments().is_empty()
}

/// A template with everything in it percent-encoded, what its variables stand for, too.
fn encoded_template(template: &str, letters: &Letters) -> String {
    let encoded = |piece| match piece {
        Piece::Text(text) => letters.percent_encoded(&text.replace("$${", "${")),
        // a number of values needs no encoding
        Piece::Placeholder(inner) if inner.ends_with(":count") || inner.ends_with(":url") => {
            format!("${{{inner}}}")
        }
        Piece::Placeholder(inner) => format!("${{{inner}:url}}"),
    };
    pieces(template).into_iter().map(encoded).collect()
}

/// True when the value of a placeholder may hold a `?`.
fn may_hold_query(inner: &str) -> bool {
    if inner.ends_with(":url") || inner.ends_with(":count") {
        return false;
    }
    // what is drawn or counted holds none
    call_of(inner).is_none() || inner.contains("${") || inner.contains('?')
}

/// A template of a form that is said to be encoded: JMeter puts its variables in, then decodes and
/// encodes it, so that what was not encoded is.
fn encoded_again(template: &str, letters: &Letters) -> String {
    let encoded = |piece| match piece {
        Piece::Text(text) => {
            let text = text.replace("$${", "${");
            letters.encoded_once(&text).unwrap_or(text)
        }
        // a number, or encoded by itself
        Piece::Placeholder(inner) if inner.ends_with(":count") || inner.starts_with("url(") => {
            format!("${{{inner}}}")
        }
        Piece::Placeholder(inner) => format!("${{from-url(${{{inner}}}):url}}"),
    };
    pieces(template).into_iter().map(encoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_encoded_between_encoded_texts() {
        let encoded = |template| encoded_template(template, &Letters::Utf8);
        assert_eq!(encoded("a b${x}c&${l:count}"), "a+b${x:url}c%26${l:count}");
        assert_eq!(encoded("${time(s)} $${a}"), "${time(s):url}+%24%7Ba%7D");
        assert_eq!(encoded("${"), "%24%7B");
    }

    #[test]
    fn what_is_said_to_be_encoded_is_encoded_once() {
        let encoded = |template| encoded_again(template, &Letters::Utf8);
        for (template, expected) in [
            ("a b&c=${x}+d", "a+b%26c%3D${from-url(${x}):url}+d"),
            ("${l:count}${url(${x})}", "${l:count}${url(${x})}"),
            ("a+b%26c%3D%41", "a+b%26c%3DA"),
            ("100%", "100%"),
            ("%+1%C3", "%+1%C3"),
            ("$${a}", "%24%7Ba%7D"),
        ] {
            assert_eq!(encoded(template), expected);
        }
    }

    #[test]
    fn what_is_encoded_already_stays_in_its_charset() {
        for (charset, text, expected) in [
            ("GBK", "%C2%B7 a", "%C2%B7+a"),
            ("ISO-8859-1", "M%C3%BCller", "M%C3%BCller"),
            ("ISO-8859-1", "\u{fc}%fc&", "%FC%FC%26"),
            ("UTF-8", "M%C3%BCller", "M%C3%BCller"),
            ("UTF-8", "M%FCller", "M%FCller"),
        ] {
            assert_eq!(encoded_again(text, &Letters::named(charset)), expected, "{charset}");
        }
    }

    #[test]
    fn letters_are_written_in_the_charset_that_is_named() {
        let latin = Letters::named("latin1");
        assert_eq!((latin.name(), Letters::named(" utf8 ")), ("ISO-8859-1", Letters::Utf8));
        assert_eq!(encoded_template("M\u{fc}ller ${x}", &latin), "M%FCller+${x:url}");
        assert_eq!(encoded_template("M\u{fc}ller", &Letters::Utf8), "M%C3%BCller");
        assert_eq!(Letters::named("cp1252").name(), "windows-1252");
        let other = Letters::named("ISO-8859-15");
        assert!(latin.have("\u{fc}") && !latin.have("\u{20ac}") && !other.have("\u{fc}"));
        assert!(other.have("abc") && !latin.are_utf8("\u{fc}"));
    }
}
