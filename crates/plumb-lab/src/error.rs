//! What can go wrong with an experiment.

use plumb_folder::FolderError;
use plumb_measure::hdr;

/// Why an experiment, or a comparison of stored runs, came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A folder cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A record holds a distribution that cannot be decoded.
    #[error("a distribution in the record cannot be read: {0}")]
    Histogram(hdr::DecodeError),
    /// A run was given up before it had a result.
    #[error("the run has no result")]
    NoResult,
    /// The order of an experiment cannot be read.
    #[error("not the order of an experiment: {0}")]
    Order(#[from] serde_json::Error),
    /// The order was written by another version.
    #[error(
        "this experiment is `{found}`; this program reads `{reads}`: {}",
        plumb_measure::schema_remedy(found, reads)
    )]
    Schema {
        /// What the text says of itself.
        found: String,
        /// What is read here.
        reads: &'static str,
    },
    /// The runs measure different things.
    #[error("{0}; only runs of one kind can be compared: name others, or leave one out")]
    Mismatch(String),
    /// The tick of idle processors was held in one run and not in the other.
    #[error(
        "{one} and {other} differ in the tick of idle processors, and so would their figures, \
         whatever else was changed: measure all of them alike, or make --hold-tick the variant"
    )]
    Tick {
        /// A run and what was done about the tick.
        one: String,
        /// Another.
        other: String,
    },
    /// A block of the order is of no variant or of no cell.
    #[error("not the order of an experiment: {0}: copy it again from where it was measured")]
    Stray(String),
    /// A block was not measured where the others of its variant were, or is not the one that the
    /// experiment took.
    #[error("{block} does not belong to the other blocks of {variant}: {difference}; {remedy}")]
    Origin {
        /// Its folder.
        block: String,
        /// Its variant.
        variant: String,
        /// In what it differs.
        difference: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Something that can take every figure of a run away could not be checked.
    #[error(
        "the validity of {name} is not checked: {reason}; measure again where it can be, or add \
         --accept-unchecked"
    )]
    Unchecked {
        /// The run.
        name: String,
        /// What could not be checked.
        reason: String,
    },
    /// A run may not be compared.
    #[error("{name} is not valid: {reason}; measure again, or add --accept-invalid")]
    Invalid {
        /// The run.
        name: String,
        /// Why.
        reason: String,
    },
}
