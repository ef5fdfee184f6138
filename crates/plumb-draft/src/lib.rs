//! A scenario while it is made of a file of others, whatever the format of that file: a [`Source`]
//! becomes a [`Draft`].
//!
//! What was not carried over is a [`note::Note`], and what must not stand in a scenario, passwords and
//! tokens, is kept out of it by [`Secrets`] and [`Login`].

pub mod body;
mod draft;
mod error;
pub mod header;
mod label;
mod login;
pub mod note;
pub mod origin;
mod secrets;
mod source;
pub mod template;
pub mod wait;

pub use draft::{DataFile, Draft, DraftStep, Remarks, laid_out, shared_headers};
pub use error::SourceError;
pub use label::Labels;
pub use login::Login;
pub use secrets::Secrets;
pub use source::Source;
