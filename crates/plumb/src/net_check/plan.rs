//! The tests as measurements: which messages, how long, and how long altogether.

use clap::Args;
use plumb_checkup::{PathPart, PathTest};
use plumb_engine::options::{OutputOptions, TransportKind, TransportOptions};
use plumb_measure::{Span, truncated};

use crate::job::watching;

const SECOND: u64 = 1_000_000_000;
/// Large messages, as large as the note's.
const THROUGHPUT_BYTES: u64 = 100_000;
/// The payload of the tests of silence and stability.
const IDLE_BYTES: u64 = 1_000;
const STABILITY_BYTES: u64 = 10_000;
/// Payloads around the sizes of packets. With NI's header of 4 bytes they just
/// fill one packet at an MTU of 576, 1,280, 1,400 and 1,500 bytes (with and without the 12 bytes of TCP's
/// time stamps) and 9,000 bytes; between them are the sizes that the note names.
const SIZES: [u64; 18] = [
    500, 520, 532, 1_000, 1_224, 1_236, 1_344, 1_356, 1_400, 1_444, 1_456, 1_500, 4_000, 8_944,
    8_956, 9_000, 10_000, 40_000,
];
/// Each size takes this part of the time that throughput takes.
const SIZE_SHARE: u64 = 8;
/// A pause between the messages of the long test, as the note's.
const STABILITY_DELAY: &str = "100ms";
/// Datagrams of the size of speech, at most so many that a loss of a tenth of a percent shows within seconds.
const DATAGRAM_BYTES: u64 = 200;
const DATAGRAM_KBIT_S: f64 = 1_000.0;
/// Of what messages carried datagrams take this part: with their headers, and both ways at once, they fill
/// no line.
const DATAGRAM_SHARE: f64 = 0.25;
/// What a part takes beside its measurement: connecting, the tool's floor, writing.
const AROUND_NS: u64 = SECOND / 3;

/// How long everything takes.
#[derive(Args, Clone, Debug)]
pub(super) struct ScaleOptions {
    /// Seconds for each test
    #[arg(long, conflicts_with = "full")]
    quick: bool,

    /// As long as SAP's note asks for: an hour of silence, ten hours of stability
    #[arg(long)]
    full: bool,

    /// Length of the tests of throughput and round trip; each size takes an eighth of it
    /// [default: 10s; --quick 2s; --full 30s]
    #[arg(long = "for", value_name = "TIME")]
    for_time: Option<Span>,

    /// Length of the silence [default: 1m; --quick 5s; --full 1h]
    #[arg(long, value_name = "TIME")]
    idle: Option<Span>,

    /// Length of the long test [default: 1m; --quick 5s; --full 10h]
    #[arg(long, value_name = "TIME")]
    stability: Option<Span>,

    /// A message that gets no answer within this is lost [default: 5s; --quick 2s; --full 30s]
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
}

/// The length of each test, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Scale {
    throughput: u64,
    idle: u64,
    stability: u64,
    timeout: u64,
}

impl ScaleOptions {
    fn scale(&self) -> Scale {
        let own = match (self.quick, self.full) {
            (true, _) => Scale {
                throughput: 2 * SECOND,
                idle: 5 * SECOND,
                stability: 5 * SECOND,
                timeout: 2 * SECOND,
            },
            (_, true) => Scale {
                throughput: 30 * SECOND,
                idle: 3_600 * SECOND,
                stability: 36_000 * SECOND,
                timeout: 30 * SECOND,
            },
            _ => Scale {
                throughput: 10 * SECOND,
                idle: 60 * SECOND,
                stability: 60 * SECOND,
                timeout: 5 * SECOND,
            },
        };
        let or = |asked: Option<Span>, own: u64| asked.map_or(own, Span::ns);
        Scale {
            throughput: or(self.for_time, own.throughput),
            idle: or(self.idle, own.idle),
            stability: or(self.stability, own.stability),
            timeout: or(self.timeout, own.timeout),
        }
    }

    /// Checks what no single option can know.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        for (name, span) in [
            ("--for", self.for_time),
            ("--idle", self.idle),
            ("--stability", self.stability),
            ("--timeout", self.timeout),
        ] {
            anyhow::ensure!(
                span.is_none_or(|span| span.ns() > 0),
                "{name} 0s tests nothing: write for example 30s"
            );
        }
        Ok(())
    }

    /// The parts, in order; `around` are words that every part gets, and whether the kernel can stamp
    /// the `packets` of messages.
    pub(super) fn parts(&self, around: &[String], packets: bool) -> Vec<PathPart> {
        let scale = self.scale();
        let make = |test, size_bytes: u64, expected_ns: u64, own: &[String]| {
            let timeout = Span::from_ns(scale.timeout);
            // without a warm-up, as niping: at least the first message counts, however slow it is
            let mut words = vec![format!("--size={size_bytes}B"), "--warmup=0s".into()];
            words.extend_from_slice(own);
            words.extend([format!("--timeout={timeout}"), format!("--connect-timeout={timeout}")]);
            words.extend_from_slice(around);
            PathPart {
                test,
                size_bytes,
                expected_ns: expected_ns + AROUND_NS,
                silence_ns: if test == PathTest::Idle { scale.idle } else { 0 },
                timeout_ns: scale.timeout,
                words,
                outcome: None,
            }
        };
        let lasting = |ns: u64| format!("--for={}", Span::from_ns(ns));
        let timed = |ns: u64| vec![lasting(ns)];
        let a_size = scale.throughput / SIZE_SHARE;
        let mut round_trip = timed(scale.throughput);
        if packets {
            round_trip.push("--timestamps".into());
        }
        let mut parts = vec![
            make(
                PathTest::Throughput,
                THROUGHPUT_BYTES,
                scale.throughput,
                &timed(scale.throughput),
            ),
            make(PathTest::RoundTrip, 1, scale.throughput, &round_trip),
        ];
        parts.extend(SIZES.map(|bytes| make(PathTest::Sizes, bytes, a_size, &timed(a_size))));
        let silence = Span::from_ns(scale.idle);
        let idle = ["--count=2".into(), format!("--delay={silence}")];
        parts.push(make(PathTest::Idle, IDLE_BYTES, scale.idle, &idle));
        let stable = [lasting(scale.stability), format!("--delay={STABILITY_DELAY}")];
        parts.push(make(PathTest::Stability, STABILITY_BYTES, scale.stability, &stable));
        parts
    }

    /// The part of datagrams, which go both ways at once.
    pub(super) fn datagrams(&self, around: &[String]) -> PathPart {
        let scale = self.scale();
        let mut words = vec![
            "--transport=udp".into(),
            "--both".into(),
            format!("--size={DATAGRAM_BYTES}B"),
            rate(DATAGRAM_KBIT_S),
            format!("--for={}", Span::from_ns(scale.throughput)),
            format!("--timeout={}", Span::from_ns(scale.timeout)),
        ];
        words.extend_from_slice(around);
        PathPart {
            test: PathTest::Datagrams,
            size_bytes: DATAGRAM_BYTES,
            expected_ns: scale.throughput + AROUND_NS,
            silence_ns: 0,
            timeout_ns: scale.timeout,
            words,
            outcome: None,
        }
    }
}

fn rate(kbit_s: f64) -> String {
    format!("--rate={}kbit", truncated(kbit_s).max(1))
}

/// Sets the rate of the datagrams of `part` by what messages carried, bits a second, where that is known.
pub(super) fn set_rate(part: &mut PathPart, carried_bits_per_s: Option<f64>) {
    let Some(carried) = carried_bits_per_s else { return };
    let asked = rate((carried / 1e3 * DATAGRAM_SHARE).min(DATAGRAM_KBIT_S));
    if let Some(word) = part.words.iter_mut().find(|word| word.starts_with("--rate=")) {
        *word = asked;
    }
}

/// The words that every part gets: how the server is reached, and how this machine is watched.
pub(super) fn around(transport: &TransportOptions, output: &OutputOptions) -> Vec<String> {
    let mut words = Vec::new();
    match &transport.transport {
        TransportKind::Tcp => {}
        TransportKind::Smc => words.push("--transport=smc".into()),
        TransportKind::Udp => {} // refused before
        TransportKind::Unix(path) => words.push(format!("--transport=unix:{}", path.display())),
    }
    if transport.v4 {
        words.push("--ipv4".into());
    }
    if transport.v6 {
        words.push("--ipv6".into());
    }
    words.extend(watching(&output.host));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches as _};

    fn parts(words: &[&str]) -> Vec<PathPart> {
        let command = ScaleOptions::augment_args(Command::new("check"));
        let words = ["check"].iter().chain(words);
        ScaleOptions::from_arg_matches(&command.get_matches_from(words)).unwrap().parts(&[], true)
    }

    #[test]
    fn the_full_scale_is_the_one_of_the_note() {
        let parts = parts(&["--full"]);
        let of = |test| parts.iter().find(|part| part.test == test).unwrap();
        assert_eq!(of(PathTest::Idle).silence_ns, 3_600 * SECOND);
        assert!(of(PathTest::Idle).words.contains(&"--delay=1h".into()));
        let stability = of(PathTest::Stability);
        assert!(stability.words.contains(&"--for=10h".into()), "{:?}", stability.words);
        assert_eq!(parts.iter().filter(|part| part.test == PathTest::Sizes).count(), SIZES.len());
    }

    #[test]
    fn lengths_of_ones_own_go_before_the_scale() {
        let parts = parts(&["--quick", "--idle=2s", "--stability=3s"]);
        let total: u64 = parts.iter().map(|part| part.expected_ns).sum();
        let sizes = SIZES.len() as u64;
        let around = (4 + sizes) * AROUND_NS;
        assert_eq!(total, (2 + 2 + 2 + 3) * SECOND + sizes * SECOND / 4 + around);
    }

    #[test]
    fn datagrams_do_not_fill_a_slow_line() {
        let command = ScaleOptions::augment_args(Command::new("check"));
        let options = ScaleOptions::from_arg_matches(&command.get_matches_from(["check"])).unwrap();
        let at = |carried_bits_per_s| {
            let mut part = options.datagrams(&[]);
            set_rate(&mut part, carried_bits_per_s);
            part.words.into_iter().find(|word| word.starts_with("--rate=")).unwrap()
        };
        assert_eq!(at(None), "--rate=1000kbit");
        assert_eq!(at(Some(1e10)), "--rate=1000kbit");
        assert_eq!(at(Some(570_000.0)), "--rate=142kbit");
        assert_eq!(at(Some(100.0)), "--rate=1kbit");
        let stream = plumb_net::StreamOptions::augment_args(Command::new("stream"));
        stream.try_get_matches_from(["stream", "127.0.0.1", "--rate=142kbit"]).unwrap();
    }

    #[test]
    fn every_part_is_a_command_that_measures() {
        for part in parts(&[]) {
            let ping = plumb_net::PingOptions::augment_args(Command::new("ping"));
            let words = ["ping", "127.0.0.1"].into_iter().map(String::from).chain(part.words);
            let matches = ping.try_get_matches_from(words).unwrap();
            let options = plumb_net::PingOptions::from_arg_matches(&matches).unwrap();
            plumb_net::Ping::new(options).unwrap();
        }
    }
}
