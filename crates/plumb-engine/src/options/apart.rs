//! Options whose headings in the help end with them.

use std::ops::Deref;

use clap::builder::{Resettable, Str};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// A set of options that others may follow: the heading of its last ones does not stand over those.
#[derive(Clone, Debug)]
pub struct Apart<T>(pub T);

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Args> Args for Apart<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args(command).next_help_heading(Resettable::<Str>::Reset)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command).next_help_heading(Resettable::<Str>::Reset)
    }
}

impl<T: FromArgMatches> FromArgMatches for Apart<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
