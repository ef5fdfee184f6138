//! `plumb host watch`: what this machine does, live.

use std::io::{IsTerminal as _, Write};

use clap::Args;
use jiff::tz::TimeZone;
use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_measure::{Clock as _, Span};
use plumb_procfs::State;

use crate::HostError;
use crate::facts::HostFacts;
use crate::monitor::Monitor;
use crate::options::WatchedOptions;
use crate::record::{Ticker, sees};
use crate::sample::{Line, Sample};
use crate::subject::Subject;
use crate::subject::not_watched;
use crate::view::{self, History, Paint, Screen};

/// What is watched, and how it is shown.
#[derive(Args, Clone, Debug)]
pub struct WatchOptions {
    /// What is watched, and how often.
    #[command(flatten)]
    pub watched: WatchedOptions,

    /// End after this [default: until it is stopped with Ctrl-C]
    ///
    /// Stopped before that, it ends with exit code 130.
    #[arg(long = "for", value_name = "TIME")]
    pub length: Option<Span>,

    /// Print every sample as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Watching as a job.
#[derive(Debug)]
pub struct Watch {
    options: WatchOptions,
    interrupted: bool,
}

/// Where samples go.
enum Show<'a> {
    /// A screen that is drawn anew.
    Screen(Screen<'a>, Box<History>),
    /// A line each.
    Lines(&'a mut (dyn Write + Send), TimeZone),
    /// A line of JSON each.
    Json(&'a mut (dyn Write + Send), String, Vec<u8>),
}

impl Watch {
    /// Checks the options.
    ///
    /// # Errors
    /// [`HostError`] when they ask for the impossible.
    pub fn new(options: WatchOptions) -> Result<Self, HostError> {
        options.watched.plan()?;
        let every = options.watched.every;
        match options.length {
            Some(length) if length < every => Err(HostError::TooShort { length, every }),
            _ => Ok(Self { options, interrupted: false }),
        }
    }

    fn watch(
        &mut self,
        out: &mut (dyn Write + Send),
        log: &mut (dyn Write + Send),
        stop: &Stop,
    ) -> Result<(), HostError> {
        let plan = self.options.watched.plan()?;
        let facts = HostFacts::read(&plan.root);
        let mut monitor = Monitor::new(&plan, Box::new(MonotonicClock));
        monitor.sample(); // the first has nothing to compare with
        sees(&monitor)?;
        let every = self.options.watched.every;
        let now_ns = MonotonicClock.now_ns();
        let end_ns = self.options.length.map_or(u64::MAX, |length| now_ns + length.ns());
        let aligned = Ticker::aligned(every.ns(), now_ns, clock::wall_ns());
        let mut ticker = aligned.past_a_short_first(now_ns, end_ns);
        let mut show = self.show(out, &facts)?;
        show.nothing_yet()?;
        if !show.is_screen() {
            for lacking in not_watched(&monitor.states()) {
                // a log that cannot be written must not end the watching
                let _ = writeln!(log, "not watched: {lacking}");
            }
        }
        loop {
            let due_ns = ticker.next_ns();
            let asked = stop.wait_until(due_ns.min(end_ns)).map_err(HostError::system("wait"))?;
            if asked || due_ns > end_ns {
                self.interrupted = asked && self.options.length.is_some();
                return Ok(());
            }
            ticker.taken(MonotonicClock.now_ns());
            if show.is_screen() {
                show.tell(monitor.states());
            }
            if let Some(sample) = monitor.sample() {
                show.sample(sample)?;
            }
        }
    }

    fn show<'a>(
        &self,
        out: &'a mut (dyn Write + Send),
        facts: &HostFacts,
    ) -> Result<Show<'a>, HostError> {
        let zone = TimeZone::system();
        Ok(if self.options.json {
            Show::Json(out, facts.name.clone(), Vec::new())
        } else if std::io::stdout().is_terminal() {
            let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            let paint = if colours { Paint::Ansi } else { Paint::Plain };
            let history = History::new(&facts.name, self.options.watched.every, zone);
            Show::Screen(Screen::open(out, paint)?, Box::new(history))
        } else {
            Show::Lines(out, zone)
        })
    }
}

impl Show<'_> {
    fn nothing_yet(&mut self) -> Result<(), HostError> {
        if let Self::Screen(screen, history) = self {
            screen.draw(history)?;
        }
        Ok(())
    }

    fn is_screen(&self) -> bool {
        matches!(self, Self::Screen(..))
    }

    /// Takes what has become of each sampler, for whom it can be shown again and again.
    fn tell(&mut self, states: Vec<(Subject, State)>) {
        if let Self::Screen(_, history) = self {
            history.tell(states);
        }
    }

    fn sample(&mut self, sample: &Sample) -> Result<(), HostError> {
        match self {
            Self::Screen(screen, history) => {
                history.push(sample);
                screen.draw(history)?;
            }
            Self::Lines(out, zone) => {
                let time = view::clock(sample.wall_ns, zone);
                writeln!(out, "{time}  {}", view::line(sample))?;
                out.flush()?;
            }
            Self::Json(out, host, text) => {
                Line::of(host, sample).write(text);
                out.write_all(text)?;
                out.flush()?;
            }
        }
        Ok(())
    }
}

impl Verb for Watch {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.watch(out, log, stop)?)
    }

    fn was_interrupted(&self) -> bool {
        self.interrupted
    }
}
