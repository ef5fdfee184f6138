//! Fields of a query, or of a form.

/// The first value of `name`; empty where there is none.
pub(crate) fn value(pairs: &[(String, String)], name: &str) -> String {
    let found = pairs.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.clone()).unwrap_or_default()
}

/// All values of `name`.
pub(crate) fn values(pairs: &[(String, String)], name: &str) -> Vec<String> {
    pairs.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
}
