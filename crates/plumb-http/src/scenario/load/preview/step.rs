//! Steps as they would be done: with what the file, the scenario and the command line give them.

use std::collections::BTreeMap;

use plumb_scenario::Patterns;
use plumb_scenario::check::usual_status;
use plumb_scenario::file::placed;
use plumb_scenario::file::{Check, Pairs, Step, Think};
use plumb_scenario::{ScenarioSource, place_of};
use plumb_wire::document::Position;
use serde::Serialize;
use toml::Spanned;

use crate::scenario::compile::{last_of_each, usual_method};

/// A step, with everything that holds for it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ShownStep {
    /// Of the file, from 1.
    pub(super) line: usize,
    /// Itself, without the steps in it and without secrets.
    #[serde(flatten)]
    pub(super) step: Step,
    #[serde(rename = "steps", skip_serializing_if = "Vec::is_empty")]
    pub(super) steps: Vec<Self>,
}

impl ShownStep {
    /// True when it asks for something itself.
    pub(super) fn is_request(&self) -> bool {
        self.step.path.is_some()
    }

    /// Itself and all the steps in it.
    pub(super) fn all(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        Box::new(std::iter::once(self).chain(self.steps.iter().flat_map(Self::all)))
    }
}

/// What is shown, and what is left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    /// As it was written: for places.
    pub(super) source: &'a ScenarioSource,
    pub(super) exclude: &'a Patterns,
    /// Header lines of the file, of the scenario and of the command line.
    pub(super) headers: [&'a Pairs; 2],
    pub(super) told: &'a Pairs,
    /// Think time after requests that have none of their own.
    pub(super) think: Option<Think>,
    /// Variables that never change.
    pub(super) constants: &'a BTreeMap<String, String>,
}

impl View<'_> {
    /// The steps that are `written`, which stand without secrets in `masked`.
    pub(super) fn steps(&self, written: &[Step], masked: &[Step]) -> Vec<ShownStep> {
        let both = written.iter().zip(masked);
        both.filter_map(|(written, masked)| self.step(written, masked)).collect()
    }

    /// `None` for what is left out.
    fn step(&self, written: &Step, masked: &Step) -> Option<ShownStep> {
        let target = written.get.as_ref().or(written.path.as_ref());
        if target.is_some_and(|target| self.exclude.has(target.get_ref())) {
            return None;
        }
        let steps = self.steps(&written.step, &masked.step);
        if target.is_none() && steps.is_empty() {
            return None;
        }
        let mut step = Step { step: Vec::new(), ..masked.clone() };
        if target.is_some() {
            self.complete(&mut step);
        }
        let line = Position::of(self.source.text(), &place_of(written)).line;
        Some(ShownStep { line, step, steps })
    }

    /// Gives a request what stands elsewhere, and what is usual.
    fn complete(&self, step: &mut Step) {
        let usual = usual_method(step);
        let method = step.method.get_or_insert_with(|| placed(usual.into())).get_ref().clone();
        let target = step.get.take().or(step.path.take()).map(Spanned::into_inner);
        let target = target.unwrap_or_default();
        step.name.get_or_insert_with(|| placed(format!("{method} {target}")));
        step.path = Some(placed(self.filled(&target)));
        step.body = step.body.take().map(|body| placed(self.filled(body.get_ref())));
        step.think = step.think.take().or(self.think.map(placed));
        let usual = usual_status(step);
        let check = step.check.get_or_insert_with(|| placed(Check::default()));
        let check = check.get_mut();
        check.status.get_or_insert_with(|| usual.into());
        let texts = check.contains.iter_mut().chain(&mut check.contains_not);
        texts.for_each(|text| *text = self.filled(text));
        let [file, scenario] = self.headers;
        let own = std::mem::take(&mut step.headers);
        let lines = last_of_each([file, scenario, &own, self.told]);
        step.headers =
            lines.into_iter().map(|(name, value)| (name.into(), self.filled(value))).collect();
    }

    /// `text` with the constants in it.
    fn filled(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, inner) = (&rest[..at], &rest[at + 2..]);
            let name = inner.find('}').map(|end| &inner[..end]).filter(|_| !before.ends_with('$'));
            out += before;
            match name.and_then(|name| Some((name, self.constants.get(name)?))) {
                Some((name, value)) => {
                    out += value;
                    rest = &inner[name.len() + 1..];
                }
                None => {
                    out += "${";
                    rest = inner;
                }
            }
        }
        out + rest
    }
}
