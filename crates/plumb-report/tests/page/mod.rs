//! What must hold for every page.

use std::collections::BTreeSet;

/// Elements that have no end tag.
const VOID: [&str; 2] = ["!DOCTYPE", "meta"];

/// The page without the script of its charts and without its digest; it carries both once.
pub(crate) fn without_script(page: &str) -> String {
    let (before, rest) = page.split_once("<script>\"use strict\";").expect("a page has its script");
    let (_, after) = rest.split_once("</script>").expect("which ends");
    let (policy, rest) = before.split_once("; script-src 'sha256-").expect("no other may run");
    let (_, before) = rest.split_once('\'').expect("a digest ends");
    format!("{policy}{before}{after}")
}

/// Every element is ended in its place.
pub(crate) fn assert_balanced(page: &str) {
    let page = without_script(page);
    let mut open: Vec<&str> = Vec::new();
    for part in page.split('<').skip(1) {
        let (tag, _) = part.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        if let Some(ended) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(ended), "before {}", &part[..part.len().min(60)]);
        } else if !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Nothing is fetched and nothing of a record runs; links lead to places of the page, which are there
/// once.
pub(crate) fn assert_self_contained(page: &str) {
    let page = &without_script(page);
    for loader in ["<script", "<link", "<iframe", "<img", "src=", "url(", "@import"] {
        assert!(!page.contains(loader), "{loader}");
    }
    assert!(page.contains("default-src 'none'"));
    let ids: Vec<&str> = attributes(page, " id=\"").collect();
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "an id stands twice: {ids:?}");
    for link in attributes(page, " href=\"") {
        let place = link.strip_prefix('#');
        assert!(place.is_some_and(|place| known.contains(place)), "{link} leads nowhere, or away");
    }
}

/// The values of an attribute.
fn attributes<'a>(page: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(start).skip(1).filter_map(|rest| rest.split('"').next())
}
