//! The headers of a recorded request that a user of a scenario sends, too.

use std::collections::BTreeMap;

use plumb_draft::Secrets;
use plumb_draft::body::masked_target;
use plumb_draft::template::literal;
use plumb_scenario::har::Pair;
use plumb_wire::secret::is_secret;

/// Headers that ask only for what has changed.
const CONDITIONS: [&str; 2] = ["if-none-match", "if-modified-since"];

/// True for a header that asks only for what has changed.
pub(super) fn is_condition(name: &str) -> bool {
    CONDITIONS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The value of the header `name` as a template; what is a secret by its name is a variable.
pub(super) fn value(name: &str, value: &str, secrets: &mut Secrets) -> String {
    // what asks for a token is none
    let asks = ["fetch", "required", ""].iter().any(|word| value.eq_ignore_ascii_case(word));
    if name.eq_ignore_ascii_case("referer") {
        masked_target(value, secrets)
    } else if is_secret(name) && !asks {
        secrets.template(name, value, "")
    } else {
        literal(value)
    }
}

/// Headers by their names, each once: the values of one that came twice are joined.
pub(super) fn joined<'a>(pairs: impl Iterator<Item = &'a Pair>) -> BTreeMap<String, Pair> {
    let mut found: BTreeMap<String, Pair> = BTreeMap::new();
    for pair in pairs {
        found
            .entry(pair.name.to_ascii_lowercase())
            .and_modify(|known| known.value = format!("{}, {}", known.value, pair.value))
            .or_insert_with(|| pair.clone());
    }
    found
}

/// The first value of the header `name`.
pub(super) fn header<'a>(headers: &'a [Pair], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|pair| pair.name.eq_ignore_ascii_case(name));
    found.map(|pair| pair.value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> Pair {
        Pair { name: name.into(), value: value.into() }
    }

    #[test]
    fn what_asks_only_for_changes_is_a_condition() {
        assert!(is_condition("IF-NONE-MATCH") && !is_condition("If-Match"));
    }

    #[test]
    fn tokens_become_variables_and_what_asks_for_one_stays() {
        let mut secrets = Secrets::default();
        assert_eq!(value("X-CSRF-Token", "Fetch", &mut secrets), "Fetch");
        assert_eq!(value("X-CSRF-Token", "abc", &mut secrets), "${x_csrf_token}");
        let referer = value("Referer", "http://h/a?pwd=x&b=c", &mut secrets);
        assert_eq!(referer, "http://h/a?pwd=${pwd}&b=c");
        assert_eq!(value("Accept", "a${b}", &mut secrets), "a$${b}");
    }

    #[test]
    fn what_came_twice_is_joined() {
        let came = [pair("Accept", "a"), pair("accept", "b"), pair("X", "y")];
        let headers = joined(came.iter());
        assert_eq!(headers["accept"], pair("Accept", "a, b"));
    }
}
