//! A primary and its replica, whose bytes are passed on turn by turn.

use plumb_engine::{ConnectionId, Ended, Endpoint, Service as _};
use plumb_lock_server::{Event, ReplicationPlan, ServerPlan};
use plumb_lock_table::journal::{Notes, Restored};
use plumb_lock_table::table::Limits;

use crate::waiting::{Bench, Still, plan};

/// A client of whoever looks on.
pub(crate) struct Pair<'a> {
    pub(crate) primary: Bench<'a>,
    pub(crate) replica: Bench<'a>,
    /// The ends of the connection between them: of the primary, of the replica.
    link: Option<(usize, usize)>,
}

/// What a server is told that is the replica of another.
pub(crate) fn of_a_replica() -> ServerPlan {
    let primary = vec![Endpoint::Tcp(([127, 0, 0, 1], 1).into())];
    let replication = ReplicationPlan { primary, id: 2, ..ReplicationPlan::default() };
    ServerPlan { replication, ..plan() }
}

/// Tells nobody.
pub(crate) fn quiet() -> &'static mut (dyn FnMut(Event<'_>) + Send) {
    Box::leak(Box::new(|_: Event<'_>| {}))
}

impl Pair<'static> {
    /// Two empty servers with room for so much.
    pub(crate) fn new(limits: Limits) -> Self {
        Self::under(plan().epoch, limits)
    }

    /// The same; the primary begins this epoch.
    pub(crate) fn under(epoch: u64, limits: Limits) -> Self {
        let clock: &'static Still = Box::leak(Box::new(Still::default()));
        let start = (Restored::empty(limits), Notes::none());
        let replica = Bench::restored(of_a_replica(), start, clock, quiet());
        let plan = ServerPlan { epoch, ..plan() };
        Self { primary: Bench::new(plan, limits, clock, quiet()), replica, link: None }
    }

    /// The replica connects, which it does at once or a while after it was cut off.
    pub(crate) fn connect(&mut self) {
        self.replica.pass(1_000_000_000);
        self.replica.turn();
        let (_, mut there) = self.replica.server.dial().expect("it dials");
        let id = ConnectionId::new(there, 0);
        self.replica.server.accepted(&mut there, id);
        let mut greeting = Vec::new();
        self.replica.server.connected(&mut there, &mut greeting);
        let mut here = self.primary.client();
        let mut said = Vec::new();
        self.primary.turn();
        self.primary.server.serve(&mut here, &greeting, &mut said);
        assert_eq!(said, b"+OK\r\n");
        self.replica.server.serve(&mut there, &said, &mut Vec::new());
        self.link = Some((here, there));
    }

    /// A turn of both: what the primary says is heard, and answered.
    pub(crate) fn pass(&mut self) {
        let (mut here, mut there) = self.link.expect("they are connected");
        self.primary.turn();
        let (mut said, mut answer) = (Vec::new(), Vec::new());
        while self.primary.server.push(&mut said).is_some() {}
        let heard = self.replica.server.serve(&mut there, &said, &mut answer);
        assert!(heard.consumed == said.len() && !heard.close, "it follows");
        self.replica.turn();
        self.primary.server.serve(&mut here, &answer, &mut Vec::new());
    }

    /// Turns until both have everything.
    pub(crate) fn join(&mut self) {
        for _ in 0..1_000 {
            self.pass();
            if self.is_in_sync() {
                return;
            }
        }
        unreachable!("it never gets everything");
    }

    fn is_in_sync(&mut self) -> bool {
        let asks = self.replica.client();
        let said = self.replica.say(asks, "INFO");
        self.replica.server.close(asks, Ended::ByClient);
        said.contains("replication:in-sync")
    }

    /// The connection between them is gone.
    pub(crate) fn cut(&mut self) {
        let (here, there) = self.link.take().expect("they are connected");
        self.primary.server.close(here, Ended::ByClient);
        self.replica.server.close(there, Ended::ByService);
    }
}
