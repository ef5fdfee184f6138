//! A path applied to a document.

use super::document::Document;
use super::{NodeTest, Operand, Path, Predicate, Reach, Relation, Step};
use crate::expression::{FOUND_BYTES_MAX, FindError};

pub(super) fn find(path: &Path, document: &[u8], most: usize) -> Result<Vec<String>, FindError> {
    let document = Document::read(document)?;
    // nodes in their order, none twice
    let mut nodes = vec![0];
    let mut found = Found { values: Vec::new(), bytes: 0, most };
    let Some((last, steps)) = path.steps.split_last() else { return Ok(found.values) };
    for step in steps {
        nodes = step_to(&document, &nodes, step);
    }
    match &last.node {
        NodeTest::Attribute(name) => {
            let holders = holders(&document, &nodes, last.reach);
            let lists = holders.into_iter().map(|node| document.attributes(node, name));
            lists.flatten().try_for_each(|value| found.add(value))?;
        }
        NodeTest::Element(_) | NodeTest::Text => {
            let nodes = step_to(&document, &nodes, last);
            nodes.into_iter().take(most).try_for_each(|node| found.add(document.text(node)))?;
        }
    }
    Ok(found.values)
}

/// Values up to the limits.
struct Found {
    values: Vec<String>,
    bytes: usize,
    most: usize,
}

impl Found {
    fn add(&mut self, value: String) -> Result<(), FindError> {
        if self.values.len() < self.most {
            self.bytes += value.len();
            self.values.push(value);
        }
        if self.bytes > FOUND_BYTES_MAX { Err(FindError::TooManyMatches) } else { Ok(()) }
    }
}

/// The nodes whose children a step looks at.
fn holders(document: &Document<'_>, nodes: &[usize], reach: Reach) -> Vec<usize> {
    if reach == Reach::Children {
        return nodes.to_vec();
    }
    let mut all = Vec::new();
    let mut covered = 0;
    for node in nodes {
        let within = document.within(*node);
        all.extend((within.start.max(covered)..within.end).filter(|at| !document.is_text(*at)));
        covered = covered.max(within.end);
    }
    all
}

/// The nodes that one step leads to.
fn step_to(document: &Document<'_>, nodes: &[usize], step: &Step) -> Vec<usize> {
    let mut next = Vec::new();
    for holder in holders(document, nodes, step.reach) {
        let mut children: Vec<usize> =
            document.children(holder).filter(|node| fits(document, *node, &step.node)).collect();
        for predicate in &step.predicates {
            children = kept(document, children, predicate);
        }
        next.extend(children);
    }
    // a holder may lie within another one, so that its children come before later ones of that
    next.sort_unstable();
    next
}

fn fits(document: &Document<'_>, node: usize, test: &NodeTest) -> bool {
    match test {
        NodeTest::Element(name) => document.name(node).is_some_and(|written| name.fits(written)),
        NodeTest::Text => document.is_text(node),
        NodeTest::Attribute(_) => false,
    }
}

/// The nodes for which `predicate` holds.
fn kept(document: &Document<'_>, nodes: Vec<usize>, predicate: &Predicate) -> Vec<usize> {
    match predicate {
        Predicate::Condition(operand, relation) => {
            let holds = |node: &usize| relation.holds(&values(document, *node, operand));
            nodes.into_iter().filter(holds).collect()
        }
        Predicate::Position(position) => nodes.into_iter().skip(position - 1).take(1).collect(),
        Predicate::Last => nodes.last().copied().into_iter().collect(),
    }
}

/// What a condition looks at.
fn values(document: &Document<'_>, node: usize, operand: &Operand) -> Vec<String> {
    let written = || document.name(node).unwrap_or_default();
    match operand {
        Operand::Attribute(name) => document.attributes(node, name),
        Operand::Child(name) => {
            let children = document.children(node);
            let children = children.filter(|at| document.name(*at).is_some_and(|n| name.fits(n)));
            children.map(|at| document.text(at)).collect()
        }
        Operand::Whole => vec![document.text(node)],
        Operand::Texts => {
            let texts = document.children(node).filter(|at| document.is_text(*at));
            texts.map(|at| document.text(at)).collect()
        }
        Operand::LocalName => {
            vec![written().rsplit(':').next().unwrap_or_default().to_owned()]
        }
        Operand::Name => vec![written().to_owned()],
    }
}

impl Relation {
    /// True when it holds for one of `values`.
    fn holds(&self, values: &[String]) -> bool {
        values.iter().any(|value| match self {
            Self::Exists => true,
            Self::Is(text) => value == text,
            Self::IsNot(text) => value != text,
        })
    }
}
