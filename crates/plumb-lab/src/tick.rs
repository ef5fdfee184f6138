//! Runs of an idle processor's tick that was held and of one that was left alone are of two kinds.

use plumb_measure::{RunRecord, Ticks};

use crate::LabError;

/// The option that declares the tick to be what is compared.
const OPTION: &str = "hold-tick";

/// One run, as far as the tick is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TickOf<'a> {
    /// Whose it is.
    name: &'a str,
    /// `None` in a record that does not say.
    ticks: Option<Ticks>,
    /// What was asked for, by an option or in the command of a variant.
    asked: (Option<&'a str>, bool),
}

impl<'a> TickOf<'a> {
    /// Of a run that is called `name`, made by `command` where it is one of an experiment.
    pub(crate) fn of(name: &'a str, command: &str, run: &'a RunRecord) -> Self {
        let option = run.plan.options.get(OPTION).and_then(|value| value.as_str());
        Self { name, ticks: ticks(run), asked: (option, command.contains(OPTION)) }
    }
}

/// What a run says of its ticks.
pub(crate) fn ticks(run: &RunRecord) -> Option<Ticks> {
    run.results.iter().find_map(|result| result.driver.tick)
}

/// Refuses runs that differ in the tick, unless that is what was asked to be compared.
///
/// # Errors
/// [`LabError::Tick`] names the first that differs.
pub(crate) fn same_tick<'a>(runs: impl IntoIterator<Item = TickOf<'a>>) -> Result<(), LabError> {
    let mut known = runs.into_iter().filter_map(|run| Some((run, run.ticks?)));
    let Some((first, of_first)) = known.next() else { return Ok(()) };
    match known.find(|(run, ticks)| !ticks.agrees_with(of_first) && run.asked == first.asked) {
        None => Ok(()),
        Some((other, ticks)) => Err(LabError::Tick {
            one: format!("{} ({of_first})", first.name),
            other: format!("{} ({ticks})", other.name),
        }),
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::Tick;

    use super::*;

    fn run(client: Tick, server: Option<Tick>, option: Option<&'static str>) -> TickOf<'static> {
        TickOf { name: "a", ticks: Some(Ticks { client, server }), asked: (option, false) }
    }

    #[test]
    fn a_held_tick_is_not_compared_with_a_free_one_unless_that_is_the_question() {
        let free = run(Tick::Free, Some(Tick::Free), None);
        let by_server = run(Tick::Free, Some(Tick::Held), None);
        let declared = run(Tick::Held, Some(Tick::Free), Some("client"));
        assert!(same_tick([free, free]).is_ok());
        assert!(same_tick([free, declared]).is_ok());
        let refused = same_tick([free, free, by_server]).unwrap_err().to_string();
        assert!(refused.contains("a (tick free)"), "{refused}");
        assert!(refused.contains("a (tick held by the server)"), "{refused}");
        // blocks of one variant, whose server was started anew meanwhile
        let both = run(Tick::Held, Some(Tick::Held), Some("client"));
        assert!(same_tick([declared, both]).is_err());
        // a server of which the command of the variant says so
        let named = TickOf { asked: (None, true), ..by_server };
        assert!(same_tick([free, named]).is_ok());
    }

    #[test]
    fn what_does_not_say_is_not_refused() {
        let silent = TickOf { name: "b", ticks: None, asked: (None, false) };
        let held = run(Tick::Held, None, None);
        assert!(same_tick([silent, held]).is_ok());
        assert!(same_tick([silent, held, run(Tick::Free, None, None)]).is_err());
        assert!(same_tick([]).is_ok());
    }
}
