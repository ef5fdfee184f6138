//! Agents of an MQTT broker (mosquitto) that is stopped, killed, and started again in mid-flow.

use std::fs;
use std::net::TcpListener;
use std::ops::RangeInclusive;
use std::path::Path;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::flow_agent::ledger;
use crate::kit::authority::TestAuthority;
use crate::kit::foreign::installed;
use crate::kit::namespace::{Namespace, allowed};
use crate::kit::{Ended, Program};

/// The host of brokers without a namespace.
const HERE: &str = "127.0.0.1";

/// mosquitto, which keeps its sessions on disk when it ends orderly.
pub(crate) struct Broker {
    folder: TempDir,
    program: Option<Program>,
    pub(crate) address: String,
    host: String,
    port: u16,
    /// The namespace of its clients, too.
    net: Option<String>,
    /// Who has signed the certificate that it shows; without one it speaks without TLS.
    authority: Option<TestAuthority>,
}

impl Broker {
    /// On a free port of this machine; `Err` says why not.
    fn here() -> Result<Self, String> {
        Self::start(HERE, free_port(), None, None)
    }

    /// The same over TLS.
    fn encrypted() -> Result<Self, String> {
        Self::start(HERE, free_port(), None, Some(TestAuthority::new()))
    }

    /// On port 1883 of `host` in `place`; `Err` says why not.
    pub(crate) fn within(place: &Namespace, host: &str) -> Result<Self, String> {
        Self::start(host, 1_883, Some(format!("--net={}", place.path())), None)
    }

    fn start(
        host: &str,
        port: u16,
        net: Option<String>,
        authority: Option<TestAuthority>,
    ) -> Result<Self, String> {
        installed("mosquitto", "mosquitto")?;
        installed("mosquitto_pub", "mosquitto-clients")?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = folder.path().display();
        let mut config = format!(
            "listener {port} {host}\nallow_anonymous true\nuser root\npersistence true\n\
             persistence_location {at}/\nmax_queued_messages 0\nlog_dest stderr\nlog_type all\n"
        );
        if let Some(ours) = &authority {
            let signed = ours.authority.sign(host);
            config += &format!("certfile {}\nkeyfile {}\n", signed.cert, signed.key);
        }
        fs::write(folder.path().join("broker.conf"), config).expect("a file");
        let (address, host) = (format!("{host}:{port}"), host.into());
        let mut broker = Self { folder, program: None, address, host, port, net, authority };
        broker.again();
        Ok(broker)
    }

    /// Starts it, where it is not running.
    fn again(&mut self) {
        let config = self.folder.path().join("broker.conf").display().to_string();
        let program = self.command("/usr/sbin/mosquitto", &["-c", &config]);
        while !program.log_line().contains(" running") {}
        self.program = Some(program);
    }

    fn end(&mut self, how: Signal) {
        let program = self.program.take().expect("it runs");
        program.signal(how);
        program.wait();
    }

    /// The lines of an agent's file that say where it is.
    fn source(&self) -> String {
        match &self.authority {
            None => format!("broker = \"mqtt://{}\"\n", self.address),
            Some(ours) => {
                format!("broker = \"mqtts://{}\"\nca = \"{}\"\n", self.address, ours.authority.ca())
            }
        }
    }

    fn command(&self, program: &str, words: &[&str]) -> Program {
        let folder = self.folder.path();
        match &self.net {
            None => Program::start_as(Path::new(program), words, folder),
            Some(net) => {
                let words = [&[net.as_str(), program], words].concat();
                Program::start_as(Path::new("nsenter"), &words, folder)
            }
        }
    }

    fn publishing(&self, numbers: &RangeInclusive<u32>) -> Program {
        let (first, last) = (numbers.start(), numbers.end());
        let tls = self.authority.as_ref();
        let tls = tls.map_or(String::new(), |it| format!("--cafile {}", it.authority.ca()));
        let line = format!(
            "awk 'BEGIN {{ for (n = {first}; n <= {last}; n++) \
             printf \"{{\\\"n\\\": %d, \\\"value\\\": %d.5}}\\n\", n, n }}' | \
             mosquitto_pub {tls} -h {} -p {} -q 1 -t plant/press -l",
            self.host, self.port
        );
        self.command("/bin/sh", &["-c", &line])
    }

    /// Publishes messages with these numbers; the broker has them when it returns.
    pub(crate) fn publish(&self, numbers: RangeInclusive<u32>) -> Ended {
        self.publishing(&numbers).wait().with(0)
    }

    /// Publishes message `number` until something holds.
    pub(crate) fn publish_until(&self, number: u32, holds: impl Fn() -> bool) {
        let tried = (0..200).any(|_| {
            self.publish(number..=number);
            (0..20).any(|_| holds())
        });
        assert!(tried, "nothing came of message {number}");
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn counts(folder: &Path) -> (u64, u64, u64) {
    let ledger = ledger(folder);
    let count = |name: &str| ledger[name].as_u64().expect("a count");
    (count("produced"), count("never_seen"), count("delivered"))
}

/// The words of the agent whose file [`agent_of`] writes.
const AGENT: [&str; 5] = ["flow", "agent", "agent.toml", "--spool", "spool"];

/// The folder of an agent of this version with these lines about its broker.
fn agent_of(version: &str, broker: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // nobody takes the messages: all that came is in the spool
    let text = format!(
        "[source.mqtt]\n{broker}version = \"{version}\"\nclient-id = \"press\"\n\
         topics = [\"plant/#\"]\npayload = \"json\"\nsequence = \"n\"\n[bundle]\ncount = 50\n\
         [target]\nurl = \"http://127.0.0.1:1/runner/event\"\n"
    );
    fs::write(folder.path().join("agent.toml"), text).expect("a file");
    folder
}

/// An agent of this version whose broker ends `how` in mid-flow: how many changes were never seen.
fn stopped_in_mid_flow(version: &str, broker: Result<Broker, String>, how: Signal) -> Option<u64> {
    let mut broker = allowed(broker)?;
    let folder = agent_of(version, &broker.source());
    let mut agent = Program::start(&AGENT, folder.path());
    while !agent.log_line().contains("connected to ") {}
    broker.publish_until(1, || counts(folder.path()).0 >= 1);

    // the broker has two thousand, the agent some of them
    broker.publish(2..=2_000);
    broker.end(how);
    while !agent.log_line().contains(" is away: ") {}
    broker.again();
    while !agent.log_line().contains("connected to ") {}
    // the agent ends without a word, and comes back
    agent.signal(Signal::KILL);
    agent.wait();
    broker.publish(2_001..=3_000);
    agent = Program::start(&AGENT, folder.path());
    broker.publish_until(3_001, || counts(folder.path()).0 + counts(folder.path()).1 >= 3_001);
    agent.signal(Signal::TERM);
    agent.wait().with(0);
    let (produced, never_seen, delivered) = counts(folder.path());
    // every number once: in the spool, or known to be lost
    assert_eq!((produced + never_seen, delivered), (3_001, 0));
    Some(never_seen)
}

#[test]
fn a_broker_of_version_5_that_is_stopped_and_started_loses_nothing() {
    for broker in [Broker::here, Broker::encrypted] {
        if let Some(never_seen) = stopped_in_mid_flow("5", broker(), Signal::TERM) {
            assert_eq!(never_seen, 0);
        }
    }
}

#[test]
fn a_broker_of_version_3_1_1_that_is_stopped_and_started_loses_nothing() {
    for broker in [Broker::here, Broker::encrypted] {
        if let Some(never_seen) = stopped_in_mid_flow("3.1.1", broker(), Signal::TERM) {
            assert_eq!(never_seen, 0);
        }
    }
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn what_a_killed_broker_takes_with_it_is_counted() {
    // it writes nothing down when it is killed: what it had is gone, and how much is known
    for broker in [Broker::here, Broker::encrypted] {
        stopped_in_mid_flow("5", broker(), Signal::KILL);
        stopped_in_mid_flow("3.1.1", broker(), Signal::KILL);
    }
}

#[test]
fn a_broker_whose_certificate_another_authority_has_signed_is_not_believed() {
    let Some(broker) = allowed(Broker::encrypted()) else { return };
    let others = TestAuthority::new();
    let lines =
        format!("broker = \"mqtts://{}\"\nca = \"{}\"\n", broker.address, others.authority.ca());
    for version in ["5", "3.1.1"] {
        let folder = agent_of(version, &lines);
        let agent = Program::start(&AGENT, folder.path());
        let said = std::iter::repeat_with(|| agent.log_line()).find(|it| it.contains(" is away: "));
        assert!(said.is_some_and(|it| it.contains("certificate")), "version {version}");
        agent.signal(Signal::TERM);
        agent.wait().with(0);
        assert_eq!(counts(folder.path()), (0, 0, 0));
    }
}
