//! The parts of which every report is made.
//!
//! | module | what it holds |
//! |---|---|
//! | [`figures`] | numbers as people read them |
//! | [`threshold`] | what was found under a threshold |
//! | [`trust`] | how far the figures of a run may be used |
//! | [`table`] | columns and rows, as text and as Markdown |
//! | [`wrap`], [`paint`] | paragraphs for a terminal, verdicts in colour |
//! | [`page`], [`sheet`], [`tile`] | the document, its tables, its first figures |
//!
//! What stands in them is the report's.

mod definition;
pub mod figures;
pub mod page;
pub mod paint;
pub mod sheet;
pub mod table;
pub mod threshold;
pub mod tile;
pub mod trust;
pub mod wrap;

pub use definition::Definition;
