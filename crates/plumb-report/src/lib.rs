//! Run records as people read them.
//!
//! A report reads a [`RunRecord`](plumb_measure::RunRecord) and nothing else: no clock, no engine,
//! no counter of the machine it is made on. So a record of three years ago reads the same today.
//!
//! | module | what it makes |
//! |---|---|
//! | [`terminal`] | plain text, 80 columns for one result and 100 for several |
//! | [`markdown`] | tables to paste into a ticket |
//! | [`html`] | one self-contained page with charts |
//! | [`niping`] | the block of figures that niping prints |
//! | [`comparison`] | the same three of a [`Comparison`](plumb_comparison::Comparison) |
//! | [`collection`] | many runs and experiments on one page |
//!
//! The JSON form is [`RunRecord::to_json`](plumb_measure::RunRecord::to_json).

mod attribution;
mod chart;
mod clients;
pub mod collection;
pub mod comparison;
mod definitions;
mod delivery;
mod facts;
mod host;
pub mod html;
mod http2;
mod labels;
pub mod markdown;
mod merged;
pub mod niping;
mod notes;
mod noun;
mod parts;
mod placement;
mod points;
mod round_trip;
mod scenarios;
mod section;
mod slowest;
mod streams;
mod sweep;
mod tables;
pub mod terminal;
mod verdict;

use plumb_page::{figures, page, sheet, table, tile, trust, wrap};

pub use attribution::{stack, steps};
pub use parts::pair::is_told_apart;
pub use verdict::{reason, sentence};
