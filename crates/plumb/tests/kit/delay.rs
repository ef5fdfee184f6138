//! A proxy that keeps bytes for a while, both ways.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};

/// Starts a proxy to `target` on a free port of 127.0.0.1 that keeps every byte for `delay` on its
/// way there and on its way back; where it listens. It ends with the test.
pub(crate) fn start(target: &str, delay: Span) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    let target = target.to_owned();
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(&target) else { continue };
            for socket in [&near, &far] {
                socket.set_nodelay(true).expect("an open socket");
            }
            let (from_near, from_far) = (near.try_clone(), far.try_clone());
            carry(from_near.expect("a descriptor is left"), far, delay);
            carry(from_far.expect("a descriptor is left"), near, delay);
        }
    });
    address
}

/// Carries what comes from `from` to `to`, each byte `delay` after it came.
fn carry(mut from: TcpStream, mut to: TcpStream, delay: Span) {
    let (keep, kept) = mpsc::channel::<(u64, Vec<u8>)>();
    thread::spawn(move || {
        let nobody = Stop::new().expect("descriptors are left");
        for (due_ns, bytes) in kept {
            nobody.wait_until(due_ns).expect("the kernel waits");
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write); // it may have gone already
    });
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while let Ok(bytes) = from.read(&mut buffer) {
            let due_ns = MonotonicClock.now_ns() + delay.ns();
            if bytes == 0 || keep.send((due_ns, buffer[..bytes].to_vec())).is_err() {
                return;
            }
        }
    });
}
