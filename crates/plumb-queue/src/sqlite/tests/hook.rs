//! Where a test looks at the disk.

use std::fmt;

use super::super::super::Ending;
use super::super::super::inbox::Change;
use super::super::group::Effects;

/// What a transaction has made sure of.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Sure {
    /// Ids of accepted messages.
    pub(in super::super) accepted: Vec<u64>,
    /// Ids of messages that are done.
    pub(in super::super) done: Vec<u64>,
}

type Look = Box<dyn FnMut(Sure) + Send>;

/// Called by the writer between a flush and the first answer.
#[derive(Default)]
pub(in super::super) struct Hook {
    look: Option<Look>,
}

impl Hook {
    pub(in super::super) fn set(&mut self, look: impl FnMut(Sure) + Send + 'static) {
        self.look = Some(Box::new(look));
    }

    pub(in super::super) fn committed(&mut self, effects: &Effects, changes: &[Change]) {
        let Some(look) = &mut self.look else { return };
        let accepted = effects.accepted.iter().filter(|accepted| !accepted.repeated);
        let done = changes.iter().filter_map(|change| match change {
            Change::Settle(outcome) if outcome.ending == Ending::Done => Some(outcome.id),
            _ => None,
        });
        let accepted = accepted.map(|accepted| accepted.id.0).collect();
        look(Sure { accepted, done: done.collect() });
    }

    pub(in super::super) fn checkpointed(&mut self) {
        if let Some(look) = &mut self.look {
            look(Sure::default());
        }
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").finish_non_exhaustive()
    }
}
