//! `plumb host idle`: what it costs this machine that its processors idle between two messages.

use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_checkup::IdleFinding;
use plumb_diagnostics::idle;
use plumb_host::{IdleOptions, idle_cost};

use plumb_command::{Exit, exit, signals};
use plumb_options::{Form, FormOptions};

use crate::progress::columns;

#[derive(Args, Clone, Debug)]
struct HostIdleOptions {
    #[command(flatten)]
    idle: IdleOptions,

    #[command(flatten)]
    form: FormOptions,
}

/// The command line of `plumb host idle`.
pub(crate) fn command() -> Command {
    HostIdleOptions::augment_args(Command::new("idle"))
        .about("Measure what it costs a round trip that the processors idle between two messages")
        .long_about(
            "Measures what it costs a round trip that the processors of this machine idle between \
             two messages. Two threads exchange a message over loopback, each by a receive that \
             blocks, as plain programs do; in turns with the tick of the idle processor left alone \
             and held. The difference is printed with its exact interval, beside what the machine \
             is set to do when it idles. Nothing is concluded while others take processor time.",
        )
        .after_help(
            "Exit codes: 0 it ran, whether a cost was shown or not; 2 it did not run; 3 nothing can \
             be concluded; 130 interrupted.",
        )
}

/// Measures as `words` say.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = HostIdleOptions::from_arg_matches(words)?;
    let stop = signals::stop()?;
    let Some(cost) = idle_cost(&options.idle, &stop)? else {
        exit::note("interrupted before all turns were taken: nothing can be said of fewer");
        return Ok(Exit::Interrupted);
    };
    let text = match options.form.into() {
        Form::Json => cost.to_json(),
        Form::Markdown => idle::markdown(&cost),
        Form::Text => idle::terminal(&cost, columns()),
    };
    exit::print(&text)?;
    Ok(match cost.finding {
        IdleFinding::Shown | IdleFinding::NotShown => Exit::Ran,
        IdleFinding::Open => Exit::Unanswered,
    })
}
