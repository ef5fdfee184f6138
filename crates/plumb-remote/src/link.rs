//! How messages travel between a controller and one remote: as lines over two streams.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::message::{MESSAGE_MAX, NoMessage, read, written};

/// Why no further message comes.
#[derive(Debug, thiserror::Error)]
pub enum LinkEnded {
    /// The other side has closed it, or is gone.
    #[error("the connection has ended")]
    Closed,
    /// The other side says what is no message.
    #[error("it said {0}")]
    NoMessage(#[from] NoMessage),
    /// The operating system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Writes the messages that are sent to it, one after the other, on a thread of its own: nobody who
/// measures waits for the other side. It ends when it cannot write, or nobody can send any more.
pub fn outbox<M: Serialize + Send + 'static>(
    mut to: impl Write + Send + 'static,
) -> (Sender<M>, JoinHandle<()>) {
    let (sender, messages) = mpsc::channel::<M>();
    let thread = thread::spawn(move || {
        for message in messages {
            let sent = written(&message).map_err(io::Error::other);
            let sent = sent.and_then(|line| to.write_all(line.as_bytes()));
            if sent.and_then(|()| to.flush()).is_err() {
                break; // whoever reads from the other side hears of it
            }
        }
    });
    (sender, thread)
}

/// The next message of `from`.
///
/// # Errors
/// [`LinkEnded`] when there is none, and says why.
pub fn next<M: DeserializeOwned>(from: &mut impl BufRead) -> Result<M, LinkEnded> {
    let mut line = String::new();
    let bytes = from.take(MESSAGE_MAX as u64 + 1).read_line(&mut line)?;
    if bytes == 0 || !line.ends_with('\n') {
        return Err(if bytes > MESSAGE_MAX {
            NoMessage::TooLong.into()
        } else {
            LinkEnded::Closed
        });
    }
    Ok(read(&line)?)
}

/// Hands every message of `from` to `each`, on a thread of its own, and at the end why it ended.
pub fn inbox<M, T>(
    mut from: impl BufRead + Send + 'static,
    to: Sender<T>,
    each: impl Fn(Result<M, LinkEnded>) -> T + Send + 'static,
) where
    M: DeserializeOwned,
    T: Send + 'static,
{
    thread::spawn(move || {
        loop {
            let message = next(&mut from);
            let over = message.is_err();
            if to.send(each(message)).is_err() || over {
                break;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Order;

    #[test]
    fn messages_come_one_a_line_and_a_cut_one_is_none() {
        let mut text = &b"\"alive\"\n{\"stop\":{\"run\":3}}\n\"ali"[..];
        assert_eq!(next::<Order>(&mut text).unwrap(), Order::Alive);
        assert_eq!(next::<Order>(&mut text).unwrap(), Order::Stop { run: 3 });
        assert!(matches!(next::<Order>(&mut text), Err(LinkEnded::Closed)));
        assert!(matches!(next::<Order>(&mut &b"hello\n"[..]), Err(LinkEnded::NoMessage(_))));
        assert!(matches!(next::<Order>(&mut &b"\xff\n"[..]), Err(LinkEnded::Io(_))));
    }
}
