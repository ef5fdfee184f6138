//! What a server says to the loop that serves its connections.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

use plumb_measure::Residence;
use plumb_socket::{Endpoint, Peer};

/// What became of the bytes that were shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Bytes dealt with, those of `echo` included. Zero asks for more bytes.
    pub consumed: usize,
    /// So many leading bytes go back as they are, uncopied, before what was appended.
    pub echo: usize,
    /// The connection is closed once everything is sent.
    pub close: bool,
}

/// Which packets of a connection the kernel is to stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StampWish {
    /// None.
    #[default]
    Nothing,
    /// None now, and some later.
    Ready,
    /// Those that come in next.
    Watch,
    /// Those of the reply that is about to be sent, too.
    Mark,
}

/// A connection, as a service names it to the loop that serves it. It means nobody once the
/// connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    pub(crate) index: usize,
    pub(crate) generation: u32,
}

impl ConnectionId {
    /// What a loop calls the connection at this place, the so manieth that sits there: for loops
    /// other than the engine's own, as tests have.
    #[must_use]
    pub fn new(index: usize, generation: u32) -> Self {
        Self { index, generation }
    }
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client closed it.
    ByClient,
    /// The service asked for it.
    ByService,
    /// The connection broke.
    Broken,
    /// The TLS handshake failed.
    Unsecured,
    /// Nothing came for as long as the plan allows.
    Idle,
    /// A message was begun and not finished for as long as the plan allows.
    Stalled,
    /// The memory for what is unfinished was full, and it had been silent longest.
    CrowdedOut,
    /// The server stopped.
    Stopped,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByClient => "closed by the client",
            Self::ByService => "closed by the server",
            Self::Broken => "connection broken",
            Self::Unsecured => "no TLS connection",
            Self::Idle => "idle for too long",
            Self::Stalled => "message begun and not finished",
            Self::CrowdedOut => "closed for want of memory",
            Self::Stopped => "server stopped",
        })
    }
}

/// A layer that serves. It answers bytes with bytes; the engine owns sockets, time and limits.
pub trait Service {
    /// The state of one connection.
    type Conn;

    /// True when replies may have to wait for [`settle`](Self::settle).
    const SETTLES: bool = false;

    /// True when short replies to clients that are ready at once may leave together, because each is made
    /// sooner than it is sent.
    fn together(&self) -> bool {
        false
    }

    /// True for a service that has something to do at times of its own, or lets clients wait.
    const WAITS: bool = false;

    /// When [`due`](Self::due) is to be called even if nobody sends anything, nanoseconds on the
    /// monotonic clock. Asked before every wait, where [`WAITS`](Self::WAITS).
    fn wake_at(&self) -> Option<u64> {
        None
    }

    /// It is `now`. Called after every wait, before anybody is served, where
    /// [`WAITS`](Self::WAITS).
    fn due(&mut self, now: u64) {
        let _ = now;
    }

    /// Where a connection that was just opened sits, where [`WAITS`](Self::WAITS).
    fn accepted(&mut self, conn: &mut Self::Conn, connection_id: ConnectionId) {
        let _ = (conn, connection_id);
    }

    /// True when the client waits for something else than its own next bytes: these are shown once
    /// [`late_reply`](Self::late_reply) has answered it, and a client that hangs up meanwhile is
    /// closed. Asked after [`serve`](Self::serve), where [`WAITS`](Self::WAITS).
    fn waits(&self, conn: &Self::Conn) -> bool {
        let _ = conn;
        false
    }

    /// True when the client has had its turn: whole messages that are left of what it sent are
    /// shown again once everybody else who is ready was served. Asked after
    /// [`serve`](Self::serve), where [`SETTLES`](Self::SETTLES).
    fn yields(&self, conn: &Self::Conn) -> bool {
        let _ = conn;
        false
    }

    /// True when something that was served must be [settled](Self::settle) before anybody is told
    /// of it; otherwise the reply is sent at once. Asked after [`serve`](Self::serve), where
    /// [`SETTLES`](Self::SETTLES).
    fn unsettled(&self) -> bool {
        true
    }

    /// Appends to `out` what a client has waited for, and says whose it is; `None` when nobody's
    /// wait is over. Called once a wake and until `None`, before [`settle`](Self::settle), where
    /// [`WAITS`](Self::WAITS).
    fn late_reply(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        let _ = out;
        None
    }

    /// Appends to `out` a message that a client has not asked for, and says whose it is; `None` when
    /// there is none. Whether the client waits stays as it is. Called behind
    /// [`late_reply`](Self::late_reply), once a wake and until `None`, before
    /// [`settle`](Self::settle), where [`WAITS`](Self::WAITS).
    fn message(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        let _ = out;
        None
    }

    /// Appends to `out` what somebody is told at once, whatever else waits for the service to
    /// settle, and says whose it is; `None` when there is nothing more. Called once a wake and until
    /// `None`, when all else was served and before [`settle`](Self::settle), where
    /// [`WAITS`](Self::WAITS).
    fn push(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        let _ = out;
        None
    }

    /// A connection that is to be closed; `None` when there is none (any more). Called once a wake
    /// and until `None`, behind [`settle`](Self::settle), where [`WAITS`](Self::WAITS).
    fn drop_next(&mut self) -> Option<ConnectionId> {
        None
    }

    /// On what the replies depend that were appended for a client just now: a number that means
    /// something to the service. Asked after [`serve`](Self::serve),
    /// [`late_reply`](Self::late_reply) and [`message`](Self::message), where
    /// [`SETTLES`](Self::SETTLES).
    fn mark(&self, conn: &Self::Conn) -> u64 {
        let _ = conn;
        0
    }

    /// True when a client may be told what depends on `mark`. Until then those replies and all
    /// behind them are withheld, and it is not closed for being silent; it is served further, as
    /// long as it has not too many of them. Asked right behind [`mark`](Self::mark), and behind
    /// each [`settle`](Self::settle) of the first that is withheld of each client.
    fn may_tell(&self, conn: &Self::Conn, mark: u64) -> bool {
        let _ = (conn, mark);
        true
    }

    /// The connection on which something has to come before what is withheld may be told: it is
    /// heard before all others, and again once these were served, where
    /// [`SETTLES`](Self::SETTLES).
    fn waited_for(&self) -> Option<ConnectionId> {
        None
    }

    /// True for a service that makes connections of its own.
    const DIALS: bool = false;

    /// Where a connection is to be made to now, and its state; it counts among the clients, and
    /// [`accepted`](Self::accepted) is told of it. Called once a wake, where
    /// [`DIALS`](Self::DIALS).
    fn dial(&mut self) -> Option<(Endpoint, Self::Conn)> {
        None
    }

    /// A connection that was dialled stands; what is appended to `out` is the first that it says.
    fn connected(&mut self, conn: &mut Self::Conn, out: &mut Vec<u8>) {
        let _ = (conn, out);
    }

    /// A connection that was dialled could not be made, and is about to be closed.
    fn not_connected(&mut self, conn: &mut Self::Conn, error: &io::Error) {
        let _ = (conn, error);
    }

    /// True when clients may ask how long the server has their messages.
    const STAMPS: bool = false;

    /// What the kernel is to stamp on this connection now. Asked after [`serve`](Self::serve) and
    /// before its replies are sent, where [`STAMPS`](Self::STAMPS). Where packets cannot be stamped,
    /// nothing is [told](Self::stamped).
    fn stamps(&self, conn: &Self::Conn) -> StampWish {
        let _ = conn;
        StampWish::Nothing
    }

    /// How long the server had the message whose reply was [marked](StampWish::Mark) last, told once
    /// the kernel has stamped that reply.
    fn stamped(&mut self, conn: &mut Self::Conn, residence: Residence) {
        let _ = (conn, residence);
    }

    /// A client connected. `Err` holds the farewell that is sent before the connection is closed.
    ///
    /// # Errors
    /// When the service does not take this client.
    fn open(&mut self, peer: &Peer) -> Result<Self::Conn, Vec<u8>>;

    /// So many connections beyond the limit are accepted, for those who look after the service while
    /// others hold every place. The newest is always let in: the oldest of them makes room for it.
    const RESERVE: usize = 0;

    /// A client connected beyond the limit, where there is a [`RESERVE`](Self::RESERVE).
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    fn open_beyond(&mut self, peer: &Peer) -> Result<Self::Conn, Vec<u8>> {
        Err(self.turn_away(peer, TurnedAway::Full))
    }

    /// True while a connection that was opened beyond the limit has to make room for a newer one.
    fn makes_room(&self, conn: &Self::Conn) -> bool {
        let _ = conn;
        true
    }

    /// Serves `bytes`, which start at the first byte not yet consumed; replies are appended to
    /// `out`. Called again with the rest while it consumes something.
    fn serve(&mut self, conn: &mut Self::Conn, bytes: &[u8], out: &mut Vec<u8>) -> Served;

    /// Called once a wake, after every readable connection was served and before those of their
    /// replies are sent that wait for it: one `fdatasync` for all.
    ///
    /// # Errors
    /// When what was served cannot be made to last: the loop then ends without sending replies.
    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// True when connections may leave the loop; see [`hand_over`](Self::hand_over).
    const HANDS_OVER: bool = false;

    /// True when this connection is to leave the loop, asked after its bytes were served.
    fn leaves(&self, conn: &Self::Conn) -> bool {
        let _ = conn;
        false
    }

    /// The connection has left the loop with all its replies sent: from here on the socket, which
    /// does not block, and the bytes that came behind those served are the service's own. An
    /// encrypted connection, and one that does not take its replies at once, is closed instead.
    fn hand_over(&mut self, conn: Self::Conn, socket: OwnedFd, unread: Vec<u8>) {
        let _ = (socket, unread);
        self.close(conn, Ended::ByService);
    }

    /// The handshake of the connection failed, which is therefore about to be closed; the text
    /// of `error` follows the address of the client.
    fn unsecured(&mut self, conn: &mut Self::Conn, error: &io::Error) {
        let _ = (conn, error);
    }

    /// The connection is about to be closed, and `unread` of what it sent was never served: the
    /// beginning of a message, which does not go on.
    fn cut_off(&mut self, conn: &mut Self::Conn, unread: &[u8]) {
        let _ = (conn, unread);
    }

    /// The farewell to a client that is closed because the memory for what is unfinished is full.
    fn crowded_out(&mut self, conn: &mut Self::Conn) -> Vec<u8> {
        let _ = conn;
        Vec::new()
    }

    /// The connection is gone.
    fn close(&mut self, conn: Self::Conn, ended: Ended);

    /// The farewell to a client that the server does not take.
    fn turn_away(&mut self, peer: &Peer, why: TurnedAway) -> Vec<u8> {
        let _ = (peer, why);
        Vec::new()
    }

    /// The kernel hands over no more connections for the moment.
    fn cannot_accept(&mut self, error: &io::Error) {
        let _ = error;
    }
}

/// Why a client was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnedAway {
    /// The server has as many clients as it may.
    Full,
    /// The client's address is not among those allowed.
    NotAllowed,
}

impl fmt::Display for TurnedAway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "this server takes no more clients",
            Self::NotAllowed => "this address is not allowed here",
        })
    }
}
