//! A verdict as cases, whatever record it is from.

/// How a case, or all of them, came out. The later is the graver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing speaks against it.
    Passed,
    /// Nobody can tell: untestable, not checked, not measured to the end.
    Unanswered,
    /// Worse, invalid, a threshold missed, or a fault.
    Failed,
}

impl State {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Unanswered => "not answered",
            Self::Failed => "failed",
        }
    }
}

/// What a remark does to its case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// The case fails.
    Fails,
    /// The case is not answered.
    LeavesOpen,
    /// Some of its figures may not be used; the case stands.
    Warns,
    /// The reader should know.
    Notes,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Which rule of plumb says so, in small letters with hyphens, for example `foreign-load`.
    pub rule: String,
    /// What it does to its case.
    pub grade: Grade,
    /// A sentence.
    pub text: String,
}

impl Remark {
    /// A remark by `rule` that says `text`.
    #[must_use]
    pub fn new(rule: impl Into<String>, grade: Grade, text: impl Into<String>) -> Self {
        Self { rule: rule.into(), grade, text: text.into() }
    }
}

/// One thing that was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What it belongs to: the command with its target, a server, a candidate.
    pub group: String,
    /// Its name within that.
    pub name: String,
    /// What was found, in a sentence or in figures.
    pub found: String,
    /// What speaks against it, the gravest first.
    pub remarks: Vec<Remark>,
    /// How long it was measured, nanoseconds; `None` where that is not known.
    pub duration_ns: Option<u64>,
}

impl Case {
    /// How it came out.
    #[must_use]
    pub fn state(&self) -> State {
        let state = |remark: &Remark| match remark.grade {
            Grade::Fails => State::Failed,
            Grade::LeavesOpen => State::Unanswered,
            Grade::Warns | Grade::Notes => State::Passed,
        };
        self.remarks.iter().map(state).max().unwrap_or(State::Passed)
    }

    /// The remarks that make its state.
    pub fn reasons(&self) -> impl Iterator<Item = &Remark> {
        let grade = match self.state() {
            State::Failed => Some(Grade::Fails),
            State::Unanswered => Some(Grade::LeavesOpen),
            State::Passed => None,
        };
        self.remarks.iter().filter(move |remark| Some(remark.grade) == grade)
    }
}

/// What a command found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What was done, for example `net ping db1:3298`.
    pub title: String,
    /// The answer in a sentence or two.
    pub sentence: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Version of plumb.
    pub version: String,
    /// The words of the command line, without secrets; empty where they are not known.
    pub command: Vec<String>,
    /// The record that all this is from, as a path; `None` when none was kept.
    pub record: Option<String>,
    /// The limit of foreign load that was raised for the figures, in words; `None` where none was. It
    /// stands in the sentence, too.
    pub accepted_load: Option<String>,
    /// What was judged.
    pub cases: Vec<Case>,
    /// Everything, as Markdown.
    pub everything: String,
}

impl Verdict {
    /// The gravest state of a case; nobody can tell what was not judged.
    #[must_use]
    pub fn state(&self) -> State {
        self.cases.iter().map(Case::state).max().unwrap_or(State::Unanswered)
    }

    /// The groups in the order in which they come, each with its cases.
    #[must_use]
    pub fn groups(&self) -> Vec<(&str, Vec<&Case>)> {
        let mut groups: Vec<(&str, Vec<&Case>)> = Vec::new();
        for case in &self.cases {
            match groups.iter_mut().find(|(name, _)| *name == case.group) {
                Some((_, cases)) => cases.push(case),
                None => groups.push((&case.group, vec![case])),
            }
        }
        groups
    }

    /// The same verdict, whose record lies at `path`.
    #[must_use]
    pub fn recorded(self, path: String) -> Self {
        Self { record: Some(path), ..self }
    }

    /// The same verdict, of a command that was interrupted.
    #[must_use]
    pub fn interrupted(mut self) -> Self {
        let text = "it was interrupted before its plan ended";
        self.cases.push(Case {
            group: self.title.clone(),
            name: "completion".into(),
            found: String::new(),
            remarks: vec![Remark::new("interrupted", Grade::LeavesOpen, text)],
            duration_ns: None,
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{case, verdict};

    #[test]
    fn the_gravest_remark_makes_the_state() {
        let of = |grades: &[Grade]| case("a", grades).state();
        assert_eq!(of(&[]), State::Passed);
        assert_eq!(of(&[Grade::Notes, Grade::Warns]), State::Passed);
        assert_eq!(of(&[Grade::Notes, Grade::LeavesOpen]), State::Unanswered);
        assert_eq!(of(&[Grade::LeavesOpen, Grade::Fails]), State::Failed);
        let reasons = case("a", &[Grade::LeavesOpen, Grade::Fails]);
        assert_eq!(reasons.reasons().count(), 1);
    }

    #[test]
    fn what_judged_nothing_did_not_pass() {
        assert_eq!(verdict(vec![]).state(), State::Unanswered);
        assert_eq!(verdict(vec![case("a", &[])]).state(), State::Passed);
        assert_eq!(verdict(vec![case("a", &[])]).interrupted().state(), State::Unanswered);
    }

    #[test]
    fn groups_keep_their_order() {
        let mut other = case("b", &[]);
        other.group = "other".into();
        let all = verdict(vec![case("a", &[]), other, case("c", &[])]);
        let groups = all.groups();
        assert_eq!(groups.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["group", "other"]);
        assert_eq!(groups[0].1.len(), 2);
    }
}
