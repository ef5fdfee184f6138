//! The check of a network path: five standard tests and one of datagrams, what came of each part, and
//! what that says.

mod carried;
mod connects;
mod datagrams;
mod judge;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use carried::Carried;
use judge::Known;
use plumb_measure::{
    AcceptedLoad, DatagramFlow, FindingKind, ForeignLimit, ForeignLook, OneWay, Program,
    RecordError, ResultRecord, RoundTripMeans, StreamFigures, read_versioned, written,
};

/// Version of the form of [`PathCheck`].
pub const PATH_CHECK_SCHEMA: &str = "plumb.net-check/1";
/// Behind the figures of a run that may not be used.
const NOT_VALID: &str = " The figures are not valid: see the run's report.";
/// From this loss on TCP no longer carries much over a long way.
///
/// # Source
/// Mathis, Semke, Mahdavi, Ott: The macroscopic behavior of the TCP congestion avoidance algorithm
/// (1997): its rate is at most `segment / round trip * 1.22 / sqrt(loss)`; at 1 % that is twelve
/// segments a round trip.
const BAD_LOSS: f64 = 0.01;

/// The tests, in the order in which they are carried out.
///
/// # Source
/// SAP Note 500235, which describes all but the last two for niping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathTest {
    /// How much large messages carry.
    Throughput,
    /// How long the smallest message takes.
    RoundTrip,
    /// Whether messages of every size get through, around the sizes of packets.
    Sizes,
    /// Whether a connection that is silent for long still works.
    Idle,
    /// Whether a connection lasts.
    Stability,
    /// What is lost, overtaken or late of datagrams, which TCP would hide.
    Datagrams,
    /// How long names and connects take. It has no part of its own: every part shows it.
    Connects,
}

impl PathTest {
    /// All of them, in order.
    pub const ALL: [Self; 7] = [
        Self::Throughput,
        Self::RoundTrip,
        Self::Sizes,
        Self::Idle,
        Self::Stability,
        Self::Datagrams,
        Self::Connects,
    ];

    /// The name for people and folders.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::RoundTrip => "round trip",
            Self::Sizes => "sizes",
            Self::Idle => "idle",
            Self::Stability => "stability",
            Self::Datagrams => "datagrams",
            Self::Connects => "connects",
        }
    }

    /// The verb of `plumb net` that measures it.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Self::Datagrams => "stream",
            Self::Throughput
            | Self::RoundTrip
            | Self::Sizes
            | Self::Idle
            | Self::Stability
            | Self::Connects => "ping",
        }
    }
}

/// A whole check: what is asked for, and what came of it so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathCheck {
    /// [`PATH_CHECK_SCHEMA`].
    pub schema: String,
    /// Who checked.
    pub plumb: Program,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The server, or the route to it, as the user named it.
    pub target: String,
    /// The parts, in order.
    pub parts: Vec<PathPart>,
}

/// One measurement of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathPart {
    /// The test it belongs to.
    pub test: PathTest,
    /// Payload of a message, bytes.
    pub size_bytes: u64,
    /// How long it takes if all goes well, nanoseconds.
    pub expected_ns: u64,
    /// How long nothing travels within it, nanoseconds; 0 unless the test is about that.
    pub silence_ns: u64,
    /// An answer must be complete within this, nanoseconds.
    pub timeout_ns: u64,
    /// The words behind `plumb net ping TARGET` that measure it, of datagrams behind `plumb net stream
    /// TARGET`.
    pub words: Vec<String>,
    /// What came of it; `None` until it is over.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<PartOutcome>,
}

/// What came of one measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartOutcome {
    /// The run folder within that of the check; `None` when it left none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub folder: Option<String>,
    /// Why there is no record, in one line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// True when there is no record because nothing answered in time.
    pub unanswered: bool,
    /// True when the figures may be used.
    pub valid: bool,
    /// Messages that came back.
    pub operations: u64,
    /// Messages that did not, by kind.
    pub failures: BTreeMap<String, u64>,
    /// Connections that the other side ended while it owed no answer on them.
    pub quiet_closes: u64,
    /// Length of the measurement, nanoseconds.
    pub duration_ns: u64,
    /// Median round trip, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50_ns: Option<u64>,
    /// Longest round trip, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_ns: Option<u64>,
    /// niping's `av2`, or `avg` below three messages: milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub average_ms: Option<f64>,
    /// niping's `tr2`, or `tr` below three messages: kB/s of 1,024 bytes, both directions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kb_per_s: Option<f64>,
    /// Segments that this side sent again; absent where nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmits: Option<u64>,
    /// Segments with data that this side sent; absent where nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments_sent: Option<u64>,
    /// The longest connect, nanoseconds; absent without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect_max_ns: Option<u64>,
    /// What is known of connects whose first segment was sent again, in words; absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect_retransmission: Option<String>,
    /// What is known of a name that took long to look up, in words; absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub slow_name: Option<String>,
    /// What became of the datagrams to the server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_server: Option<DatagramFlow>,
    /// What became of the datagrams from the server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from_server: Option<DatagramFlow>,
    /// Where the time of a message went; absent where none was taken apart.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trip: Option<RoundTripMeans>,
    /// What is known of round trips that waited for a delayed acknowledgement, in words; absent where
    /// none were recognized.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delayed_acknowledgement: Option<String>,
    /// The limit of foreign load under which its figures stand; absent where none was judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign_limit: Option<ForeignLimit>,
    /// What others took of all processors meanwhile, percent; absent where nobody can say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign_pct: Option<f64>,
}

impl PartOutcome {
    /// What `result` says, whose run lies in `folder`.
    #[must_use]
    pub fn of(result: &ResultRecord, folder: String) -> Self {
        let niping = result.niping.as_ref();
        let flow = |of: fn(&StreamFigures) -> &Option<OneWay>| {
            of(result.stream.as_ref()?).as_ref()?.datagrams.clone()
        };
        let found = |kind: FindingKind| {
            let finding = result.validity.reasons.iter().find(|it| it.kind == kind);
            finding.map(|it| it.text.clone())
        };
        Self {
            folder: Some(folder),
            error: None,
            unanswered: false,
            valid: result.validity.valid,
            operations: result.operations,
            failures: result.failures.clone(),
            quiet_closes: result.driver.quiet_closes,
            duration_ns: result.duration_ns,
            p50_ns: result.service_ns.as_ref().map(|times| times.p50),
            max_ns: result.service_ns.as_ref().map(|times| times.max),
            average_ms: niping.map(|figures| figures.av2_ms.unwrap_or(figures.avg_ms)),
            kb_per_s: niping.map(|figures| figures.tr2_kb_s.unwrap_or(figures.tr_kb_s)),
            retransmits: result.tcp.map(|tcp| tcp.retransmits),
            segments_sent: result.tcp.map(|tcp| tcp.segments_sent),
            connect_max_ns: result.connect_ns.as_ref().map(|times| times.max),
            connect_retransmission: found(FindingKind::ConnectRetransmission),
            slow_name: found(FindingKind::SlowName),
            to_server: flow(|stream| &stream.to_server),
            from_server: flow(|stream| &stream.from_server),
            round_trip: result.round_trip.as_ref().and_then(RoundTripMeans::of),
            delayed_acknowledgement: found(FindingKind::DelayedAcknowledgement),
            foreign_limit: result.validity.foreign_limit,
            foreign_pct: result.host.as_ref().and_then(|host| host.foreign_pct),
        }
    }

    /// Messages that did not come back.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// The median as the time that the way takes; `None` where messages waited for an acknowledgement,
    /// which is no distance.
    fn way_ns(&self) -> Option<u64> {
        self.p50_ns.filter(|_| self.delayed_acknowledgement.is_none())
    }

    /// True when no message came back at all.
    #[must_use]
    pub fn silent(&self) -> bool {
        self.operations == 0
    }
}

/// How a test came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Not measured to the end yet.
    Open,
    /// The other side does not tell.
    Untold,
    /// Nothing speaks against the path.
    Fine,
    /// Somebody should look.
    Look,
    /// Something is broken.
    Bad,
}

impl Judgement {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "NOT MEASURED",
            Self::Untold => "NOT TOLD",
            Self::Fine => "FINE",
            Self::Look => "LOOK AT IT",
            Self::Bad => "BAD",
        }
    }
}

/// What a test says, in plain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathVerdict {
    /// The test.
    pub test: PathTest,
    /// How it came out.
    pub judgement: Judgement,
    /// One sentence with the figures behind it.
    pub sentence: String,
}

impl PathCheck {
    /// What every test that is part of the check says so far.
    #[must_use]
    pub fn verdicts(&self) -> Vec<PathVerdict> {
        let trip = |part: &&PathPart| part.test == PathTest::RoundTrip;
        let known = Known {
            round_trip: self.parts.iter().find(trip).and_then(|part| part.outcome.as_ref()),
            carried: Carried::of(&self.parts),
        };
        PathTest::ALL
            .into_iter()
            .map(|test| (test, self.parts_of(test)))
            .filter(|(_, parts)| !parts.is_empty())
            .map(|(test, parts)| {
                let (judgement, sentence) = judge::judge(test, &parts, known);
                PathVerdict { test, judgement, sentence }
            })
            .collect()
    }

    /// The parts that tell something of `test`.
    fn parts_of(&self, test: PathTest) -> Vec<&PathPart> {
        let connected = |part: &PathPart| {
            part.outcome.as_ref().is_some_and(|outcome| outcome.connect_max_ns.is_some())
        };
        let parts = self.parts.iter().filter(|part| match test {
            PathTest::Connects => connected(part),
            of => part.test == of,
        });
        parts.collect()
    }

    /// What the largest messages that came back so far carried in one direction, bits a second, the time of
    /// the way taken off. `None` as long as that is most of what they took.
    #[must_use]
    pub fn carried_bits_per_s(&self) -> Option<f64> {
        Carried::of(&self.parts).map(|carried| carried.bits_per_s)
    }

    /// The limit of foreign load that was raised for figures that stand, and what others took; `None` where
    /// none was.
    #[must_use]
    pub fn accepted_load(&self) -> Option<AcceptedLoad> {
        let stand =
            self.parts.iter().filter_map(|part| part.outcome.as_ref()).filter(|it| it.valid);
        AcceptedLoad::of_looks(stand.filter_map(|it| {
            let (limit, foreign_pct) = (it.foreign_limit?, it.foreign_pct);
            Some(ForeignLook { limit, foreign_pct, by_remotes: false })
        }))
    }

    /// The gravest judgement.
    #[must_use]
    pub fn worst(&self) -> Judgement {
        self.verdicts().iter().map(|verdict| verdict.judgement).max().unwrap_or(Judgement::Open)
    }

    /// How long the parts that are still to come take if all goes well, nanoseconds.
    #[must_use]
    pub fn left_ns(&self) -> u64 {
        let open = self.parts.iter().filter(|part| part.outcome.is_none());
        open.map(|part| part.expected_ns).sum()
    }

    /// The check as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        written(self)
    }

    /// Reads a check back.
    ///
    /// # Errors
    /// [`RecordError`] when `text` is none, or one of another version.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        read_versioned(text, PATH_CHECK_SCHEMA)
    }
}
