//! Both versions of MQTT as one: what happens on the connection, and acknowledgements.

use std::future::Future;

use super::session::NothingSent;
use super::{MqttPlan, UNACKNOWLEDGED};

/// Bytes of a message at most.
const MESSAGE_BYTES_MAX: u32 = 1 << 20;
const KEEP_ALIVE_S: u16 = 15;
/// Requests of ours that wait for the connection.
const REQUESTS: usize = 4 * UNACKNOWLEDGED as usize;

/// A message of a topic.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) topic: String,
    pub(super) payload: bytes::Bytes,
    /// The broker has sent it before, and says so.
    pub(super) again: bool,
    /// It stood there before we subscribed.
    pub(super) retained: bool,
}

/// What happens on the connection.
#[derive(Debug)]
pub(super) enum Happened<A> {
    /// The broker is there; whether it kept what it knows of us.
    Connected { session: bool },
    /// A message, and how it is acknowledged; `None` where that is not asked for.
    Arrived(Arrival, Option<A>),
    /// The broker does not take us.
    Refused(String),
    /// The broker is away; the next call connects again.
    Lost(String),
    /// Nothing that matters.
    Nothing,
}

/// A broker.
pub(super) trait Broker: Send {
    /// An acknowledgement.
    type Ack: Send;

    /// What happens next; nothing is lost when it is dropped before.
    fn next(&mut self) -> impl Future<Output = Happened<Self::Ack>> + Send;

    fn acknowledge(&self, ack: Self::Ack) -> Result<(), String>;

    fn subscribe(&self, topics: &[String]) -> Result<(), String>;
}

/// One version; the two crates are alike but for their types.
macro_rules! broker {
    ($name:ident, $mqtt:ident, $options:expr, $filter:expr, $refused:expr) => {
        pub(super) struct $name {
            client: $mqtt::AsyncClient,
            events: $mqtt::EventLoop,
        }

        impl $name {
            pub(super) fn new(plan: &MqttPlan) -> Self {
                let address = (plan.host.as_str(), plan.port);
                let mut options = $mqtt::MqttOptions::new(plan.client_id.clone(), address);
                options.set_keep_alive(KEEP_ALIVE_S);
                options.set_ack_mode($mqtt::AckMode::Manual);
                if let Some((user, password)) = &plan.login {
                    options.set_credentials(user.clone(), password.clone());
                }
                if let Some(tls) = &plan.tls {
                    let config = $mqtt::TlsConfiguration::Rustls(std::sync::Arc::clone(&tls.0));
                    options.set_transport($mqtt::Transport::tls_with_config(config));
                }
                $options(&mut options);
                let built = $mqtt::AsyncClient::builder(options).capacity(REQUESTS).build();
                let (client, events) = built;
                Self { client, events }
            }
        }

        impl Broker for $name {
            type Ack = $mqtt::ManualAck;

            async fn next(&mut self) -> Happened<Self::Ack> {
                match self.events.poll().await {
                    Ok($mqtt::Event::Incoming($mqtt::Incoming::ConnAck(told))) => {
                        Happened::Connected { session: told.session_present }
                    }
                    Ok($mqtt::Event::Incoming($mqtt::Incoming::Publish(message))) => {
                        let ack = self.client.prepare_ack(&message);
                        let topic = String::from_utf8_lossy(&message.topic).into_owned();
                        let (payload, again) = (message.payload, message.dup);
                        let retained = message.retain;
                        Happened::Arrived(Arrival { topic, payload, again, retained }, ack)
                    }
                    Ok(_) => Happened::Nothing,
                    Err(error) if $refused(&error) => Happened::Refused(error.to_string()),
                    Err(error) => Happened::Lost(error.to_string()),
                }
            }

            fn acknowledge(&self, ack: Self::Ack) -> Result<(), String> {
                self.client.try_manual_ack(ack).map_err(|error| error.to_string())
            }

            fn subscribe(&self, topics: &[String]) -> Result<(), String> {
                // each by itself: brokers limit how many topics one packet may ask for
                topics.iter().try_for_each(|topic| {
                    let asked = self.client.try_subscribe_many([$filter(topic)]);
                    asked.map_err(|error| format!("`{topic}` cannot be asked for: {error}"))
                })
            }
        }
    };
}

broker!(
    Four,
    mqtt4,
    |options: &mut mqtt4::MqttOptions| {
        options.set_clean_session(false);
    },
    |topic: &String| mqtt4::SubscribeFilter::new(topic.clone(), mqtt4::QoS::AtLeastOnce),
    |error: &mqtt4::ConnectionError| matches!(error, mqtt4::ConnectionError::RequestsDone)
);
broker!(
    Five,
    mqtt5,
    |options: &mut mqtt5::MqttOptions| {
        options.set_session_mode(mqtt5::SessionMode::Persistent);
        options.set_session_store(NothingSent);
        options.set_receive_maximum(Some(UNACKNOWLEDGED));
        options.set_max_packet_size(Some(MESSAGE_BYTES_MAX));
    },
    |topic: &String| {
        // what is retained is sent once in a session
        let filter = mqtt5::SubscribeFilterInput::new(topic.clone(), mqtt5::QoS::AtLeastOnce);
        filter.retain_forward_rule(mqtt5::RetainForwardRule::OnNewSubscribe)
    },
    |error: &mqtt5::ConnectionError| matches!(error, mqtt5::ConnectionError::RequestsDone)
);
