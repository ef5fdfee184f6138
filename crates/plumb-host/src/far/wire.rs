//! The lines that go over a connection.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::facts::HostFacts;

/// Name and version of the answer to `hello`.
pub const HELLO_SCHEMA: &str = "plumb.host-hello/1";
/// Name and version of a refusal.
pub const ERROR_SCHEMA: &str = "plumb.host-error/1";
/// The longest request, bytes; none is half as long.
const REQUEST_MAX: usize = 64;
/// Characters of a refusal that are repeated.
const REFUSAL_MAX: usize = 200;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// What the machine is; from now on it is watched.
    Hello,
    /// What happened since the last sample.
    Sample,
    /// What happened since the last `whole`, up to the last sample.
    Whole,
}

impl Request {
    /// The request as it is sent.
    pub(super) fn line(self) -> &'static [u8] {
        match self {
            Self::Hello => b"hello\n",
            Self::Sample => b"sample\n",
            Self::Whole => b"whole\n",
        }
    }
}

/// What stands first in the bytes of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The start of a request.
    Part,
    /// A request of so many bytes.
    Request(Request, usize),
    /// No request.
    Nonsense,
}

impl Heard {
    /// Reads the first line of `bytes`.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let Some(end) = bytes.iter().take(REQUEST_MAX).position(|byte| *byte == b'\n') else {
            return if bytes.len() < REQUEST_MAX { Self::Part } else { Self::Nonsense };
        };
        let request = match bytes[..end].trim_ascii_end() {
            b"hello" => Request::Hello,
            b"sample" => Request::Sample,
            b"whole" => Request::Whole,
            _ => return Self::Nonsense,
        };
        Self::Request(request, end + 1)
    }
}

/// What a machine says of itself before it is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Always [`HELLO_SCHEMA`].
    pub schema: String,
    /// Its name.
    pub host: String,
    /// What it is.
    pub facts: HostFacts,
    /// It answers one client no more often than this, nanoseconds.
    pub every_ns: u64,
    /// Its wall clock, nanoseconds since 1970-01-01T00:00:00Z.
    pub wall_ns: u64,
    /// Its monotonic clock, nanoseconds.
    pub monotonic_ns: u64,
    /// Clock ticks a second in which it counts processor time.
    pub ticks_per_s: u64,
    /// What it cannot watch, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_watched: Vec<String>,
}

/// A value as one line of JSON.
pub(super) fn line(value: &impl Serialize) -> String {
    match serde_json::to_string(value) {
        Ok(text) => text + "\n",
        Err(error) => unreachable!("what is sent is made of plain values: {error}"),
    }
}

/// A refusal as one line of JSON.
pub(super) fn error_line(error: &str) -> String {
    line(&serde_json::json!({ "schema": ERROR_SCHEMA, "error": error }))
}

/// Why an answer is none. The text goes behind the address of whoever sent it.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    /// A refusal.
    #[error("refuses: {0}")]
    Refused(String),
    /// Something else.
    #[error("answers something else than {expected}: is it a `plumb host serve` of this version?")]
    Other {
        /// The schema that was expected.
        expected: &'static str,
    },
    /// The right kind of answer, but damaged.
    #[error("sends a {expected} that cannot be read: {cause}")]
    Damaged {
        /// The schema that was expected.
        expected: &'static str,
        /// What is wrong with it.
        cause: serde_json::Error,
    },
}

/// Reads a line that ought to say of itself that it is of `schema`.
pub(super) fn read<T: DeserializeOwned>(line: &[u8], schema: &'static str) -> Result<T, NoAnswer> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
        error: Option<String>,
    }
    let head: Head =
        serde_json::from_slice(line).map_err(|_| NoAnswer::Other { expected: schema })?;
    match head.error {
        Some(error) if head.schema == ERROR_SCHEMA => {
            let known = error.chars().map(|c| if c.is_control() { '?' } else { c });
            Err(NoAnswer::Refused(known.take(REFUSAL_MAX).collect()))
        }
        _ if head.schema != schema => Err(NoAnswer::Other { expected: schema }),
        _ => serde_json::from_slice(line)
            .map_err(|cause| NoAnswer::Damaged { expected: schema, cause }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{
        CpuSample, CpuShare, DiskSample, Line, PressureSample, ProcessSample, ReceiveSample,
        SCHEMA, Sample,
    };
    use plumb_procfs::{Label, Root};
    use proptest::prelude::*;

    const ALL: [Request; 3] = [Request::Hello, Request::Sample, Request::Whole];

    #[test]
    fn every_request_is_heard_once_it_is_whole() {
        for request in ALL {
            let line = request.line();
            for cut in 0..line.len() {
                assert_eq!(Heard::of(&line[..cut]), Heard::Part);
            }
            let twice = [line, b"more"].concat();
            assert_eq!(Heard::of(&twice), Heard::Request(request, line.len()));
        }
        assert_eq!(Heard::of(b"sample\r\n"), Heard::Request(Request::Sample, 8));
    }

    #[test]
    fn what_is_no_request_is_nonsense_as_soon_as_that_is_certain() {
        for bytes in [b"\n".as_slice(), b"GET / HTTP/1.1\r\n", b"samples\n", &[0xff; 64]] {
            assert_eq!(Heard::of(bytes), Heard::Nonsense, "{bytes:?}");
        }
        assert_eq!(Heard::of(&[0xff; 63]), Heard::Part);
    }

    #[test]
    fn a_hello_and_a_refusal_are_read_back() {
        let facts = HostFacts::read(&Root::default());
        let hello = Hello {
            schema: HELLO_SCHEMA.into(),
            host: facts.name.clone(),
            every_ns: 100_000_000,
            wall_ns: u64::MAX,
            monotonic_ns: 7,
            ticks_per_s: facts.ticks_per_s,
            facts,
            not_watched: vec!["rdma: unsupported: none".into()],
        };
        assert_eq!(read::<Hello>(line(&hello).as_bytes(), HELLO_SCHEMA).unwrap(), hello);
        let refused = read::<Hello>(error_line("no\x1b more").as_bytes(), HELLO_SCHEMA);
        assert_eq!(refused.unwrap_err().to_string(), "refuses: no? more");
    }

    #[test]
    fn another_answer_is_told_from_a_damaged_one() {
        let wrong = |line: &[u8]| read::<Sample>(line, SCHEMA).unwrap_err().to_string();
        for line in [b"HTTP/1.1 400".as_slice(), b"{}", b"", br#"{"schema":"plumb.sample/2"}"#] {
            assert!(wrong(line).contains("something else than plumb.sample/1"), "{line:?}");
        }
        assert!(wrong(br#"{"schema":"plumb.sample/1"}"#).contains("`wall_ns`"));
    }

    fn any_sample() -> impl Strategy<Value = Sample> {
        let whole = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
        let figures = proptest::array::uniform6(proptest::num::f64::NORMAL);
        let absent = proptest::option::of(proptest::num::f64::NORMAL);
        (whole, figures, absent, any::<Option<u64>>(), any::<Vec<u8>>(), 0..4u32).prop_map(
            |(whole, figures, absent, count, name, devices)| {
                let (wall_ns, monotonic_ns, interval_ns, cost_ns) = whole;
                let [busy_pct, user_pct, idle_pct, irq_pct, busy_cores, queue_mean] = figures;
                let name = Label::new(&name);
                let share = |number| CpuShare {
                    number,
                    busy_pct,
                    user_pct,
                    idle_pct,
                    irq_pct,
                    steal_pct: absent,
                    ticks: cost_ns,
                    ..CpuShare::default()
                };
                let cpu = CpuSample { share: share(0), busy_cores, ..CpuSample::default() };
                let disk = DiskSample { name, queue_mean, read_ms: absent, ..Default::default() };
                let receive =
                    |cpu| ReceiveSample { cpu, squeezed: count, ..ReceiveSample::default() };
                let process = ProcessSample { name, files: count, ..ProcessSample::default() };
                let some = devices > 0;
                Sample {
                    wall_ns,
                    monotonic_ns,
                    interval_ns,
                    cost_ns,
                    cpu: some.then_some(cpu),
                    cpus: (0..devices).map(share).collect(),
                    disks: (0..devices).map(|_| disk).collect(),
                    receive: (0..devices).map(receive).collect(),
                    top: (0..devices).map(|_| process).collect(),
                    pressure: some
                        .then_some(PressureSample { io_full_pct: absent, ..Default::default() }),
                    ..Sample::default()
                }
            },
        )
    }

    proptest! {
        #[test]
        fn any_bytes_are_heard_within_their_bounds(bytes: Vec<u8>) {
            if let Heard::Request(request, length) = Heard::of(&bytes) {
                prop_assert!(length <= bytes.len());
                prop_assert!(bytes.starts_with(request.line().trim_ascii_end()));
            }
            prop_assert!(bytes.len() < REQUEST_MAX || Heard::of(&bytes) != Heard::Part);
        }

        #[test]
        fn a_sample_is_read_back_as_it_was(sample in any_sample()) {
            let line = line(&Line::of("db7", &sample));
            prop_assert_eq!(read::<Sample>(line.as_bytes(), SCHEMA).unwrap(), sample);
        }

        #[test]
        fn a_damaged_line_is_refused_or_read(sample in any_sample(), at: usize, byte: u8) {
            let mut line = line(&Line::of("db7", &sample)).into_bytes();
            let at = at % line.len();
            line[at] = byte;
            let _ = read::<Sample>(&line, SCHEMA);
            let _ = read::<Sample>(&line[..at], SCHEMA);
        }
    }
}
