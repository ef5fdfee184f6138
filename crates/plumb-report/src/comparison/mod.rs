//! Did the change help? A comparison as people read it.
//!
//! | function | what it makes |
//! |---|---|
//! | [`terminal`] | plain text, 80 columns |
//! | [`markdown`] | tables to paste into a ticket |
//! | [`html`] | one self-contained page with charts |
//!
//! Every form begins with the answer in words, then says what the reader must know before the
//! figures. A change is always an improvement in percent of the baseline: `+` is better, for times
//! and for rates.
//!
//! The JSON form is [`Comparison::to_json`](plumb_comparison::Comparison::to_json).

mod checks;
mod contrasts;
mod definitions;
mod densities;
mod design;
pub(crate) mod figures;
mod grid;
mod html;
mod markdown;
mod tables;
mod terminal;

pub(crate) use contrasts::counted;
pub use html::render as html;
pub(crate) use html::section;
pub use markdown::render as markdown;
pub use terminal::render as terminal;
