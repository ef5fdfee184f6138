//! Topics of an MQTT broker. A message is acknowledged once what came of it is on disk.

mod connection;
mod numbers;
mod session;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use plumb_engine::clock::wall_ns;
use rustls::{ClientConfig, RootCertStore};
use serde::Deserialize;

use super::{Feed, Mark, Outlet, SourceError, TagName};
use crate::change::{Change, Position, Quality, TagValue, carried};

use connection::{Arrival, Broker, Five, Four, Happened};
use numbers::{Numbered, Numbers};

/// Until a broker that is away is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// Messages that are not acknowledged at once, at most: what a broker of version 5 is told.
const UNACKNOWLEDGED: u16 = 1_000;
/// Events of one kind are told one by one up to so many.
const TOLD_MAX: u64 = 10;

/// Topics of a broker.
#[derive(Clone)]
pub struct MqttPlan {
    /// The broker.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What is spoken.
    pub version: MqttVersion,
    /// What the broker knows the agent by, also after a restart.
    pub client_id: String,
    /// Filters of topics.
    pub topics: Vec<String>,
    /// What messages hold.
    pub payload: Payload,
    /// The member of JSON messages that counts them, over all topics.
    pub sequence: Option<String>,
    /// Name and password.
    pub(crate) login: Option<(String, String)>,
    /// Encrypts.
    pub tls: Option<MqttTls>,
}

// derived, it would show the password
impl std::fmt::Debug for MqttPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MqttPlan")
            .field("host", &self.host)
            .field("topics", &self.topics)
            .finish_non_exhaustive()
    }
}

/// Which version is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum MqttVersion {
    /// 3.1.1.
    #[serde(rename = "3.1.1")]
    Four,
    /// 5.
    #[default]
    #[serde(rename = "5")]
    Five,
}

/// What a message holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Payload {
    /// The value of the tag that is called like the topic.
    #[default]
    Text,
    /// An object; each member is a tag `TOPIC/MEMBER`.
    Json,
}

/// Who is trusted.
#[derive(Clone)]
pub struct MqttTls(Arc<ClientConfig>);

impl MqttTls {
    /// Brokers that one of `roots` vouches for.
    #[must_use]
    pub fn new(roots: RootCertStore) -> Self {
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        Self(Arc::new(config))
    }
}

impl std::fmt::Debug for MqttTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MqttTls")
    }
}

/// Brings what the broker has, and comes back to it whenever it was away.
pub(super) async fn run(plan: &MqttPlan, outlet: Outlet) -> Result<(), SourceError> {
    match plan.version {
        MqttVersion::Four => Listening::new(plan, outlet).run(Four::new(plan)).await,
        MqttVersion::Five => Listening::new(plan, outlet).run(Five::new(plan)).await,
    }
}

/// What is known while the broker is listened to.
struct Listening<'a, A> {
    plan: &'a MqttPlan,
    outlet: Outlet,
    /// Acknowledgements to be sent once their marks are back, and the connection they belong to.
    acks: VecDeque<(Mark, u64, A)>,
    marks: u64,
    connection: u64,
    /// Those that `sequence` names.
    numbers: Numbers,
    /// Times that the numbers began anew.
    anew: u64,
    is_away: bool,
    unread: u64,
}

impl<'a, A> Listening<'a, A> {
    fn new(plan: &'a MqttPlan, outlet: Outlet) -> Self {
        let (numbers, acks) = (Numbers::behind(outlet.from.at), VecDeque::new());
        let (marks, connection, anew, unread) = Default::default();
        Self { plan, outlet, acks, marks, connection, numbers, anew, is_away: false, unread }
    }

    async fn run<B: Broker<Ack = A>>(mut self, mut broker: B) -> Result<(), SourceError> {
        // an arrival that the agent has no room for yet; the connection is kept alive meanwhile
        let feeds = self.outlet.feeds.clone();
        let mut waiting: VecDeque<Feed> = VecDeque::new();
        loop {
            tokio::select! {
                mark = self.outlet.marks.recv() => {
                    let Some(mark) = mark else { return Ok(()) };
                    for ack in self.due(mark) {
                        // a connection that is lost has it sent again
                        let _ = broker.acknowledge(ack);
                    }
                }
                room = feeds.reserve(), if !waiting.is_empty() => {
                    let (Ok(room), Some(feed)) = (room, waiting.pop_front()) else { return Ok(()) };
                    room.send(feed);
                }
                happened = broker.next(), if waiting.len() < usize::from(UNACKNOWLEDGED) => {
                    self.heard(happened, &mut broker, &mut waiting).await?;
                }
            }
        }
    }

    async fn heard<B: Broker<Ack = A>>(
        &mut self,
        happened: Happened<A>,
        broker: &mut B,
        waiting: &mut VecDeque<Feed>,
    ) -> Result<(), SourceError> {
        let (host, port) = (&self.plan.host, self.plan.port);
        match happened {
            Happened::Connected { session } => {
                // what was not acknowledged comes again, by numbers of its own
                self.connection += 1;
                if std::mem::take(&mut self.is_away) || !session {
                    let kept = if session { "it kept our session" } else { "a new session" };
                    (self.outlet.log)(format!("connected to {host}:{port}: {kept}"));
                }
                broker.subscribe(&self.plan.topics).map_err(SourceError::Refused)?;
            }
            Happened::Arrived(arrival, ack) => {
                let mut feed = self.read(&arrival);
                if let Some(ack) = ack {
                    self.marks += 1;
                    feed.mark = Some(Mark(self.marks));
                    self.acks.push_back((Mark(self.marks), self.connection, ack));
                }
                waiting.push_back(feed);
            }
            Happened::Refused(why) => {
                return Err(SourceError::Refused(format!("{host}:{port} refuses: {why}")));
            }
            Happened::Lost(why) => {
                if !std::mem::replace(&mut self.is_away, true) {
                    (self.outlet.log)(format!("{host}:{port} is away: {why}"));
                }
                tokio::time::sleep(AGAIN).await;
            }
            Happened::Nothing => {}
        }
        Ok(())
    }

    /// Acknowledgements of the connection that stands, up to `mark`.
    fn due(&mut self, mark: Mark) -> Vec<A> {
        let count = self.acks.iter().take_while(|(it, ..)| it.0 <= mark.0).count();
        let connection = self.connection;
        let due = self.acks.drain(..count).filter(|(_, of, _)| *of == connection);
        due.map(|(.., ack)| ack).collect()
    }

    /// The changes of a message.
    fn read(&mut self, arrival: &Arrival) -> Feed {
        let time_ms = wall_ns() / 1_000_000;
        let read = match self.plan.payload {
            Payload::Text => text(arrival, time_ms),
            Payload::Json => self.members(arrival, time_ms),
        };
        read.unwrap_or_else(|Unread { problem, never_seen }| {
            self.unread += 1;
            if self.unread <= TOLD_MAX {
                let topic = arrival.topic.replace(char::is_control, " ");
                (self.outlet.log)(format!("a message of {topic} is left out: {problem}"));
            }
            Feed { never_seen, ..Feed::default() }
        })
    }

    fn members(&mut self, arrival: &Arrival, time_ms: u64) -> Result<Feed, Unread> {
        // a number that cannot be read is missing before the next one, which counts it
        let counts = self.plan.sequence.is_some() && self.numbers.last() > 0;
        let unread = |problem| Unread { problem, never_seen: u64::from(!counts) };
        let read: Result<serde_json::Map<String, serde_json::Value>, _> =
            serde_json::from_slice(&arrival.payload);
        let read = read.map_err(|error| unread(format!("it is no object of JSON: {error}")));
        let mut object = read?;
        all_carried(arrival, &object).map_err(unread)?;
        let mut feed = Feed::default();
        let mut before = self.numbers.last();
        if let Some(name) = &self.plan.sequence {
            let problem = || format!("it has no number `{name}`");
            let number = object.remove(name);
            // a message without any is none of those that are counted
            let number = number.ok_or_else(|| Unread { problem: problem(), never_seen: 1 })?;
            let number = number.as_u64().ok_or_else(|| unread(problem()))?;
            match self.numbers.take(number, arrival) {
                Numbered::Again { missing } => {
                    feed.never_seen = missing;
                    object.clear();
                }
                Numbered::New { missing } => feed.never_seen = missing,
                Numbered::Anew { behind } => self.tell_anew(name, number, behind),
            }
            if self.numbers.last() == number {
                before = number.saturating_sub(1);
            }
        }
        for (name, value) in object {
            let value = match value {
                serde_json::Value::Null => continue,
                serde_json::Value::Bool(flag) => TagValue::Flag(flag),
                serde_json::Value::Number(number) => TagValue::read(&number.to_string()),
                serde_json::Value::String(text) => TagValue::Text(text.into()),
                other => TagValue::Text(other.to_string().into()),
            };
            // it is one number: whoever goes on in the middle of it takes all of it again
            let after = Position { at: before, ..Position::default() };
            let tag = format!("{}/{name}", arrival.topic).into();
            feed.changes.push(change(tag, value, time_ms, after));
        }
        let behind = Position { at: self.numbers.last(), ..Position::default() };
        match feed.changes.last_mut() {
            Some(last) => last.after = behind,
            None => feed.after = self.plan.sequence.is_some().then_some(behind),
        }
        Ok(feed)
    }

    fn tell_anew(&mut self, name: &str, number: u64, behind: u64) {
        self.anew += 1;
        if self.anew <= TOLD_MAX {
            (self.outlet.log)(format!("`{name}` begins anew: {number} comes behind {behind}"));
        }
    }
}

/// The change of a message that is the text of one value.
fn text(arrival: &Arrival, time_ms: u64) -> Result<Feed, Unread> {
    let unread = |problem| Unread { problem, never_seen: 1 };
    let text = std::str::from_utf8(&arrival.payload)
        .map_err(|error| unread(format!("byte {} of it is no UTF-8", error.valid_up_to() + 1)))?;
    carried(text).and_then(|()| carried(&arrival.topic)).map_err(unread)?;
    let tag = arrival.topic.as_str().into();
    let change = change(tag, TagValue::read(text), time_ms, Position::default());
    Ok(Feed { changes: vec![change], ..Feed::default() })
}

/// Refuses a message that no message of ours carries.
fn all_carried(
    arrival: &Arrival,
    object: &serde_json::Map<String, serde_json::Value>,
) -> Result<(), String> {
    carried(&arrival.topic)?;
    for (name, value) in object {
        carried(name)?;
        match value {
            serde_json::Value::String(text) => carried(text)?,
            // as it is told: its control characters are escaped
            other => carried(&other.to_string())?,
        }
    }
    Ok(())
}

/// A message that cannot be read.
struct Unread {
    problem: String,
    /// Changes that are counted with it.
    never_seen: u64,
}

fn change(tag: TagName, value: TagValue, time_ms: u64, after: Position) -> Change {
    Change { tag, value, time_ms, quality: Quality::Good, after }
}

#[cfg(test)]
mod tests;
