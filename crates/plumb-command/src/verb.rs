//! A verb of a layer, carried out.

use std::io;

use anyhow::anyhow;
use plumb_engine::Stop;
use plumb_engine::layer::{JobError, Verb};

use crate::exit::{self, Exit};

/// A layer's error as ours, without losing its message.
pub fn plain(error: JobError) -> anyhow::Error {
    anyhow!(error)
}

/// Carries out what leaves no run.
///
/// # Errors
/// What kept it from being carried out, but for a reader that has gone.
pub fn carry_out(
    verb: &mut dyn Verb,
    (out, err): (&mut (dyn io::Write + Send), &mut (dyn io::Write + Send)),
    stop: &Stop,
) -> anyhow::Result<Exit> {
    if let Err(error) = verb.run(out, err, stop) {
        let error = error.downcast::<io::Error>().map_or_else(plain, |error| (*error).into());
        // what was found by then is still told by the exit code when nobody reads on
        if !exit::pipe_was_closed(&error) {
            return Err(error);
        }
    }
    Ok(match (verb.was_interrupted(), verb.has_findings()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Finding,
        (false, false) => Exit::Ran,
    })
}
