//! Groups that ask for nothing: without users, without turns, or with a plan in which nobody comes.

use super::Importer;
use super::element::Element;
use super::schedule::{self, Shape};
use super::words::Words;
use super::{arrivals, stages};

/// Why a group asks for nothing; `None` of one that asks for something, or of which only the load knows.
pub(super) fn why_idle(group: &Element<'_>, words: &Words) -> Option<&'static str> {
    let is_zero = |text: &str| words.number(text) == Some(0.0);
    let main = group.inner("ThreadGroup.main_controller");
    if has_threads(group) && is_zero(group.text("ThreadGroup.num_threads")) {
        Some("it has no users; its requests are left out")
    } else if nobody_comes(group, words) {
        Some("nobody ever takes part in it; its requests are left out")
    } else if main.is_some_and(|main| is_zero(main.text("LoopController.loops"))) {
        Some("it is done 0 times; its requests are left out")
    } else {
        None
    }
}

/// True of a group whose number of users stands by itself.
fn has_threads(group: &Element<'_>) -> bool {
    let kinds = ["ThreadGroup", "SetupThreadGroup", "PostThreadGroup", "SteppingThreadGroup"];
    kinds.contains(&group.kind())
}

/// True of a group by whose plan there is never a user.
fn nobody_comes(group: &Element<'_>, words: &Words) -> bool {
    if group.kind() == "OpenModelThreadGroup" {
        schedule::of_group(group, words).is_ok_and(|it| it.shape == Shape::Nobody)
    } else if arrivals::is_arriving(group) {
        arrivals::read(group, words).is_ok_and(|stages| stages.is_empty())
    } else {
        stages::is_staged(group) && stages::read(group, words).is_ok_and(|stages| stages.is_empty())
    }
}

impl Importer {
    /// True of a group that asks for nothing, which is named.
    pub(super) fn is_idle(&mut self, group: &Element<'_>) -> bool {
        let Some(why) = why_idle(group, &self.words) else { return false };
        self.draft.notes.add(group.place(), group.what(), why);
        true
    }
}
