//! Where rows stand in a document, and where the fields of a row stand, seen from it.

/// Steps of a path at most.
pub const STEPS_MAX: usize = 256;

/// The place of every row: names of elements from the root, `/LOIPRO01/IDOC/E1AFKOL`. Without a step,
/// `/`, it is the whole document, or each item of a JSON document that is a list.
///
/// Names are local names: a prefix of a namespace in the document is not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPath {
    pub(super) steps: Vec<Box<str>>,
}

/// The place of a field, seen from its row: `POSNR`, `@SEGMENT`, `../../AUFNR`, `HEAD/DATE`, or `.`
/// for the text of the row itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    /// Levels above the row.
    pub(super) up: usize,
    pub(super) steps: Vec<Box<str>>,
    pub(super) attribute: Option<Box<str>>,
}

/// Why a path cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// A path of rows that does not begin at the root.
    #[error("`{path}`: a path of rows begins with `/`, such as /ORDERS/IDOC/ITEM")]
    Relative {
        /// As it was written.
        path: String,
    },
    /// A path of a field that begins at the root.
    #[error(
        "`{path}`: a field is looked for from its row, such as ITEM, @ID or ../HEAD/DATE; \
         leave the first `/` out"
    )]
    Absolute {
        /// As it was written.
        path: String,
    },
    /// A step that is no name.
    #[error("`{path}`: `{step}` is no name of an element")]
    Step {
        /// As it was written.
        path: String,
        /// The step.
        step: String,
    },
    /// `@name` before the last step, or in a path of rows.
    #[error("`{path}`: an attribute stands at the end of the path of a field")]
    Attribute {
        /// As it was written.
        path: String,
    },
    /// More `..` than the row has levels above it.
    #[error("`{path}` leads above the root: the row stands {depth} levels below it")]
    AboveRoot {
        /// As it was written.
        path: String,
        /// Levels above the row.
        depth: usize,
    },
    /// Too many steps.
    #[error("`{path}` has more than {STEPS_MAX} steps")]
    TooLong {
        /// As it was written.
        path: String,
    },
}

impl std::str::FromStr for RowPath {
    type Err = PathError;

    fn from_str(path: &str) -> Result<Self, PathError> {
        let Some(steps) = path.strip_prefix('/') else {
            return Err(PathError::Relative { path: path.into() });
        };
        if steps.is_empty() {
            return Ok(Self { steps: Vec::new() });
        }
        Ok(Self { steps: names(path, steps.split('/'))? })
    }
}

impl std::str::FromStr for FieldPath {
    type Err = PathError;

    fn from_str(path: &str) -> Result<Self, PathError> {
        if path.starts_with('/') {
            return Err(PathError::Absolute { path: path.into() });
        }
        let mut rest = path;
        let mut up = 0;
        while let Some(above) = rest.strip_prefix("../") {
            (up, rest) = (up + 1, above);
        }
        let (steps, attribute) = match rest.rsplit_once('/') {
            _ if rest == "." => ("", None),
            Some((steps, last)) if last.starts_with('@') => (steps, Some(&last[1..])),
            None if rest.starts_with('@') => ("", Some(&rest[1..])),
            _ => (rest, None),
        };
        if attribute.is_some_and(|name| !is_name(name)) {
            return Err(PathError::Step { path: path.into(), step: rest.into() });
        }
        let own = rest == "." || attribute.is_some() && steps.is_empty();
        let steps = if own { Vec::new() } else { names(path, steps.split('/'))? };
        Ok(Self { up, steps, attribute: attribute.map(Into::into) })
    }
}

fn names<'a>(path: &str, steps: impl Iterator<Item = &'a str>) -> Result<Vec<Box<str>>, PathError> {
    let mut names = Vec::new();
    for step in steps {
        if step.starts_with('@') {
            return Err(PathError::Attribute { path: path.into() });
        }
        if !is_name(step) {
            return Err(PathError::Step { path: path.into(), step: step.into() });
        }
        names.push(step.into());
    }
    if names.len() > STEPS_MAX {
        return Err(PathError::TooLong { path: path.into() });
    }
    Ok(names)
}

/// Names of JSON members may hold more than those of elements, but nothing that means something in
/// a path.
fn is_name(step: &str) -> bool {
    !step.is_empty()
        && step != "."
        && step != ".."
        && !step.contains(['*', '@', '[', ']', '(', ')', ':', '|'])
        && !step.contains(char::is_whitespace)
        && !step.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str) -> String {
        path.parse::<FieldPath>().unwrap_err().to_string()
    }

    #[test]
    fn a_field_is_looked_for_from_its_row() {
        let field: FieldPath = "../../HEAD/@DATE".parse().unwrap();
        assert_eq!((field.up, field.steps.len()), (2, 1));
        assert_eq!(field.attribute.as_deref(), Some("DATE"));
        let own: FieldPath = ".".parse().unwrap();
        assert_eq!((own.up, own.steps.len(), own.attribute), (0, 0, None));
        let id: FieldPath = "@ID".parse().unwrap();
        assert_eq!((id.steps.len(), id.attribute.as_deref()), (0, Some("ID")));
        let above: FieldPath = "../@ID".parse().unwrap();
        assert_eq!((above.up, above.steps.len()), (1, 0));
    }

    #[test]
    fn what_is_no_path_is_refused_by_its_step() {
        assert!(refused("/A").contains("leave the first `/` out"));
        assert!(refused("A//B").contains("`` is no name"));
        assert!(refused("A/../B").contains("`..` is no name"));
        assert!(refused("@A/B").contains("at the end"));
        assert!(refused("A[1]").contains("`A[1]` is no name"));
        assert!(refused("").contains("`` is no name"));
        assert!(refused("..").contains("`..` is no name"));
        assert!("A/B".parse::<RowPath>().unwrap_err().to_string().contains("begins with `/`"));
        assert!("/A/@B".parse::<RowPath>().is_err());
        assert!("/".parse::<RowPath>().unwrap().steps.is_empty());
    }
}
