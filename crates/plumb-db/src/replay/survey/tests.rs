use super::*;

fn logged(at_us: i64, session: &str, text: &str) -> Result<Entry, UnreadableLog> {
    let (session, text) = (session.into(), text.into());
    let parameters = Vec::new();
    Ok(Entry::Statement(Logged { line: 0, at_us, logged_us: at_us, session, text, parameters }))
}

fn day() -> Vec<Result<Entry, UnreadableLog>> {
    vec![
        logged(9_000, "a", "SELECT 2"),
        Ok(Entry::Other),
        Ok(Entry::Translated),
        logged(4_000, "b", "select b from t where c = 'x'"),
        logged(5_000, "a", "BEGIN"),
        logged(5_500, "a", "UPDATE t SET a = 1"),
        logged(6_000, "c", "SELECT 1"),
        logged(7_000, "c", "-- why\n commit"),
        logged(8_000, "c", "call p()"),
    ]
}

const READING: Reading = Reading { product: Product::Postgres, writes_allowed: false, rows: 1 };

#[test]
fn what_may_write_is_left_out_and_counted() {
    let survey = Survey::of(day().into_iter(), READING).unwrap();
    assert_eq!((survey.replayed, survey.may_write, survey.control), (3, 2, 2));
    assert_eq!(survey.translated, 1);
    assert_eq!((survey.sessions, survey.first_us, survey.last_us), (3, 4_000, 9_000));
    assert_eq!(survey.rows, ["SELECT ?", OTHERS]);
    let allowed = Reading { writes_allowed: true, ..READING };
    let survey = Survey::of(day().into_iter(), allowed).unwrap();
    assert_eq!((survey.replayed, survey.may_write, survey.control), (5, 0, 2));
}

#[test]
fn several_statements_in_one_are_left_out_and_counted() {
    let of = |product, text: &str| {
        let reading = Reading { product, writes_allowed: true, ..READING };
        let survey = Survey::of([logged(1, "a", text)].into_iter(), reading).unwrap();
        (survey.replayed, survey.several, survey.control)
    };
    for product in [Product::Postgres, Product::Mysql] {
        assert_eq!(of(product, "select 1; select 2"), (0, 1, 0), "{product:?}");
        assert_eq!(of(product, "select ';1' /* ; */;"), (1, 0, 0), "{product:?}");
        assert_eq!(of(product, "begin; select 1"), (0, 0, 1), "{product:?}");
        let makes = "create procedure p() begin select 1; select 2; end";
        assert_eq!(of(product, makes), (1, 0, 0), "{product:?}");
    }
    assert_eq!(of(Product::Mssql, "select 1; select 2"), (1, 0, 0), "it takes both");
}

#[test]
fn one_statement_asked_over_and_over_is_found() {
    let all = (0..400).map(|at| {
        let text = format!("select a from t where id = {at}");
        // another session asks something else in between
        if at % 7 == 0 { logged(at, "b", "SELECT 2") } else { logged(at, "a", &text) }
    });
    let survey = Survey::of(all, READING).unwrap();
    let name = "select a from t where id = ?".to_owned();
    assert_eq!(survey.series, Series { name, times: 342 });
}

#[test]
fn whatever_else_a_session_asks_is_in_between() {
    for between in ["update t set b = 1", "commit"] {
        let all = (0..100).map(|at| {
            let text = if at % 10 == 9 { between } else { "select a from t where id = 7" };
            logged(at, "a", text)
        });
        assert_eq!(Survey::of(all, READING).unwrap().series.times, 9, "{between}");
    }
}

/// Who writes a file, or ends the transaction around it, is not asked.
#[test]
fn what_nothing_would_keep_from_writing_is_left_out() {
    let survey = |product, writes_allowed, texts: &[&str]| {
        let entries: Vec<_> = texts.iter().map(|text| logged(0, "a", text)).collect();
        let reading = Reading { product, writes_allowed, rows: 1 };
        let survey = Survey::of(entries.into_iter(), reading).unwrap();
        (survey.replayed, survey.may_write, survey.control)
    };
    let file = ["select 1", "select * from t into outfile '/tmp/c.csv'"];
    assert_eq!(survey(Product::Mysql, false, &file), (1, 1, 0));
    assert_eq!(survey(Product::Mysql, true, &file), (2, 0, 0));
    let ends = [
        "update t set a = 1",
        "update t set a = 1; COMMIT",
        "IF @@TRANCOUNT > 0 COMMIT TRAN",
        "delete from t where a = 1commit",
    ];
    assert_eq!(survey(Product::Mssql, true, &ends), (1, 0, 3));
    assert_eq!(survey(Product::Mssql, false, &ends), (0, 1, 3));
}

#[test]
fn statements_of_one_session_keep_the_order_of_the_log() {
    let ended = |logged_us, duration_us, session: &str, text: &str| {
        let at_us = logged_us - duration_us;
        let (session, text, parameters) = (session.into(), text.into(), Vec::new());
        Ok(Entry::Statement(Logged { line: 0, at_us, logged_us, session, text, parameters }))
    };
    let day = || {
        vec![
            ended(100_000, 50, "a", "select 1 from first"),
            ended(100_000, 900, "a", "select 1 from second"),
            ended(100_000, 500, "b", "select 1 from other"),
            ended(101_000, 300, "a", "select 1 from third"),
            // the clock was set back
            ended(40_000, 100, "a", "select 1 from fourth"),
        ]
        .into_iter()
    };
    let reading = Reading { rows: 10, ..READING };
    let survey = Survey::of(day(), reading).unwrap();
    let due: Vec<_> = Replayed::of(day(), &survey, reading).map(Result::unwrap).collect();
    let found: Vec<_> = due.iter().map(|it| (it.after_us, it.statement.text.as_str())).collect();
    let expected = [
        (0, "select 1 from fourth"),
        (59_600, "select 1 from other"),
        (60_050, "select 1 from first"),
        (60_050, "select 1 from second"),
        (60_800, "select 1 from third"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn statements_come_in_the_order_in_which_they_began() {
    let survey = Survey::of(day().into_iter(), READING).unwrap();
    let replayed = Replayed::of(day().into_iter(), &survey, READING);
    let due: Vec<_> = replayed.map(Result::unwrap).collect();
    let found: Vec<_> = due.iter().map(|it| (it.after_us, it.row)).collect();
    assert_eq!(found, [(0, 1), (2_000, 0), (5_000, 0)]);
    assert_eq!(due[1].session, number_of("c"));
    assert_ne!(due[0].session, due[2].session);
}

#[test]
fn what_was_written_behind_the_survey_is_not_replayed() {
    let survey = Survey::of(day().into_iter(), READING).unwrap();
    let torn = Err(UnreadableLog { file: "log".into(), complaint: "it is being written".into() });
    let grown = day().into_iter().chain(day()).chain([torn]);
    let replayed: Vec<_> = Replayed::of(grown, &survey, READING).map(Result::unwrap).collect();
    assert_eq!(replayed.len() as u64, survey.replayed);
}

#[test]
fn no_more_than_a_window_of_them_is_in_memory() {
    let many = 3 * i64::try_from(WAITING_MAX).unwrap();
    let entries = || (0..many).map(|at| logged(at, "a", "SELECT 1"));
    let survey = Survey::of(entries(), READING).unwrap();
    let mut replayed = Replayed::of(entries(), &survey, READING);
    let mut count = 0;
    while let Some(due) = replayed.next() {
        due.unwrap();
        count += 1;
        assert!(replayed.waiting.len() <= WAITING_MAX);
    }
    assert_eq!(count, many);
    assert_eq!(replayed.bytes, 0);
}
