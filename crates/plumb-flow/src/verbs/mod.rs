//! The verbs of the layer.

mod check;
mod remote;
mod try_out;

pub(crate) use remote::{Client, WHO_ASKS, secret};

pub use check::{Check, CheckOptions};
pub use remote::{
    AskManager, ChoiceOptions, DropOptions, ListOptions, RetryOptions, ServerOptions, ShowOptions,
    StateName,
};
pub use try_out::{TryOptions, TryOut};
