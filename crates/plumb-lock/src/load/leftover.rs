//! What clients have left on the server when a load was over: their last words release it.

use std::num::NonZeroUsize;

use plumb_engine::{Extent, LoadPlan, Protocol as _, Stage, Stop, Waiting};
use plumb_measure::{FailureKind, Span};
use plumb_wire::resp::Reply;

use super::probe::{Left, shown};
use super::script::{Who, Workload};
use crate::dialogue::{Dialogue, FOREIGN, Greeted, Heard};
use crate::target::Target;

/// How long reaching the server may take, and then releasing: somebody who has stopped the load waits.
const WITHIN: Span = Span::from_ms(3_000);
/// Releases under way at a time.
const DEPTH: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");

/// Everything that is released.
#[derive(Clone, Debug)]
pub(super) struct Farewell {
    workload: Workload,
    /// Tells this load from all others.
    load: String,
    /// What is yet to be released; of each client that of its last life first, which stands for all
    /// before it unless those have an entry of their own.
    left: Vec<Left>,
    /// Releases that were asked for and have no answer yet.
    under_way: u64,
}

impl Farewell {
    /// That of a load of this name.
    pub(super) fn new(workload: Workload, load: String, left: Vec<Left>) -> Self {
        Self { workload, load, left, under_way: 0 }
    }

    /// Releases all of it, in bounded time.
    ///
    /// # Errors
    /// Why some of it may be left.
    pub(super) fn say(&self, target: &Target) -> Result<(), String> {
        let releases = |left: &Left| self.release_of(*left).is_some();
        if !self.left.iter().any(releases) {
            return Ok(());
        }
        // whoever stopped the load does not stop this
        let stop = Stop::new().map_err(|error| error.to_string())?;
        // once more: what was under way when the load was stopped may be served behind the first
        self.once(target, &stop)?;
        self.once(target, &stop)
    }

    fn once(&self, target: &Target, stop: &Stop) -> Result<(), String> {
        let endpoint = target.reach(WITHIN, stop).map_err(|error| error.to_string())?;
        let plan = LoadPlan {
            depth: DEPTH,
            extent: Extent::For(WITHIN),
            waiting: Waiting::Epoll,
            ..LoadPlan::lone(1, WITHIN)
        };
        let mut stage = Stage { endpoint: &endpoint, stop, samplers: &mut [], gate: None };
        let farewell = || Greeted::new(target.login.clone(), self.clone());
        let said = target.drive(&plan, &mut stage, 1, farewell).map_err(|it| it.to_string())?;
        match said.protocols.first() {
            Some(one) if one.complaint().is_none() && one.dialogue.is_over() => Ok(()),
            Some(one) => Err(one.complaint().map_or_else(
                || format!("{endpoint} did not answer within {WITHIN}"),
                |complaint| format!("{endpoint} {complaint}"),
            )),
            None => Err(format!("{endpoint} was not asked")),
        }
    }

    fn is_over(&self) -> bool {
        self.left.is_empty() && self.under_way == 0
    }

    fn release_of(&self, left: Left) -> Option<Vec<u8>> {
        let who = Who { load: &self.load, number: left.number, life: left.life };
        let frame = self.workload.release(who)?;
        let mut out = Vec::new();
        frame.push(&mut out, left.digits);
        Some(out)
    }
}

impl Dialogue for Farewell {
    fn ask(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(mut left) = self.left.pop() else { return false };
        let Some(release) = self.release_of(left) else { return false };
        out.extend_from_slice(&release);
        self.under_way += 1;
        left.life -= 1;
        if left.life > 0 && !self.workload.names_rounds() {
            self.left.push(left);
        }
        true
    }

    fn hear(&mut self, reply: Reply<'_>) -> Result<Heard, (FailureKind, String)> {
        self.under_way -= 1;
        match reply {
            Reply::Integer(_) => Ok(Heard::Answer), // however much there was
            Reply::Error(text) => {
                Err((FailureKind::Refused, format!("refused to release them: {}", shown(text))))
            }
            _ => Err((FailureKind::Garbled, FOREIGN.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_engine::Protocol as _;

    use super::super::probe::{Greeted as Wire, Probe};
    use super::super::script::Unlock;
    use super::*;

    /// What is said of the loads of one client that was interrupted on each of these connections.
    fn said(workload: Workload, connections: usize) -> (usize, String) {
        let mut probe = Probe::new(workload, "load".into(), None);
        let mut client = probe.user(0);
        for _ in 0..connections {
            let mut wire = Wire::default();
            while probe.hello(&mut client, &mut wire, &mut Vec::new()).is_some() {}
            probe.encode(&mut client, &mut wire, &mut Vec::new());
        }
        probe.leave(client);
        let mut farewell = Farewell::new(workload, "load".into(), probe.left().to_vec());
        let (mut times, mut out) = (0, Vec::new());
        while farewell.ask(&mut out) {
            times += 1;
        }
        (times, String::from_utf8(out).unwrap())
    }

    #[test]
    fn each_key_is_released_by_the_round_in_which_its_connection_was_lost() {
        let (times, said) = said(Workload::Keys(Unlock::Compare), 3);
        assert_eq!(times, 3);
        for (life, round) in [(1, 0), (2, 1), (3, 2)] {
            let words = [format!("load0000{life:02}"), format!("load-0-{life}")];
            let key = said.split("\r\n").find(|word| word.contains(&words[0])).unwrap();
            assert!(key.ends_with(&round.to_string()), "{key} of round {round}");
            assert!(said.contains(&words[1]), "{said}");
        }
    }

    #[test]
    fn an_update_is_released_of_every_connection_without_an_entry_of_its_own() {
        let (times, said) = said(Workload::Sales, 3);
        assert_eq!(times, 3);
        assert!((1..=3).all(|life| said.contains(&format!("load-0-{life}u"))), "{said}");
    }
}
