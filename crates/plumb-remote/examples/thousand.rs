//! What a controller takes for many remotes, which are simulated in virtual time.
//!
//!     cargo run --release -p plumb-remote --example thousand -- [REMOTES,... [SECONDS [OPERATIONS [SEED]]]]
//!
//! The controller is the real one, and so is every message; clocks are up to 50 ms off and drift
//! by up to 100 parts in a million, each way of each remote takes up to 5 ms and at random longer.
//! One remote in 200 is lost in mid-run. OPERATIONS are those of each remote in a second.

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/fleet/simulated/mod.rs"]
mod simulated;

use std::io::Write as _;
use std::process::ExitCode;

use plumb_engine::Stop;
use plumb_engine::clock::thread_cpu_ns;
use plumb_remote::{Fleet, PlanFiles};
use simulated::{Fate, Setting, Sum, World, outcome, told};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}"); // there is nobody else to tell
            ExitCode::from(2)
        }
    }
}

fn measure() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |place: usize, other: &str| words.get(place).cloned().unwrap_or(other.to_owned());
    let counts = word(0, "10,100,1000,2000,4000");
    let (seconds, operations) = (word(1, "10").parse()?, word(2, "1000").parse()?);
    let seed = word(3, "1").parse()?;
    let mut to = std::io::stdout();
    writeln!(to, "seed {seed}, {seconds} s, {operations} operations a second of each remote")?;
    writeln!(
        to,
        "remotes | start spread p50 p99 ms | lost | late | kB/s in | out | begin ms | ms a second \
         of run | end ms a remote | outcomes put together ms | exact"
    )?;
    for count in counts.split(',') {
        let remotes: usize = count.parse()?;
        let setting = Setting { remotes, seconds, operations, seed, ..Setting::default() };
        writeln!(to, "{}", row(setting)?)?;
    }
    Ok(())
}

/// One row of the table.
fn row(mut setting: Setting) -> Result<String, Failure> {
    setting.cpu_ns = thread_cpu_ns;
    setting.fates = (0..setting.remotes)
        .map(|at| if at % 200 == 199 { Fate::Crashes } else { Fate::Sound })
        .collect();
    let (remotes, seconds) = (setting.remotes, setting.seconds);
    let (orders, world, truth) = World::new(setting);
    let mut fleet = Fleet::over(orders, world)?;
    fleet.begin(&["net".into(), "ping".into()], PlanFiles::default());
    let mut sum = Sum::default();
    let loads = fleet.load(&mut sum, &Stop::new()?)?;
    let records = fleet.end(&Stop::new()?, |_, _| {});
    drop(fleet);
    let truth = std::mem::take(&mut *truth.lock().map_err(|_| "a simulation that panicked")?);
    let lost = loads.iter().filter(|load| load.lost.is_some()).count();
    if records.iter().filter(|part| part.record.is_none()).count() != lost {
        return Err("who has no record is not who was lost".into());
    }
    let before_ns = thread_cpu_ns();
    let of_sound = loads.into_iter().filter(|it| it.lost.is_none()).filter_map(|it| it.load);
    let all = outcome(of_sound).ok_or("nobody has a load")?;
    let together_ns = thread_cpu_ns() - before_ns;
    let whole = truth.whole.as_ref().ok_or("there is no truth")?;
    // the intervals of those that were lost count as well, so the sum has those too
    let exact = told(&all.recorder) == told(whole)
        && (lost > 0 || sum.recorder.as_ref().is_some_and(|sum| told(sum) == told(whole)));
    let mut begun: Vec<u64> = truth.starts.iter().flatten().map(|(_, began)| *began).collect();
    begun.sort_unstable();
    let late = truth.starts.iter().flatten().filter(|(due, began)| began - due > 1_000_000).count();
    let middle = begun[begun.len() / 2];
    let mut apart: Vec<u64> = begun.iter().map(|it| it.abs_diff(middle)).collect();
    apart.sort_unstable();
    let quantile = |percent: usize| ms(apart[(apart.len() * percent).div_ceil(100).max(1) - 1]);
    let [begin_ns, running_ns, end_ns] = truth.cpu_ns;
    Ok(format!(
        "{remotes} | {} {} | {lost} | {late} | {} | {} | {} | {} | {} | {} | {}",
        quantile(50),
        quantile(99),
        truth.bytes_in[0] / seconds / 1_000,
        truth.bytes_out / (seconds * 1_000),
        ms(begin_ns),
        ms(running_ns / seconds),
        ms(end_ns / remotes as u64),
        ms(together_ns),
        if exact { "yes" } else { "NO" },
    ))
}

/// Milliseconds, to the hundredth.
fn ms(ns: u64) -> String {
    format!("{}.{:02}", ns / 1_000_000, ns % 1_000_000 / 10_000)
}
