//! Paths that differ only by numbers and names of things are one row.

use std::collections::BTreeMap;

use crate::path_part::shape as part;

/// Characters of a shape.
const SHAPE_CHARS: usize = 120;
/// The row of what is asked too seldom to have one of its own.
pub(super) const OTHER: &str = "other paths";

/// The shape of a path: what looks like the number or the key of a thing becomes `*`, and a file by its
/// ending `*.css`.
pub(super) fn shape(target: &str) -> String {
    let path = target.split(['?', ';']).next().unwrap_or_default();
    let mut parts: Vec<String> = path.split('/').map(part).collect();
    if let Some(last) = parts.last_mut()
        && let Some((name, ending)) = last.rsplit_once('.')
        && (1..=5).contains(&ending.len())
        && !name.is_empty()
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        *last = format!("*.{}", ending.to_ascii_lowercase());
    }
    let whole = parts.join("/");
    whole.chars().take(SHAPE_CHARS).collect()
}

/// The rows of `shapes`, each with its method, by how often they were asked: the `most` that are asked
/// most, and one for the others.
pub(super) fn rows<'a>(
    shapes: impl Iterator<Item = (&'a str, String)>,
    most: usize,
) -> Vec<(String, String)> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (method, shape) in shapes {
        *counts.entry((method.to_owned(), shape)).or_default() += 1;
    }
    let mut rows: Vec<((String, String), usize)> = counts.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count)); // of as many the first by name
    let mut kept: Vec<(String, String)> = Vec::new();
    for (number, ((method, shape), _)) in rows.into_iter().enumerate() {
        let row = if number < most { (method, shape) } else { (method, OTHER.to_owned()) };
        if !kept.contains(&row) {
            kept.push(row);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_and_keys_are_one_shape() {
        for (target, expected) in [
            ("/", "/"),
            ("/shop/1234?x=1", "/shop/*"),
            ("/shop/orders/1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed/items", "/shop/orders/*/items"),
            ("/odata/Flights(carrid='LH',connid='0400')/bookings", "/odata/Flights(*)/bookings"),
            ("/static/app.4f3a.CSS", "/static/*.css"),
            ("/v2/users", "/v2/users"),
            ("/page;jsessionid=abc", "/page"),
            ("/api/eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "/api/*"),
        ] {
            assert_eq!(shape(target), expected, "{target}");
        }
    }

    #[test]
    fn what_is_seldom_asked_shares_a_row() {
        let asked = ["/a", "/a", "/b", "/c", "/d"].map(|path| ("GET", path.to_owned()));
        let asked = asked.into_iter().chain([("HEAD", "/e".to_owned())]);
        let rows: Vec<String> =
            rows(asked, 2).into_iter().map(|(method, shape)| format!("{method} {shape}")).collect();
        assert_eq!(rows, ["GET /a", "GET /b", "GET other paths", "HEAD other paths"]);
    }

    proptest! {
        #[test]
        fn any_target_has_a_short_shape(target in "/\\PC{0,200}") {
            prop_assert!(shape(&target).chars().count() <= SHAPE_CHARS);
        }
    }
}
