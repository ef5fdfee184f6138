//! What becomes of figures that may not be used as they are.

use clap::Args;
use plumb_lab::{Admission, Faults};

/// The options that let them count.
#[derive(Args, Clone, Copy, Debug)]
#[group(skip)]
pub(crate) struct AdmissionOptions {
    /// Let figures count that are not valid; the report says so
    #[arg(long)]
    accept_invalid: bool,

    /// Let figures count whose validity is not checked; the report says so
    #[arg(long)]
    accept_unchecked: bool,
}

impl AdmissionOptions {
    /// True when one of them is given.
    pub(crate) fn is_given(self) -> bool {
        self.accept_invalid || self.accept_unchecked
    }
}

impl From<AdmissionOptions> for Faults {
    fn from(options: AdmissionOptions) -> Self {
        let admit = |asked| if asked { Admission::Accept } else { Admission::Refuse };
        Self { invalid: admit(options.accept_invalid), unchecked: admit(options.accept_unchecked) }
    }
}
