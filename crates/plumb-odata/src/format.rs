//! The forms of answers, and which of them a request asks for.

use hyper::HeaderMap;
use plumb_serve::negotiation::{Accept, Offer};
use plumb_wire::percent::form_decoded;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Atom.
    Atom,
    /// JSON as version 2 writes it.
    Json,
    /// JSON as version 4 writes it.
    Json4,
}

/// Atom, which is what whoever names nothing gets.
const ATOM: Offer<'static, Format> = Offer {
    form: Format::Atom,
    types: &["application/atom+xml", "application/atomsvc+xml", "application/xml", "text/xml"],
};
const JSON: Offer<'static, Format> = Offer { form: Format::Json, types: &["application/json"] };
const JSON_4: Offer<'static, Format> = Offer { form: Format::Json4, types: &["application/json"] };

impl Format {
    /// The form that the option `$format` calls `value`.
    ///
    /// # Errors
    /// What to write instead.
    pub(super) fn named(value: &str) -> Result<Self, String> {
        let name = value.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        match name.as_str() {
            "json" | "application/json" => Ok(Self::Json),
            "atom" | "xml" | "application/atom+xml" | "application/xml" => Ok(Self::Atom),
            _ => Err("write atom, xml or json".into()),
        }
    }

    /// The form of `forms` that a client with these `headers` prefers; `None` when it accepts none.
    #[must_use]
    pub fn accepted(headers: &HeaderMap, forms: &[Self]) -> Option<Self> {
        let offers: Vec<_> = forms
            .iter()
            .map(|form| match form {
                Self::Atom => ATOM,
                Self::Json => JSON,
                Self::Json4 => JSON_4,
            })
            .collect();
        Accept::of(headers).best(&offers)
    }

    /// The form in which errors are told: that of the option `$format` in `query`, else the one that
    /// is accepted, else that of whoever names nothing.
    #[must_use]
    pub fn of_errors(headers: &HeaderMap, query: &str) -> Self {
        let option = query.split('&').find_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            (form_decoded(name)? == "$format").then_some(())?;
            Self::named(form_decoded(value)?.trim()).ok()
        });
        let accepted = || Self::accepted(headers, &[Self::Atom, Self::Json]);
        option.or_else(accepted).unwrap_or(Self::Atom)
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::ACCEPT;

    use super::*;

    #[test]
    fn errors_have_the_form_that_was_asked_for() {
        let form = |accept: &str, query: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            Format::of_errors(&headers, query)
        };
        for (accept, query, expected) in [
            ("application/xml", "$top=x&%24format=json", Format::Json),
            ("application/json", "$format=atom", Format::Atom),
            ("application/json", "$filter=CARRNAME eq 'format=xml'", Format::Json),
            ("application/xml", "$filter=substringof('$format=json',URL)", Format::Atom),
            ("application/xml", "sap-format=json", Format::Atom),
            ("application/json", "$format=yaml", Format::Json),
            ("multipart/mixed", "", Format::Atom),
            ("text/html, application/json;q=0.1", "", Format::Json),
        ] {
            assert_eq!(form(accept, query), expected, "{accept} {query}");
        }
    }
}
