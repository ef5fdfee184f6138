//! How long everything takes.

use anyhow::ensure;
use plumb_checkup::{CheckupLayer, CheckupPart};
use plumb_engine::options::HostOptions;
use plumb_measure::Span;

use super::ask::Ask;
use crate::job;

/// The shortest measurement that is worth one.
const SHORTEST_MS: u64 = 100;
/// Intervals that a measurement is written down in: their medians say how well its own is known.
const INTERVALS: u64 = 20;
const INTERVAL_MIN_MS: u64 = 50;
/// What a measurement takes beside its recorded part: connecting, warming up, the tool's floor.
const AROUND_NS: u64 = 600_000_000;

/// The time of each server, and the words that every measurement gets.
#[derive(Debug)]
pub(super) struct Scale {
    server_ms: u64,
    around: Vec<String>,
}

impl Scale {
    /// `time` for each server, with this machine and a far one watched as `host` says.
    ///
    /// # Errors
    /// When the time is none.
    pub(super) fn new(time: Span, host: &HostOptions) -> anyhow::Result<Self> {
        let server_ms = time.ns() / 1_000_000;
        ensure!(server_ms > 0, "--for {time} measures nothing: write for example 10s");
        Ok(Self { server_ms, around: job::watching(host) })
    }

    /// The parts that `asks` make of `server`, which share its time.
    ///
    /// # Errors
    /// When that leaves too little for each.
    pub(super) fn parts(
        &self,
        layer: CheckupLayer,
        server: &str,
        asks: Vec<Ask>,
    ) -> anyhow::Result<Vec<CheckupPart>> {
        let count = asks.len().max(1) as u64;
        let each_ms = self.server_ms / count;
        ensure!(
            each_ms >= SHORTEST_MS,
            "--for is too short for the {count} measurements of the {server}: write at least {}",
            Span::from_ms(count * SHORTEST_MS)
        );
        let interval = Span::from_ms((each_ms / INTERVALS).max(INTERVAL_MIN_MS));
        let time = Span::from_ms(each_ms);
        let shared = [format!("--for={time}"), format!("--interval={interval}")];
        let part = |ask: Ask| CheckupPart {
            layer,
            server: server.into(),
            operation: ask.operation,
            how: ask.how,
            role: ask.role,
            users: ask.users,
            connections: ask.connections,
            expected_ns: time.ns() + AROUND_NS,
            words: [&ask.words[..], &shared, &self.around].concat(),
            outcome: None,
        };
        Ok(asks.into_iter().map(part).collect())
    }
}
