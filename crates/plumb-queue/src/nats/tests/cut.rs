//! A connection that is cut before something comes through: a request, or its answer.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};

use super::*;

/// What stands in the acknowledgement of a published message.
const ACKNOWLEDGEMENT: &[u8] = b"\"stream\":\"q_WAITING\"";
/// What stands in a request for messages.
const PULL: &[u8] = b".MSG.NEXT.";

/// What stands in a request for the third message, and in the answer to it.
const THIRD: &[u8] = b"\"seq\":3";

/// A way to the server that swallows the next piece with this `mark` once it is armed, and hangs up.
fn way(server: u16, mark: &'static [u8]) -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let armed = Arc::new(AtomicBool::new(false));
    let cuts = Arc::clone(&armed);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
            let second = |stream: &TcpStream| stream.try_clone().unwrap();
            pass(second(&client), second(&server), mark, Arc::clone(&cuts));
            pass(server, client, mark, Arc::clone(&cuts));
        }
    });
    (port, armed)
}

fn pass(mut from: TcpStream, mut to: TcpStream, mark: &'static [u8], armed: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let piece = &bytes[..count];
            let marked = piece.windows(mark.len()).any(|window| window == mark);
            if marked && armed.swap(false, Ordering::SeqCst) || to.write_all(piece).is_err() {
                break;
            }
        }
        // one of them may be closed already
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}

/// A queue on such a way, and what arms it.
fn queue_on_a_way(server: &Server, mark: &'static [u8]) -> (NatsQueue, Arc<AtomicBool>) {
    let (port, armed) = way(server.process.port, mark);
    let target = Target { url: format!("nats://127.0.0.1:{port}"), ..server.target("q") };
    let limits = QueueLimits { bytes: 16 << 20, ..QueueLimits::default() };
    let lease = Span::from_ms(LEASE_MS);
    (NatsQueue::open_at(&target, limits, lease, HeldClock::new()).unwrap(), armed)
}

#[test]
fn a_message_whose_acknowledgement_was_cut_off_is_there_once() {
    let Some(server) = Server::start() else { return };
    let (queue, armed) = queue_on_a_way(&server, ACKNOWLEDGEMENT);
    let sent = || Message { idempotency_key: Some("7".into()), ..message("orders", "1") };
    accept(&queue, message("orders", "0")).unwrap();
    armed.store(true, Ordering::SeqCst);
    let refused = accept(&queue, sent()).unwrap_err();
    assert!(matches!(refused, QueueError::Store(_)), "{refused}");
    assert!(!armed.load(Ordering::SeqCst), "it was cut");
    let again = (0..10).find_map(|_| accept(&queue, sent()).ok()).unwrap();
    assert!(again.repeated, "the server had it");
    assert_eq!(bodies(&claim(&queue, 9)), ["0", "1"]);
}

#[test]
fn a_request_for_messages_that_was_cut_off_is_given_up_and_made_again() {
    let Some(server) = Server::start() else { return };
    let (queue, armed) = queue_on_a_way(&server, PULL);
    accept(&queue, message("orders", "1")).unwrap();
    armed.store(true, Ordering::SeqCst);
    let (told, claimed) = mpsc::channel();
    std::thread::spawn(move || {
        for _ in 0..10 {
            let claimed = queue.claim(9, Duration::ZERO).unwrap_or_default();
            if !claimed.is_empty() {
                let bodies = bodies(&claimed).into_iter().map(str::to_owned).collect();
                return told.send(bodies).unwrap();
            }
        }
    });
    let claimed: Vec<String> =
        claimed.recv_timeout(Duration::from_secs(60)).expect("it is not waited for");
    assert_eq!(claimed, ["1"]);
    assert!(!armed.load(Ordering::SeqCst), "it was cut");
}

#[test]
fn those_before_a_message_that_cannot_be_read_are_given_out() {
    let Some(server) = Server::start() else { return };
    let (queue, armed) = queue_on_a_way(&server, THIRD);
    for body in ["1", "2", "3"] {
        accept(&queue, message("orders", body)).unwrap();
    }
    assert_eq!(bodies(&claim(&queue, 1)), ["1"]);
    // the others were pulled with it, and are read from the stream
    armed.store(true, Ordering::SeqCst);
    assert_eq!(bodies(&claim(&queue, 2)), ["2"]);
    assert!(!armed.load(Ordering::SeqCst), "it was cut");
    let rest = (0..10).find_map(|_| queue.claim(1, Duration::ZERO).ok()).unwrap();
    assert_eq!(bodies(&rest), ["3"]);
}
