//! `plumb checkup`: every layer of this machine, measured for some seconds each.

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use plumb_engine::Stop;
use plumb_engine::layer::{JobError, Measure, Outline, Watch};
use plumb_engine::options::OutputOptions;
use plumb_measure::{RunRecord, show_count, show_ns};
use plumb_net::{Ping, PingOptions};

use crate::exit::Exit;
use crate::loopback::with_echo_server;
use crate::measure::{measure, print};
use crate::signals;

/// What the checkup asks of the network: messages as small as a database call and as large as a
/// result set over one connection, then small ones over many.
const NET_PARTS: [&[&str]; 2] =
    [&["--size=300B,1000B,10000B,50000B", "--connections=1"], &["--size=300B", "--connections=64"]];
/// How each of these is driven.
const NET_LOAD: [&str; 2] = ["--for=3s", "--warmup=300ms"];

/// The command line of `plumb checkup`.
pub(crate) fn command() -> Command {
    OutputOptions::augment_args(Command::new("checkup"))
        .about("Start here: measure this machine, layer by layer, and write a report")
        .long_about(
            "Starts Plumbline's own servers on loopback, measures every layer of this machine for \
             some seconds each, and writes one report. Takes less than half a minute.",
        )
}

/// Measures this machine.
pub(crate) fn run(words: &ArgMatches, command: Vec<String>) -> anyhow::Result<Exit> {
    let output = OutputOptions::from_arg_matches(words)?;
    let stop = signals::stop()?;
    let run = with_echo_server(|address| {
        measure(&mut Checkup::of_network(address, &output)?, command, "", &stop)
    })?;
    print(&run, Some(&sentence(&run.record)), &output)?;
    Ok(run.exit())
}

/// Several measurements that make one run.
struct Checkup {
    parts: Vec<Box<dyn Measure>>,
    output: OutputOptions,
}

impl Checkup {
    fn of_network(address: &str, output: &OutputOptions) -> anyhow::Result<Self> {
        let mut parts: Vec<Box<dyn Measure>> = Vec::new();
        for part in NET_PARTS {
            let words = PingOptions::augment_args(Command::new("ping"));
            let asked = ["ping"].iter().chain(part).chain(&NET_LOAD).chain([&address]);
            let options = PingOptions::from_arg_matches(&words.try_get_matches_from(asked)?)?;
            parts.push(Box::new(Ping::new(options)?));
        }
        Ok(Self { parts, output: output.clone() })
    }
}

impl Measure for Checkup {
    fn outline(&self) -> Outline {
        let outlines: Vec<Outline> = self.parts.iter().map(|part| part.outline()).collect();
        let options = outlines.iter().enumerate().flat_map(|(number, outline)| {
            let name = format!("{}-{}-{}", outline.layer, outline.verb, number + 1);
            let options = &outline.options;
            options.iter().map(move |(key, value)| (format!("{name}.{key}"), value.clone()))
        });
        Outline {
            layer: "checkup",
            verb: "loopback",
            options: options.collect(),
            open: false,
            seed: outlines.first().map_or(0, |outline| outline.seed),
            target: "this machine".into(),
            pin: Vec::new(),
            points: outlines.iter().map(|outline| outline.points).sum(),
        }
    }

    fn output(&self) -> &OutputOptions {
        &self.output
    }

    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError> {
        self.parts.iter_mut().try_for_each(|part| part.run(watch, stop))
    }
}

/// What the measurement says in one sentence.
fn sentence(record: &RunRecord) -> String {
    let of = |size: &str, connections: &str| {
        record.results.iter().find(|result| {
            result.labels.get("size").is_some_and(|label| label == size)
                && result.labels.get("connections").is_some_and(|label| label == connections)
        })
    };
    let single = of("1000B", "1").and_then(|result| result.service_ns.as_ref());
    let many = of("300B", "64").map(|result| result.throughput_per_s);
    match (single, many) {
        (Some(single), Some(many)) => format!(
            "The network path of this machine: a 1000-byte round trip takes {} at the median and \
             {} at the 99th percentile; 64 connections carry {} messages of 300 bytes a second.",
            show_ns(single.p50),
            show_ns(single.p99),
            show_count(many)
        ),
        _ => "The checkup did not come to its end; what was measured follows.".into(),
    }
}
