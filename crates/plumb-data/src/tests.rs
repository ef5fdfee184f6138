//! Units of work at data servers that are files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use plumb_serve::database::DatabaseTarget;
use proptest::prelude::*;
use tempfile::TempDir;

use super::share::BATCH;
use super::{DataServers, Origin, ServerPlan, Work};
use plumb_queue::{ExecutionId, QueueId};
use plumb_transaction::{Outside as _, OutsideError, SqlRequest, UnitOfWork as _};

const HERE: Origin = Origin { queue: QueueId(1), accepted_ms: BTreeMap::new() };
const INSERT: &str = "INSERT INTO rows(n, text) VALUES ($1, $2)";

/// Two data servers, each with a table whose numbers are numbers and stand there once.
fn servers() -> (TempDir, Arc<DataServers>) {
    named(&["one", "two"])
}

fn named(names: &[&str]) -> (TempDir, Arc<DataServers>) {
    let folder = tempfile::tempdir().unwrap();
    let plan = |name: &str, folder: &Path| {
        let target = DatabaseTarget::file(folder.join(format!("{name}.db")));
        ServerPlan { maximum: 4, ..ServerPlan::new(name, target) }
    };
    let plans = names.iter().map(|name| plan(name, folder.path())).collect();
    let servers = Arc::new(DataServers::new(plans));
    for (_, pool) in servers.pools() {
        let table = "CREATE TABLE rows(n INTEGER PRIMARY KEY CHECK (n > 0), text TEXT)";
        pool.take().unwrap().batch(table).unwrap();
    }
    (folder, servers)
}

fn numbers(servers: &DataServers, server: &str, table: &str) -> Vec<i64> {
    let mut lease = servers.pool(server).unwrap().take().unwrap();
    let column = if table == "rows" { "n" } else { "id" };
    let rows = lease.rows(&format!("SELECT {column} FROM {table} ORDER BY 1"), &[]).unwrap();
    rows.iter().map(|row| row.int(0)).collect()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap()
}

fn ask<'a>(server: &'a str, text: &'a str, values: &'a [Option<&'a str>]) -> SqlRequest<'a> {
    SqlRequest { server, text, values }
}

fn insert(work: &mut Work, server: &str, number: i64) -> Result<(), OutsideError> {
    work.sql_later(&ask(server, INSERT, &[Some(&number.to_string()), Some("text")]))
}

#[test]
fn messages_are_committed_together_and_recorded() {
    let (_folder, servers) = servers();
    let mut work = servers.unit(HERE);
    for id in 1..=3 {
        work.begin(ExecutionId(id));
        insert(&mut work, "one", signed(id)).unwrap();
    }
    assert!(numbers(&servers, "one", "rows").is_empty());
    let done: Vec<_> = work.commit();
    assert_eq!(done, (1..=3).map(|id| (ExecutionId(id), Ok(()))).collect::<Vec<_>>());
    assert_eq!(numbers(&servers, "one", "rows"), [1, 2, 3]);
    assert_eq!(numbers(&servers, "one", "plumb_done_message"), [1, 2, 3]);
    assert!(work.commit().is_empty());
}

#[test]
fn the_only_data_server_needs_no_name_and_does_a_message_in_one_transaction() {
    for is_queued in [true, false] {
        let (_folder, servers) = named(&["plant"]);
        let mut work = if is_queued { servers.unit(HERE) } else { servers.direct() };
        work.begin(ExecutionId(1));
        for (server, number) in [("", 1), ("", 2), ("plant", 3)] {
            insert(&mut work, server, number).unwrap();
        }
        assert!(servers.pools().all(|(_, pool)| pool.figures().in_use_max == 1), "one session");
        assert_eq!(work.commit(), [(ExecutionId(1), Ok(()))]);
        assert_eq!(numbers(&servers, "plant", "rows"), [1, 2, 3]);
        // all or none
        work.begin(ExecutionId(2));
        for (server, number) in [("", 4), ("", 1)] {
            insert(&mut work, server, number).unwrap();
        }
        let done = work.commit();
        assert!(matches!(&*done, [(ExecutionId(2), Err(OutsideError::Refused(_)))]), "{done:?}");
        assert_eq!(numbers(&servers, "plant", "rows"), [1, 2, 3]);
    }
}

#[test]
fn a_table_of_messages_that_somebody_drops_is_made_again() {
    let (_folder, servers) = servers();
    let mut work = servers.unit(HERE);
    work.begin(ExecutionId(1));
    insert(&mut work, "one", 1).unwrap();
    assert_eq!(work.commit(), [(ExecutionId(1), Ok(()))]);
    servers.pool("one").unwrap().take().unwrap().batch("DROP TABLE plumb_done_message").unwrap();
    for (attempt, rows) in [(0, &[1][..]), (1, &[1, 2])] {
        work.begin(ExecutionId(2));
        insert(&mut work, "one", 2).unwrap();
        let done = work.commit();
        let [(_, ended)] = &*done else { panic!("{done:?}") };
        match attempt {
            0 => assert!(matches!(ended, Err(OutsideError::Lost(_))), "{ended:?}"),
            _ => assert_eq!(*ended, Ok(())),
        }
        assert_eq!(numbers(&servers, "one", "rows"), rows);
    }
}

#[test]
fn a_message_that_comes_again_is_not_done_again() {
    let (_folder, servers) = servers();
    let mut work = servers.unit(HERE);
    work.begin(ExecutionId(7));
    insert(&mut work, "one", 1).unwrap();
    assert_eq!(work.commit(), [(ExecutionId(7), Ok(()))]);
    // behind others, among them one that is new
    for (id, number) in [(8, 2), (7, 1), (9, 3)] {
        work.begin(ExecutionId(id));
        insert(&mut work, "one", number).unwrap();
    }
    assert!(work.commit().iter().all(|(_, done)| done.is_ok()));
    assert_eq!(numbers(&servers, "one", "rows"), [1, 2, 3]);
    // and where an answer is asked for
    work.begin(ExecutionId(7));
    let asked = work.sql(&ask("one", "UPDATE rows SET text = 'x' RETURNING n", &[]));
    assert_eq!(asked, Err(OutsideError::DoneBefore));
    work.begin(ExecutionId(7));
    assert_eq!(
        work.sql(&ask("one", "SELECT count(*) AS c FROM rows", &[])).unwrap().first.len(),
        1
    );
    insert(&mut work, "one", 4).unwrap();
    work.commit();
    assert_eq!(numbers(&servers, "one", "rows"), [1, 2, 3]);
}

#[test]
fn messages_of_two_queues_are_done_though_their_ids_are_the_same() {
    let (_folder, servers) = servers();
    for (queue, number) in [(1, 10), (2, 20), (1, 10), (2, 20)] {
        let mut work = servers.unit(Origin { queue: QueueId(queue), ..HERE });
        work.begin(ExecutionId(7));
        insert(&mut work, "one", number).unwrap();
        assert_eq!(work.commit(), [(ExecutionId(7), Ok(()))]);
    }
    assert_eq!(numbers(&servers, "one", "rows"), [10, 20]);
    assert_eq!(numbers(&servers, "one", "plumb_done_message"), [7, 7]);
}

#[test]
fn exactly_the_bad_ones_of_a_batch_are_refused() {
    let (_folder, servers) = servers();
    let mut work = servers.unit(HERE);
    for id in 1..=250 {
        work.begin(ExecutionId(id));
        insert(&mut work, "one", 2 * signed(id)).unwrap();
        // its second row is refused, and its first must not stay
        let second = if id % 50 == 0 { -1 } else { 2 * signed(id) + 1 };
        insert(&mut work, "one", second).unwrap();
    }
    let refused: Vec<u64> = work
        .commit()
        .into_iter()
        .filter_map(|(id, done)| match done {
            Ok(()) => None,
            Err(OutsideError::Refused(text)) => {
                assert!(text.contains("data server one") && text.contains("CHECK"), "{text}");
                Some(id.0)
            }
            Err(other) => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(refused, [50, 100, 150, 200, 250]);
    assert_eq!(numbers(&servers, "one", "rows").len(), 2 * 245);
    assert_eq!(numbers(&servers, "one", "plumb_done_message").len(), 245);
}

#[test]
fn a_message_of_many_rows_is_done_whole_or_not_at_all() {
    let (_folder, servers) = servers();
    let mut work = servers.unit(HERE);
    let many = 3 * signed(BATCH as u64) + 7;
    let mut failed = Vec::new();
    for (id, last) in [(1, 1000), (2, -1), (3, 3000)] {
        work.begin(ExecutionId(id));
        for number in 0..many {
            insert(&mut work, "one", signed(id) * 10_000 + number).unwrap();
        }
        if insert(&mut work, "one", last).is_err() {
            failed.push(id);
        }
    }
    let done = work.commit();
    let refused: Vec<u64> = done.iter().filter(|it| it.1.is_err()).map(|it| it.0.0).collect();
    assert_eq!((failed, refused), (vec![], vec![2]));
    assert_eq!(numbers(&servers, "one", "rows").len() as u64, (2 * (many + 1)).unsigned_abs());
    assert_eq!(numbers(&servers, "one", "plumb_done_message"), [1, 3]);
}

#[test]
fn what_is_undone_leaves_nothing_behind() {
    let (_folder, servers) = servers();
    let mut work = servers.unit(HERE);
    work.begin(ExecutionId(1));
    insert(&mut work, "one", 1).unwrap();
    for asks in [false, true] {
        work.begin(ExecutionId(2));
        insert(&mut work, "one", 2).unwrap();
        if asks {
            let answer = work.sql(&ask("one", "SELECT count(*) AS c FROM rows", &[])).unwrap();
            assert_eq!(answer.first, [("c".into(), Some("2".into()))]);
        }
        work.undo();
    }
    work.begin(ExecutionId(3));
    insert(&mut work, "one", 3).unwrap();
    let ids: Vec<u64> = work.commit().into_iter().map(|(id, _)| id.0).collect();
    assert_eq!(ids, [1, 3]);
    assert_eq!(numbers(&servers, "one", "rows"), [1, 3]);
    assert_eq!(numbers(&servers, "one", "plumb_done_message"), [1, 3]);
}

#[test]
fn a_message_refused_at_one_server_is_undone_at_the_others() {
    let (_folder, servers) = servers();
    let mut work = servers.unit(HERE);
    for (id, second) in [(1, 1), (2, -1), (3, 3)] {
        work.begin(ExecutionId(id));
        insert(&mut work, "one", signed(id)).unwrap();
        let _ = insert(&mut work, "two", second);
    }
    let done: BTreeSet<u64> =
        work.commit().into_iter().filter(|it| it.1.is_ok()).map(|it| it.0.0).collect();
    assert_eq!(done, BTreeSet::from([1, 3]));
    assert_eq!(numbers(&servers, "one", "rows"), [1, 3]);
    assert_eq!(numbers(&servers, "two", "rows"), [1, 3]);
}

#[test]
fn an_answer_of_a_change_binds_a_message_to_one_server() {
    let (_folder, servers) = servers();
    let mut work = servers.unit(HERE);
    work.begin(ExecutionId(1));
    work.sql(&ask("two", "SELECT 1 AS one", &[])).unwrap();
    let asked = work.sql(&ask("one", "INSERT INTO rows(n) VALUES ($1) RETURNING n", &[Some("5")]));
    assert_eq!(asked.unwrap().first, [("n".into(), Some("5".into()))]);
    let error = insert(&mut work, "two", 1).unwrap_err().to_string();
    assert!(error.contains("changes the data server one"), "{error}");
    work.undo();
    assert!(work.commit().is_empty());
    assert!(numbers(&servers, "one", "rows").is_empty());
}

#[test]
fn a_message_that_comes_once_is_committed_at_once_and_not_recorded() {
    let (_folder, servers) = servers();
    let mut work = servers.direct();
    for (id, number, expected) in [(1, 1, true), (2, -2, false), (3, 3, true)] {
        work.begin(ExecutionId(id));
        insert(&mut work, "one", 10 * signed(id)).unwrap();
        insert(&mut work, "one", number).unwrap();
        assert_eq!(work.commit()[0].1.is_ok(), expected, "{id}");
    }
    work.begin(ExecutionId(4));
    let answer = work.sql(&ask("one", "SELECT max(n) AS n FROM rows", &[])).unwrap();
    assert_eq!(answer.first, [("n".into(), Some("30".into()))]);
    insert(&mut work, "one", 31).unwrap();
    assert_eq!(work.commit(), [(ExecutionId(4), Ok(()))]);
    assert_eq!(numbers(&servers, "one", "rows"), [1, 3, 10, 30, 31]);
    let mut lease = servers.pool("one").unwrap().take().unwrap();
    assert!(lease.rows("SELECT * FROM plumb_done_message", &[]).is_err());
}

#[test]
fn messages_that_come_once_are_committed_together_and_each_has_its_own_end() {
    let (_folder, servers) = servers();
    let mut work = servers.direct();
    for id in 1..=5 {
        work.begin(ExecutionId(id));
        // the third is refused by its second row, and its first must not stay
        insert(&mut work, "one", 10 * signed(id)).unwrap();
        insert(&mut work, "one", if id == 3 { -1 } else { 10 * signed(id) + 1 }).unwrap();
        assert!(work.takes_more(), "{id}");
        assert!(numbers(&servers, "one", "rows").is_empty());
    }
    let ended = work.commit();
    let refused: Vec<u64> =
        ended.iter().filter(|(_, done)| done.is_err()).map(|(id, _)| id.0).collect();
    assert_eq!((ended.len(), refused), (5, vec![3]));
    assert_eq!(numbers(&servers, "one", "rows"), [10, 11, 20, 21, 40, 41, 50, 51]);
}

#[test]
fn a_message_that_needs_an_answer_or_another_server_commits_those_before_it() {
    let (_folder, servers) = servers();
    let mut work = servers.direct();
    work.begin(ExecutionId(1));
    insert(&mut work, "one", 1).unwrap();
    work.begin(ExecutionId(2));
    let answer = work.sql(&ask("one", "SELECT max(n) AS n FROM rows", &[])).unwrap();
    assert_eq!(answer.first, [("n".into(), Some("1".into()))]);
    assert_eq!(numbers(&servers, "one", "rows"), [1]);
    assert!(!work.takes_more());
    insert(&mut work, "one", -1).unwrap();
    let ended = work.commit();
    assert!(ended[0].1.is_ok() && ended[1].1.is_err(), "{ended:?}");
    // the second of these fails at its other server, which is nothing to the first
    work.begin(ExecutionId(3));
    insert(&mut work, "one", 3).unwrap();
    work.begin(ExecutionId(4));
    insert(&mut work, "one", 4).unwrap();
    insert(&mut work, "two", -4).unwrap();
    assert_eq!(numbers(&servers, "one", "rows"), [1, 3]);
    assert!(!work.takes_more());
    let ended = work.commit();
    assert!(ended[0].1.is_ok() && ended[1].1.is_err(), "{ended:?}");
    // what is undone is undone alone
    work.begin(ExecutionId(5));
    insert(&mut work, "one", 5).unwrap();
    work.begin(ExecutionId(6));
    insert(&mut work, "one", 6).unwrap();
    work.undo();
    assert_eq!(work.commit(), [(ExecutionId(5), Ok(()))]);
    work.begin(ExecutionId(7));
    work.sql_later(&ask("one", "UPDATE rows SET text = 'x' WHERE n = 5", &[])).unwrap();
    assert!(!work.takes_more(), "it could hold what another one needs");
    work.commit();
    let found = numbers(&servers, "one", "rows");
    assert!(found.contains(&5) && !found.contains(&6), "{found:?}");
}

#[test]
fn a_trial_shows_what_happens_and_leaves_nothing() {
    let (_folder, servers) = servers();
    let mut work = servers.trial();
    insert(&mut work, "one", 1).unwrap();
    assert!(matches!(insert(&mut work, "one", -1), Err(OutsideError::Refused(_))));
    assert_eq!(work.commit().len(), 1);
    assert!(numbers(&servers, "one", "rows").is_empty());
}

#[test]
fn a_server_that_is_not_there_is_named_with_what_was_meant() {
    let (_folder, servers) = servers();
    let mut work = servers.unit(HERE);
    let error = work.sql(&ask("ones", "SELECT 1", &[])).unwrap_err().to_string();
    assert!(error.ends_with("has no data server `ones`; did you mean `one`?"), "{error}");
    let error = work.sql(&ask("", "SELECT 1", &[])).unwrap_err().to_string();
    assert!(error.contains("one of one, two"), "{error}");
}

#[test]
fn a_row_without_a_value_holds_null_and_texts_get_the_type_of_their_column() {
    let (_folder, servers) = servers();
    let mut work = servers.direct();
    work.sql_later(&ask("one", INSERT, &[Some("007"), None])).unwrap();
    work.commit();
    let answer = work.sql(&ask("one", "SELECT n, text, typeof(n) AS t FROM rows", &[])).unwrap();
    let expected = [("n", Some("7")), ("text", None), ("t", Some("integer"))];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)));
    assert_eq!((answer.changed, answer.first), (1, expected.to_vec()));
    let nul = work.sql(&ask("one", "SELECT $1", &[Some("a\0")])).unwrap_err();
    assert!(matches!(nul, OutsideError::Refused(_)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Messages of any length, good and bad, some of them given up and some coming again: what is in
    /// the table is what the good ones did, each once.
    #[test]
    fn what_is_in_the_table_is_what_was_not_refused(
        messages in prop::collection::vec(
            (0..260_usize, prop::bool::weighted(0.2), 0..4_u8, 0..9_u8),
            1..24,
        )
    ) {
        let (_folder, servers) = servers();
        let mut work = servers.unit(HERE);
        let mut expected = BTreeSet::new();
        let mut good = BTreeSet::new();
        let mut begun = BTreeSet::new();
        let mut reported = BTreeSet::new();
        for (number, (rows, bad, kind, commits)) in messages.iter().enumerate() {
            let id = ExecutionId(number as u64 + 1);
            let first = (signed(number as u64) + 1) * 1_000;
            work.begin(id);
            let mut refused = false;
            let rows = signed(*rows as u64);
            for row in 0..rows {
                let value = if *bad && row == rows / 2 { -1 } else { first + row };
                refused |= insert(&mut work, "one", value).is_err();
            }
            if *kind == 1 {
                refused |= work.sql(&ask("one", "SELECT 1", &[])).is_err();
            }
            if *kind == 2 || refused {
                work.undo();
            } else {
                begun.insert(id);
                if !*bad || rows == 0 {
                    good.insert(id);
                    expected.extend(first..first + rows);
                }
            }
            if *commits == 0 {
                reported.extend(work.commit());
            }
        }
        reported.extend(work.commit());
        let done: BTreeSet<_> = reported.iter().map(|(id, _)| *id).collect();
        prop_assert_eq!(done.len(), reported.len());
        prop_assert_eq!(&done, &begun);
        let fine: BTreeSet<_> =
            reported.iter().filter(|it| it.1.is_ok()).map(|it| it.0).collect();
        prop_assert_eq!(fine, good);
        let found: BTreeSet<i64> = numbers(&servers, "one", "rows").into_iter().collect();
        prop_assert_eq!(found, expected);
    }
}
