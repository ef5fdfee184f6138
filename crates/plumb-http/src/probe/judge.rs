//! Whether an answer was right, and what it told.

use plumb_measure::{Answer, FailureKind, Outcome, ServerTimes};
use plumb_scenario::Expected;

use crate::heard::Heard;

/// Which answers are right.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The statuses of a correct answer.
    pub expected: Expected,
    /// Bytes of content that an answer may have.
    pub body_bytes_max: u64,
}

/// Judges the answers of one thread, in either version of HTTP.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(super) limits: Limits,
    pub(super) heard: Heard,
    complaint: Option<String>,
}

impl Judge {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, heard: Heard::default(), complaint: None }
    }

    /// Keeps the first thing that was not as demanded.
    pub(super) fn complain(&mut self, complaint: impl FnOnce() -> String) {
        self.complaint.get_or_insert_with(complaint);
    }

    /// The names of the times that servers told, by their numbers.
    pub(crate) fn told_names(&self) -> Vec<String> {
        self.heard.names()
    }

    /// Times that were told but not kept, because there were too many.
    pub(crate) fn untold(&self) -> u64 {
        self.heard.untold()
    }

    /// The first thing that was not as demanded.
    pub(crate) fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }

    /// A complete answer with this status.
    #[inline]
    pub(super) fn judge(&mut self, status: u16, body_bytes: u64, told: ServerTimes) -> Answer {
        let right = self.limits.expected.has(status);
        if !right {
            let expected = self.limits.expected.clone();
            self.complain(|| format!("answered {status} where {expected} was expected"));
        }
        Answer {
            outcome: match right {
                true => Outcome::Ok,
                false => Outcome::Failed(FailureKind::UnexpectedStatus),
            },
            code: Some(status),
            body_bytes,
            told: Some(told),
        }
    }

    /// True for more content than an answer may have, which is then the complaint.
    #[inline]
    pub(super) fn too_large(&mut self, bytes: u64) -> bool {
        let most = self.limits.body_bytes_max;
        if bytes > most {
            self.complain(|| format!("sent more than {most} bytes of content; raise --max-body"));
        }
        bytes > most
    }
}
