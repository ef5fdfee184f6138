//! Rows and fields compiled into one tree of names, so that a document is gone through once.

use super::path::{FieldPath, PathError, RowPath};

/// A field of a row, by its position among those of the plan.
pub(super) type Slot = usize;
/// A node of the tree of names.
pub(super) type NodeId = usize;

/// What rows of a document are and what is taken of each.
#[derive(Clone, Debug)]
pub struct RowPlan {
    pub(super) nodes: Vec<Node>,
    /// Of each field: how many levels above the row the element stands that it belongs to.
    pub(super) up: Vec<usize>,
    /// Names of the fields, as they were given.
    pub(super) names: Vec<Box<str>>,
    /// Steps from the root to a row.
    pub(super) depth: usize,
}

/// An element that leads to rows or fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    children: Vec<(Box<str>, NodeId)>,
    /// It is a row.
    pub(super) is_row: bool,
    /// It is on the way to the rows, so many levels above them (0: a row itself).
    pub(super) above: Option<usize>,
    /// Fields that are its text.
    pub(super) texts: Vec<Slot>,
    /// Fields that are its attributes.
    pub(super) attributes: Vec<(Box<str>, Slot)>,
    /// Fields that are looked for anew in each such element.
    pub(super) scopes: Vec<Slot>,
}

impl Node {
    pub(super) fn child(&self, name: &str) -> Option<NodeId> {
        self.children.iter().find(|(of, _)| **of == *name).map(|(_, id)| *id)
    }
}

impl RowPlan {
    /// The rows at `rows`, each with `fields` (name and place).
    ///
    /// # Errors
    /// [`PathError::AboveRoot`] for a field that is looked for above the root.
    pub fn new<'a>(
        rows: &RowPath,
        fields: impl IntoIterator<Item = (&'a str, FieldPath)>,
    ) -> Result<Self, PathError> {
        let depth = rows.steps.len();
        let mut plan =
            Self { nodes: vec![Node::default()], up: Vec::new(), names: Vec::new(), depth };
        let mut way = vec![0];
        for step in &rows.steps {
            way.push(plan.child_of(way[way.len() - 1], step));
        }
        for (at, node) in way.iter().enumerate() {
            plan.nodes[*node].above = Some(depth - at);
        }
        plan.nodes[way[depth]].is_row = true;
        for (name, path) in fields {
            plan.add(name, &path, &way)?;
        }
        Ok(plan)
    }

    /// Names of the fields, in the order of the values of a row.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    fn add(&mut self, name: &str, path: &FieldPath, way: &[NodeId]) -> Result<(), PathError> {
        let depth = self.depth;
        let Some(from) = depth.checked_sub(path.up) else {
            return Err(PathError::AboveRoot { path: path.to_string(), depth });
        };
        let slot = self.names.len();
        self.names.push(name.into());
        self.up.push(path.up);
        self.nodes[way[from]].scopes.push(slot);
        let mut at = way[from];
        for step in &path.steps {
            at = self.child_of(at, step);
        }
        match &path.attribute {
            Some(attribute) => self.nodes[at].attributes.push((attribute.clone(), slot)),
            None => self.nodes[at].texts.push(slot),
        }
        Ok(())
    }

    fn child_of(&mut self, node: NodeId, name: &str) -> NodeId {
        if let Some(child) = self.nodes[node].child(name) {
            return child;
        }
        let child = self.nodes.len();
        self.nodes.push(Node::default());
        self.nodes[node].children.push((name.into(), child));
        child
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let above = std::iter::repeat_n("..", self.up);
        let steps = above.chain(self.steps.iter().map(AsRef::as_ref)).collect::<Vec<_>>().join("/");
        match &self.attribute {
            Some(attribute) if steps.is_empty() => write!(f, "@{attribute}"),
            Some(attribute) => write!(f, "{steps}/@{attribute}"),
            None if self.steps.is_empty() && self.up == 0 => f.write_str("."),
            None => f.write_str(&steps),
        }
    }
}
