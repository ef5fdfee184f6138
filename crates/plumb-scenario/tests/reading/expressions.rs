//! The examples of docs/http-expressions.md: each gives what the page says.

use std::sync::Arc;

use plumb_measure::LoadPart;
use plumb_scenario::condition::Condition;
use plumb_scenario::generator::Generator;
use plumb_scenario::template::Template;
use plumb_scenario::variables::{Names, Value, Variables};
use plumb_wire::{jsonpath, xpath};

const PAGE: &str = include_str!("../../../../docs/http-expressions.md");

/// The fenced block of a language.
fn block(language: &str) -> &'static str {
    let begin = format!("\n```{language}\n");
    let at = PAGE.find(&begin).expect(language);
    let rest = &PAGE[at + begin.len()..];
    &rest[..rest.find("\n```").expect("a block that ends")]
}

/// Judges each line `EXPRESSION => RESULT` of a block; at least `least` of them.
fn examples(language: &str, least: usize, result: impl Fn(&str) -> Result<String, String>) {
    let mut count = 0;
    for line in block(language).lines() {
        let (expression, expected) = line.split_once("=>").expect(line);
        let (expression, expected) = (expression.trim(), expected.trim());
        match expected.strip_prefix("error: ") {
            None => assert_eq!(result(expression), Ok(expected.into()), "{expression}"),
            Some(part) => {
                let problem = result(expression).expect_err(line);
                assert!(problem.contains(part), "{line}: {problem}");
            }
        }
        count += 1;
    }
    assert!(count >= least, "{count} examples of {language}");
}

fn user(names: &mut Names) -> Variables {
    let mut variables = Variables::with(Arc::default(), Generator::default());
    for (name, value) in [
        ("carrid", Value::text("LH")),
        ("date", Value::text("2026-11-21T00:00:00")),
        ("city", Value::text("São Paulo")),
        ("connections", Value::list(["0400", "0402"])),
    ] {
        variables.set(names.slot(name).expect(name), value);
    }
    variables
}

fn written(text: &str, names: &mut Names) -> Result<String, String> {
    let variables = user(names);
    let template = Template::parse(text, names).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    template.write(&variables, &mut out).map_err(|missing| missing.words(names))?;
    Ok(String::from_utf8(out).expect("UTF-8"))
}

#[test]
fn templates_become_what_the_page_says() {
    examples("template", 8, |text| written(text, &mut Names::default()));
}

#[test]
fn built_in_values_are_what_the_page_says() {
    examples("values", 15, |text| written(text, &mut Names::with_values(LoadPart::default())));
}

#[test]
fn conditions_hold_as_the_page_says() {
    examples("condition", 13, |text| {
        let mut names = Names::default();
        let variables = user(&mut names);
        let condition = Condition::parse(text, &mut names).map_err(|error| error.to_string())?;
        let holds = condition.holds(&variables).map_err(|undecided| undecided.words(&names))?;
        Ok(holds.to_string())
    });
}

#[test]
fn json_paths_find_what_the_page_says() {
    let document = block("json").as_bytes();
    examples("jsonpath", 20, |text| {
        let path = jsonpath::Path::parse(text).map_err(|error| error.to_string())?;
        let found = path.find(document, usize::MAX).unwrap();
        assert_eq!(path.find(document, 1).unwrap(), found[..found.len().min(1)]);
        Ok(found.join(" ; "))
    });
}

#[test]
fn xpaths_find_what_the_page_says() {
    let document = block("xml").as_bytes();
    examples("xpath", 16, |text| {
        let path = xpath::Path::parse(text).map_err(|error| error.to_string())?;
        let found = path.find(document, usize::MAX).unwrap();
        assert_eq!(path.find(document, 1).unwrap(), found[..found.len().min(1)]);
        Ok(found.join(" ; "))
    });
}
