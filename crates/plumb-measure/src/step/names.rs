//! What the names of times mean that servers tell of themselves.

use crate::PartKind;

/// What one told time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// All of the server's time.
    Whole,
    /// A part of it, or of the told time with this number.
    Part { kind: PartKind, of: Option<usize> },
    /// What is told as a part already: the whole of a call, a second word for the same.
    Aside,
}

/// Names of a whole: ours, that of SAP Gateway, and what others write.
const WHOLES: [&str; 5] = ["total", "gwtotal", "request", "all", "overall"];

/// What each of `names` means beside the others.
pub(super) fn meanings(names: &[String]) -> Vec<Meaning> {
    let whole = names.iter().position(|name| is_whole_time(name));
    let meaning = |(number, name): (usize, &String)| {
        if whole == Some(number) {
            return Meaning::Whole;
        }
        if name == "db" && names.iter().any(|other| other == "database") {
            return Meaning::Aside; // the same time, once in each of two headers
        }
        let of = parent(names, name);
        let (around, own) = name.split_at(of.map_or(0, |parent| names[parent].len() + 1));
        if of.is_some() && is_whole_time(own) {
            return Meaning::Aside;
        }
        // a runtime has a door where its other times are
        let runtime = names.iter().any(|name| name.strip_prefix(around) == Some("door"));
        Meaning::Part { kind: kind(own, runtime), of }
    };
    names.iter().enumerate().map(meaning).collect()
}

/// Whether a time of this name is the whole of the others that a server tells, and none of its parts.
#[must_use]
pub fn is_whole_time(name: &str) -> bool {
    WHOLES.iter().any(|whole| name.eq_ignore_ascii_case(whole))
}

/// Those of `names`, all that one server tells, whose times add up: neither the whole of others, nor
/// a part of another, nor a second word for one.
#[must_use]
pub fn times_that_add_up(names: &[String]) -> Vec<&str> {
    let adds = |(name, meaning): &(&String, Meaning)| {
        matches!(meaning, Meaning::Part { of: None, .. }) && !is_whole_time(name)
    };
    let all = names.iter().zip(meanings(names));
    all.filter(adds).map(|(name, _)| name.as_str()).collect()
}

/// The time that `name` is a part of: the longest other name that it begins with, before a full stop
/// or a hyphen. An action may have a hyphen in its own name.
fn parent(names: &[String], name: &str) -> Option<usize> {
    let begins = |other: &String| {
        let is_action = other.starts_with("action-") && !other.contains('.');
        name.strip_prefix(other.as_str()).is_some_and(|rest| {
            rest.len() > 1 && (rest.starts_with('.') || rest.starts_with('-') && !is_action)
        })
    };
    let all = names.iter().enumerate().filter(|(_, other)| begins(other));
    all.max_by_key(|(_, other)| other.len()).map(|(number, _)| number)
}

/// What a time called `name` is spent on; what nobody knows is the server's own.
fn kind(name: &str, runtime: bool) -> PartKind {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "door" => PartKind::Door,
        "commit" => PartKind::Commit,
        "flush" => PartKind::Flush,
        "other-actions" => PartKind::Actions,
        "front" => PartKind::Front,
        "queue" if runtime => PartKind::Thread,
        "queue" | "wait" | "dispatch" => PartKind::WorkProcess,
        "load" | "compile" | "program" => PartKind::Program,
        "lock" | "locks" | "enqueue" => PartKind::Lock,
        "db" | "database" | "sql" | "query" | "mysql" | "postgres" | "postgresql" | "oracle"
        | "hana" | "redis" | "mongo" => PartKind::Database,
        "pool" => PartKind::Queue,
        "logon" => PartKind::Connect,
        "wire" => PartKind::DatabaseWire,
        "render" | "rendering" | "view" | "views" | "template" | "serialize" | "json" => {
            PartKind::Render
        }
        // the back end of a Gateway and the calls to it
        "backend" | "upstream" | "gwbe" | "gwrfcoh" | "origin" => PartKind::Called,
        other if other.starts_with("action-") => PartKind::Actions,
        _ => PartKind::Server,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Vec<Meaning> {
        meanings(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    fn part(kind: PartKind, of: Option<usize>) -> Meaning {
        Meaning::Part { kind, of }
    }

    #[test]
    fn a_queue_is_that_of_a_runtime_where_there_is_a_door() {
        let app = of(&["queue", "load", "database", "render", "total"]);
        assert_eq!(app[0], part(PartKind::WorkProcess, None));
        assert_eq!((app[1], app[4]), (part(PartKind::Program, None), Meaning::Whole));
        let runtime = of(&["door", "queue", "action-rows", "other-actions", "commit", "total"]);
        assert_eq!(runtime[1], part(PartKind::Thread, None));
        assert_eq!(runtime[2], part(PartKind::Actions, None));
    }

    #[test]
    fn what_was_passed_on_belongs_to_the_call_it_came_from() {
        let all = of(&["backend", "backend-database", "backend-total", "x", "backend-"]);
        assert_eq!(all[0], part(PartKind::Called, None));
        assert_eq!(all[1], part(PartKind::Database, Some(0)));
        assert_eq!(all[2], Meaning::Aside);
        assert_eq!(all[3], part(PartKind::Server, None));
        assert_eq!(all[4], part(PartKind::Server, None));
    }

    #[test]
    fn what_is_told_twice_is_added_once() {
        let names = [
            "all",
            "backend",
            "backend-database",
            "database",
            "database.wire",
            "db",
            "queue",
            "total",
        ]
        .map(str::to_owned);
        assert_eq!(times_that_add_up(&names), ["backend", "database", "queue"]);
        assert_eq!(times_that_add_up(&["db".to_owned()]), ["db"], "the only word for it");
    }

    #[test]
    fn a_full_stop_says_what_a_time_is_a_part_of() {
        let all = of(&[
            "door",
            "action-rows",
            "action-rows-late",
            "action-rows.database",
            "action-rows.database.pool",
            "action-rows.backend",
            "action-rows.backend.queue",
            "action-rows.backend.total",
        ]);
        assert_eq!(all[2], part(PartKind::Actions, None));
        assert_eq!(all[3], part(PartKind::Database, Some(1)));
        assert_eq!(all[4], part(PartKind::Queue, Some(3)));
        assert_eq!(all[5], part(PartKind::Called, Some(1)));
        // the back end has no door: what waits there waits for a work process
        assert_eq!(all[6], part(PartKind::WorkProcess, Some(5)));
        assert_eq!(all[7], Meaning::Aside);
        let app = of(&["database", "database.wire", "database.logon"]);
        assert_eq!(app[1], part(PartKind::DatabaseWire, Some(0)));
        assert_eq!(app[2], part(PartKind::Connect, Some(0)));
    }
}
