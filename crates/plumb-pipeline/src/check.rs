//! The cases of a check of a path, and of the checkup of a landscape.

use plumb_checkup::{
    Checkup, CheckupOutcome, CheckupPart, CheckupRemark, Judgement, LayerState, LayerVerdict,
    PathCheck, PathVerdict,
};
use plumb_measure::{Status, show_ns};
use plumb_page::figures::per_second;

use crate::run::{kind_of, remark_of};
use crate::{Case, Grade, Remark, Verdict};

impl Verdict {
    /// The cases of `check`: its tests. `everything` is the whole report as Markdown.
    #[must_use]
    pub fn of_check(check: &PathCheck, everything: String) -> Self {
        let title = format!("net check {}", check.target);
        let verdicts = check.verdicts();
        let lasted = |test| {
            let parts = check.parts.iter().filter(|part| part.test == test);
            parts.filter_map(|part| part.outcome.as_ref()).map(|it| it.duration_ns).sum()
        };
        let cases = verdicts.iter().map(|PathVerdict { test, judgement, sentence }| {
            let grade = match judgement {
                Judgement::Bad => Some(Grade::Fails),
                Judgement::Open => Some(Grade::LeavesOpen),
                Judgement::Look => Some(Grade::Warns),
                Judgement::Untold | Judgement::Fine => None,
            };
            let rule = format!("path-{}", kind_of(test));
            let remarks = grade.map(|grade| Remark::new(rule, grade, sentence.clone()));
            Case {
                group: title.clone(),
                name: test.name().into(),
                found: sentence.clone(),
                remarks: remarks.into_iter().collect(),
                duration_ns: Some(lasted(*test)),
            }
        });
        let cases = cases.collect();
        let said: Vec<String> = verdicts
            .iter()
            .map(|it| format!("{}: {}", it.test.name(), it.judgement.word()))
            .collect();
        let sentence = said.join(", ") + ".";
        let accepted = check.accepted_load();
        Self {
            title,
            sentence: accepted.map_or(sentence.clone(), |it| it.beside(&sentence)),
            started: check.started.clone(),
            version: check.plumb.version.clone(),
            command: Vec::new(),
            record: None,
            accepted_load: accepted.map(|it| it.words()),
            cases,
            everything,
        }
    }

    /// The cases of `checkup`: its measurements, its findings, and what went wrong beside them.
    /// `everything` is the whole report as Markdown.
    #[must_use]
    pub fn of_checkup(checkup: &Checkup, everything: String) -> Self {
        let title = format!("checkup of {}", checkup.target);
        let mut cases: Vec<Case> = checkup.parts.iter().map(case_of).collect();
        cases.extend(checkup.verdict.layers.iter().map(case_of_layer));
        cases.extend(checkup.verdict.findings.iter().map(|finding| {
            let operation = finding.operation.as_deref().unwrap_or("all operations");
            let text = format!("{} {}", finding.evidence, finding.next);
            Case {
                group: finding.server.clone(),
                name: format!("{}: {operation}", finding.kind.name()),
                found: finding.evidence.clone(),
                remarks: vec![Remark::new(kind_of(finding.kind), Grade::Fails, text)],
                duration_ns: None,
            }
        }));
        cases.extend(checkup.verdict.remarks.iter().filter_map(case_of_untold));
        cases.extend(checkup.troubles.iter().enumerate().map(|(at, trouble)| Case {
            group: title.clone(),
            name: format!("trouble {}", at + 1),
            found: trouble.clone(),
            remarks: vec![Remark::new("trouble", Grade::Fails, trouble.clone())],
            duration_ns: None,
        }));
        let verdict = Self {
            title,
            sentence: checkup.verdict.sentence.clone(),
            started: checkup.started.clone(),
            version: checkup.plumb.version.clone(),
            command: checkup.command.clone(),
            record: None,
            accepted_load: checkup.verdict.accepted_load.map(|it| it.words()),
            cases,
            everything,
        };
        match checkup.status {
            Status::Interrupted | Status::Running => verdict.interrupted(),
            Status::Complete | Status::Broken => verdict,
        }
    }
}

/// What `remark` leaves open.
fn case_of_untold(remark: &CheckupRemark) -> Option<Case> {
    let untold = remark.untold.as_ref()?;
    Some(Case {
        group: remark.name.clone(),
        name: untold.clone(),
        found: remark.text.clone(),
        remarks: vec![Remark::new("untold", Grade::LeavesOpen, remark.text.clone())],
        duration_ns: None,
    })
}

/// Whether a server can be judged by its yardstick.
fn case_of_layer(layer: &LayerVerdict) -> Case {
    let (rule, grade) = match layer.state {
        LayerState::Judged => ("judged", None),
        LayerState::NotValid => ("not-valid", Some(Grade::Fails)),
        LayerState::NotMeasured => ("not-measured", Some(Grade::Fails)),
        LayerState::NotChecked => ("not-checked", Some(Grade::LeavesOpen)),
        LayerState::Open => ("not-measured", Some(Grade::LeavesOpen)),
    };
    let why = layer.why.clone().unwrap_or_else(|| "it cannot be judged".into());
    let found = match &layer.median {
        Some(median) if grade.is_none() => format!("median {}", show_ns(median.ns)),
        _ if grade.is_none() => "judged".into(),
        _ => why.clone(),
    };
    Case {
        group: layer.server.clone(),
        name: format!("layer {}", layer.layer.name()),
        found,
        remarks: grade.map(|grade| Remark::new(rule, grade, why)).into_iter().collect(),
        duration_ns: None,
    }
}

fn case_of(part: &CheckupPart) -> Case {
    let open = |text: &str| vec![Remark::new("not-measured", Grade::LeavesOpen, text)];
    let (found, remarks) = match &part.outcome {
        None => ("not measured".into(), open("it was not measured")),
        Some(outcome) => (found(outcome), remarks_of(outcome)),
    };
    let (group, name) = (part.server.clone(), format!("{}, {}", part.operation, part.how));
    Case { group, name, found, remarks, duration_ns: None }
}

fn remarks_of(outcome: &CheckupOutcome) -> Vec<Remark> {
    match &outcome.error {
        Some(error) if outcome.not_offered => {
            vec![Remark::new("not-offered", Grade::Notes, error.clone())]
        }
        Some(error) => vec![Remark::new("unreachable", Grade::Fails, error.clone())],
        None => outcome.validity.reasons.iter().map(remark_of).collect(),
    }
}

fn found(outcome: &CheckupOutcome) -> String {
    match (&outcome.median, outcome.p99_ns) {
        (Some(median), Some(p99_ns)) => {
            let rate = per_second(outcome.throughput_per_s);
            format!("median {}, 99 % within {}, {rate}", show_ns(median.ns), show_ns(p99_ns))
        }
        _ if outcome.error.is_some() => "no record".into(),
        _ => per_second(outcome.throughput_per_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::State;
    use plumb_measure::Program;

    #[test]
    fn a_raised_limit_of_foreign_load_is_a_property_of_every_suite() {
        let plumb = Program { version: "0.0.0".into() };
        let mut checkup = Checkup::begun(plumb, "2026-11-21T08:30:48Z".into(), Vec::new());
        checkup.troubles = vec!["it rained".into()];
        let property = |checkup: &Checkup| {
            let report = crate::junit::render(&Verdict::of_checkup(checkup, String::new()));
            let property = report.lines().find(|line| line.contains("foreign load"));
            property.map(|line| line.trim().to_owned())
        };
        assert_eq!(property(&checkup), None);
        checkup.verdict.accepted_load = Some(plumb_measure::AcceptedLoad {
            limit: plumb_measure::ForeignLimit {
                share: "100%".parse().unwrap(),
                source: plumb_measure::LimitSource::Environment,
            },
            most_pct: Some(90.0),
            known: plumb_measure::Known::All,
        });
        let words = "limit of foreign load raised to 100 %, others took up to 90.0 %";
        let expected = format!("<property name=\"foreign load\" value=\"{words}\"/>");
        assert_eq!(property(&checkup), Some(expected));
    }

    #[test]
    fn a_raised_limit_of_foreign_load_stands_beside_the_verdict_on_a_path() {
        let outcome = plumb_checkup::PartOutcome {
            valid: true,
            operations: 10,
            foreign_limit: Some(plumb_measure::ForeignLimit {
                share: "100%".parse().unwrap(),
                source: plumb_measure::LimitSource::Option,
            }),
            ..plumb_checkup::PartOutcome::default()
        };
        let check = PathCheck {
            schema: plumb_checkup::PATH_CHECK_SCHEMA.into(),
            plumb: Program { version: "0.0.0".into() },
            started: "2026-11-21T08:30:48Z".into(),
            target: "db1".into(),
            parts: vec![plumb_checkup::PathPart {
                test: plumb_checkup::PathTest::RoundTrip,
                size_bytes: 1,
                expected_ns: 1,
                silence_ns: 0,
                timeout_ns: 1,
                words: Vec::new(),
                outcome: Some(outcome),
            }],
        };
        let verdict = Verdict::of_check(&check, String::new());
        let words = "limit of foreign load raised to 100 %, what others took is not known";
        assert_eq!(verdict.accepted_load.as_deref(), Some(words));
        assert!(verdict.sentence.ends_with(&format!("; {words}.")), "{}", verdict.sentence);
    }

    #[test]
    fn what_a_remark_leaves_open_is_a_case_that_is_open() {
        let plumb = Program { version: "0.0.0".into() };
        let mut checkup = Checkup::begun(plumb, "2026-11-21T08:30:48Z".into(), Vec::new());
        let remark = |untold: Option<&str>| CheckupRemark {
            name: "processors".into(),
            text: "others kept the processors busy".into(),
            untold: untold.map(str::to_owned),
        };
        checkup.status = Status::Complete;
        checkup.verdict.remarks = vec![remark(None), remark(Some("whether the server is full"))];
        let verdict = Verdict::of_checkup(&checkup, String::new());
        let open = verdict.cases.iter().filter(|case| case.state() == State::Unanswered);
        let open: Vec<&str> = open.map(|case| case.name.as_str()).collect();
        assert_eq!(open, ["whether the server is full"]);
    }
}
