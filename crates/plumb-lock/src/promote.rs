//! `plumb lock promote`: a replica takes the place of its primary.

use clap::Args;
use plumb_engine::Stop;
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_engine::options::Apart;
use plumb_measure::Span;

use crate::LockError;
use crate::said::Said;
use crate::target::TargetOptions;

/// Which server is promoted.
#[derive(Args, Clone, Debug)]
pub struct PromoteOptions {
    /// The server.
    #[command(flatten)]
    pub target: Apart<TargetOptions>,

    /// Promote it even if locks that were granted may be missing there, or its replica may have
    /// been promoted
    #[arg(long)]
    pub force: bool,

    /// An answer must be there within this
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub timeout: Span,
}

/// Promotes a server.
#[derive(Debug)]
pub struct Promote {
    options: PromoteOptions,
}

impl Promote {
    /// Promotes as `options` say, once it runs.
    #[must_use]
    pub fn new(options: PromoteOptions) -> Self {
        Self { options }
    }

    fn promote(&self, out: Output<'_>, stop: &Stop) -> Result<(), LockError> {
        let target = self.options.target.resolve()?;
        let words: &[&[u8]] = if self.options.force {
            &[b"REPLICA", b"PROMOTE", b"FORCE"]
        } else {
            &[b"REPLICA", b"PROMOTE"]
        };
        let said = target.ask(&[words], self.options.timeout, stop)?.pop();
        let epoch = match said {
            Some(Said::Error(why)) => {
                let why = why.strip_prefix("ERR ").unwrap_or(&why).to_owned();
                return Err(LockError::NotPromoted { address: target.name, why });
            }
            Some(said) => said.number(),
            None => 0,
        };
        writeln!(out, "{} gives locks out under epoch {epoch}", target.name)?;
        Ok(())
    }
}

impl Verb for Promote {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.promote(out, stop)?)
    }
}
