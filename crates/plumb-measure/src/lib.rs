//! What a measurement is.
//!
//! This crate says how long and how it ended ([`Recorder`]), how times are counted
//! ([`Histogram`]), which figures follow ([`NipingFigures`], [`Distribution`]), whether they may be
//! believed ([`Validity`]), how a run is written down ([`RunRecord`]), how two are compared
//! ([`statistics`], [`Comparison`]), what the check of a path says ([`PathCheck`]), and what is
//! wrong with a landscape ([`Checkup`]). It is pure: it reads no clock, opens no file and knows no
//! protocol.

mod attribution;
mod batches;
pub mod bounds;
mod checkup;
mod clients;
mod clock;
mod codes;
mod comparison;
mod consistency;
mod estimate;
mod faster;
mod figures;
mod finding;
mod foreign_limit;
pub mod hdr;
pub mod hgrm;
mod histogram;
mod host_use;
mod idle;
mod lengths;
mod niping;
mod number;
mod outcome;
mod part;
mod path_check;
mod placement;
mod record;
mod result;
mod run;
mod scenario;
mod series;
mod split;
mod stalls;
pub mod statistics;
mod stream;
mod tcp;
mod tick;
mod told;
mod transport;
mod units;
mod validity;

pub use attribution::{
    Account, Advice, Attribution, Calls, FasterCalls, PartKind, Reading, TimePart,
};
pub use batches::{BatchMeans, Batches};
pub use checkup::{
    CHECKUP_SCHEMA, Checkup, CheckupFinding, CheckupLayer, CheckupOutcome, CheckupPart,
    CheckupRemark, CheckupVerdict, FaultCost, FaultKind, LayerState, LayerVerdict, LeftOutLayer,
    Middle, OwnTime, PartRole, Waited,
};
pub use clients::{ClientFigures, Overlap, Recorded, carried_kb_s, counts_differ};
pub use clock::Clock;
pub use codes::Codes;
pub use comparison::{
    Better, BlockFigures, COMPARISON_SCHEMA, CONVENTION, Checks, Comparison, Contrast, Design,
    DesignKind, Difference, Endpoint, FigureUnit, LeftOut, Role, Tail, Variant, Verdict, signed,
};
pub use estimate::Estimate;
pub use figures::{Distribution, Figure, Interval, LengthFigures};
pub use finding::{Finding, FindingKind, Scope};
pub use foreign_limit::{ForeignLimit, LimitSource};
pub use histogram::Histogram;
pub use host_use::{FarHost, ForeignProcess, ForeignSource, HostUse, ReceiveUse};
pub use idle::{
    IDLE_ROUNDS_MAX, IDLE_ROUNDS_MIN, IDLE_SCHEMA, IdleCompany, IdleCost, IdleEffect, IdleFinding,
    IdleRound, IdleSample, IdleSetting,
};
pub use lengths::Lengths;
pub use niping::NipingFigures;
pub use number::{real, rounded, signed_real, truncated};
pub use outcome::{FailureKind, Failures, Outcome};
pub use part::{FirstHit, PairDifference, PairRecord, PartRecord, StepRecord};
pub use path_check::{
    Judgement, PATH_CHECK_SCHEMA, PartOutcome, PathCheck, PathPart, PathTest, PathVerdict,
};
pub use placement::{Placement, ProcessorShare};
pub use record::{Answer, Moments, Recorder, Row, Shape};
pub use result::{CpuSplit, CpuUse, DriverFacts, ResultRecord};
pub use run::{Floor, HostFacts, Plan, Program, RecordError, RunRecord, SCHEMA, Status, Target};
pub use scenario::{ScenarioFigures, ThresholdRecord};
pub use series::Series;
pub use split::{CannotBeSplit, PartShare, Split};
pub use stalls::StallEvidence;
pub use stream::{OneWay, Portion, StreamFigures, StreamInterval, bits_per_s};
pub use tcp::{SlowSample, Slowest, TcpAround, TcpReading, TcpTotals};
pub use tick::{Tick, Ticks};
pub use told::ServerTimes;
pub use transport::{Network, Transport, TransportUse, Transports};
pub use units::{
    BitRate, ByteSize, Rate, RateOrNone, Share, Span, UnitError, counted, grouped, show_count,
    show_ns, show_plain,
};
pub use validity::{LoadFacts, Validity};
