//! Who comes and goes, as lines of text or as JSON.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::Duration;

use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::layer::Output;
use plumb_measure::Clock as _;
use plumb_wire::extension::{Totals, Traffic};
use serde_json::{Map, Value, json};

use super::together::{Gatherings, Together};
use crate::client::{Client, Rates};
use crate::{DatagramTotals, Event, ledger};

/// Name and version of a line of JSON.
const SCHEMA: &str = "plumb.net-serve/1";
/// How often the thread that writes looks for groups that have waited long enough when nothing else comes.
const LOOK: Duration = Duration::from_secs(1);

/// What the lines look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogForm {
    /// Sentences behind the time.
    Text,
    /// One object a line.
    Json,
    /// There are none of who comes and goes.
    Quiet,
}

impl LogForm {
    /// A line of it, if it has any.
    fn line(self, text: impl FnOnce() -> String, object: impl FnOnce() -> Value) -> Option<String> {
        match self {
            Self::Quiet => None,
            Self::Text => Some(timed(&text())),
            Self::Json => {
                let mut line = json!({ "schema": SCHEMA, "wall_ns": clock::wall_ns() });
                add(&mut line, object());
                Some(line.to_string())
            }
        }
    }

    fn of_group(self, group: &Together) -> Option<String> {
        self.line(|| group.to_string(), || of_group(group))
    }
}

/// Groups that wait for clients that stay, for the thread that writes.
#[derive(Debug)]
pub(super) struct Overdue {
    form: LogForm,
    gatherings: Arc<Mutex<Gatherings>>,
}

impl Overdue {
    /// Writes `lines` to `destination` until nobody sends any more, and groups when they have waited long
    /// enough and nothing else comes.
    pub(super) fn write(&self, lines: &Receiver<String>, destination: Output<'_>) {
        loop {
            let lines = match lines.recv_timeout(LOOK) {
                Ok(line) => vec![line],
                Err(RecvTimeoutError::Timeout) => self.lines(MonotonicClock.now_ns()),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            for line in lines {
                // a log that cannot be written must not end the service
                let _ = writeln!(destination, "{line}").and_then(|()| destination.flush());
            }
        }
    }

    /// Of the groups that have waited long enough at `now_ns`.
    fn lines(&self, now_ns: u64) -> Vec<String> {
        let mut gatherings = match self.gatherings.try_lock() {
            Ok(gatherings) => gatherings,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // whoever has it sends lines, and may wait for us; he looks, too
            Err(TryLockError::WouldBlock) => return Vec::new(),
        };
        gatherings.due(now_ns).iter().filter_map(|group| self.form.of_group(group)).collect()
    }
}

/// Writes lines for a thread that is there for as long as the server is.
#[derive(Clone, Debug)]
pub(super) struct ServeLog {
    lines: SyncSender<String>,
    form: LogForm,
    gatherings: Arc<Mutex<Gatherings>>,
}

impl ServeLog {
    pub(super) fn new(lines: SyncSender<String>, form: LogForm) -> Self {
        Self { lines, form, gatherings: Arc::default() }
    }

    /// Tells `event`, and of the groups of clients that ended with it.
    pub(super) fn event(&self, event: &Event<'_>) {
        // not between an event and the group that ends with it
        let mut gatherings = self.gatherings.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = match event {
            Event::Opened(client) => gatherings.came(client),
            Event::Closed(client, served_ns, _) => gatherings.gone(client, *served_ns),
            Event::TurnedAway(..) | Event::CannotAccept(_) => Vec::new(),
        };
        self.say(|| event.to_string(), || of_event(event));
        ended.iter().filter_map(|group| self.form.of_group(group)).for_each(|line| self.send(line));
    }

    /// Tells what the server does unasked, whoever wants to hear of clients.
    pub(super) fn note(&self, text: &str) {
        match self.form {
            LogForm::Json => self.say(String::new, || json!({ "event": "note", "text": text })),
            LogForm::Text | LogForm::Quiet => self.send(timed(text)),
        }
    }

    /// Tells where the server listens; as text this stands elsewhere.
    pub(super) fn listens(&self, address: &str) {
        if self.form == LogForm::Json {
            self.say(String::new, || json!({ "event": "listening", "address": address }));
        }
    }

    /// Tells what was served over connections.
    pub(super) fn totals(&self, totals: &Totals) {
        match self.form {
            LogForm::Quiet => {}
            LogForm::Text => ledger::table(totals).into_iter().for_each(|line| self.send(line)),
            LogForm::Json => self.say(String::new, || {
                let mut object = json!({ "event": "total", "clients": totals.clients });
                add(&mut object, traffic(totals.served));
                object
            }),
        }
    }

    /// Tells what was served over the socket of UDP at `address`.
    pub(super) fn datagrams(&self, address: &str, totals: &DatagramTotals) {
        let DatagramTotals { welcomed, answered, strange, turned_away } = *totals;
        match self.form {
            LogForm::Quiet => {}
            LogForm::Text => self.send(format!("{address}: {totals}")),
            LogForm::Json => self.say(String::new, || {
                json!({
                    "event": "datagrams", "address": address, "welcomed": welcomed,
                    "answered": answered, "strange": strange, "turned_away": turned_away,
                })
            }),
        }
    }

    /// What the thread that writes needs to tell groups that waited for long enough.
    pub(super) fn overdue(&self) -> Overdue {
        Overdue { form: self.form, gatherings: Arc::clone(&self.gatherings) }
    }

    fn say(&self, text: impl FnOnce() -> String, object: impl FnOnce() -> Value) {
        if let Some(line) = self.form.line(text, object) {
            self.send(line);
        }
    }

    fn send(&self, line: String) {
        let _ = self.lines.send(line); // whoever writes is there for as long as we are
    }
}

fn timed(event: &str) -> String {
    format!("{} {event}", clock::utc(clock::wall_ns()))
}

fn add(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}

fn of_event(event: &Event<'_>) -> Value {
    let peer = |client: &Client| client.peer.to_string();
    match event {
        Event::Opened(client) => {
            json!({ "event": "connected", "client": client.handle, "from": peer(client) })
        }
        Event::Closed(client, served_ns, ended) => {
            let mut object = json!({
                "event": "gone", "client": client.handle, "from": peer(client),
                "connected_ns": served_ns, "pings": client.pings, "ended": ended.to_string(),
            });
            add(&mut object, traffic(client.served()));
            add(&mut object, rates(client.rates(*served_ns)));
            let unfinished = client.unfinished.map(|it| ("unfinished", it.to_string()));
            let refusal = client.refusal.clone().map(|it| ("refusal", it));
            let found = unfinished.into_iter().chain(refusal);
            let said: Map<String, Value> =
                found.map(|(name, text)| (name.to_owned(), text.into())).collect();
            add(&mut object, said.into());
            object
        }
        Event::TurnedAway(peer, why) => {
            let why = why.to_string();
            json!({ "event": "turned-away", "from": peer.to_string(), "why": why })
        }
        Event::CannotAccept(error) => {
            json!({ "event": "cannot-accept", "why": error.to_string() })
        }
    }
}

fn of_group(group: &Together) -> Value {
    let mut object = json!({
        "event": "together", "clients": group.clients, "span_ns": group.span_ns(),
        "at_once_ns": group.at_once_ns(), "still_connected": group.still_connected,
    });
    add(&mut object, traffic(group.served));
    add(&mut object, rates(group.rates()));
    object
}

fn traffic(served: Traffic) -> Value {
    let Traffic { messages_in, bytes_in, messages_out, bytes_out } = served;
    json!({
        "messages_in": messages_in, "bytes_in": bytes_in, "messages_out": messages_out,
        "bytes_out": bytes_out,
    })
}

/// Absent where there are none.
fn rates(rates: Option<Rates>) -> Value {
    rates.map_or_else(
        || Value::Object(Map::new()),
        |Rates { messages_per_s, in_bits_per_s, out_bits_per_s }| {
            json!({
                "messages_per_s": messages_per_s, "in_bits_per_s": in_bits_per_s,
                "out_bits_per_s": out_bits_per_s,
            })
        },
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use plumb_engine::Ended;

    use super::*;
    use crate::Unfinished;

    fn client(handle: u64) -> Client {
        let unfinished = Some(Unfinished::Header { came: 2 });
        Client { pings: 1, unfinished, ..Client::echoed(handle) }
    }

    fn told(form: LogForm) -> Vec<String> {
        let (lines, written) = mpsc::sync_channel(100);
        let log = ServeLog::new(lines, form);
        log.listens("127.0.0.1:1");
        let clients = [client(1), client(2)];
        clients.iter().for_each(|client| log.event(&Event::Opened(client)));
        for client in &clients {
            log.event(&Event::Closed(client, 2_000_000_000, Ended::ByClient));
        }
        log.totals(&Totals { clients: 2, ..Totals::default() });
        drop(log);
        written.iter().collect()
    }

    #[test]
    fn each_event_is_one_object_a_line_that_names_its_schema() {
        let mut lines: Vec<Value> =
            told(LogForm::Json).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in &mut lines {
            let object = line.as_object_mut().unwrap();
            assert_eq!(object.remove("schema").unwrap(), SCHEMA);
            assert!(object.remove("wall_ns").unwrap().is_u64());
        }
        let words: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
        let expected = ["listening", "connected", "connected", "gone", "gone", "together", "total"];
        assert_eq!(words, expected);
        assert_eq!(
            lines[3],
            json!({
                "event": "gone", "client": 1, "from": "unix", "connected_ns": 2_000_000_000_u64,
                "pings": 1, "ended": "closed by the client", "messages_in": 1_000,
                "bytes_in": 1_000_000, "messages_out": 1_000, "bytes_out": 1_000_000,
                "messages_per_s": 500.0, "in_bits_per_s": 4e6, "out_bits_per_s": 4e6,
                "unfinished": "within a frame: 2 of the 4 bytes of its length had come",
            })
        );
        assert_eq!(
            lines[5],
            json!({
                "event": "together", "clients": 2, "span_ns": 2_000_000_000_u64,
                "at_once_ns": 2_000_000_000_u64, "still_connected": 0, "messages_in": 2_000, "bytes_in": 2_000_000,
                "messages_out": 2_000, "bytes_out": 2_000_000, "messages_per_s": 1_000.0,
                "in_bits_per_s": 8e6, "out_bits_per_s": 8e6,
            })
        );
    }

    #[test]
    fn as_text_the_sum_follows_the_last_client_and_quietly_nothing_is_told() {
        let lines = told(LogForm::Text);
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert!(lines[4].contains(" 2 clients together for 2.00 s "), "{lines:?}");
        assert_eq!(told(LogForm::Quiet), Vec::<String>::new());
    }

    #[test]
    fn a_group_whose_clients_are_gone_is_written_while_another_stays() {
        let (lines, written) = mpsc::sync_channel(100);
        let log = ServeLog::new(lines, LogForm::Json);
        let clients = [client(1), client(2), client(3)];
        clients.iter().for_each(|client| log.event(&Event::Opened(client)));
        for client in &clients[1..] {
            log.event(&Event::Closed(client, 2_000_000_000, Ended::ByClient));
        }
        let overdue = log.overdue();
        assert_eq!(overdue.lines(3_000_000_000), Vec::<String>::new());
        let due = overdue.lines(60_000_000_000);
        let group: Value = serde_json::from_str(&due[0]).unwrap();
        assert_eq!(
            (due.len(), &group["event"], &group["clients"], &group["still_connected"]),
            (1, &"together".into(), &2.into(), &1.into())
        );
        drop(log);
        let mut out = Vec::new();
        overdue.write(&written, &mut out);
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 5, "three came, two went");
    }
}
