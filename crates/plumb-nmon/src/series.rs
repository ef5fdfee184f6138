//! Which figures are kept one by one.

/// Columns whose figures are kept one by one, eight bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Series {
    /// None: only statistics.
    #[default]
    None,
    /// Those of the sections of these names.
    Of(Vec<String>),
    /// All.
    All,
}

impl Series {
    pub(crate) fn holds(&self, section: &str) -> bool {
        match self {
            Self::None => false,
            Self::Of(names) => names.iter().any(|name| name == section),
            Self::All => true,
        }
    }
}
