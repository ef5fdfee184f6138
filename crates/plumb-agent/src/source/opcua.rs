//! Nodes of an OPC UA server, by subscription. The subscription comes back after the server does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use opcua::client::{ClientBuilder, DataChangeCallback, IdentityToken, MonitoredItem, Session};
use opcua::client::{SessionEventLoop, SessionPollResult};
use opcua::types::{
    DataValue, EndpointDescription, MessageSecurityMode, MonitoredItemCreateRequest,
    MonitoringMode, MonitoringParameters, NodeId, ReadValueId, StatusCode, TimestampsToReturn,
    UserTokenPolicy, Variant,
};
use plumb_engine::clock::wall_ns;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::counting::{Counted, Counting};
use super::opcua_plan::OpcUaPlan;
use super::{Feed, Outlet, SourceError, TagName};
use crate::change::{Change, Position, Quality, TagValue, carried};

/// Until a server that was never there is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// For a connection, and for what a server tells of its endpoints.
const PATIENCE: Duration = Duration::from_secs(10);
/// The port of a URL that names none. OPC UA part 6, 7.
const PORT: u16 = 4840;
/// Changes that wait for the agent; one more is never seen.
const CHANGES_MAX: usize = 10_000;
/// Changes that the server keeps of a node between two messages.
const QUEUE: u32 = 10_000;
/// Changes that are handed over at once.
const BATCH: usize = 500;
/// Milliseconds between 1601, where its times begin, and 1970.
const EPOCH_MS: i64 = 11_644_473_600_000;
/// Values that are left out are told one by one up to so many.
const TOLD_MAX: u64 = 10;
/// Bits of a status: the server's queue of a node was too short. OPC UA part 4, 7.39.1.
const OVERFLOW: u32 = 0x0480;

/// What the callback of the subscription and the source share.
struct Shared {
    changes: mpsc::Sender<Change>,
    lost: AtomicU64,
    tags: Vec<(NodeId, TagName)>,
    /// The tag that counts: what is lost of it is seen by its numbers.
    sequence: Option<TagName>,
}

/// Brings what the server tells, and comes back to it whenever it was away.
pub(super) async fn run(plan: &OpcUaPlan, outlet: Outlet) -> Result<(), SourceError> {
    let (changes, mut taken) = mpsc::channel(CHANGES_MAX);
    let tags = plan.nodes.iter().map(|(node, tag)| {
        let id = node.parse().map_err(|_| format!("`{node}` is no node: write ns=2;s=NAME"))?;
        Ok((id, TagName::clone(tag)))
    });
    let tags: Result<Vec<_>, String> = tags.collect();
    let tags = tags.map_err(SourceError::Refused)?;
    let sequence = plan.sequence.clone();
    let shared = Arc::new(Shared { changes, lost: AtomicU64::new(0), tags, sequence });
    let listening = async {
        let mut told = false;
        loop {
            let why = match listen(plan, &shared, &outlet, &mut told).await {
                Ok(why) | Err(why) => why,
            };
            if !std::mem::replace(&mut told, true) {
                (outlet.log)(format!("{} is away: {why}", plan.url));
            }
            tokio::time::sleep(AGAIN).await;
        }
    };
    let bringing = async {
        let mut all = Vec::new();
        let mut counting = Counting::behind(outlet.from.at);
        let mut unread = 0;
        while taken.recv_many(&mut all, BATCH).await > 0 {
            let mut feed = shared.counted(&mut all, &mut counting, |tag, problem| {
                unread += 1;
                if unread <= TOLD_MAX {
                    (outlet.log)(format!("a value of {tag} is left out: {problem}"));
                }
            });
            feed.never_seen += shared.lost.swap(0, Ordering::Relaxed);
            if !outlet.put(feed).await {
                return;
            }
        }
    };
    tokio::select! {
        () = listening => {}
        () = bringing => {}
    }
    Ok(())
}

/// One session; why it ended.
///
/// A session that has lost its connection is given up: its client subscribes again, but what the server then
/// tells does not arrive.
async fn listen(
    plan: &OpcUaPlan,
    shared: &Arc<Shared>,
    outlet: &Outlet,
    told: &mut bool,
) -> Result<String, String> {
    let (session, events) = connect(plan).await?;
    let (connected, is_connected) = oneshot::channel();
    let subscribing = async {
        if is_connected.await.is_ok() {
            subscribe(&session, shared, plan.interval_ms).await?;
            (outlet.log)(format!("connected to {}", plan.url));
            *told = false;
        }
        std::future::pending::<Result<String, String>>().await
    };
    // the subscription waits for answers that the events bring
    tokio::select! {
        why = lost(events, connected) => why,
        why = subscribing => why.map_err(|problem| format!("no subscription: {problem}")),
    }
}

/// Brings what the server says until the connection is lost; why it was.
async fn lost(events: Events, connected: oneshot::Sender<()>) -> Result<String, String> {
    let events = events.enter();
    tokio::pin!(events);
    let mut connected = Some(connected);
    loop {
        match events.try_next().await {
            Ok(Some(SessionPollResult::Reconnected(_))) => {
                if let Some(connected) = connected.take() {
                    let _ = connected.send(()); // nobody waits for it only where all is over
                }
            }
            Ok(Some(SessionPollResult::ConnectionLost(why))) => return Ok(why.to_string()),
            Ok(Some(_)) => {}
            Ok(None) => return Ok("the session has ended".into()),
            Err(why) => return Err(why.to_string()),
        }
    }
}

type Events = SessionEventLoop<opcua::client::transport::TcpConnector>;

/// Whether somebody listens there. The client says nothing of a server that it never reached, and tries on.
async fn reachable(url: &str) -> Result<(), String> {
    let place = url.trim_start_matches("opc.tcp://").split('/').next().unwrap_or_default();
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    let place = if has_port { place.to_owned() } else { format!("{place}:{PORT}") };
    match timeout(PATIENCE, TcpStream::connect(&place)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no connection within {} s", PATIENCE.as_secs())),
    }
}

async fn connect(plan: &OpcUaPlan) -> Result<(Arc<Session>, Events), String> {
    reachable(&plan.url).await?;
    let builder = ClientBuilder::new()
        .application_name("plumb agent")
        .application_uri("urn:plumb:agent")
        .session_name("plumb agent")
        .create_sample_keypair(false)
        .session_retry_limit(-1)
        .session_retry_initial(AGAIN)
        .session_retry_max(AGAIN * 5)
        .keep_alive_interval(Duration::from_secs(5))
        .max_failed_keep_alive_count(2);
    let mut client = builder.client().map_err(|problems| problems.join("; "))?;
    let endpoint: EndpointDescription =
        (plan.url.as_str(), "None", MessageSecurityMode::None, UserTokenPolicy::anonymous()).into();
    let token = match &plan.login {
        None => IdentityToken::Anonymous,
        Some((user, password)) => IdentityToken::UserName(user.clone(), password.clone().into()),
    };
    match timeout(PATIENCE, client.connect_to_matching_endpoint(endpoint, token)).await {
        Ok(connected) => connected.map_err(|error| error.to_string()),
        Err(_) => Err(format!("it says nothing of its endpoints within {} s", PATIENCE.as_secs())),
    }
}

async fn subscribe(
    session: &Session,
    shared: &Arc<Shared>,
    interval_ms: u64,
) -> Result<(), String> {
    let interval = Duration::from_millis(interval_ms);
    let told = Arc::clone(shared);
    let callback = DataChangeCallback::new(move |value, item| told.heard(&value, item));
    let made = session.create_subscription(interval, 600, 30, 0, 0, true, callback).await;
    let subscription = made.map_err(|error| error.to_string())?;
    let items = shared.tags.iter().zip(1_u32..).map(|((node, _), handle)| {
        let parameters = MonitoringParameters {
            client_handle: handle,
            sampling_interval: 0.0, // as fast as the server can
            queue_size: QUEUE,
            discard_oldest: true,
            ..MonitoringParameters::default()
        };
        let node = ReadValueId::from(node.clone());
        MonitoredItemCreateRequest::new(node, MonitoringMode::Reporting, parameters)
    });
    let made = session
        .create_monitored_items(subscription, TimestampsToReturn::Both, items.collect())
        .await
        .map_err(|error| error.to_string())?;
    let refused = made.iter().zip(&shared.tags).find(|(made, _)| made.result.status_code.is_bad());
    match refused {
        Some((made, (node, _))) => Err(format!("node {node}: {}", made.result.status_code)),
        None => Ok(()),
    }
}

impl Shared {
    /// The changes in `all`, without those that came a second time, and without those that no message
    /// carries, which are told.
    fn counted(
        &self,
        all: &mut Vec<Change>,
        counting: &mut Counting,
        mut tell: impl FnMut(&TagName, String),
    ) -> Feed {
        let mut feed = Feed::default();
        for mut change in all.drain(..) {
            if let TagValue::Text(text) = &change.value
                && let Err(problem) = carried(text)
            {
                tell(&change.tag, problem);
                feed.never_seen += 1;
                continue;
            }
            if self.counts(&change.tag) {
                match counting.take(&change.value) {
                    Counted::Again => continue,
                    Counted::After(missing) => feed.never_seen += missing,
                    Counted::None => {}
                }
            }
            change.after = Position { at: counting.last(), ..Position::default() };
            feed.changes.push(change);
        }
        feed
    }

    fn counts(&self, tag: &TagName) -> bool {
        self.sequence.as_ref().is_some_and(|it| it == tag)
    }

    /// Takes a change; one for which there is no room is counted.
    fn heard(&self, value: &DataValue, item: &MonitoredItem) {
        let node = &item.item_to_monitor().node_id;
        let Some((_, tag)) = self.tags.iter().find(|(id, _)| id == node) else { return };
        let status = value.status.unwrap_or(StatusCode::Good);
        if status.bits() & OVERFLOW == OVERFLOW && !self.counts(tag) {
            self.lost.fetch_add(1, Ordering::Relaxed); // at least
        }
        let time = value.source_timestamp.or(value.server_timestamp);
        let time_ms = time.map(|time| time.checked_ticks() / 10_000 - EPOCH_MS);
        let time_ms = time_ms.and_then(|ms| u64::try_from(ms).ok());
        let quality = if status.is_good() { Quality::Good } else { Quality::Bad };
        let change = Change {
            tag: TagName::clone(tag),
            value: value.value.as_ref().map_or(TagValue::Text("".into()), read),
            time_ms: time_ms.unwrap_or(wall_ns() / 1_000_000),
            quality,
            after: Position::default(),
        };
        if self.changes.try_send(change).is_err() && !self.counts(tag) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Numbers that lose nothing are numbers; anything else is its text.
fn read(value: &Variant) -> TagValue {
    let number = |number: f64| match number.is_finite() {
        true => TagValue::Number(number),
        false => TagValue::Text(number.to_string().into()),
    };
    match value {
        Variant::Boolean(flag) => TagValue::Flag(*flag),
        Variant::Double(it) => number(*it),
        // as the machine shows it: 0.1 and not 0.10000000149
        Variant::Float(it) => TagValue::read(&it.to_string()),
        Variant::String(text) => TagValue::Text(text.as_ref().into()),
        other => TagValue::read(&other.to_string()),
    }
}
