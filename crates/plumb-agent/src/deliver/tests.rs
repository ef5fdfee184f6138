//! Lanes against a target that answers as a test wants.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use plumb_measure::Span;
use tempfile::TempDir;
use tokio::sync::watch;

use super::{Keys, Lane, RetryPlan, TargetPlan};
use crate::bundle::Bundle;
use crate::change::Position;
use crate::form::Form;
use crate::spool::{AgentSpool, Ledger, Put, Spool, SpoolLimits, WhenFull};

/// A request as it came.
#[derive(Clone, Debug)]
struct Asked {
    body: String,
    headers: HashMap<String, String>,
}

/// What is answered to the n-th request, from 0: status and further header lines; `None` closes.
type Script = dyn Fn(usize, &Asked) -> Option<(u16, &'static str)> + Send + Sync;

/// A target.
struct Target {
    address: String,
    asked: Arc<(Mutex<Vec<Asked>>, Condvar)>,
}

impl Target {
    fn start(script: Box<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let (script, all): (Arc<Script>, _) = (Arc::from(script), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, all) = (Arc::clone(&script), Arc::clone(&all));
                std::thread::spawn(move || while answer(&stream, &script, &all).is_some() {});
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.0.lock().unwrap().clone()
    }
}

fn answer(
    stream: &std::io::Result<TcpStream>,
    script: &Arc<Script>,
    all: &(Mutex<Vec<Asked>>, Condvar),
) -> Option<()> {
    let stream = stream.as_ref().ok()?;
    let mut reader = BufReader::new(stream);
    let mut headers = HashMap::new();
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let asked = Asked { body: String::from_utf8(body).ok()?, headers };
    let number = {
        let mut kept = all.0.lock().unwrap();
        kept.push(asked.clone());
        all.1.notify_all();
        kept.len() - 1
    };
    let (status, lines) = script(number, &asked)?;
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n{lines}\r\n");
    let mut to = stream;
    to.write_all(head.as_bytes()).ok()
}

/// A spool with messages of one agent.
struct Filled {
    _folder: TempDir,
    spool: Spool,
    agent: AgentSpool,
}

impl Filled {
    fn of(messages: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        let limits = SpoolLimits { messages: 1_000, bytes: 1 << 20, when_full: WhenFull::Wait };
        let agent = spool.agent("line-1", limits).unwrap();
        for first in 1..=messages {
            let (body, after) = (first.to_string().into_bytes(), Position::default());
            let bundle = Some(Bundle { first, changes: 1, body, after });
            agent.put(Put { bundle, ..Put::default() }).blocking_recv().unwrap();
        }
        Self { _folder: folder, spool, agent }
    }

    /// Has a lane send until `enough` of the ledger holds.
    fn send(
        &self,
        target: &TargetPlan,
        retry: RetryPlan,
        enough: impl Fn(&Ledger) -> bool,
    ) -> Ledger {
        let log = Box::new(|_| ());
        let lane = Lane::new(self.agent.clone(), target, Form::Xml, retry, "line-1", log);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (tell_stop, stop) = watch::channel(false);
        runtime.block_on(async {
            let look = async {
                while !enough(&self.agent.ledger()) {
                    tokio::task::yield_now().await;
                }
                tell_stop.send(true).unwrap();
            };
            tokio::join!(lane.run(stop), look);
        });
        let ledger = self.agent.ledger();
        assert!(ledger.closes(), "{ledger:?}");
        ledger
    }
}

fn plan(target: &Target) -> TargetPlan {
    TargetPlan {
        address: target.address.clone(),
        host: "127.0.0.1".into(),
        authority: target.address.clone(),
        path: "/messages".into(),
        authorization: Some("Bearer 0123456789abcdef".into()),
        tls: None,
        window: 3,
        ordered: false,
        keys: Keys::Send,
        timeout: Span::from_ms(30_000),
    }
}

fn quick(times: u32) -> RetryPlan {
    RetryPlan { times, interval: Span::from_ms(5), lifetime: None }
}

fn bodies(asked: &[Asked]) -> Vec<&str> {
    asked.iter().map(|asked| asked.body.as_str()).collect()
}

#[test]
fn each_message_is_delivered_once_with_a_key_of_its_own() {
    let target = Target::start(Box::new(|_, _| Some((202, ""))));
    let filled = Filled::of(50);
    let ledger = filled.send(&plan(&target), quick(3), |it| it.main.messages == 0);
    assert_eq!((ledger.delivered, ledger.delivered_messages), (50, 50));
    let asked = target.asked();
    let keys: BTreeMap<_, _> =
        asked.iter().map(|it| (it.headers["idempotency-key"].clone(), it.body.clone())).collect();
    assert_eq!((asked.len(), keys.len()), (50, 50));
    let first = &asked[0].headers;
    assert_eq!(first["authorization"], "Bearer 0123456789abcdef");
    assert_eq!(first["content-type"], "application/xml");
    assert!(!first.contains_key("x-order-key"));
}

#[test]
fn an_ordered_lane_sends_one_after_the_other_whatever_fails() {
    // the second message fails twice, a connection is closed once
    let target = Target::start(Box::new(|number, _| match number {
        1 | 2 => Some((500, "")),
        5 => None,
        _ => Some((202, "")),
    }));
    let filled = Filled::of(5);
    let ordered = TargetPlan { ordered: true, ..plan(&target) };
    filled.send(&ordered, quick(9), |it| it.main.messages == 0);
    let asked = target.asked();
    assert_eq!(bodies(&asked), ["1", "2", "2", "2", "3", "4", "4", "5"]);
    assert_eq!(asked[0].headers["x-order-key"], "line-1");
    assert_eq!(asked[5].headers["idempotency-key"], asked[6].headers["idempotency-key"]);
}

#[test]
fn a_message_that_is_refused_or_fails_too_often_is_put_aside_and_holds_up_nobody() {
    let target = Target::start(Box::new(|_, asked| match asked.body.as_str() {
        "2" => Some((422, "")),
        "3" => Some((500, "")),
        _ => Some((202, "")),
    }));
    let filled = Filled::of(5);
    let ledger = filled.send(&plan(&target), quick(2), |it| it.main.messages == 0);
    assert_eq!((ledger.delivered, ledger.failed.messages), (3, 2));
    let third = target.asked().iter().filter(|asked| asked.body == "3").count();
    assert_eq!(third, 3); // one attempt, and two more
}

#[test]
fn a_target_that_says_when_to_come_again_is_left_alone_until_then() {
    // each of the first seven says: at once; they use up no attempt of an interval of an hour
    let target = Target::start(Box::new(|number, _| match number {
        0..7 => Some((503, "Retry-After: 0\r\n")),
        _ => Some((202, "")),
    }));
    let filled = Filled::of(9);
    let retry = RetryPlan { times: 1, interval: Span::from_ms(3_600_000), lifetime: None };
    let ledger = filled.send(&plan(&target), retry, |it| it.main.messages == 0);
    assert_eq!((ledger.delivered, ledger.failed.messages), (9, 0));
}

#[test]
fn while_a_target_is_away_one_message_alone_is_tried_and_the_others_wait() {
    let target = Target::start(Box::new(|_, _| Some((503, ""))));
    let filled = Filled::of(40);
    let ledger = filled.send(&plan(&target), quick(4), |it| it.failed.messages >= 3);
    assert_eq!(ledger.delivered, 0);
    // the first three were under way when it was found to be away
    let tried: BTreeMap<String, usize> =
        target.asked().iter().fold(BTreeMap::new(), |mut all, it| {
            *all.entry(it.body.clone()).or_default() += 1;
            all
        });
    assert!(tried.len() <= 5 && tried["1"] == 5, "{tried:?}");
}

#[test]
fn a_target_that_is_away_for_hours_costs_the_messages_that_were_tried_and_no_others() {
    // by default, ten messages are tried for 2.8 hours
    let usual = RetryPlan::default();
    assert_eq!(10 * (u64::from(usual.times) + 1) * usual.interval.ns(), 10_100_000_000_000);
    // here, each is tried eleven times: every attempt is a flush of the spool
    let target =
        Target::start(Box::new(|number, _| Some((if number < 110 { 503 } else { 202 }, ""))));
    let filled = Filled::of(60);
    let ordered = TargetPlan { ordered: true, ..plan(&target) };
    let retry = RetryPlan { times: 10, interval: Span::from_ms(1), lifetime: None };
    let ledger = filled.send(&ordered, retry, |it| it.main.messages == 0);
    assert_eq!((ledger.failed.messages, ledger.delivered), (10, 50));
}

#[test]
fn a_message_that_is_too_old_is_not_sent() {
    let target = Target::start(Box::new(|_, _| Some((202, ""))));
    let filled = Filled::of(4);
    let retry = RetryPlan { lifetime: Some(Span::from_ns(1)), ..quick(1) };
    // a millisecond is the least that the spool tells apart
    let from = plumb_engine::clock::wall_ns() / 1_000_000;
    while plumb_engine::clock::wall_ns() / 1_000_000 < from + 2 {
        std::thread::yield_now();
    }
    let ledger = filled.send(&plan(&target), retry, |it| it.main.messages == 0);
    assert_eq!((ledger.expired.messages, target.asked().len()), (4, 0));
}

#[test]
fn what_was_sent_but_not_confirmed_is_sent_again_with_the_same_key() {
    let target = Target::start(Box::new(|number, _| (number > 2).then_some((202, ""))));
    let filled = Filled::of(1);
    let ledger = filled.send(&plan(&target), quick(9), |it| it.main.messages == 0);
    assert_eq!(ledger.delivered, 1);
    let asked = target.asked();
    let keys: std::collections::BTreeSet<_> =
        asked.iter().map(|it| &it.headers["idempotency-key"]).collect();
    assert_eq!((asked.len(), keys.len()), (4, 1));
    filled.spool.close();
}
