//! What the parts of the time of an operation were spent on.

use serde::{Deserialize, Serialize};

/// What a part of the time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// The server's own work on the operation.
    Server,
    /// A message there and back that asks for no work.
    Wire,
    /// Due, but nobody was free to begin it.
    Due,
    /// In the queue for a connection of the pool.
    Queue,
    /// Making the connection: transport, TLS, login.
    Connect,
    /// At the door of an integration runtime: reading, checking, routing and answering a message, and
    /// what lies between its actions.
    Door,
    /// Waiting for a thread of an integration runtime.
    Thread,
    /// The actions of a transaction.
    Actions,
    /// What data servers do at the end of a transaction.
    Commit,
    /// Until a message was on disk.
    Flush,
    /// In the front of an application server, around the work process.
    Front,
    /// Waiting for a work process.
    WorkProcess,
    /// Loading a program: reading and compiling it.
    Program,
    /// Waiting for locks.
    Lock,
    /// Calls of the database, as the server that makes them sees them.
    Database,
    /// Of these, the way to the database and back, as far as that is known apart.
    DatabaseWire,
    /// Making the answer.
    Render,
    /// A call of another server, as far as that tells no parts.
    Called,
    /// From the first byte of the answer to the last.
    Transfer,
    /// At the client, from the call that sends to the packet at the driver.
    Sending,
    /// From the packet of the request at the driver to that of the answer in the kernel.
    Away,
    /// At the server, from the packet in the kernel to the program that reads it.
    ServerWaking,
    /// At the server, from the call that sends to the packet at the driver.
    ServerSending,
    /// At the client, from the packet in the kernel to the program that reads it.
    Waking,
    /// What the others leave: the client's driver, and what was not measured.
    Rest,
}

impl PartKind {
    /// Every kind, in the order in which an operation meets them.
    pub const ALL: [Self; 25] = [
        Self::Due,
        Self::Queue,
        Self::Connect,
        Self::Sending,
        Self::Away,
        Self::Wire,
        Self::ServerWaking,
        Self::Front,
        Self::WorkProcess,
        Self::Program,
        Self::Lock,
        Self::Server,
        Self::Database,
        Self::DatabaseWire,
        Self::Called,
        Self::Door,
        Self::Thread,
        Self::Actions,
        Self::Commit,
        Self::Flush,
        Self::Render,
        Self::Transfer,
        Self::ServerSending,
        Self::Waking,
        Self::Rest,
    ];

    /// Its place in [`ALL`](Self::ALL).
    #[must_use]
    pub fn place(self) -> usize {
        Self::ALL.iter().position(|kind| *kind == self).unwrap_or(Self::ALL.len())
    }

    /// True for what an integration runtime tells of its own time.
    #[must_use]
    pub fn is_of_a_runtime(self) -> bool {
        matches!(self, Self::Door | Self::Thread | Self::Actions | Self::Commit | Self::Flush)
    }

    /// What it is spent on, behind "is".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Server => "the server's own work",
            Self::Wire => "the way there and back, waking the server's process included",
            Self::Due => "waiting for a caller that is free",
            Self::Queue => "waiting for a connection of the pool",
            Self::Connect => "making the connection",
            Self::Door => "reading, checking, routing and answering the message",
            Self::Thread => "waiting for a thread of the runtime",
            Self::Actions => "its actions",
            Self::Commit => "the commit at its data servers",
            Self::Flush => "waiting until the message is on disk",
            Self::Front => "the front of the server",
            Self::WorkProcess => "waiting for a work process",
            Self::Program => "loading programs",
            Self::Lock => "waiting for locks",
            Self::Database => "calls of the database",
            Self::DatabaseWire => "the way to the database and back",
            Self::Render => "making the answer",
            Self::Called => "calls of another server",
            Self::Transfer => "the transfer of the answer",
            Self::Sending => "the way through the client's kernel",
            Self::Away => "the wire and the other side",
            Self::ServerWaking => "waking the server's process",
            Self::ServerSending => "the way through the server's kernel",
            Self::Waking => "waking the client",
            Self::Rest => "explained by nothing that was measured",
        }
    }
}

/// What stands between a client and the server that it asks, and answers for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intermediary {
    /// A pooler, which lends connections of its own.
    Pooler,
    /// Something that is not known any closer: a proxy, a load balancer, a pooler.
    Unknown,
}

impl Intermediary {
    /// Who has the time of the wire, at the beginning of a sentence.
    #[must_use]
    pub fn owner(self) -> &'static str {
        match self {
            Self::Pooler => "The pooler or the network",
            Self::Unknown => "The network or what stands before the server",
        }
    }

    /// What the wire is spent on, behind "is".
    pub(crate) fn describe_wire(self) -> &'static str {
        match self {
            Self::Pooler => {
                "the way there and back through the pooler, waiting for one of its connections included"
            }
            Self::Unknown => "the way there and back through what answers for the server",
        }
    }
}
