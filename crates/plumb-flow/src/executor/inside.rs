//! Where the time of an action went, as far as it was spent outside.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use plumb_transaction::SessionTimes;

/// One of the outermost actions, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ActionTime {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// All of it, nanoseconds.
    pub(crate) ns: u64,
    /// Of it, in calls outside: names below that of the action, and nanoseconds.
    pub(crate) inside: Vec<(String, u64)>,
}

/// What the action under way has spent outside so far, shared by whoever counts it and whoever tells
/// it. Nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Inside(Rc<RefCell<Spent>>);

#[derive(Debug, Default)]
struct Spent {
    database_ns: u64,
    sessions: SessionTimes,
    called_ns: u64,
    told: Vec<(String, u64)>,
}

impl Inside {
    /// A statement took `ns`, of which `sessions` was no work of the data server.
    pub(super) fn asked(&self, ns: u64, sessions: SessionTimes) {
        let mut spent = self.0.borrow_mut();
        spent.database_ns += ns;
        spent.sessions = spent.sessions.and(sessions);
    }

    /// A call of a back end took `ns`; it told `told` of its own time.
    pub(super) fn called(&self, ns: u64, told: &[(String, u64)]) {
        let mut spent = self.0.borrow_mut();
        spent.called_ns += ns;
        for (name, ns) in told {
            match spent.told.iter().position(|(known, _)| known == name) {
                Some(at) => spent.told[at].1 = spent.told[at].1.saturating_add(*ns),
                None => spent.told.push((name.clone(), *ns)),
            }
        }
    }

    /// What was spent since the last time, by name.
    pub(super) fn take(&self) -> Vec<(String, u64)> {
        let Spent { database_ns, sessions, called_ns, told } = self.0.take();
        let mut all = vec![("database".to_owned(), database_ns)];
        let of_database = sessions.parts(database_ns);
        all.extend(of_database.map(|(name, ns)| (format!("database.{name}"), ns)));
        all.push(("backend".to_owned(), called_ns));
        all.retain(|(_, ns)| *ns > 0);
        all.extend(told);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_is_told_once() {
        let inside = Inside::default();
        let sessions = |pool_ns, way_ns| SessionTimes { pool_ns, way_ns, log_on_ns: 0 };
        inside.asked(9, sessions(4, 2));
        inside.asked(1, sessions(0, 3));
        let told = [("backend.database".to_owned(), 20)];
        inside.called(50, &told);
        inside.called(50, &told);
        let expected = [
            ("database", 10),
            ("database.pool", 4),
            ("database.wire", 5),
            ("backend", 100),
            ("backend.database", 40),
        ];
        assert_eq!(inside.take(), expected.map(|(name, ns)| (name.to_owned(), ns)));
        assert_eq!(inside.take(), []);
    }
}
