//! What a measurement is.
//!
//! This crate says how long and how it ended ([`Recorder`]), how times are counted
//! ([`Histogram`]), which figures follow ([`NipingFigures`], [`Distribution`]), whether they may be
//! believed ([`Validity`]), how a run is written down ([`RunRecord`]), and how two are compared
//! ([`statistics`], [`Comparison`]). It is pure: it reads no clock, opens no file and knows no
//! protocol.

mod attribution;
mod batches;
mod clock;
mod comparison;
pub mod hdr;
mod histogram;
mod host_use;
mod niping;
mod outcome;
mod record;
mod run;
pub mod statistics;
mod units;
mod validity;

pub use attribution::{Advice, Attribution, Estimate, Part, PartKind, Reading, Series};
pub use batches::{BatchMeans, Batches};
pub use clock::Clock;
pub use comparison::{
    Better, BlockFigures, COMPARISON_SCHEMA, Checks, Comparison, Contrast, Design, DesignKind,
    Difference, Endpoint, FigureUnit, LeftOut, Role, Tail, Variant, Verdict,
};
pub use histogram::Histogram;
pub use host_use::{FarHost, HostUse, ReceiveUse};
pub use niping::NipingFigures;
pub use outcome::{FailureKind, Failures, Outcome};
pub use record::{Answer, Codes, Lengths, Moments, Recorder, Row};
pub use run::{
    CpuSplit, CpuUse, Distribution, DriverFacts, Figure, Floor, HostFacts, Interval, LengthFigures,
    Plan, Program, RecordError, ResultRecord, RunRecord, SCHEMA, Status, Target, Transport,
};
pub use units::{ByteSize, Rate, Share, Span, UnitError, show_count, show_ns};
pub use validity::{Finding, FindingKind, LoadFacts, Scope, Validity};
