//! Clients that are ready together.

use std::net::Shutdown;

use super::*;

/// After so many waits everybody has been let in.
const LET_IN: usize = 4;

/// Echoes lines, and lets short ones leave together.
#[derive(Default)]
struct Echoes(Notes);

impl Service for Echoes {
    type Conn = usize;

    fn together(&self) -> bool {
        true
    }

    fn open(&mut self, peer: &Peer) -> Result<usize, Vec<u8>> {
        self.0.open(peer)
    }

    fn serve(&mut self, conn: &mut usize, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        self.0.serve(conn, bytes, out)
    }

    fn close(&mut self, conn: usize, ended: Ended) {
        self.0.close(conn, ended);
    }
}

/// Replies to lines instead of echoing them, and may always tell.
#[derive(Default)]
struct Replies(Notes);

impl Service for Replies {
    type Conn = usize;

    const SETTLES: bool = true;

    fn together(&self) -> bool {
        true
    }

    fn open(&mut self, peer: &Peer) -> Result<usize, Vec<u8>> {
        self.0.open(peer)
    }

    fn serve(&mut self, conn: &mut usize, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        let served = self.0.serve(conn, bytes, &mut Vec::new());
        out.extend_from_slice(&bytes[..served.echo]);
        Served { echo: 0, ..served }
    }

    fn unsettled(&self) -> bool {
        false
    }

    fn close(&mut self, conn: usize, ended: Ended) {
        self.0.close(conn, ended);
    }
}

/// What each of so many clients is told that all ask in the same moment; `ask` is the number of the
/// client, its stream, and the moment, which is counted from zero.
fn told<S: Service + Default>(
    clients: usize,
    moments: usize,
    ask: impl Fn(usize, &mut UnixStream, usize) + 'static,
) -> (Vec<String>, S) {
    let stand = Stand::new();
    let mut streams: Vec<UnixStream> = (0..clients).map(|_| stand.connect()).collect();
    let (tell, heard) = std::sync::mpsc::channel();
    let mut service = S::default();
    let plan = ServePlan { max_clients: clients, ..plan() };
    let mut moment: usize = 0;
    stand.serve(&plan, &mut service, move |_| {
        for (number, stream) in streams.iter_mut().enumerate() {
            tell.send((number, said(stream))).unwrap();
            if let Some(moment) = moment.checked_sub(LET_IN).filter(|moment| *moment < moments) {
                ask(number, stream, moment);
            }
        }
        moment += 1;
        None
    });
    let mut all = vec![String::new(); clients];
    heard.iter().for_each(|(number, text)| all[number] += &text);
    (all, service)
}

fn talk<S: Service + Default>() -> S {
    let long = |number: usize| format!("{}\n", number.to_string().repeat(3_000));
    let (all, service) = told(80, 3, move |number, stream, moment| {
        let text = match number % 5 {
            // a long reply between two short ones
            3 if moment == 1 => long(number),
            4 if moment == 2 => "bye\n".into(),
            _ => format!("{number} {moment}\n"),
        };
        stream.write_all(text.as_bytes()).unwrap();
        if number % 5 == 2 && moment == 2 {
            stream.shutdown(Shutdown::Write).unwrap();
        }
    });
    for (number, said) in all.iter().enumerate() {
        let second = if number % 5 == 3 { long(number) } else { format!("{number} 1\n") };
        let third = if number % 5 == 4 { "bye\n".into() } else { format!("{number} 2\n") };
        assert_eq!(*said, format!("{number} 0\n{second}{third}"), "client {number}");
    }
    service
}

#[test]
fn everybody_is_answered_in_order_and_whoever_leaves_or_is_sent_away_too() {
    for service in [talk::<Notes>(), talk::<Echoes>().0, talk::<Replies>().0] {
        let ended = |how| service.ended.iter().filter(|ended| **ended == how).count();
        assert_eq!((ended(Ended::ByClient), ended(Ended::ByService)), (16, 16));
    }
}

fn leave<S: Service + Default>() -> S {
    let (all, service) = told(40, 2, |number, stream, moment| {
        stream.write_all(format!("{number} {moment}\n").as_bytes()).unwrap();
        if number % 10 == 1 && moment == 1 {
            stream.shutdown(Shutdown::Both).unwrap();
        }
    });
    for (number, said) in all.iter().enumerate().filter(|(number, _)| *number % 10 != 1) {
        assert_eq!(*said, format!("{number} 0\n{number} 1\n"));
    }
    service
}

#[test]
fn a_client_that_is_gone_before_its_reply_harms_nobody() {
    for service in [leave::<Notes>(), leave::<Echoes>().0, leave::<Replies>().0] {
        assert_eq!(service.served.iter().filter(|(conn, _)| *conn == 2).count(), 2);
        assert_eq!(service.ended.len(), 40);
    }
}

/// Answers lines, and goes on by itself with whoever says `go`.
#[derive(Default)]
struct Leavers(usize);

impl Service for Leavers {
    type Conn = bool;

    const HANDS_OVER: bool = true;

    fn together(&self) -> bool {
        true
    }

    fn open(&mut self, _: &Peer) -> Result<bool, Vec<u8>> {
        Ok(false)
    }

    fn serve(&mut self, leaves: &mut bool, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        *leaves = bytes == b"go\n";
        out.extend_from_slice(bytes);
        Served { consumed: bytes.len(), echo: 0, close: false }
    }

    fn leaves(&self, leaves: &bool) -> bool {
        *leaves
    }

    fn hand_over(&mut self, _: bool, socket: OwnedFd, _: Vec<u8>) {
        self.0 += 1;
        UnixStream::from(socket).write_all(b"yours\n").unwrap();
    }

    fn close(&mut self, _: bool, _: Ended) {}
}

#[test]
fn whoever_leaves_the_loop_has_its_reply_first() {
    let (all, service) = told::<Leavers>(40, 1, |number, stream, _| {
        let text: &[u8] = if number % 10 == 1 { b"go\n" } else { b"stay\n" };
        stream.write_all(text).unwrap();
    });
    assert_eq!(service.0, 4);
    for (number, said) in all.iter().enumerate() {
        let expected = if number % 10 == 1 { "go\nyours\n" } else { "stay\n" };
        assert_eq!(said, expected, "client {number}");
    }
}
