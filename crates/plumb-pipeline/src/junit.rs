//! A verdict as a JUnit report: `<failure>` for what failed, `<error>` for what nobody can answer.
//!
//! # Source
//! The schema `junit-10.xsd` of Jenkins' xUnit plugin, which GitLab, Azure Pipelines and most build
//! servers follow.

use plumb_measure::real;

use crate::{Case, Remark, State, Verdict};

/// The report as XML with a line end.
#[must_use]
pub fn render(verdict: &Verdict) -> String {
    let (tests, failures, errors) = counts(&verdict.cases.iter().collect::<Vec<_>>());
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out += &format!(
        "<testsuites name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">\n",
        attribute(&verdict.title)
    );
    for (number, (name, cases)) in verdict.groups().into_iter().enumerate() {
        out += &suite(verdict, number, name, &cases);
    }
    out + "</testsuites>\n"
}

fn suite(verdict: &Verdict, number: usize, name: &str, cases: &[&Case]) -> String {
    let (tests, failures, errors) = counts(cases);
    let time_ns: u64 = cases.iter().filter_map(|case| case.duration_ns).sum();
    let started = verdict.started.trim_end_matches('Z');
    let started = started.split('.').next().unwrap_or(started);
    let mut out = format!(
        "  <testsuite name=\"{}\" id=\"{number}\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"{errors}\" skipped=\"0\" time=\"{}\" timestamp=\"{}\">\n",
        attribute(name),
        seconds(time_ns),
        attribute(started),
    );
    let command = verdict.command.join(" ");
    let record = verdict.record.as_deref().unwrap_or_default();
    let accepted = verdict.accepted_load.as_deref().unwrap_or_default();
    let known = [
        ("plumb", verdict.version.as_str()),
        ("command", &command),
        ("record", record),
        ("foreign load", accepted),
    ];
    out += "    <properties>\n";
    for (name, value) in known.iter().filter(|(_, value)| !value.is_empty()) {
        out += &format!("      <property name=\"{name}\" value=\"{}\"/>\n", attribute(value));
    }
    out += "    </properties>\n";
    cases.iter().for_each(|case| out += &test_case(case));
    out + "  </testsuite>\n"
}

fn test_case(case: &Case) -> String {
    let mut out = format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\">\n",
        attribute(&case.group),
        attribute(&case.name),
        seconds(case.duration_ns.unwrap_or(0)),
    );
    let kind = match case.state() {
        State::Failed => Some("failure"),
        State::Unanswered => Some("error"),
        State::Passed => None,
    };
    let reasons: Vec<&Remark> = case.reasons().collect();
    if let (Some(kind), Some(first)) = (kind, reasons.first()) {
        let texts: Vec<&str> = reasons.iter().map(|reason| reason.text.as_str()).collect();
        out += &format!(
            "      <{kind} type=\"{}\" message=\"{}\">{}</{kind}>\n",
            attribute(&first.rule),
            attribute(&first.text),
            text(&texts.join("\n")),
        );
    }
    let beside = case.remarks.iter().filter(|remark| !reasons.contains(remark));
    let beside = beside.map(|remark| format!("{}: {}", remark.rule, remark.text));
    let said: Vec<String> =
        std::iter::once(case.found.clone()).filter(|it| !it.is_empty()).chain(beside).collect();
    if !said.is_empty() {
        out += &format!("      <system-out>{}</system-out>\n", text(&said.join("\n")));
    }
    out + "    </testcase>\n"
}

/// All, those that failed, those without an answer.
fn counts(cases: &[&Case]) -> (usize, usize, usize) {
    let of = |state| cases.iter().filter(|case| case.state() == state).count();
    (cases.len(), of(State::Failed), of(State::Unanswered))
}

fn seconds(ns: u64) -> String {
    format!("{:.3}", real(ns) / 1e9)
}

/// Text between tags. XML has no form for most control characters.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '\n' | '\t' => out.push(c),
            c if c.is_control() || ['\u{fffe}', '\u{ffff}'].contains(&c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Text between quotation marks.
fn attribute(value: &str) -> String {
    text(value).replace('"', "&quot;").replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grade;
    use crate::testing::{case, verdict};

    #[test]
    fn failures_and_errors_are_told_apart_and_counted() {
        let cases = vec![
            case("good", &[Grade::Notes]),
            case("open", &[Grade::LeavesOpen, Grade::Notes]),
            case("bad", &[Grade::Fails, Grade::LeavesOpen]),
        ];
        let xml = render(&verdict(cases));
        for part in [
            "<testsuites name=\"net ping db1:3298\" tests=\"3\" failures=\"1\" errors=\"1\">",
            "<failure type=\"failures\" message=\"failures &lt;&amp;&quot;' &gt;\">",
            "<error type=\"foreign-load\"",
            "timestamp=\"2026-11-21T08:30:48\"",
            "time=\"4.500\"",
            "<property name=\"record\" value=\"plumb-runs/a b/run.json\"/>",
            "complaint: complaint &lt;",
        ] {
            assert!(xml.contains(part), "no {part} in\n{xml}");
        }
        assert_eq!(xml.matches("<failure").count() + xml.matches("<error").count(), 2);
    }
}
