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
mod tests;
