//! Listeners go from one process to another, as rights over a socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use plumb_engine::Listener;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Listeners that are handed over at most.
const LISTENERS_MAX: usize = 64;
const SPACE: usize = rustix::cmsg_space!(ScmRights(LISTENERS_MAX));

/// Sends `listeners` over `control`.
///
/// # Errors
/// When there are more than 64, or nobody is at the other end.
pub(super) fn give(control: &UnixStream, listeners: &[Listener]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let sockets: Vec<_> = listeners.iter().map(|listener| listener.as_fd()).collect();
    if sockets.len() > LISTENERS_MAX || !rights.push(SendAncillaryMessage::ScmRights(&sockets)) {
        let text = format!("nodes can share {LISTENERS_MAX} listeners at most");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    // rights travel with a byte
    sendmsg(control, &[IoSlice::new(b"L")], &mut rights, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// What [`give`] sent.
///
/// # Errors
/// When the other end is gone or sent something else.
pub(super) fn take(control: &UnixStream) -> io::Result<Vec<Listener>> {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let buffers = &mut [IoSliceMut::new(&mut byte)];
    let read = recvmsg(control, buffers, &mut rights, RecvFlags::CMSG_CLOEXEC)?;
    if read.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut listeners = Vec::new();
    for message in rights.drain() {
        if let RecvAncillaryMessage::ScmRights(sockets) = message {
            for socket in sockets {
                listeners.push(Listener::inherited(socket)?);
            }
        }
    }
    Ok(listeners)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn listeners_arrive_and_listen_where_they_did() {
        let folder = tempfile::tempdir().unwrap();
        let path = format!("unix:{}", folder.path().join("door").display());
        let bound = Listener::bind_all(&["127.0.0.1:0".into(), path], 0).unwrap();
        let (mine, theirs) = UnixStream::pair().unwrap();
        give(&mine, &bound).unwrap();
        let taken = take(&theirs).unwrap();
        let places = |listeners: &[Listener]| -> Vec<String> {
            listeners.iter().map(Listener::local).collect()
        };
        assert_eq!(places(&taken), places(&bound));
        drop(taken);
        assert!(folder.path().join("door").exists(), "it belongs to who made it");
        TcpStream::connect(bound[0].local()).unwrap();
    }

    #[test]
    fn an_end_and_bytes_without_rights_are_no_listeners() {
        let (mine, theirs) = UnixStream::pair().unwrap();
        io::Write::write_all(&mut (&mine), b"x").unwrap();
        assert!(take(&theirs).unwrap().is_empty());
        drop(mine);
        assert_eq!(take(&theirs).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
