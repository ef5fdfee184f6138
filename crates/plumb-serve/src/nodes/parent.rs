//! The side of the process that starts the nodes.

use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Listener, Stop};
use plumb_measure::{ByteSize, Clock as _, Span};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{MemoryGroup, MemoryGroups, NotEnforced, handover};
use crate::ServeError;

/// This program, even when its file was replaced meanwhile.
pub(super) const PROGRAM: &str = "/proc/self/exe";
/// The folder of the group that a node goes into before it begins.
pub(super) const GROUP_VARIABLE: &str = "PLUMB_NODE_MEMORY_GROUP";
/// A node that ended is replaced after so long.
const PAUSE: Span = Span::from_ms(500);
/// Nodes have the farewell of their server and so much more before they are killed.
const GRACE: Span = Span::from_ms(5_000);

/// Nodes of a server.
#[derive(Clone, Copy, Debug)]
pub struct NodePlan {
    /// How many, at most [`NODES_MAX`](super::NODES_MAX).
    pub count: u16,
    /// Memory of each, swap included; `None`: as much as there is.
    pub memory: Option<ByteSize>,
    /// How long a node may take to end.
    pub farewell: Span,
}

/// Those that run.
#[derive(Debug, Default)]
struct Running {
    nodes: Mutex<Nodes>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Nodes {
    stopping: bool,
    running: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    number: u16,
    control: UnixStream,
    /// Names the process, and no other after its end.
    process: OwnedFd,
}

/// What a node's thread tells.
enum Event {
    Ready,
    /// A node ended before it ever served.
    Failed(String),
}

impl NodePlan {
    /// Starts the nodes behind `listeners` and keeps them running until `stop` is asked. `ready` is
    /// called once all of them serve; what happens is told to `tell`.
    ///
    /// # Errors
    /// [`ServeError::System`] when a node ends before it serves for the first time.
    pub fn run(
        &self,
        listeners: &[Listener],
        stop: &Stop,
        tell: &(dyn Fn(String) + Sync),
        ready: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), ServeError> {
        let groups = self.memory.map(|limit| (limit, MemoryGroups::find()));
        if let Some((limit, Err(problem))) = &groups {
            tell(unlimited(*limit, problem));
        }
        let running = Running::default();
        let (events, told) = mpsc::channel();
        std::thread::scope(|threads| {
            for number in 1..=self.count {
                let keeper = Keeper {
                    number,
                    count: self.count,
                    groups: &groups,
                    listeners,
                    running: &running,
                    stop,
                    tell,
                    events: events.clone(),
                };
                threads.spawn(move || keeper.keep());
            }
            drop(events);
            threads.spawn(|| running.end(stop, Span::from_ns(self.farewell.ns() + GRACE.ns())));
            let begun = wait_until_ready(self.count, &told)
                .and_then(|()| ready())
                .map_err(|cause| ServeError::System { what: "start the nodes", cause });
            if begun.is_err() {
                stop.ask();
            }
            let _ = stop.wait_until(u64::MAX);
            stop.ask();
            begun
        })
    }
}

/// Waits until each node has said that it serves.
fn wait_until_ready(count: u16, told: &mpsc::Receiver<Event>) -> io::Result<()> {
    for _ in 0..count {
        match told.recv() {
            Ok(Event::Ready) => {}
            Ok(Event::Failed(problem)) => return Err(io::Error::other(problem)),
            Err(mpsc::RecvError) => break, // told to stop meanwhile
        }
    }
    Ok(())
}

/// Keeps one node running.
struct Keeper<'a> {
    number: u16,
    count: u16,
    groups: &'a Option<(ByteSize, Result<MemoryGroups, NotEnforced>)>,
    listeners: &'a [Listener],
    running: &'a Running,
    stop: &'a Stop,
    tell: &'a (dyn Fn(String) + Sync),
    events: mpsc::Sender<Event>,
}

impl Keeper<'_> {
    fn keep(self) {
        let mut served = false;
        while !self.stop.asked() {
            let group = self.group();
            let ended = self.one(group.as_ref(), &mut served);
            if self.stop.asked() {
                return;
            }
            let reason = match ended {
                Ok(status) => reason(status, group.as_ref()),
                Err(error) => format!("could not be started: {error}"),
            };
            drop(group);
            let number = self.number;
            if !served {
                let _ = self.events.send(Event::Failed(format!("node {number} {reason}")));
                return;
            }
            (self.tell)(format!("node {number} {reason}; another takes its place"));
            let _ = self.stop.wait_until(MonotonicClock.now_ns() + PAUSE.ns());
        }
    }

    fn group(&self) -> Option<MemoryGroup> {
        let (limit, groups) = self.groups.as_ref()?;
        let name = format!("plumb-{}-node-{}", std::process::id(), self.number);
        match groups.as_ref().ok()?.make(&name, *limit) {
            Ok(group) => Some(group),
            Err(problem) => {
                (self.tell)(format!("node {}: {}", self.number, unlimited(*limit, &problem)));
                None
            }
        }
    }

    /// Starts the node, and waits until it has ended.
    fn one(&self, group: Option<&MemoryGroup>, served: &mut bool) -> io::Result<ExitStatus> {
        let (control, theirs) = UnixStream::pair()?;
        let mut child = self.start(theirs, group)?;
        let known =
            control.try_clone().is_ok_and(|copy| self.running.add(self.number, copy, &child));
        // a node that cannot be handed its listeners, or not be told to stop, ends by itself
        if known && handover::give(&control, self.listeners).is_ok() {
            let mut said = [0];
            if (&control).read_exact(&mut said).is_ok() && !*served {
                *served = true;
                let _ = self.events.send(Event::Ready);
            }
        } else {
            let _ = control.shutdown(Shutdown::Both);
        }
        let ended = child.wait();
        self.running.remove(self.number);
        ended
    }

    fn start(&self, control: UnixStream, group: Option<&MemoryGroup>) -> io::Result<Child> {
        let mut program = Command::new(PROGRAM);
        let mut words = std::env::args_os();
        program.arg0(words.next().unwrap_or_default()).args(words);
        program.arg(format!("--node={}/{}", self.number, self.count));
        if let Some(group) = group {
            program.env(GROUP_VARIABLE, group.folder());
        }
        program.stdin(Stdio::from(OwnedFd::from(control))).stdout(Stdio::null()).spawn()
    }
}

impl Running {
    /// Notes a node; it is told at once when the time to stop has come meanwhile.
    fn add(&self, number: u16, control: UnixStream, child: &Child) -> bool {
        let mut nodes = self.lock();
        if nodes.stopping {
            let _ = control.shutdown(Shutdown::Both);
        }
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let known = process.is_some();
        nodes.running.extend(process.map(|process| Node { number, control, process }));
        known
    }

    fn remove(&self, number: u16) {
        self.lock().running.retain(|node| node.number != number);
        self.ended.notify_all();
    }

    /// Tells all nodes to end once `stop` is asked, and kills those that have not after `time`.
    fn end(&self, stop: &Stop, time: Span) {
        // a kernel that refuses to wait ends the server, as if asked
        let _ = stop.wait_until(u64::MAX);
        stop.ask();
        let mut nodes = self.lock();
        nodes.stopping = true;
        for node in &nodes.running {
            let _ = node.control.shutdown(Shutdown::Both);
        }
        let all_ended = |nodes: &mut Nodes| !nodes.running.is_empty();
        let waited =
            self.ended.wait_timeout_while(nodes, Duration::from_nanos(time.ns()), all_ended);
        let (nodes, _) = waited.unwrap_or_else(PoisonError::into_inner);
        for node in &nodes.running {
            let _ = pidfd_send_signal(&node.process, Signal::KILL);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a node ended.
fn reason(status: ExitStatus, group: Option<&MemoryGroup>) -> String {
    let over = group.and_then(MemoryGroup::ended_by_limit).is_some_and(|count| count > 0);
    match (status.signal(), status.code()) {
        (Some(_), _) if over => "was ended by the kernel: its memory did not suffice".into(),
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, code) => format!("ended with exit code {}", code.unwrap_or_default()),
    }
}

fn unlimited(limit: ByteSize, problem: &NotEnforced) -> String {
    format!("the limit of memory, {limit} a node, is {problem}")
}
