//! Verdicts for tests.

use crate::{Case, Grade, Remark, Verdict};

/// A case with a remark of each grade.
pub(crate) fn case(name: &str, grades: &[Grade]) -> Case {
    let remarks = grades.iter().map(|grade| {
        let rule = match grade {
            Grade::Fails => "failures",
            Grade::LeavesOpen => "foreign-load",
            Grade::Warns => "few-samples",
            Grade::Notes => "complaint",
        };
        Remark::new(rule, *grade, format!("{rule} <&\"'\u{1}>"))
    });
    Case {
        group: "group".into(),
        name: name.into(),
        found: "median 56 us | and more".into(),
        remarks: remarks.collect(),
        duration_ns: Some(1_500_000_000),
    }
}

/// A verdict of `cases`.
pub(crate) fn verdict(cases: Vec<Case>) -> Verdict {
    Verdict {
        title: "net ping db1:3298".into(),
        sentence: "Half of the round trips took at most 56 us.".into(),
        started: "2026-11-21T08:30:48Z".into(),
        version: "0.1.0".into(),
        command: ["plumb", "net", "ping", "db1"].map(String::from).to_vec(),
        record: Some("plumb-runs/a b/run.json".into()),
        accepted_load: None,
        cases,
        everything: "## All\n".into(),
    }
}
