//! What became of a block.

use plumb_command::exit;
use plumb_experiment::shell::ShellError;
use plumb_folder::FolderError;
use plumb_lab::{Block, BlockStatus, Failure, Faults, LabError};

use super::words::without_secrets;

/// The block that was measured and is then `read`, or how and why it came to nothing. A folder that cannot be
/// read or written is ours: that is no failure of a variant.
pub(super) fn taken(
    measured: Result<(), (Failure, anyhow::Error)>,
    read: impl FnOnce() -> Result<Block, LabError>,
) -> Result<Block, (Option<Failure>, String)> {
    let block = match measured {
        Ok(()) => read().map_err(|error| (None, anyhow::Error::from(error))),
        Err((failure, error)) => Err((Some(failure), error)),
    };
    block.map_err(|(failure, error)| {
        let disturbed = matches!(error.downcast_ref(), Some(ShellError::Disturbed(_)));
        let of_folder = error.chain().any(|cause| cause.is::<FolderError>());
        let failure = match disturbed {
            true => Some(Failure::Disturbed),
            false => failure.filter(|_| !of_folder),
        };
        (failure, without_secrets(&exit::said(&error)))
    })
}

/// What became of a block that came to nothing, by how, as far as that is known.
pub(super) fn failed(failure: Option<Failure>) -> BlockStatus {
    failure.map_or(BlockStatus::Failed, BlockStatus::from)
}

/// What became of a block that was measured.
pub(super) fn status(block: &Block, faults: Faults) -> BlockStatus {
    match block.left_out(faults) {
        Some(_) if block.is_crowded() => BlockStatus::Crowded,
        Some(_) if block.is_broken() => BlockStatus::Broken,
        Some(_) => BlockStatus::Faulty,
        None => BlockStatus::Sound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_read_is_no_failure_of_its_variant() {
        let of = |measured| {
            taken(measured, || Err(LabError::Stray("the record is cut off".into()))).unwrap_err()
        };
        let (failure, reason) = of(Ok(()));
        assert!(failure.is_none() && reason.contains("the record is cut off"), "{reason}");
        let broken = of(Err((Failure::Measurement, anyhow::anyhow!("no answer"))));
        assert_eq!(broken, (Some(Failure::Measurement), "no answer".to_owned()));
        let full = FolderError::NotEmpty { path: "blocks/001-a".into() };
        assert_eq!(of(Err((Failure::Measurement, full.into()))).0, None);
        assert_eq!(failed(None), BlockStatus::Failed, "it is not tried for ever");
    }
}
