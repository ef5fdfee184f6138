//! Whether there is room for all connections of a load.

use plumb_measure::counted;
use plumb_measure::user_schedule::UserSchedule;
use rustix::process::{Resource, getrlimit};

use super::Crew;
use crate::{EngineError, Protocol};

/// Files that a run has open beside its connections, at the least.
const BESIDE: u64 = 24;
/// So many more than connections are enough, whatever is watched meanwhile.
const AMPLE: u64 = 128;

/// Looks before anything is made for the connections of `crews`: memory for too many may not be there, and
/// users of scripts connect when they begin, which may be long after the load did. Of scripts that
/// arrive, or have no schedule, only as many connect as are under way.
pub(super) fn check<P: Protocol>(crews: &[Crew<'_>]) -> Result<(), EngineError> {
    let of = |wanted: fn(Option<&UserSchedule>) -> bool| {
        let wanted = crews.iter().filter(|crew| wanted(crew.user_schedule));
        wanted.map(|crew| crew.plan.connections.get() as u64).fold(0, u64::saturating_add)
    };
    let users = of(|schedule| matches!(schedule, Some(UserSchedule::Users(_))));
    let connections = if P::SCRIPTED { 0 } else { of(|schedule| schedule.is_none()) };
    match getrlimit(Resource::Nofile).current {
        Some(limit) => within(limit, users, connections),
        None => Ok(()),
    }
}

/// Refuses more of either than files may be open beside those of the run itself.
fn within(limit: u64, users: u64, connections: u64) -> Result<(), EngineError> {
    let refused = |what: String, files: u64, fewer: &str| {
        let enough = files.saturating_add(AMPLE);
        Err(EngineError::Plan(format!(
            "{what} may be open: raise the limit of open files (ulimit -n {enough}), or take fewer {fewer}"
        )))
    };
    let room = limit.saturating_sub(BESIDE);
    if users > room {
        return refused(
            format!(
                "{users} users need as many files and the run some more, and no more than {limit}"
            ),
            users,
            "--users",
        );
    }
    if connections > room {
        let needed = counted(connections, "connection");
        return refused(
            format!("{needed} need as many files and the run some more, and no more than {limit}"),
            connections,
            "--connections",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;
    use crate::testing::Lines;
    use crate::{Next, Op, Step};

    struct Script;

    impl Protocol for Script {
        type User = ();
        type Wire = ();

        const SCRIPTED: bool = true;

        fn user(&mut self, _: usize) {}

        fn encode(&mut self, (): &mut (), (): &mut (), _: &mut Vec<u8>) -> Next {
            Next::Finish
        }

        fn decode(
            &mut self,
            (): &mut (),
            (): &mut (),
            _: Option<Op>,
            _: &[u8],
            _: &mut Vec<u8>,
        ) -> Step {
            Step::Need { consumed: 0 }
        }
    }

    #[test]
    fn more_than_files_may_be_open_are_refused_in_words() {
        let text = |users, connections| within(1_024, users, connections).unwrap_err().to_string();
        assert!(within(1_024, 1_000, 1_000).is_ok());
        let users = text(1_025, 0);
        assert!(
            users.contains(
                "1025 users need as many files and the run some more, and no more than 1024"
            ),
            "{users}"
        );
        assert!(users.contains("(ulimit -n 1153), or take fewer --users"), "{users}");
        let connections = text(0, 1_001);
        assert!(connections.contains("(ulimit -n 1129), or take fewer --con"), "{connections}");
        assert!(text(0, u64::MAX).contains("--connections"));
    }

    #[test]
    fn connections_of_every_load_are_counted() {
        let few = plan();
        let many = crate::LoadPlan { connections: std::num::NonZeroUsize::MAX, ..few.clone() };
        let crew = |plan| Crew { plan, user_schedule: None };
        assert!(check::<Lines>(&[crew(&few), crew(&many)]).is_err());
        assert!(check::<Lines>(&[crew(&few)]).is_ok());
        assert!(check::<Script>(&[crew(&many)]).is_ok(), "as many connect as are under way");
    }
}
