use std::cell::Cell;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use super::*;

const LIMIT: Span = Span::from_ms(20_000);

fn echo_once(from: impl FnOnce() -> OwnedFd + Send + 'static) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut taken = Connection { socket: from(), asked: Asked::Else };
        let mut bytes = [0; 4];
        taken.read_exact(&mut bytes).unwrap();
        taken.write_all(&bytes).unwrap();
    })
}

fn exchange(endpoint: Endpoint, options: &SocketOptions) -> Transport {
    let mut connection = Connection::open(&[endpoint], LIMIT, options).unwrap();
    connection.limit_calls(LIMIT).unwrap();
    let transport = connection.transport().unwrap();
    connection.write_all(b"ping").unwrap();
    let mut bytes = [0; 4];
    connection.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"ping");
    transport
}

#[test]
fn tcp_and_files_are_connected_to_in_the_same_way() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = Endpoint::Tcp(listener.local_addr().unwrap());
    let server = echo_once(move || listener.accept().unwrap().0.into());
    let source = "127.0.0.9".parse().unwrap();
    let options = SocketOptions { source: Some(source), ..SocketOptions::default() };
    let transport = exchange(tcp, &options);
    assert!(transport.local.starts_with("127.0.0.9:"), "{transport:?}");
    server.join().unwrap();

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let server = echo_once(move || listener.accept().unwrap().0.into());
    let transport = exchange(Endpoint::Unix(path), &SocketOptions::default());
    assert_eq!(transport.kind, "unix");
    server.join().unwrap();
}

#[test]
fn options_are_those_of_the_socket() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    let of = |options: &SocketOptions| {
        let socket =
            Connection::open(std::slice::from_ref(&endpoint), LIMIT, options).unwrap().socket;
        let buffers = sockopt::socket_send_buffer_size(&socket).unwrap()
            + sockopt::socket_recv_buffer_size(&socket).unwrap();
        (sockopt::tcp_nodelay(&socket).unwrap(), buffers)
    };
    let size = ByteSize::new;
    let small = SocketOptions {
        nagle: Nagle::On,
        send_buffer: size(8 << 10),
        receive_buffer: size(16 << 10),
        source: None,
    };
    assert_eq!(of(&small), (false, 2 * (24 << 10)), "the kernel doubles them");
    let (nodelay, buffers) = of(&SocketOptions::default());
    assert!(nodelay && buffers > 2 * (24 << 10));
}

#[test]
fn the_first_that_answers_is_taken_and_who_does_not_is_named() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = listener.local_addr().unwrap();
    let options = SocketOptions::default();
    let both = [Endpoint::Tcp(gone), Endpoint::Tcp(there)];
    let connection = Connection::open(&both, LIMIT, &options).unwrap();
    assert_eq!(connection.transport().unwrap().peer, there.to_string());
    drop(listener);
    let error = Connection::open(&both, LIMIT, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot connect to {gone}: connection refused, and to {there}: connection refused; \
             is the server started, and is the port right?"
        )
    );
    let none = Connection::open(&[], LIMIT, &options).unwrap_err();
    assert_eq!(none.to_string(), "no address to connect to");
}

#[test]
fn addresses_that_take_no_connection_are_tried_in_vain_and_the_one_that_does_is_not() {
    struct Hands(Cell<u64>);
    impl Clock for Hands {
        fn now_ns(&self) -> u64 {
            self.0.get()
        }
    }
    let clock = Hands(Cell::new(5));
    let of = |port: u16| Endpoint::Tcp(([127, 0, 0, 1], port).into());
    let candidates = [of(1), of(2), of(3)];
    let first = first_of(&candidates, LIMIT, None, &clock, |it| {
        let (ns, works) = if *it == of(3) { (700, true) } else { (10, false) };
        clock.0.set(clock.0.get() + ns);
        if works { Ok(()) } else { Err(io::ErrorKind::NetworkUnreachable.into()) }
    });
    let first = first.unwrap();
    assert_eq!((first.endpoint, first.in_vain_ns), (&of(3), 20));
}

#[test]
fn a_file_at_which_too_many_wait_is_waited_for_no_longer_than_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = socket_with(
        rustix::net::AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let endpoint = [Endpoint::Unix(path)];
    let limit = Span::from_ms(1);
    let options = SocketOptions::default();
    let mut waiting = Vec::new();
    let error = loop {
        match Connection::open(&endpoint, limit, &options) {
            Ok(connection) => waiting.push(connection),
            Err(error) => break error.to_string(),
        }
        assert!(waiting.len() < 10, "a queue of none takes no more");
    };
    assert!(error.contains("no answer within 1ms"), "{error}");
}
