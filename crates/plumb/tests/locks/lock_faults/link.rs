//! Links between servers and witnesses, of which either direction can be cut for a while.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use super::lie::{Lie, Side};

/// How often those who wait look again.
pub(super) const LOOK: Duration = Duration::from_millis(1);

/// All links; what is cut does not get lost, it comes when the link is whole again.
#[derive(Debug)]
pub(super) struct Network {
    /// Until when nothing comes through from the first to the second, nanoseconds.
    cut: Vec<Vec<AtomicU64>>,
    /// Primaries are told that their replicas have what they do not get.
    lies: bool,
    over: AtomicBool,
    doors: Mutex<Vec<String>>,
}

impl Network {
    pub(super) fn new(nodes: usize, lies: bool) -> Arc<Self> {
        let row = || (0..nodes).map(|_| AtomicU64::new(0)).collect();
        let cut = (0..nodes).map(|_| row()).collect();
        Arc::new(Self { cut, lies, over: AtomicBool::new(false), doors: Mutex::default() })
    }

    pub(super) fn cut(&self, from: usize, to: usize, until: u64) {
        self.cut[from][to].fetch_max(until, Ordering::SeqCst);
    }

    pub(super) fn heal(&self) {
        self.cut.iter().flatten().for_each(|until| until.store(0, Ordering::SeqCst));
    }

    /// What node `from` says at `door` gets to node `to`, which listens at `target`.
    pub(super) fn link(self: &Arc<Self>, (from, to): (usize, usize), door: &str, target: String) {
        let listener = TcpListener::bind(door).expect("nobody else has this address");
        self.doors.lock().expect("nobody panics with it").push(door.to_owned());
        let network = Arc::clone(self);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if network.over.load(Ordering::SeqCst) {
                    return;
                }
                let (network, target) = (Arc::clone(&network), target.clone());
                // whoever goes away ends its connection
                thread::spawn(move || network.connect(near, (from, to), &target));
            }
        });
    }

    fn connect(
        self: Arc<Self>,
        near: TcpStream,
        (from, to): (usize, usize),
        target: &str,
    ) -> io::Result<()> {
        self.wait_until_whole(from, to);
        self.wait_until_whole(to, from);
        let far = TcpStream::connect(target)?;
        if self.lies && to < 2 {
            let (lie, network) = (Lie::new(near, far), Arc::clone(&self));
            let back = Arc::clone(&lie);
            thread::spawn(move || back.carry(Side::Primary, || network.wait_until_whole(to, from)));
            lie.carry(Side::Replica, || self.wait_until_whole(from, to));
            return Ok(());
        }
        let back = (far.try_clone()?, near.try_clone()?);
        let network = Arc::clone(&self);
        thread::spawn(move || network.pump(back, (to, from)));
        self.pump((near, far), (from, to));
        Ok(())
    }

    fn pump(&self, (mut source, mut sink): (TcpStream, TcpStream), (from, to): (usize, usize)) {
        let mut room = [0; 16 << 10];
        loop {
            let count = source.read(&mut room).unwrap_or(0);
            // what was under way is cut in the middle
            for piece in [&room[..count / 2], &room[count / 2..count]] {
                self.wait_until_whole(from, to);
                if count == 0 || sink.write_all(piece).is_err() {
                    let _ = (source.shutdown(Shutdown::Both), sink.shutdown(Shutdown::Both));
                    return;
                }
            }
        }
    }

    fn wait_until_whole(&self, from: usize, to: usize) {
        while MonotonicClock.now_ns() < self.cut[from][to].load(Ordering::SeqCst) {
            thread::park_timeout(LOOK);
        }
    }

    /// Nobody connects any more.
    pub(super) fn close(&self) {
        self.heal();
        self.over.store(true, Ordering::SeqCst);
        for door in self.doors.lock().expect("nobody panics with it").iter() {
            drop(TcpStream::connect(door)); // so that it is looked at
        }
    }
}
