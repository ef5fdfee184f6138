//! What becomes of messages.

use tokio::sync::mpsc;

use super::*;

fn plan() -> MqttPlan {
    MqttPlan {
        host: "broker".into(),
        port: 1_883,
        version: MqttVersion::Five,
        client_id: "line-1".into(),
        topics: vec!["#".into()],
        payload: Payload::Json,
        sequence: Some("n".into()),
        login: None,
        tls: None,
    }
}

/// What a source that goes on at `from` makes of messages, each of which may be said to have
/// been sent before; and what it tells.
fn listened(from: u64, messages: &[(&'static str, bool)]) -> (Vec<Feed>, Vec<String>) {
    let (feeds, _taken) = mpsc::channel(1);
    let (_marks, marks) = mpsc::unbounded_channel();
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    let log = Arc::new(move |text| log.lock().unwrap().push(text));
    let from = Position { at: from, ..Position::default() };
    let plan = plan();
    let mut source = Listening::<()>::new(&plan, Outlet { from, feeds, marks, log });
    let arrival = |(payload, again): &(&'static str, bool)| Arrival {
        topic: "pre\tss".into(),
        payload: (*payload).into(),
        again: *again,
        retained: false,
    };
    let feeds = messages.iter().map(|message| source.read(&arrival(message))).collect();
    let told = told.lock().unwrap().clone();
    (feeds, told)
}

fn read(from: Position, payload: &'static str) -> Feed {
    listened(from.at, &[(payload, true)]).0.remove(0)
}

#[test]
fn a_message_of_which_a_part_is_on_disk_is_taken_whole_again() {
    let payload = r#"{"n": 7, "a": 1, "b": 2, "c": 3, "d": null}"#;
    let first = read(Position { at: 4, ..Position::default() }, payload);
    assert_eq!((first.changes.len(), first.never_seen), (3, 2));
    for (number, change) in first.changes.iter().enumerate() {
        let again = read(change.after, payload);
        let expected = if number == 2 { 0 } else { 3 };
        assert_eq!((again.changes.len(), again.never_seen), (expected, 0), "{number}");
    }
}

#[test]
fn the_first_message_of_all_is_taken_whole_again() {
    let payload = r#"{"n": 1, "a": 1, "b": 2}"#;
    let first = read(Position::default(), payload);
    let counts = first.changes.iter().map(|it| read(it.after, payload).changes.len());
    assert_eq!(counts.collect::<Vec<_>>(), [2, 0]);
}

#[test]
fn a_counter_that_begins_anew_loses_nothing_and_what_comes_twice_counts_once() {
    let counts = |feeds: &[Feed]| -> Vec<(usize, u64)> {
        feeds.iter().map(|feed| (feed.changes.len(), feed.never_seen)).collect()
    };
    let (five, six, nine) = (r#"{"n": 5, "a": 1}"#, r#"{"n": 6, "a": 1}"#, r#"{"n": 9, "a": 1}"#);
    let (one, three) = (r#"{"n": 1, "a": 1}"#, r#"{"n": 3, "a": 1}"#);
    let other = r#"{"n": 5, "a": 2}"#;
    let sent = [five, six, five, nine, one, three, one, other].map(|message| (message, false));
    let (feeds, told) = listened(4, &sent);
    let expected = [(1, 0), (1, 0), (0, 0), (1, 2), (1, 0), (1, 1), (0, 0), (1, 1)];
    assert_eq!(counts(&feeds), expected);
    assert_eq!(told, ["`n` begins anew: 1 comes behind 9"]);
    assert_eq!(feeds[4].changes[0].after.at, 1);
    // behind a restart the broker says what it has sent before
    let (feeds, told) = listened(9, &[(six, true), (nine, true), (one, false)]);
    assert_eq!(counts(&feeds), [(0, 0), (0, 0), (1, 0)]);
    assert_eq!(told.len(), 1);
}

#[test]
fn a_message_that_cannot_be_read_counts_once() {
    let counts = |feeds: &[Feed]| feeds.iter().map(|it| it.never_seen).collect::<Vec<_>>();
    let (five, seven) = (r#"{"n": 5, "a": 1}"#, r#"{"n": 7, "a": 1}"#);
    let odd = [
        r#"{"n": 6, "a": "b\u0000"}"#,
        r#"{"n": 6, "a\u001b": 1}"#,
        r#"{"n": 6, "a": ["\uffff"]}"#,
    ];
    for unread in [r#"{"n": 6, "a""#, r#"{"n": "6", "a": 1}"#].into_iter().chain(odd) {
        let (feeds, told) = listened(4, &[five, unread, seven].map(|it| (it, false)));
        assert_eq!((counts(&feeds), told.len()), (vec![0, 0, 1], 1), "{unread}");
        assert!(told[0].starts_with("a message of pre ss is left out: "), "{told:?}");
        // where nothing came before, the next one does not count it
        let (feeds, _) = listened(0, &[unread, seven].map(|it| (it, false)));
        assert_eq!(counts(&feeds), [1, 0], "{unread}");
    }
    let other = r#"{"a": 1}"#;
    let (feeds, _) = listened(5, &[other, r#"{"n": 6}"#].map(|it| (it, false)));
    assert_eq!(counts(&feeds), [1, 0], "it is none of those that are counted");
}

#[test]
fn a_text_that_is_none_is_left_out() {
    let read = |payload: &'static [u8]| {
        let (topic, payload) = ("press".into(), payload.into());
        let feed = text(&Arrival { topic, payload, again: false, retained: false }, 1);
        feed.map(|feed| feed.changes[0].value.to_string())
    };
    assert_eq!(read(b"M\xc3\xbcller").ok().as_deref(), Some("M\u{fc}ller"));
    for (payload, expected) in [(&b"M\xfcller"[..], "byte 2"), (b"21.5\0", "U+0000")] {
        let unread = read(payload).unwrap_err();
        assert!(unread.problem.contains(expected), "{}", unread.problem);
        assert_eq!(unread.never_seen, 1);
    }
}

#[test]
fn a_message_without_a_change_says_where_to_go_on() {
    let (feeds, _) = listened(5, &[(r#"{"n": 6}"#, false), (r#"{"n": 7, "a": null}"#, false)]);
    let after = feeds.iter().map(|it| it.after.map(|after| after.at)).collect::<Vec<_>>();
    assert_eq!(after, [Some(6), Some(7)]);
    assert!(feeds.iter().all(|it| it.changes.is_empty() && it.never_seen == 0));
}
