//! A process that may connect to some addresses only: this holds for the whole of it.

use std::io;
use std::os::unix::net::UnixListener;

use plumb_measure::Span;
use plumb_socket::{
    Connection, Endpoint, SocketOptions, check_unbound, restrict_targets, start_connect,
};

#[test]
fn nothing_connects_past_what_is_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).expect("a socket");
    let socket = Endpoint::Unix(path);
    let open = || {
        let candidates = std::slice::from_ref(&socket);
        Connection::open(candidates, Span::from_ms(10_000), &SocketOptions::default())
    };
    assert!(open().is_ok() && check_unbound("a driver").is_ok(), "nobody has restricted it");
    assert!(restrict_targets(vec!["10.1.0.0/16".parse().expect("addresses")]));
    let error = open().expect_err("a socket counts as the loopback address").to_string();
    assert!(error.contains("this machine may not load"), "{error}");
    let denied = |outcome: io::Result<()>| {
        outcome.expect_err("it is refused").kind() == io::ErrorKind::PermissionDenied
    };
    assert!(denied(start_connect(&socket, &SocketOptions::default()).map(drop)));
    assert!(denied(check_unbound("a driver")));
}
