//! Assertions: what the answer must be.

use plumb_draft::note::Notes;
use plumb_draft::template::{literal, variable_name};
use plumb_draft::wait::ms;
use plumb_scenario::file::Check;

use super::element::Element;
use super::segment::{Segment, parts};
use super::words::Words;
use crate::pattern;

/// The bits of `Assertion.test_type`.
const MATCH: u32 = 1;
const CONTAINS: u32 = 2;
const NOT: u32 = 4;
const EQUALS: u32 = 8;
const SUBSTRING: u32 = 16;
const OR: u32 = 32;
/// Every status.
const ANY: &str = "1xx,2xx,3xx,4xx,5xx";

/// Statuses of redirects that lead elsewhere.
const FOLLOWED: [&str; 5] = ["301", "302", "303", "307", "308"];
/// Those of the same class that do not.
const NOT_FOLLOWED: &str = "300,304";

/// `check` of a request that follows redirects: one that is expected would not be followed, and no answer is
/// one then. What wants nothing but redirects stays.
pub(super) fn follow(check: &mut Check) {
    let Some(status) = &mut check.status else { return };
    let others = status.split(',').filter(|word| !FOLLOWED.contains(word));
    let others: Vec<&str> =
        others.map(|word| if word == "3xx" { NOT_FOLLOWED } else { word }).collect();
    if !others.is_empty() {
        *status = others.join(",");
    }
}

/// Adds what `assertion` wants to `check`; what it cannot say is named. `taken` are the variables that are taken
/// from the same answer, which JMeter knows by then and a scenario does not.
pub(super) fn add(
    check: &mut Check,
    assertion: &Element<'_>,
    (words, taken): (&mut Words, &[String]),
    notes: &mut Notes,
) {
    let scope = assertion.text("Assertion.scope");
    let added = match assertion.kind() {
        _ if !matches!(scope, "" | "all" | "parent") => {
            Err(format!("it looks at `{scope}` and not at the answer itself"))
        }
        "DurationAssertion" => duration(check, assertion, words),
        "SizeAssertion" => size(check, assertion, words),
        _ => response(check, assertion, (words, taken), notes),
    };
    if let Err(why) = added {
        notes.add(assertion.place(), assertion.what(), why);
    }
}

fn duration(check: &mut Check, assertion: &Element<'_>, words: &Words) -> Result<(), String> {
    let limit = number(assertion, "DurationAssertion.duration", words)?;
    if limit <= 0.0 {
        return Ok(()); // JMeter does not look at the time then
    }
    let limit = ms(limit);
    check.within = Some(check.within.map_or(limit, |known| known.min(limit)));
    Ok(())
}

fn size(check: &mut Check, assertion: &Element<'_>, words: &Words) -> Result<(), String> {
    // the name of the property lacks a letter in plans of some versions
    let field = ["Assertion.test_field", "Asserion.test_field"]
        .into_iter()
        .find_map(|name| assertion.given(name))
        .unwrap_or_default();
    if field != "SizeAssertion.response_data" {
        return Err("only the size of the content is checked, not that of heads".into());
    }
    let size = whole(number(assertion, "SizeAssertion.size", words)?)
        .ok_or("its size is no number of bytes")?;
    let mut wanted = check.clone();
    match assertion.text("SizeAssertion.operator").trim() {
        "1" => wanted.length = Some(size),
        "3" => wanted.length_min = Some(size.saturating_add(1)),
        "4" => wanted.length_max = Some(size.checked_sub(1).ok_or("no answer is that short")?),
        "5" => wanted.length_min = Some(size),
        "6" => wanted.length_max = Some(size),
        _ => return Err("a size that an answer must not have is not checked".into()),
    }
    let has_bounds = wanted.length_min.is_some() || wanted.length_max.is_some();
    let is_empty = wanted.length_min.zip(wanted.length_max).is_some_and(|(min, max)| min > max);
    if is_empty || (wanted.length.is_some() && has_bounds) {
        return Err("another assertion says something else of the size".into());
    }
    *check = wanted;
    Ok(())
}

fn response(
    check: &mut Check,
    assertion: &Element<'_>,
    (words, taken): (&mut Words, &[String]),
    notes: &mut Notes,
) -> Result<(), String> {
    let mask: u32 = assertion
        .text("Assertion.test_type")
        .trim()
        .parse()
        .map_err(|_| "its test type is no number".to_owned())?;
    let texts = ["Asserion.test_strings", "Assertion.test_strings"]
        .into_iter()
        .map(|name| assertion.texts(name))
        .find(|texts| !texts.is_empty())
        .unwrap_or_default();
    let field = assertion.text("Assertion.test_field");
    let alone = mask & OR == 0 || texts.len() == 1;
    let takes_templates = field == "Assertion.response_data" && mask & SUBSTRING != 0 && alone;
    let (later, known): (Vec<&str>, Vec<&str>) = texts
        .into_iter()
        .partition(|text| takes_templates && words.known(text).is_none() && is_made(text, taken));
    let texts: Vec<String> = known
        .into_iter()
        .map(|text| {
            words.known(text).ok_or_else(|| format!("`{text}` is not known before the load"))
        })
        .collect::<Result<_, String>>()?;
    if texts.iter().any(String::is_empty) {
        return Err("one of its texts is empty".into());
    }
    let list = if mask & NOT == 0 { &mut check.contains } else { &mut check.contains_not };
    list.extend(later.into_iter().map(|text| words.template(text, assertion, notes)));
    let result = match field {
        "Assertion.response_data" => content(check, mask, &texts),
        "Assertion.response_code" => code(check, mask, &texts),
        other => Err(format!("`{other}` is not checked")),
    };
    if assertion.flag("Assertion.assume_success") && check.status.is_none() {
        check.status = Some(ANY.into());
    }
    result
}

/// True of a text that is made of variables for each request, and of none of `taken`.
fn is_made(text: &str, taken: &[String]) -> bool {
    parts(text).iter().all(|part| match part {
        Segment::Text(_) => true,
        Segment::Variable(name) => !name.contains('$') && !taken.contains(&variable_name(name)),
        Segment::Function(_) => false,
    })
}

/// Texts and expressions in the content.
fn content(check: &mut Check, mask: u32, texts: &[String]) -> Result<(), String> {
    let (not, or) = (mask & NOT != 0, mask & OR != 0 && texts.len() > 1);
    if not && or {
        return Err("`not` together with `or` is not checked".into());
    }
    if or {
        let each: Vec<String> = texts
            .iter()
            .map(|text| Ok(format!("(?:{})", expression(mask, text)?)))
            .collect::<Result<_, String>>()?;
        check.matches.push(each.join("|"));
        return Ok(());
    }
    for text in texts {
        let (list, text) = match (mask & SUBSTRING != 0, not) {
            (true, false) => (&mut check.contains, literal(text)),
            (true, true) => (&mut check.contains_not, literal(text)),
            (false, false) => (&mut check.matches, expression(mask, text)?),
            (false, true) => (&mut check.matches_not, expression(mask, text)?),
        };
        list.push(text);
    }
    Ok(())
}

/// The regular expression that says the same as one text of an assertion.
fn expression(mask: u32, text: &str) -> Result<String, String> {
    if mask & SUBSTRING != 0 {
        Ok(pattern::of_text(text))
    } else if mask & EQUALS != 0 {
        Ok(format!("\\A{}\\z", pattern::of_text(text)))
    } else if mask & MATCH != 0 {
        Ok(format!("\\A(?:{})\\z", pattern::carried(text)?))
    } else if mask & CONTAINS != 0 {
        pattern::carried(text)
    } else {
        Err("its test type is not known".into())
    }
}

/// Statuses.
fn code(check: &mut Check, mask: u32, texts: &[String]) -> Result<(), String> {
    if mask & NOT != 0 {
        return Err("a status that an answer must not have is not checked".into());
    }
    if texts.len() > 1 && mask & OR == 0 {
        return Err("an answer cannot have several statuses; write `or`".into());
    }
    let exact = mask & (EQUALS | SUBSTRING) != 0;
    let each: Vec<String> = texts
        .iter()
        .flat_map(|text| if exact { vec![text.as_str()] } else { alternatives(text) })
        .map(|text| status(text, exact).ok_or_else(|| format!("`{text}` is not read as a status")))
        .collect::<Result<_, String>>()?;
    let each = each.join(",");
    match &check.status {
        _ if each.is_empty() => Err("it names no status".into()),
        Some(known) if *known != each && known != ANY => {
            Err(format!("another assertion wants the status {known}"))
        }
        _ => {
            check.status = Some(each);
            Ok(())
        }
    }
}

/// The alternatives of an expression such as `^(200|3..)$`.
fn alternatives(text: &str) -> Vec<&str> {
    let inner = text.trim().trim_start_matches('^').trim_end_matches('$');
    let inner = inner.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(inner);
    inner.strip_prefix("?:").unwrap_or(inner).split('|').collect()
}

/// `200`, or a class such as `2..`, `2\d\d`, `2\d{2}`.
fn status(text: &str, exact: bool) -> Option<String> {
    let text = text.trim();
    let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits && matches!(text.as_bytes()[0], b'1'..=b'9') {
        return Some(text.to_owned());
    }
    let class = text.chars().next().filter(|c| ('1'..='5').contains(c) && !exact)?;
    let rest = &text[1..];
    [r"..", r"\d\d", r"\d{2}", r"[0-9][0-9]", r"[0-9]{2}", "xx"]
        .contains(&rest)
        .then(|| format!("{class}xx"))
}

fn number(assertion: &Element<'_>, name: &str, words: &Words) -> Result<f64, String> {
    let text = assertion.text(name);
    words
        .number(text)
        .ok_or_else(|| format!("{name} is `{text}`, which is no number before the load"))
}

/// A number of bytes.
fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between 0 and 2^50"
    )]
    (0.0..1e15).contains(&number).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::read as tree;

    fn of(kind: &str, properties: &[(&str, &str)], texts: &[&str]) -> (Check, Vec<String>) {
        let mut inside: String = properties
            .iter()
            .map(|(name, value)| format!("<stringProp name='{name}'>{value}</stringProp>"))
            .collect();
        let texts: String =
            texts.iter().map(|text| format!("<stringProp name='1'>{text}</stringProp>")).collect();
        inside += &format!("<collectionProp name='Asserion.test_strings'>{texts}</collectionProp>");
        let tree = tree(&format!("<hashTree><{kind} testname='a'>{inside}</{kind}></hashTree>"));
        let (mut check, mut notes) = (Check::default(), Notes::default());
        let tree = tree.unwrap();
        let taken = ["own".to_owned()];
        let words = (&mut Words::default(), &taken[..]);
        add(&mut check, &Element::of_tree(&tree)[0], words, &mut notes);
        (check, notes.sorted().iter().map(ToString::to_string).collect())
    }

    fn response(field: &str, mask: u32, texts: &[&str]) -> (Check, Vec<String>) {
        let mask = mask.to_string();
        let field = format!("Assertion.{field}");
        let properties = [("Assertion.test_field", field.as_str()), ("Assertion.test_type", &mask)];
        of("ResponseAssertion", &properties, texts)
    }

    #[test]
    fn statuses() {
        for (mask, texts, status) in [
            (EQUALS, vec!["200"], "200"),
            (EQUALS | OR, vec!["200", "302"], "200,302"),
            (SUBSTRING, vec!["404"], "404"),
            (MATCH, vec!["^(?:2..|30[0-9])$"], ""),
            (MATCH, vec!["(200|3\\d\\d)"], "200,3xx"),
            (CONTAINS, vec!["2\\d{2}"], "2xx"),
        ] {
            let (check, notes) = response("response_code", mask, &texts);
            assert_eq!(check.status.unwrap_or_default(), status, "{texts:?}");
            assert_eq!(notes.is_empty(), !status.is_empty(), "{notes:?}");
        }
        assert!(response("response_code", EQUALS | NOT, &["500"]).1[0].contains("must not"));
        assert!(response("response_code", EQUALS, &["200", "302"]).1[0].contains("several"));
    }

    #[test]
    fn contents() {
        assert_eq!(response("response_data", SUBSTRING, &["a", "b"]).0.contains, ["a", "b"]);
        assert_eq!(response("response_data", SUBSTRING | NOT, &["a"]).0.contains_not, ["a"]);
        assert_eq!(response("response_data", CONTAINS, &["a.b"]).0.matches, ["a.b"]);
        assert_eq!(response("response_data", CONTAINS | NOT, &["a.b"]).0.matches_not, ["a.b"]);
        assert_eq!(response("response_data", MATCH, &["a.*"]).0.matches, ["\\A(?:a.*)\\z"]);
        assert_eq!(response("response_data", EQUALS, &["a.b"]).0.matches, ["\\Aa\\.b\\z"]);
        let (made, notes) = response("response_data", SUBSTRING, &["Hello ${x}", "b"]);
        assert_eq!((made.contains, notes), (vec!["Hello ${x}".into(), "b".into()], vec![]));
        let (made, _) = response("response_data", SUBSTRING | NOT, &["${x}"]);
        assert_eq!((made.contains_not, made.contains), (vec!["${x}".into()], vec![]));
        let (check, _) = response("response_data", SUBSTRING | OR, &["a.", "b"]);
        assert_eq!(check.matches, ["(?:a\\.)|(?:b)"]);
    }

    #[test]
    fn what_is_not_checked_is_named() {
        for (field, mask, text) in [
            ("response_headers", SUBSTRING, "x"),
            ("response_data", CONTAINS, "a(?=b)"),
            ("response_data", CONTAINS, "(a)\\1"),
            ("response_data", CONTAINS, "a*+"),
            ("response_data", EQUALS, "${x}"),
            ("response_data", SUBSTRING, "${own}"),
            ("response_data", SUBSTRING, "${__UUID()}"),
            ("response_code", SUBSTRING, "${x}"),
            ("response_data", 0, "x"),
            ("response_data", SUBSTRING, ""),
        ] {
            let (check, notes) = response(field, mask, &[text]);
            assert_eq!(check, Check::default(), "{field} {text}");
            assert_eq!(notes.len(), 1, "{field} {text}");
        }
    }

    #[test]
    fn durations_and_sizes() {
        for (limit, ns) in [("1500", Some(1_500_000_000)), ("${__P(most,0)}", None), ("-1", None)] {
            let (check, notes) =
                of("DurationAssertion", &[("DurationAssertion.duration", limit)], &[]);
            assert_eq!(check.within.map(|span| span.ns()), ns, "{limit}");
            assert_eq!(notes, [] as [String; 0]);
        }
        let size = |operator: &str, field: &str| {
            let properties = [
                ("SizeAssertion.size", "10"),
                ("SizeAssertion.operator", operator),
                ("Assertion.test_field", field),
            ];
            of("SizeAssertion", &properties, &[])
        };
        let data = "SizeAssertion.response_data";
        assert_eq!(size("1", data).0.length, Some(10));
        assert_eq!(size("3", data).0.length_min, Some(11));
        assert_eq!(size("4", data).0.length_max, Some(9));
        assert_eq!(size("5", data).0.length_min, Some(10));
        assert_eq!(size("6", data).0.length_max, Some(10));
        assert_eq!(size("2", data).1.len(), 1);
        assert_eq!(size("1", "SizeAssertion.response_headers").1.len(), 1);
    }

    #[test]
    fn any_status_is_right_where_the_status_is_ignored() {
        let properties = [
            ("Assertion.test_field", "Assertion.response_data"),
            ("Assertion.test_type", "16"),
            ("Assertion.assume_success", "true"),
        ];
        let (mut check, _) = of("ResponseAssertion", &properties, &["x"]);
        assert_eq!(check.status.as_deref(), Some(ANY));
        follow(&mut check);
        assert_eq!(check.status.as_deref(), Some("1xx,2xx,300,304,4xx,5xx"));
    }

    #[test]
    fn a_request_that_follows_redirects_expects_none() {
        for (status, expected) in
            [("200,302", "200"), ("200,3xx", "200,300,304"), ("302", "302"), ("404", "404")]
        {
            let mut check = Check { status: Some(status.into()), ..Check::default() };
            follow(&mut check);
            assert_eq!(check.status.as_deref(), Some(expected));
        }
    }
}
