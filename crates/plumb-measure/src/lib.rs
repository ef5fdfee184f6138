//! What a measurement is.
//!
//! This crate says how long and how it ended ([`Recorder`]), how times are counted
//! ([`Histogram`]), which figures follow ([`NipingFigures`], [`Distribution`]), whether they may be
//! believed ([`Validity`]), how a run is written down ([`RunRecord`]), by which tests figures are
//! compared ([`statistics`]), and who takes part in a load of scripts at what time
//! ([`user_schedule`]). It is pure: it reads no clock, opens no file and knows no protocol.

mod accepted_load;
mod address;
mod attribution;
mod batches;
pub mod bounds;
mod clients;
mod clock;
mod codes;
mod consistency;
mod delivery;
mod estimate;
mod faster;
mod figures;
mod finding;
mod foreign_limit;
pub mod hdr;
pub mod hgrm;
mod histogram;
mod host_use;
mod http2;
mod ladder_drift;
mod lengths;
mod link_use;
mod load_part;
mod moments;
mod niping;
mod outcome;
mod pacer;
mod part;
mod part_kind;
mod placement;
mod plan;
mod record;
mod remote_selector;
mod result;
mod round_trip;
mod run;
mod scenario;
mod series;
mod split;
mod stalls;
mod step;
mod stream;
mod tcp;
mod tick;
mod told;
mod told_names;
mod trace;
mod transport;
mod units;
pub mod user_schedule;
mod validity;

pub use accepted_load::{AcceptedLoad, ForeignLook, Known};
pub use address::without_picked_port;
pub use attribution::{
    Account, Advice, Attribution, Calls, ExampleOperation, ExamplePart, FasterCalls,
    PercentileAccount, Reading, TimePart,
};
pub use batches::{BatchMeans, Batches};
pub use clients::{ClientFigures, Overlap, Recorded, carried_kb_s, counts_differ};
pub use clock::Clock;
pub use codes::Codes;
pub use delivery::Delivery;
pub use estimate::Estimate;
pub use figures::{Distribution, Figure, Interval, LengthFigures};
pub use finding::{Finding, FindingKind, Scope};
pub use foreign_limit::{ForeignLimit, LimitSource};
pub use histogram::Histogram;
pub use host_use::{
    CpuQuota, CpuThrottled, FarHost, ForeignProcess, ForeignSource, HostUse, ReceiveUse,
};
pub use http2::Http2Figures;
pub use ladder_drift::LadderDrift;
pub use lengths::Lengths;
pub use link_use::{LinkSpeed, LinkUse};
pub use load_part::LoadPart;
pub use moments::Moments;
pub use niping::NipingFigures;
pub use outcome::{FailureKind, Failures, Outcome, attempts_to_connect};
pub use pacer::Pacer;
pub use part::{FirstHit, PairDifference, PairRecord, PartRecord, SpanAccount, StepRecord};
pub use part_kind::{Intermediary, PartKind};
pub use placement::{Placement, ProcessorShare};
pub use record::{Answer, Recorder, Row, Shape};
pub use remote_selector::{RemoteQuery, RemoteSelector, remote_label, remote_name};
pub use result::{CpuSplit, CpuUse, DriverFacts, ResultRecord};
pub use round_trip::{
    Away, MessageStamps, Residence, RoundTrip, RoundTripMeans, RoundTripParts, RoundTripTimes,
    ServerHalf, SlowestRoundTrips, Unsplit,
};
pub use run::{
    Floor, HostFacts, Plan, Program, RecordError, RunRecord, SCHEMA, Status, Target,
    read_versioned, schema_remedy, written,
};
pub use scenario::{ScenarioFigures, ThresholdRecord};
pub use series::Series;
pub use split::{CannotBeSplit, PartShare, Split};
pub use stalls::{RTO_MIN_NS, StallEvidence, may_be_delayed};
pub use step::{StepSource, StepTimes, Telling, is_whole_time, times_that_add_up};
pub use stream::{
    DatagramFlow, GapClass, OneWay, Portion, StreamFigures, StreamInterval, bits_per_s,
};
pub use tcp::{SlowSample, Slowest, TcpAround, TcpReading, TcpTotals};
pub use tick::{Tick, Ticks};
pub use told::ServerTimes;
pub use told_names::{ToldNames, renumbering};
pub use trace::{TraceId, TracedOperation, TracedOperations};
pub use transport::{Network, SmcLack, Transport, TransportUse, Transports};
pub use units::{
    BitRate, ByteSize, Rate, RateOrNone, Share, Span, UnitError, counted, grouped, show_above,
    show_count, show_ns, show_plain, show_rate,
};
pub use validity::{LoadFacts, SLOW_NAME_NS, Validity};

pub use plumb_statistics as statistics;
pub use plumb_statistics::{real, rounded, signed_real, truncated};
