//! A verdict as SARIF 2.1.0: a result for each remark, and one for each case that passed.
//!
//! # Source
//! OASIS, Static Analysis Results Interchange Format (SARIF) 2.1.0.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use crate::{Case, Grade, Remark, Verdict};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// What is judged where no remark says more.
const PASSED: &str = "verdict";
/// What may not stand in the path of a URI.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b']')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}')
    .add(b':');

/// The log as indented JSON with a line end.
#[must_use]
pub fn render(verdict: &Verdict) -> String {
    let rules = rules(verdict);
    let results: Vec<Value> = verdict
        .cases
        .iter()
        .flat_map(|case| results_of(verdict, case))
        .map(|mut result| {
            let index = result["ruleId"].as_str().and_then(|rule| rules.get(rule));
            result["ruleIndex"] = json!(index);
            result
        })
        .collect();
    let described = rules.keys().map(|rule| {
        let text = rule.replace('-', " ");
        json!({ "id": rule, "shortDescription": { "text": text } })
    });
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "plumb",
                "semanticVersion": verdict.version,
                "rules": described.collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": true,
                "commandLine": verdict.command.join(" "),
                "startTimeUtc": verdict.started,
            }],
            "columnKind": "unicodeCodePoints",
            "properties": { "title": verdict.title, "sentence": verdict.sentence },
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

/// Every rule that is named, with its place.
fn rules(verdict: &Verdict) -> BTreeMap<&str, usize> {
    let remarks = verdict.cases.iter().flat_map(|case| &case.remarks);
    let mut rules: BTreeMap<&str, usize> =
        remarks.map(|remark| (remark.rule.as_str(), 0)).chain([(PASSED, 0)]).collect();
    rules.values_mut().enumerate().for_each(|(place, index)| *index = place);
    rules
}

fn results_of(verdict: &Verdict, case: &Case) -> Vec<Value> {
    if case.remarks.is_empty() {
        let text = format!("{}, {}: {}", case.group, case.name, case.found);
        return vec![result(verdict, case, (PASSED, "pass", "none"), &text)];
    }
    let of = |remark: &Remark| {
        let (kind, level) = match remark.grade {
            Grade::Fails => ("fail", "error"),
            // the standard: not enough is known to decide
            Grade::LeavesOpen => ("open", "none"),
            Grade::Warns => ("fail", "warning"),
            Grade::Notes => ("informational", "none"),
        };
        let text = format!("{}, {}: {}", case.group, case.name, remark.text);
        result(verdict, case, (remark.rule.as_str(), kind, level), &text)
    };
    case.remarks.iter().map(of).collect()
}

fn result(
    verdict: &Verdict,
    case: &Case,
    (rule, kind, level): (&str, &str, &str),
    text: &str,
) -> Value {
    let name = format!("{}/{}", case.group, case.name);
    let logical = json!([{ "name": case.name, "fullyQualifiedName": name }]);
    let location = match &verdict.record {
        Some(path) => json!({
            "physicalLocation": {
                "artifactLocation": { "uri": uri(path) },
                "region": { "startLine": 1 },
            },
            "logicalLocations": logical,
        }),
        None => json!({ "logicalLocations": logical }),
    };
    json!({
        "ruleId": rule,
        "kind": kind,
        "level": level,
        "message": { "text": text },
        "locations": [location],
        // a host of code follows a result from run to run by what it is of
        "partialFingerprints": { "plumbCase/v1": format!("{rule}/{name}") },
    })
}

/// A path as a reference; an absolute one as a file.
fn uri(path: &str) -> String {
    let escaped = utf8_percent_encode(path, ESCAPED);
    if path.starts_with('/') { format!("file://{escaped}") } else { escaped.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{case, verdict};

    fn results(cases: Vec<Case>) -> Vec<Value> {
        let log: Value = serde_json::from_str(&render(&verdict(cases))).expect("JSON");
        let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules").clone();
        let results = log["runs"][0]["results"].as_array().expect("results").clone();
        for result in &results {
            let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index"));
            assert_eq!(rules[index.expect("small")]["id"], result["ruleId"]);
        }
        results
    }

    #[test]
    fn every_remark_is_a_result_of_its_kind() {
        let grades = [Grade::Fails, Grade::LeavesOpen, Grade::Warns, Grade::Notes];
        let found = results(vec![case("a", &grades), case("b", &[])]);
        let kinds: Vec<(&str, &str)> = found
            .iter()
            .map(|it| (it["kind"].as_str().expect("text"), it["level"].as_str().expect("text")))
            .collect();
        let expected = [
            ("fail", "error"),
            ("open", "none"),
            ("fail", "warning"),
            ("informational", "none"),
            ("pass", "none"),
        ];
        assert_eq!(kinds, expected);
        let place = &found[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(place, "plumb-runs/a%20b/run.json");
    }
}
