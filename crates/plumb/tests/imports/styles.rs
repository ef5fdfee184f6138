//! No style sheet reaches the elements of another one that is loaded beside it.

use std::collections::BTreeSet;

use super::{files, text};

/// Classes of reports whose styles the app takes over and adds to.
const TAKEN_OVER: [&str; 3] = ["chart", "note", "tiles"];

/// The classes of a sheet: those that a selector of one class alone styles, wherever they stand, and
/// all that any selector names.
#[derive(Debug, Default, PartialEq)]
struct Classes {
    alone: BTreeSet<String>,
    all: BTreeSet<String>,
}

fn classes(sheet: &str) -> Classes {
    let mut found = Classes::default();
    let heads = sheet.split('{').filter_map(|part| part.rsplit(['}', ';']).next());
    let selectors = heads.filter(|head| !head.contains('@')).flat_map(|head| head.split(','));
    for selector in selectors.map(str::trim) {
        let named: Vec<&str> = selector.split('.').skip(1).filter_map(class).collect();
        found.all.extend(named.iter().map(|&name| name.to_owned()));
        if let [name] = named[..]
            && selector.split(':').next() == Some(&format!(".{name}"))
        {
            found.alone.insert(name.to_owned());
        }
    }
    found
}

/// The class that stands before whatever else is in `text`.
fn class(text: &str) -> Option<&str> {
    let end = text.find(|it: char| !it.is_ascii_alphanumeric() && it != '-').unwrap_or(text.len());
    text.starts_with(|it: char| it.is_ascii_alphabetic()).then(|| &text[..end])
}

#[test]
fn no_style_of_one_class_reaches_elements_of_the_app_and_of_reports() {
    let (mut app, mut reports) = (Classes::default(), Classes::default());
    for file in files("css") {
        let found = classes(&text(&file));
        assert!(!found.all.is_empty(), "{} styles no class", file.display());
        let own = file.iter().any(|part| part == "plumb-ui");
        let side = if own { &mut app } else { &mut reports };
        side.alone.extend(found.alone);
        side.all.extend(found.all);
    }
    assert!(app.alone.contains("bar") && reports.alone.contains("chart"), "the sheets were read");
    let both: Vec<&String> = app.alone.intersection(&reports.all).collect();
    assert!(both.is_empty(), "{both:?}: the app styles what is of reports");
    let both: Vec<&String> = reports.alone.intersection(&app.all).collect();
    assert_eq!(both, TAKEN_OVER, "reports style what is of the app");
}

#[test]
fn a_class_of_both_would_be_seen() {
    let found = classes(
        ".a { margin: 1.5px; } .b:hover, p.c, .d .e > .f { top: .1em; }\n@media (max-width: 1px) { .g { top: 0; } }",
    );
    let names = |names: &str| names.chars().map(String::from).collect::<BTreeSet<_>>();
    assert_eq!(found, Classes { alone: names("abg"), all: names("abcdefg") });
}
