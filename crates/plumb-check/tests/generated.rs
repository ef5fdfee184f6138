//! Tables made by a generator: 200 with a planted fault, all of which must be found, and 200 that
//! are right but rounded, none of which may raise an alarm.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on should end, and its figures are exact"
)]

use std::fmt::Write as _;

use plumb_check::{Disagreement, Report};

/// What is wrong with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Share,
    Processor,
    ThousandsInRate,
    DecimalComma,
    BaseOfImprovement,
    SignOfImprovement,
    Total,
    Average,
    Thousands1024,
    BitsAndBytes,
    Link,
}

const FAULTS: [Fault; 11] = [
    Fault::Share,
    Fault::Processor,
    Fault::ThousandsInRate,
    Fault::DecimalComma,
    Fault::BaseOfImprovement,
    Fault::SignOfImprovement,
    Fault::Total,
    Fault::Average,
    Fault::Thousands1024,
    Fault::BitsAndBytes,
    Fault::Link,
];

impl Fault {
    /// The finding that names it: its column and kind.
    fn found_as(self) -> (&'static str, Disagreement) {
        match self {
            Self::Share => ("user + sys + idle", Disagreement::Shares),
            Self::Processor => ("cpu", Disagreement::Formula),
            Self::ThousandsInRate | Self::BitsAndBytes => ("tr", Disagreement::Formula),
            Self::DecimalComma => ("user", Disagreement::Separator),
            Self::BaseOfImprovement | Self::SignOfImprovement => {
                ("gain", Disagreement::Improvement)
            }
            Self::Total => ("total", Disagreement::Total),
            Self::Average => ("avg", Disagreement::Extremes),
            Self::Thousands1024 => ("total_mb", Disagreement::Units),
            Self::Link => ("wire", Disagreement::Link),
        }
    }
}

const HEADER: &str = "\
# link: 10 Gbit/s
# column: size, unit = B
# column: before, unit = ms
# column: after, unit = ms
# column: gain, unit = %, improvement = after against before, better = lower
# column: tr, unit = KiB/s, directions = 2, formula = 2 * size / 1024 / after * 1000
# column: user, unit = %, part-of = 100
# column: sys, unit = %, part-of = 100
# column: idle, unit = %, part-of = 100
# column: cpu, unit = %, formula = 100 - idle, formula = user + sys, at-most = 100
# column: time, unit = s
# column: total, unit = KiB, total = tr over time
# column: total_mb, unit = MB, same-as = total
# column: avg, unit = ms, between = min and max
# column: wire, unit = MB/s
";
const NAMES: &str =
    "run;size;before;after;gain;tr;user;sys;idle;cpu;time;total;total_mb;min;avg;max;wire\n";
const ROWS: usize = 6;

/// The figures of a row, exact.
struct Truth {
    size: f64,
    before: f64,
    after: f64,
    shares: [f64; 3],
    time: f64,
    extremes: [f64; 3],
    wire: f64,
}

impl Truth {
    fn new(noise: &mut Noise) -> Self {
        let before = noise.within(0.4, 3.0);
        let user = noise.within(1.0, 40.0);
        let sys = noise.within(1.0, 40.0);
        let min = noise.within(0.1, 2.0);
        let max = min * noise.within(1.5, 20.0);
        Self {
            size: noise.within(2_000.0, 20_000.0).round(),
            before,
            after: before * noise.within(0.5, 0.8),
            shares: [user, sys, 100.0 - user - sys],
            time: noise.within(20.0, 500.0).round(),
            extremes: [min, min + (max - min) * noise.within(0.0, 1.0), max],
            wire: noise.within(2.0, 900.0),
        }
    }

    /// The row as it is printed with `decimals`, the fault planted.
    fn print(&self, run: usize, d: &Decimals, fault: Option<Fault>, noise: &mut Noise) -> String {
        let is = |one: Fault| fault == Some(one);
        let Self { size, before, after, time, wire, .. } = *self;
        let [mut user, sys, idle] = self.shares;
        if is(Fault::Share) {
            user += noise.within(4.0, 20.0);
        }
        let mut cpu = 100.0 - idle;
        if is(Fault::Processor) {
            cpu -= noise.within(2.0, cpu - 1.0);
        }
        let mut gain = 100.0 * (before - after) / before;
        if is(Fault::BaseOfImprovement) {
            gain = 100.0 * (before - after) / after;
        }
        if is(Fault::SignOfImprovement) {
            gain = -gain;
        }
        let true_rate = 2.0 * size / 1024.0 / after * 1000.0;
        let total = true_rate * time * if is(Fault::Total) { noise.within(1.1, 3.0) } else { 1.0 };
        let total_mb = total * 1024.0 / if is(Fault::Thousands1024) { 1_048_576.0 } else { 1e6 };
        let rate = true_rate * if is(Fault::BitsAndBytes) { 8.0 } else { 1.0 };
        let [min, mut avg, max] = self.extremes;
        if is(Fault::Average) {
            avg = max * noise.within(1.1, 2.0);
        }
        let comma = |text: String, planted| if planted { text.replace('.', ",") } else { text };
        let user = comma(d.two(user), is(Fault::DecimalComma));
        // 12828.407 with the point gone, and thousands marked: 12,828,407
        let rate = if is(Fault::ThousandsInRate) { thousands(rate) } else { d.print(rate, 1) };
        let wire = comma(format!("{wire:.3}"), is(Fault::Link));
        let cells = [
            run.to_string(),
            d.print(size, 0),
            d.print(before, 4),
            d.print(after, 4),
            d.print(gain, d.gain),
            rate,
            user,
            d.two(sys),
            d.two(idle),
            d.two(cpu),
            d.print(time, 0),
            d.print(total, 0),
            d.print(total_mb, 1),
            d.print(min, d.times),
            d.print(avg, d.times),
            d.print(max, d.times),
            wire,
        ];
        cells.join(";") + "\n"
    }
}

/// How finely the figures of a table are printed.
struct Decimals {
    gain: usize,
    shares: usize,
    times: usize,
    cut: bool,
}

impl Decimals {
    fn new(noise: &mut Noise, fault: Option<Fault>) -> Self {
        let upto = |noise: &mut Noise, most: f64| noise.within(0.0, most) as usize;
        let shares = if fault == Some(Fault::DecimalComma) { 2 } else { upto(noise, 3.0) };
        Self {
            gain: upto(noise, 3.0),
            shares,
            times: 2 + upto(noise, 3.0),
            cut: noise.within(0.0, 1.0) < 0.3,
        }
    }

    fn print(&self, value: f64, decimals: usize) -> String {
        let scale = 10f64.powi(i32::try_from(decimals).unwrap());
        let value = if self.cut { (value * scale).trunc() / scale } else { value };
        format!("{value:.decimals$}")
    }

    fn two(&self, value: f64) -> String {
        self.print(value, self.shares)
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value * 1000.0);
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// xorshift: the same tables every time.
struct Noise(u64);

impl Noise {
    fn within(&mut self, low: f64, high: f64) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + (self.0 >> 11) as f64 / (1u64 << 53) as f64 * (high - low)
    }
}

/// A table, the fault planted in its fourth row.
fn table(seed: u64, fault: Option<Fault>) -> (String, usize) {
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15 ^ (seed + 1));
    for _ in 0..8 {
        noise.within(0.0, 1.0);
    }
    let decimals = Decimals::new(&mut noise, fault);
    let mut text = HEADER.to_owned();
    if decimals.cut {
        text.push_str("# rounding: cut\n");
    }
    text.push_str(NAMES);
    let first = text.lines().count() + 1;
    for run in 0..ROWS {
        let planted = fault.filter(|_| run == 3);
        let row = Truth::new(&mut noise).print(run, &decimals, planted, &mut noise);
        let _ = write!(text, "{row}");
    }
    (text, first + 3)
}

fn report(text: &str) -> Report {
    plumb_check::read_csv(text).unwrap().check()
}

#[test]
fn every_planted_fault_is_found_at_its_place() {
    let mut missed = Vec::new();
    for seed in 0..200u64 {
        let fault = FAULTS[usize::try_from(seed).unwrap() % FAULTS.len()];
        let (text, line) = table(seed, Some(fault));
        let report = report(&text);
        let (column, kind) = fault.found_as();
        let found = report
            .findings()
            .iter()
            .any(|found| found.line == line as u64 && found.column == column && found.kind == kind);
        let elsewhere = report.findings().iter().any(|found| found.line != line as u64);
        if !found || elsewhere {
            missed.push(format!("{seed} {fault:?}\n{text}{:#?}", report.findings()));
        }
    }
    assert!(missed.is_empty(), "{} of 200 missed, the first: {}", missed.len(), missed[0]);
}

#[test]
fn a_table_that_is_only_rounded_raises_no_alarm() {
    let mut checks = 0;
    for seed in 1_000..1_200 {
        let (text, _) = table(seed, None);
        let report = report(&text);
        assert!(report.findings().is_empty(), "{text}{:#?}", report.findings());
        checks += report.checks();
    }
    assert!(checks >= 200 * 6 * 9, "{checks} checks");
}
