//! References are joined to addresses as the crate `url` joins them.

use plumb_wire::http::Url;
use proptest::prelude::*;

use crate::cases::cases;

/// A path of segments that need no encoding, dots among them.
const PATH: &str = "([a-z0-9;=~-]{1,4}|\\.|\\.\\.)(/([a-z0-9;=~-]{0,4}|\\.|\\.\\.)){0,5}";
const QUERY: &str = "(\\?[a-z0-9=&/.;-]{0,8})?";
const FRAGMENT: &str = "(#[a-z/?.]{0,4})?";

fn text(regex: &str) -> impl Strategy<Value = String> + use<> {
    proptest::string::string_regex(regex).expect("a regular expression")
}

fn reference() -> impl Strategy<Value = String> {
    let path = text(&format!("/?{PATH}{QUERY}{FRAGMENT}"));
    let other = text(&format!("(http://b\\.example:81|//c\\.example)/{PATH}{QUERY}"));
    prop_oneof![6 => path, 1 => text(&format!("{QUERY}{FRAGMENT}")), 1 => other]
}

fn base() -> impl Strategy<Value = String> {
    text(&format!("http://a\\.example/{PATH}{QUERY}"))
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn a_reference_leads_where_the_crate_url_says(base in base(), reference in reference()) {
        // ours keeps dots of an address that is given; what is relative to it has none
        let oracle = url::Url::parse(&base).unwrap();
        let ours = Url::parse(oracle.as_str()).unwrap();
        let mut expected = oracle.join(&reference).unwrap();
        expected.set_fragment(None);
        let found = ours.join(&reference).unwrap().to_string();
        // an absolute reference is asked for as it stands
        let found = url::Url::parse(&found).unwrap();
        prop_assert_eq!(found.as_str(), expected.as_str(), "{} at {}", reference, base);
    }
}
