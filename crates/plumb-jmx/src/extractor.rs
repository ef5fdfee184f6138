//! Post-processors: what is taken from an answer.

use plumb_draft::note::Notes;
use plumb_draft::template::{literal, variable_name};
use plumb_scenario::file::{Extract, Pick};

use super::element::Element;
use super::words::Words;
use crate::pattern::carried;

/// Where an extractor looks that decodes the character references of HTML in the content.
const UNESCAPED: &str = "unescaped";

/// The variables that `extractors` take from an answer.
pub(super) fn names(extractors: &[Element<'_>]) -> Vec<String> {
    let all = extractors.iter().flat_map(|one| read(one, &mut Notes::default()));
    all.map(|extract| extract.name).collect()
}

/// What `extractor` takes from an answer, with variables as they are written; what it takes from
/// elsewhere is named.
pub(super) fn read(extractor: &Element<'_>, notes: &mut Notes) -> Vec<Extract> {
    if !matches!(extractor.text("Sample.scope"), "" | "all" | "parent") {
        let why = "it looks at something else than the answer itself";
        notes.add(extractor.place(), extractor.what(), why);
        return Vec::new();
    }
    let found = match extractor.kind() {
        "RegexExtractor" => regex(extractor).map(|extract| vec![extract]),
        "JSONPostProcessor" => json(extractor, notes),
        "XPath2Extractor" | "XPathExtractor" => {
            xpath(extractor, notes).map(|extract| vec![extract])
        }
        _ => boundary(extractor).map(|extract| vec![extract]),
    };
    let mut found = found.unwrap_or_else(|why| {
        notes.add(extractor.place(), extractor.what(), why);
        Vec::new()
    });
    for extract in &mut found {
        extract.name = variable_name(&extract.name);
        if extract.pick == Pick::All {
            // nothing found is a list of nothing: a loop over it has no turns
            extract.default = Some(String::new());
        }
    }
    found
}

/// Puts what is known before the load into the places of variables in `extract`, which comes from
/// `extractor`. `None` when it looks for what only the load knows, or with an expression that cannot be
/// carried over, which is named.
pub(super) fn resolved(
    mut extract: Extract,
    extractor: &Element<'_>,
    words: &Words,
    notes: &mut Notes,
) -> Option<Extract> {
    if let Err(why) = resolve(&mut extract, words) {
        let why = format!("`{}` is not extracted: {why}", extract.name);
        notes.add(extractor.place(), extractor.what(), why);
        return None;
    }
    if let Some(default) = extract.default.take() {
        extract.default = words.known(&default);
        if extract.default.is_none() {
            let null = match extract.null.is_some() {
                true => ", and a `null` is that text",
                false => "",
            };
            let why = format!(
                "its default `{default}` is not known before the load; a step that finds nothing \
                 fails{null}"
            );
            notes.add(extractor.place(), extractor.what(), why);
        }
    }
    extract.null = extract.null.and_then(|null| words.known(&null));
    if is_sought_in_decoded(&extract) {
        let why = "JMeter decodes character references (`&quot;`) before it looks, here they are decoded in \
                   what is found";
        notes.add(extractor.place(), extractor.what(), why);
    }
    Some(extract)
}

fn resolve(extract: &mut Extract, words: &Words) -> Result<(), String> {
    let Extract { json, regex, xpath, template, between, .. } = extract;
    let known = |text: &str| {
        words.known(text).ok_or_else(|| format!("`{text}` is not known before the load"))
    };
    for text in [template, &mut *regex].into_iter().flatten() {
        *text = known(text)?;
    }
    let between = between.iter_mut().flatten();
    for text in [json, xpath].into_iter().flatten().chain(between) {
        *text = literal(&known(text)?);
    }
    if let Some(regex) = regex {
        *regex = carried(regex)?;
    }
    Ok(())
}

/// True when the characters that `extract` looks for may stand as references in the page: JMeter looks
/// for them when those are decoded.
fn is_sought_in_decoded(extract: &Extract) -> bool {
    let between = extract.between.iter().flatten();
    let mut texts = extract.regex.iter().chain(between);
    extract.html && texts.any(|text| text.contains(['&', '<', '>', '"', '\'']))
}

fn regex(extractor: &Element<'_>) -> Result<Extract, String> {
    let written = extractor.text("RegexExtractor.regex");
    let from = extractor.text("RegexExtractor.useHeaders");
    let (header, regex) = match from {
        "" | "false" | UNESCAPED => (None, written.to_owned()),
        "true" => {
            let (name, rest) = header_rule(written)
                .ok_or("its expression does not begin with the name of a header and a colon")?;
            (Some(name), rest)
        }
        other => return Err(format!("it looks at `{other}` and not at the content or a header")),
    };
    let template = extractor.text("RegexExtractor.template");
    Ok(Extract {
        name: name(extractor, "RegexExtractor.refname")?,
        header,
        regex: Some(regex),
        template: (!matches!(template, "" | "$1$")).then(|| template.to_owned()),
        html: from == UNESCAPED,
        pick: pick(extractor.text("RegexExtractor.match_number"))?,
        default: default(extractor, "RegexExtractor.default"),
        ..Extract::default()
    })
}

/// `Location: (.+)` becomes the header and what is looked for in its value.
fn header_rule(regex: &str) -> Option<(String, String)> {
    let regex = regex.strip_prefix("(?i)").unwrap_or(regex);
    let (name, rest) = regex.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    let rest = ["\\s*", "\\s+", "\\s", " *", " +", " "]
        .iter()
        .find_map(|gap| rest.strip_prefix(gap))
        .unwrap_or(rest);
    Some((name.to_owned(), rest.to_owned()))
}

fn json(extractor: &Element<'_>, notes: &mut Notes) -> Result<Vec<Extract>, String> {
    let list = |name: &str| -> Vec<&str> {
        let text = extractor.text(name);
        if text.is_empty() { Vec::new() } else { text.split(';').map(str::trim).collect() }
    };
    let names = list("JSONPostProcessor.referenceNames");
    let paths = list("JSONPostProcessor.jsonPathExprs");
    let numbers = list("JSONPostProcessor.match_numbers");
    let defaults = extractor.text("JSONPostProcessor.defaultValues");
    let defaults: Vec<&str> = defaults.split(';').collect(); // a blank is one
    if names.is_empty() || names.len() != paths.len() {
        return Err("it has not as many paths as names".into());
    }
    if extractor.flag("JSONPostProcessor.compute_concat") {
        let why = "its variable NAME_ALL, all values with commas between, is not made";
        notes.add(extractor.place(), extractor.what(), why);
    }
    let each = names.iter().zip(&paths).enumerate();
    each.map(|(at, (name, path))| {
        if name.is_empty() {
            return Err("one of its names is empty".into());
        }
        // what it does not find, and a `null`, is the empty text, where it has no default
        let default = Some(defaults.get(at).copied().unwrap_or_default().to_owned());
        Ok(Extract {
            name: (*name).to_owned(),
            json: Some(rooted(path)),
            null: default.clone(),
            pick: pick(numbers.get(at).copied().unwrap_or_default())?,
            default,
            ..Extract::default()
        })
    })
    .collect()
}

/// The path with the `$` that JMeter adds where there is none.
fn rooted(path: &str) -> String {
    if path.is_empty() || path.starts_with(['$', '@']) { path.into() } else { format!("$.{path}") }
}

fn xpath(extractor: &Element<'_>, notes: &mut Notes) -> Result<Extract, String> {
    // the older of two elements has the same properties under its own name
    let own =
        if extractor.kind() == "XPathExtractor" { "XPathExtractor" } else { "XPathExtractor2" };
    let key = |name: &str| format!("{own}.{name}");
    if extractor.flag(&key("fragment")) {
        return Err("it takes whole pieces of the document, and here only their text is".into());
    }
    if extractor.flag(&key("tolerant")) {
        let why = "it mends a page that is no XML; here nothing is found in one";
        notes.add(extractor.place(), extractor.what(), why);
    }
    if !extractor.text(&key("namespaces")).trim().is_empty() {
        let why = "its prefixes are taken as the document declares them";
        notes.add(extractor.place(), extractor.what(), why);
    }
    Ok(Extract {
        name: name(extractor, &key("refname"))?,
        xpath: Some(extractor.text(&key("xpathQuery")).to_owned()),
        pick: match extractor.text(&key("matchNumber")).trim() {
            // it takes all, and the first under the name alone
            "" if own == "XPathExtractor" => Pick::First,
            number => pick(number)?,
        },
        default: default(extractor, &key("default")),
        ..Extract::default()
    })
}

fn boundary(extractor: &Element<'_>) -> Result<Extract, String> {
    let from = extractor.text("BoundaryExtractor.useHeaders");
    if !matches!(from, "" | "false" | UNESCAPED) {
        return Err("it does not look at the content".into());
    }
    let between = ["BoundaryExtractor.lboundary", "BoundaryExtractor.rboundary"]
        .map(|name| extractor.text(name).to_owned());
    if between.iter().all(String::is_empty) {
        return Err("both of its boundaries are empty".into());
    }
    Ok(Extract {
        name: name(extractor, "BoundaryExtractor.refname")?,
        between: Some(between),
        html: from == UNESCAPED,
        pick: pick(extractor.text("BoundaryExtractor.match_number"))?,
        default: default(extractor, "BoundaryExtractor.default"),
        ..Extract::default()
    })
}

fn name(extractor: &Element<'_>, property: &str) -> Result<String, String> {
    let name = extractor.text(property).trim();
    if name.is_empty() { Err("it names no variable".into()) } else { Ok(name.to_owned()) }
}

/// The default; an empty one counts only where the plan says so.
fn default(extractor: &Element<'_>, property: &str) -> Option<String> {
    let kind = extractor.kind();
    let empty_counts = extractor.flag(&format!("{kind}.default_empty_value"));
    let text = extractor.text(property);
    (empty_counts || !text.is_empty()).then(|| text.to_owned())
}

/// Which of the matches: below 0 all, 0 one at random, as where none is named.
fn pick(number: &str) -> Result<Pick, String> {
    match number.trim() {
        "1" => Ok(Pick::First),
        "" | "0" => Ok(Pick::Random),
        number if number.starts_with('-') => Ok(Pick::All),
        number => match number.parse() {
            Ok(number @ 1..=1_000_000_000) => Ok(Pick::Number(number)),
            _ => Err(format!("`{number}` is no number of a match")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::read as tree;

    fn of(kind: &str, properties: &[(&str, &str)]) -> (Vec<Extract>, Vec<String>) {
        let inside: String = properties
            .iter()
            .map(|(name, value)| format!("<stringProp name='{name}'>{value}</stringProp>"))
            .collect();
        let tree = tree(&format!("<hashTree><{kind} testname='e'>{inside}</{kind}></hashTree>"));
        let mut notes = Notes::default();
        let tree = tree.unwrap();
        let element = Element::of_tree(&tree)[0];
        let mut words = Words::default();
        words.define("field", "csrf");
        let found = read(&element, &mut notes);
        let found = found.into_iter();
        let found = found.filter_map(|it| resolved(it, &element, &words, &mut notes)).collect();
        (found, notes.sorted().iter().map(ToString::to_string).collect())
    }

    fn of_regex(regex: &str, headers: &str) -> (Vec<Extract>, Vec<String>) {
        of(
            "RegexExtractor",
            &[
                ("RegexExtractor.refname", "a.b"),
                ("RegexExtractor.regex", regex),
                ("RegexExtractor.useHeaders", headers),
                ("RegexExtractor.template", "$1$-$2$"),
                ("RegexExtractor.match_number", "2"),
                ("RegexExtractor.default", "NONE"),
            ],
        )
    }

    #[test]
    fn expressions_look_at_the_content_or_a_header() {
        let extract = of_regex("x=(.+?),(.)", "false").0.remove(0);
        assert_eq!(extract.name, "a_b");
        assert_eq!(extract.regex.as_deref(), Some("x=(.+?),(.)"));
        assert_eq!(extract.template.as_deref(), Some("$1$-$2$"));
        assert_eq!((extract.pick, extract.default.as_deref()), (Pick::Number(2), Some("NONE")));
        let extract = of_regex("(?i)Location:\\s*(.+)", "true").0.remove(0);
        assert_eq!(extract.header.as_deref(), Some("Location"));
        assert_eq!(extract.regex.as_deref(), Some("(.+)"));
    }

    #[test]
    fn variables_stand_for_their_values_before_braces_are_plain() {
        let extract = of_regex(r#"name="${field}" value="{(.+?)}""#, "false").0.remove(0);
        assert_eq!(extract.regex.as_deref(), Some(r#"name="csrf" value="\{(.+?)}""#));
        let (found, _) = of(
            "BoundaryExtractor",
            &[
                ("BoundaryExtractor.refname", "x"),
                ("BoundaryExtractor.lboundary", "${field}-"),
                ("BoundaryExtractor.rboundary", "${field}"),
            ],
        );
        assert_eq!(found[0].between, Some(["csrf-".into(), "csrf".into()]));
    }

    #[test]
    fn what_is_found_in_an_unescaped_body_is_decoded() {
        let of_boundary = |from: &str| {
            let properties = [
                ("BoundaryExtractor.refname", "x"),
                ("BoundaryExtractor.lboundary", "=["),
                ("BoundaryExtractor.useHeaders", from),
            ];
            of("BoundaryExtractor", &properties).0.remove(0)
        };
        for (extract, html, sought) in [
            (of_regex("href=\"([^\"]+)\"", "unescaped").0.remove(0), true, true),
            (of_regex("next=(.+?),", "unescaped").0.remove(0), true, false),
            (of_regex("href=\"([^\"]+)\"", "false").0.remove(0), false, false),
            (of_boundary("unescaped"), true, false),
            (of_boundary("false"), false, false),
        ] {
            assert_eq!((extract.html, is_sought_in_decoded(&extract)), (html, sought));
        }
    }

    #[test]
    fn json_holds_several() {
        let (found, notes) = of(
            "JSONPostProcessor",
            &[
                ("JSONPostProcessor.referenceNames", "id;name"),
                ("JSONPostProcessor.jsonPathExprs", "$..id;name"),
                ("JSONPostProcessor.match_numbers", "-1;0"),
                ("JSONPostProcessor.defaultValues", "NONE; "),
            ],
        );
        assert_eq!(notes, [] as [String; 0]);
        assert_eq!((found[0].pick, found[1].pick), (Pick::All, Pick::Random));
        let paths: Vec<_> = found.iter().filter_map(|extract| extract.json.as_deref()).collect();
        assert_eq!(paths, ["$..id", "$.name"], "JMeter adds the root");
        assert_eq!(
            (found[0].default.as_deref(), found[1].default.as_deref()),
            (Some(""), Some(" "))
        );
        let nulls = found.iter().filter_map(|extract| extract.null.as_deref());
        assert_eq!(nulls.collect::<Vec<_>>(), ["NONE", " "], "each element of a list, too");
    }

    #[test]
    fn without_a_number_a_match_is_drawn() {
        let names = [
            ("JSONPostProcessor.referenceNames", "id;name"),
            ("JSONPostProcessor.jsonPathExprs", "$.a;$.b"),
        ];
        for (numbers, expected) in
            [("", [Pick::Random; 2]), (" ", [Pick::Random; 2]), ("1", [Pick::First, Pick::Random])]
        {
            let numbers = ("JSONPostProcessor.match_numbers", numbers);
            let (found, _) = of("JSONPostProcessor", &[names[0], names[1], numbers]);
            assert_eq!([found[0].pick, found[1].pick], expected);
            assert!(found.iter().all(|it| it.default.as_deref() == Some("")), "{found:?}");
        }
        let regex = [("RegexExtractor.refname", "x"), ("RegexExtractor.regex", "a")];
        assert_eq!(of("RegexExtractor", &regex).0[0].pick, Pick::Random);
        let own = [("XPathExtractor.refname", "x"), ("XPathExtractor.xpathQuery", "//a")];
        assert_eq!(of("XPathExtractor", &own).0[0].pick, Pick::First);
    }

    #[test]
    fn xpath_and_boundaries() {
        let (found, notes) = of(
            "XPath2Extractor",
            &[
                ("XPathExtractor2.refname", "x"),
                ("XPathExtractor2.xpathQuery", "//a:id"),
                ("XPathExtractor2.matchNumber", "-1"),
                ("XPathExtractor2.namespaces", "a=urn:a"),
            ],
        );
        assert_eq!(found[0].xpath.as_deref(), Some("//a:id"));
        assert!(notes[0].contains("prefixes"), "{notes:?}");
        let (found, notes) = of(
            "XPathExtractor",
            &[
                ("XPathExtractor.refname", "y"),
                ("XPathExtractor.xpathQuery", "//id"),
                ("XPathExtractor.matchNumber", "2"),
                ("XPathExtractor.tolerant", "true"),
            ],
        );
        assert_eq!((found[0].xpath.as_deref(), found[0].pick), (Some("//id"), Pick::Number(2)));
        assert!(notes[0].contains("no XML"), "{notes:?}");
        let (found, _) = of(
            "BoundaryExtractor",
            &[
                ("BoundaryExtractor.refname", "x"),
                ("BoundaryExtractor.lboundary", "["),
                ("BoundaryExtractor.rboundary", "]"),
                ("BoundaryExtractor.default_empty_value", "true"),
            ],
        );
        assert_eq!(found[0].between, Some(["[".into(), "]".into()]));
        assert_eq!((found[0].pick, found[0].default.as_deref()), (Pick::Random, Some("")));
    }

    #[test]
    fn what_cannot_be_taken_is_named() {
        for (found, notes) in [
            of_regex("a(?=b)", "false"),
            of_regex("(.+)", "true"),
            of_regex("x", "URL"),
            of_regex("${later}", "false"),
            of_regex("${__P(later,(}", "false"),
            of("RegexExtractor", &[("RegexExtractor.regex", "x")]),
            of("JSONPostProcessor", &[("JSONPostProcessor.referenceNames", "a;b")]),
            of("XPath2Extractor", &[("XPathExtractor2.fragment", "true")]),
            of("BoundaryExtractor", &[("BoundaryExtractor.refname", "x")]),
            of("RegexExtractor", &[("Sample.scope", "variable")]),
        ] {
            assert_eq!((found.len(), notes.len()), (0, 1), "{notes:?}");
        }
    }
}
