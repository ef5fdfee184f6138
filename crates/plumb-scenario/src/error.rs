//! Why a scenario cannot be used.

use std::path::PathBuf;

use plumb_wire::document::Wrong;

/// Why there is no scenario. Each message names the file and says what to try.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read: check its path and its rights.
    #[error(
        "cannot read the scenario {}: {cause}; check the path: one that is relative counts from the folder in \
         which plumb was started",
        path.display()
    )]
    NotRead {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// Something in it is wrong: mend it at the place that is named.
    #[error("{}, {wrong}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What and where.
        wrong: Box<Wrong>,
    },
    /// A value that was said with the load: say it as the message tells.
    #[error("{}: --variable: {problem}", path.display())]
    Variable {
        /// The file.
        path: PathBuf,
        /// What is wrong, with what to write.
        problem: String,
    },
}
