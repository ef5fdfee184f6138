//! What a load has left on the server is released, or named.

use plumb_measure::ResultRecord;

use super::{LoadJob, Probe, Workload};
use crate::load::leftover::Farewell;
use crate::load::script::key_of;

impl LoadJob {
    /// Releases what the clients of a load were interrupted with, and says in its `result` where that
    /// did not succeed.
    pub(super) fn leave_nothing(
        &self,
        workload: Workload,
        clients: &[Probe],
        result: &mut ResultRecord,
    ) {
        let left = clients.iter().flat_map(Probe::left).copied().collect();
        let Err(why) = Farewell::new(workload, self.name.clone(), left).say(&self.target) else {
            return;
        };
        let remark = match workload {
            Workload::Keys(_) => {
                format!("keys of this load may be left: {why}; they end by themselves after 30 s")
            }
            _ => format!(
                "locks of this load may be left: {why}; `plumb lock show {} --argument {} --delete` \
                 removes them",
                self.target.name,
                key_of(&self.name),
            ),
        };
        result.validity = std::mem::take(&mut result.validity).with_remark(&remark);
    }
}
