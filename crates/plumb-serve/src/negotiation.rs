//! Which of several forms of an answer a client prefers.
//!
//! # Source
//! RFC 9110, sections 12.4.2 and 12.5.1.

use std::cmp::Reverse;

use hyper::HeaderMap;
use hyper::header::ACCEPT;

/// The media types that a client accepts, in the order in which it names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accept(Vec<Range>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    /// In small letters; `*` for any.
    kind: String,
    subtype: String,
    /// From 0, never, to 1,000.
    quality: u16,
}

/// A form in which an answer can be given, by every media type that stands for it.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a, T> {
    /// The form.
    pub form: T,
    /// Its media types in small letters, without parameters.
    pub types: &'a [&'a str],
}

impl Accept {
    /// What `headers` say; a type that cannot be read is left out.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
        Self(lines.flat_map(|line| split(line, ',')).filter_map(Range::parse).collect())
    }

    /// The form of `offers` that the client prefers: that of the highest quality; of equal ones the
    /// one named more exactly, then the one named first, then the one offered first. A client that
    /// names nothing takes the first. `None` when it accepts none of them.
    #[must_use]
    pub fn best<T: Copy>(&self, offers: &[Offer<'_, T>]) -> Option<T> {
        if self.0.is_empty() {
            return offers.first().map(|offer| offer.form);
        }
        let ranked = offers.iter().enumerate().filter_map(|(number, offer)| {
            let best = offer.types.iter().filter_map(|name| self.rank(name)).max()?;
            Some(((best, Reverse(number)), offer.form))
        });
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, form)| form)
    }

    /// How much the type `name` is wanted: its quality, how exactly it is named, and how early.
    /// `None` when it is not.
    fn rank(&self, name: &str) -> Option<(u16, u8, Reverse<usize>)> {
        let (kind, subtype) = name.split_once('/')?;
        let found = self.0.iter().enumerate().filter_map(|(place, range)| {
            Some((range.exactness(kind, subtype)?, range.quality, Reverse(place)))
        });
        // the most exact range says how much; of several as exact, the one that wants it most
        let (exactness, quality, place) = found.max()?;
        (quality > 0).then_some((quality, exactness, place))
    }
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = split(text, ';');
        let name = parts.next()?.trim().to_ascii_lowercase();
        // old clients of Java write a single star
        let (kind, subtype) = if name == "*" { ("*", "*") } else { name.split_once('/')? };
        let token = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"')
        };
        if !token(kind) || !token(subtype) || (kind == "*" && subtype != "*") {
            return None;
        }
        let mut weights = parts.filter_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| thousandths(value.trim()))
        });
        let quality = weights.next().unwrap_or(Some(1_000))?;
        Some(Self { kind: kind.into(), subtype: subtype.into(), quality })
    }

    /// How exactly it names a type: 2 by its whole name, 0 not at all.
    fn exactness(&self, kind: &str, subtype: &str) -> Option<u8> {
        match (self.kind.as_str(), self.subtype.as_str()) {
            ("*", _) => Some(0),
            (own, "*") => (own == kind).then_some(1),
            (own, sub) => (own == kind && sub == subtype).then_some(2),
        }
    }
}

/// A quality, `0.25` or `.25`, in thousandths; `None` when it is none.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if digits.len() > 3 || !plain(digits) || text.is_empty() || text == "." {
        return None;
    }
    let part: u16 = format!("{digits:0<3}").parse().ok()?;
    match whole {
        "" | "0" => Some(part),
        "1" if part == 0 => Some(1_000),
        _ => None,
    }
}

/// The parts of `text` between `separator`s that stand in no quotes.
pub(crate) fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |letter| {
        if escaped {
            escaped = false;
        } else if quoted && letter == '\\' {
            escaped = true;
        } else if letter == '"' {
            quoted = !quoted;
        } else {
            return letter == separator && !quoted;
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OFFERS: [Offer<'static, char>; 2] = [
        Offer { form: 'x', types: &["application/atom+xml", "application/xml", "text/xml"] },
        Offer { form: 'j', types: &["application/json"] },
    ];

    fn best(accept: &str) -> Option<char> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        Accept::of(&headers).best(&OFFERS)
    }

    #[test]
    fn the_highest_quality_wins_wherever_it_stands() {
        for (accept, expected) in [
            ("application/json", Some('j')),
            ("application/atom+xml", Some('x')),
            ("application/json;q=0.2, application/atom+xml;q=0.3", Some('x')),
            ("application/atom+xml;q=0.3, application/json;q=0.4", Some('j')),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Some('x')),
            ("application/json, text/plain, */*", Some('j')),
            ("application/*;q=0.5, application/xml;q=0", Some('x')),
            ("*/*;q=0.1, application/json;odata=verbose", Some('j')),
            ("APPLICATION/JSON ; Q=1.000", Some('j')),
            ("application/atom+xml;type=feed;q=0.9, application/json;q=0.8", Some('x')),
            ("*/*", Some('x')),
            ("text/html, image/gif, *; q=.2, */*; q=.2", Some('x')),
        ] {
            assert_eq!(best(accept), expected, "{accept}");
        }
    }

    #[test]
    fn what_is_not_accepted_is_not_given() {
        for accept in [
            "text/html",
            "application/json;q=0",
            "*/*;q=0",
            "application/xml-json",
            "text/json, not-application/json-at-all",
        ] {
            assert_eq!(best(accept), None, "{accept}");
        }
        assert_eq!(
            best("*/*, application/xml;q=0, application/atom+xml;q=0, text/xml;q=0"),
            Some('j')
        );
    }

    #[test]
    fn what_is_no_type_is_left_out() {
        assert_eq!(best(""), Some('x'));
        assert_eq!(best("json, ;q=1, a/b/c;q=5"), Some('x'));
        assert_eq!(best("application/json;q=2, application/xml;q=0.1"), Some('x'));
        assert_eq!(best("a/b;c=\"application/xml, d/e\", application/json"), Some('j'));
        assert_eq!(Accept::of(&HeaderMap::new()).best(&OFFERS), Some('x'));
    }

    proptest! {
        #[test]
        fn any_header_is_read(text in "[ -~]{0,80}") {
            let _ = best(&text);
        }
    }
}
