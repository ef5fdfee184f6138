//! How the bytes of a URL travel: the one place that chooses a link.

use plumb_engine::{LoadPlan, LoadResult, Plain, Stage, load};
use plumb_wire::http::{Scheme, Url};

use crate::{HttpError, Probe};

/// Drives `plan` with copies of `probe`, one a thread, over the link that `url` asks for.
///
/// # Errors
/// [`HttpError::Encrypted`], or what the engine says when the load cannot begin.
pub(crate) fn drive(
    url: &Url,
    plan: &LoadPlan,
    stage: &mut Stage<'_>,
    probe: &Probe,
) -> Result<LoadResult<Probe>, HttpError> {
    check(url)?;
    Ok(load::run(plan, stage, probe.pages(), || probe.clone(), Plain::default)?)
}

/// Refuses a URL that no link here leads to.
///
/// # Errors
/// [`HttpError::Encrypted`].
pub(crate) fn check(url: &Url) -> Result<(), HttpError> {
    match url.scheme() {
        Scheme::Http => Ok(()),
        Scheme::Https => Err(HttpError::Encrypted { url: url.to_string() }),
    }
}
