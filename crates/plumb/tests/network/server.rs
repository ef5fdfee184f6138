//! `plumb net serve` against clients that speak NI by hand, well or badly.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use kit::Server;
use kit::ni::{Client, INVALID, PING, PONG, REFUSED, TOO_BIG, error, frame};
use plumb_measure::statistics::SplitMix64;
use tempfile::tempdir;

/// The words behind `... gone after 1.23 ms: `.
fn account(line: &str) -> &str {
    let (_, after) = line.split_once(" gone after ").expect("a farewell");
    after.split_once(": ").expect("a time, then the account").1
}

/// The same numbers every time.
struct Numbers(SplitMix64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.below(256).to_le_bytes()[0]).collect()
    }
}

#[test]
fn a_frame_may_be_cut_anywhere() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let whole = frame(b"EYECATCHER");
    for cut in 1..whole.len() {
        client.send(&whole[..cut]);
        server.client().echo(b"another"); // by now the server has read the first part
        client.send(&whole[cut..]);
        assert_eq!(client.receive(), b"EYECATCHER", "cut at {cut}");
    }
}

#[test]
fn frames_that_come_together_go_back_one_by_one_in_their_order() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let payloads: Vec<Vec<u8>> = (0..50).map(|n| vec![n; usize::from(n) * 100]).collect();
    let together: Vec<u8> = payloads.iter().flat_map(|payload| frame(payload)).collect();
    client.send(&together);
    for payload in &payloads {
        assert_eq!(&client.receive(), payload);
    }
}

#[test]
fn an_empty_frame_comes_back_empty() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.echo(b"");
    client.echo(b"x");
    client.finish();
    assert!(client.at_end());
    let account_of_both = "2 messages, 1 byte, 0 pings; closed by the client";
    assert_eq!(account(&server.farewell()), account_of_both);
}

#[test]
fn a_message_of_many_megabytes_comes_back_to_a_client_that_reads_late() {
    let server = Server::start(&["--max-message", "64MiB"]);
    let mut client = server.client();
    let payload = (0..=255).collect::<Vec<u8>>().repeat(64 << 10); // 16 MiB
    let mut writer = Client { stream: client.stream.try_clone().expect("a second handle") };
    let sent = frame(&payload);
    let sender = std::thread::spawn(move || {
        writer.send(&sent);
        writer.finish();
    });
    assert!(client.receive() == payload, "another message");
    assert!(client.at_end());
    sender.join().expect("everything was taken");
}

#[test]
fn a_message_beyond_the_limit_is_refused_and_other_clients_go_on() {
    let server = Server::start(&["--max-message", "1000B"]);
    let mut other = server.client();
    other.echo(&[7; 1000]);
    let mut client = server.client();
    client.send(&frame(&[7; 1001]));
    let (code, text) = client.refusal();
    assert_eq!(code, TOO_BIG);
    assert!(text.contains("1001 bytes") && text.contains("limit of 1000 bytes"), "{text}");
    assert!(client.at_end());
    drop(client);
    other.echo(&[8; 1000]);
    let line = server.farewell();
    assert!(line.starts_with("client 2 from 127.0.0.1:"), "{line}");
    let words = format!("0 messages, 0 bytes, 0 pings; closed by the server: {text}");
    assert_eq!(account(&line), words);
}

#[test]
fn a_frame_that_does_not_go_on_is_logged_with_its_bytes() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.echo(b"whole");
    client.send(&frame(&[7; 1000])[..104]);
    client.finish();
    assert!(client.at_end());
    let cut = "closed by the client, within a frame: 100 of its 1,000 bytes had come";
    assert!(account(&server.farewell()).ends_with(cut));
    let mut client = server.client();
    client.send(&[0, 0]);
    client.finish();
    assert!(client.at_end());
    let cut = "closed by the client, within a frame: 2 of the 4 bytes of its length had come";
    assert!(account(&server.farewell()).ends_with(cut));
}

#[test]
fn half_messages_of_many_clients_share_one_memory() {
    const MESSAGE: usize = 16 << 20;
    const CLIENTS: usize = 40;
    let server = Server::start(&["--max-memory", "64MiB"]);
    let half = &frame(&vec![7; MESSAGE])[..MESSAGE / 2];
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| client.send(half));
    // no more than eight halves have room at once
    for _ in 8..CLIENTS {
        let line = server.farewell();
        assert!(line.contains("closed for want of memory, within a frame: "), "{line}");
        assert!(line.contains("is full (--max-memory)"), "{line}");
    }
    server.client().echo(&[8; 1000]); // others are served as ever
    let kib = resident_kib(server.id());
    assert!(kib < 200 << 10, "64 MiB for 40 halves of 8 MiB, and {kib} KiB were taken");
}

/// What a process holds in memory, KiB.
fn resident_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is told");
    line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
}

#[test]
fn too_little_memory_for_the_largest_message_is_refused() {
    let folder = tempdir().expect("a folder");
    let words = ["net", "serve", "--listen", "127.0.0.1:0", "--max-memory", "32MiB"];
    let ended = kit::plumb(&words, folder.path()).with(2);
    assert!(ended.stderr.contains("must be 64MiB or more"), "{}", ended.stderr);
}

#[test]
fn the_largest_length_of_all_is_refused_before_its_message_has_come() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.send(&[0xff; 4]);
    assert_eq!(client.refusal().0, TOO_BIG);
    assert!(client.at_end());
}

#[test]
fn a_client_that_sends_all_of_a_refused_message_learns_why_it_was_refused() {
    let server = Server::start(&["--max-message", "1kB"]);
    let mut client = server.client();
    client.send(&frame(&vec![0; 4 << 20]));
    assert_eq!(client.refusal().0, TOO_BIG);
    assert!(client.at_end());
}

#[test]
fn messages_before_one_beyond_the_limit_are_returned_first() {
    let server = Server::start(&["--max-message", "10B"]);
    let mut client = server.client();
    client.send(&[frame(b"one"), frame(b"two"), frame(&[1; 11])].concat());
    assert_eq!((client.receive(), client.receive()), (b"one".to_vec(), b"two".to_vec()));
    assert_eq!(client.refusal().0, TOO_BIG);
    assert!(client.at_end());
}

#[test]
fn a_ping_is_answered_with_a_pong_between_messages() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.send(&frame(PING));
    assert_eq!(client.receive(), PONG);
    client.echo(b"message");
    client.send(&frame(PING));
    assert_eq!(client.receive(), PONG);
    client.finish();
    assert!(client.at_end());
    let words = "1 message, 7 bytes, 2 pings; closed by the client";
    assert_eq!(account(&server.farewell()), words);
}

#[test]
fn a_ping_in_the_flow_of_messages_is_answered_in_its_place() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let flow = [b"one".as_slice(), PING, b"two", PING, PING, b"three"];
    client.send(&flow.iter().flat_map(|payload| frame(payload)).collect::<Vec<u8>>());
    for payload in flow {
        assert_eq!(client.receive(), if payload == PING { PONG } else { payload });
    }
}

#[test]
fn a_pong_that_nobody_asked_for_is_no_message() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.send(&frame(PONG));
    client.echo(b"and on");
    client.finish();
    assert_eq!(account(&server.farewell()), "1 message, 6 bytes, 0 pings; closed by the client");
}

#[test]
fn a_message_that_only_starts_as_a_ping_is_a_message() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for payload in [b"NI_PING\0\0".as_slice(), b"NI_PING", b"NI_", b"NI_PINGX", b"ni_ping\0"] {
        client.echo(payload);
    }
}

#[test]
fn the_version_of_ni_is_told() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.send(&frame(b"NI_RTERR\0\x28\x01\0\0\0\0\0\0\0\0\0"));
    assert_eq!(client.receive(), b"NI_RTERR\0\x28\x02\0\0\0\0\0\0\0\0\0");
    client.echo(b"and on");
}

#[test]
fn a_route_is_refused_since_this_is_no_router() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.send(&frame(b"NI_ROUTE\0\x02\x28\x02\x01\0\0\x01\0\0\0\x0b\0\0\0\x0bhost\x003298\0\0"));
    let (code, text) = client.refusal();
    assert_eq!(code, INVALID);
    assert!(text.contains("not a router"), "{text}");
    assert!(client.at_end());
}

#[test]
fn an_error_message_that_is_cut_is_refused() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let whole = error(-10, "no");
    client.send(&frame(&whole[..whole.len() - 5])); // a number of four bytes ends it
    assert_eq!(client.refusal().0, INVALID);
    assert!(client.at_end());
}

#[test]
fn a_client_too_many_is_turned_away_until_another_goes() {
    let server = Server::start(&["--max-clients", "2"]);
    let (mut first, mut second) = (server.client(), server.client());
    first.echo(b"first");
    second.echo(b"second");
    let mut third = server.client();
    let (code, text) = third.refusal();
    assert_eq!((code, text.as_str()), (REFUSED, "this server takes no more clients"));
    assert!(third.at_end());
    first.finish();
    assert!(first.at_end());
    server.client().echo(b"fourth");
    second.echo(b"still here");
    let lines: Vec<String> = (0..3).map(|_| server.log()).collect();
    assert!(lines[2].contains("turned away: this server takes no more clients"), "{lines:?}");
}

#[test]
fn an_address_that_is_not_allowed_is_turned_away() {
    let server = Server::start(&["--allow", "10.0.0.0/8", "--allow", "::1"]);
    let mut client = server.client();
    let (code, text) = client.refusal();
    assert_eq!((code, text.as_str()), (REFUSED, "this address is not allowed here"));
    assert!(client.at_end());
    assert!(server.log().contains("turned away: this address is not allowed here"));

    let server = Server::start(&["--allow", "10.0.0.0/8", "--allow", "127.0.0.0/8"]);
    server.client().echo(b"allowed");
}

#[test]
fn a_socket_file_is_guarded_by_its_folder_and_not_by_addresses() {
    let folder = tempdir().expect("a temporary folder");
    let path = folder.path().join("echo");
    let words = ["--allow", "10.0.0.0/8"];
    let server = Server::listening(&format!("unix:{}", path.display()), &words);
    let mut stream = UnixStream::connect(path).expect("the server listens");
    stream.set_read_timeout(Some(kit::PATIENCE)).expect("it is above zero");
    stream.write_all(&frame(b"hello")).expect("the server takes bytes");
    let mut answer = [0; 9];
    stream.read_exact(&mut answer).expect("the server answers");
    assert_eq!(answer.as_slice(), frame(b"hello"));
    assert_eq!(server.log(), "client 1 connected from unix");
}

#[test]
fn a_silent_client_is_closed_and_the_log_says_why() {
    let server = Server::start(&["--idle", "50ms", "--stall", "1h"]);
    let mut client = server.client();
    assert!(client.at_end());
    assert_eq!(account(&server.farewell()), "0 messages, 0 bytes, 0 pings; idle for too long");
}

#[test]
fn a_client_that_begins_a_message_and_does_not_go_on_is_closed() {
    let server = Server::start(&["--stall", "1s"]);
    let mut client = server.client();
    client.echo(b"whole");
    client.send(&frame(b"message")[..6]);
    assert!(client.at_end());
    let words = "1 message, 5 bytes, 0 pings; message begun and not finished, within a frame: 2 of \
                 its 7 bytes had come";
    assert_eq!(account(&server.farewell()), words);
}

#[test]
fn a_connection_reset_in_the_middle_of_a_message_is_one_line_of_the_log() {
    let server = Server::start(&[]);
    let mut other = server.client();
    other.echo(b"before");
    let mut client = server.client();
    client.echo(b"whole");
    client.send(&frame(&[1; 1000])[..500]);
    client.reset();
    // the kernel may forget what was not read yet when the reset comes
    let words = "1 message, 5 bytes, 0 pings; connection broken";
    assert!(account(&server.farewell()).starts_with(words));
    other.echo(b"after");
}

#[test]
fn a_client_that_closes_its_half_has_everything_returned_first() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.send(&[frame(b"one"), frame(b"two"), frame(b"cut")[..5].to_vec()].concat());
    client.finish();
    assert_eq!((client.receive(), client.receive()), (b"one".to_vec(), b"two".to_vec()));
    assert!(client.at_end());
    let words = "2 messages, 6 bytes, 0 pings; closed by the client, within a frame: 1 of its 3 \
                 bytes had come";
    assert_eq!(account(&server.farewell()), words);
}

#[test]
fn each_client_has_its_number_and_its_counts_in_the_log() {
    let server = Server::start(&[]);
    let (mut first, mut second) = (server.client(), server.client());
    (0..3).for_each(|_| first.echo(b"12345"));
    second.echo(b"1");
    let addresses = [&first, &second].map(|client| client.stream.local_addr().unwrap());
    for (number, address) in (1..).zip(addresses) {
        assert_eq!(server.log(), format!("client {number} connected from {address}"));
    }
    for (number, client, counts) in
        [(2, second, "1 message, 1 byte"), (1, first, "3 messages, 15 bytes")]
    {
        client.finish();
        let line = server.log();
        assert!(line.starts_with(&format!("client {number} from {}", addresses[number - 1])));
        assert_eq!(account(&line), format!("{counts}, 0 pings; closed by the client"));
    }
}

#[test]
fn a_quiet_server_logs_nobody() {
    let server = Server::start(&["--quiet"]);
    server.client().echo(b"hello");
    assert_eq!(server.stop().with(0).stderr, "");
}

#[test]
fn a_server_that_is_stopped_takes_leave_of_its_clients() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.echo(b"hello");
    let ended = server.stop().with(0);
    assert!(client.at_end());
    let log: Vec<&str> = ended.stderr.lines().collect();
    let [.., farewell, head, row, sum] = log.as_slice() else { panic!("{ended:#?}") };
    assert!(farewell.ends_with("1 message, 5 bytes, 0 pings; server stopped"), "{ended:#?}");
    assert!(head.starts_with("client  from "), "{ended:#?}");
    assert!(row.starts_with("1       127.0.0.1:"), "{ended:#?}");
    assert!(sum.starts_with("all     1 clients "), "{ended:#?}");
}

#[test]
fn a_server_ends_when_nobody_has_sent_anything_for_long_enough() {
    Server::start(&["--quit-after", "50ms"]).wait().with(0);
}

#[test]
fn a_server_without_descriptors_serves_those_it_has_and_takes_others_later() {
    let server = Server::limited("-n 32");
    let mut clients: Vec<Client> = (0..40).map(|_| server.client()).collect();
    clients[0].echo(b"served");
    let mut line = server.log();
    while line.contains(" connected from ") {
        line = server.log();
    }
    assert!(line.starts_with("cannot accept connections for the moment: "), "{line}");
    clients[0].echo(b"still served");
    let mut last = clients.remove(39);
    drop(clients);
    last.echo(b"taken at last");
    server.stop().with(0);
}

#[test]
fn garbage_from_two_hundred_clients_does_not_end_the_server() {
    let server = Server::start(&["--quiet", "--max-message", "1kB"]);
    let mut healthy = server.client();
    let mut numbers = Numbers(SplitMix64::new(20_261_121));
    for _ in 0..200 {
        let mut client = server.client();
        let garbage = match numbers.below(4) {
            0 => numbers.bytes(4000),
            1 => frame(&[b"NI_RTERR\0".to_vec(), numbers.bytes(60)].concat()),
            2 => frame(&[b"NI_".to_vec(), numbers.bytes(20)].concat()),
            _ => {
                let whole = frame(&numbers.bytes(900));
                whole[..usize::try_from(numbers.below(whole.len() as u64)).unwrap()].to_vec()
            }
        };
        // the server may have closed already
        let _ = client.stream.write_all(&garbage);
        match numbers.below(3) {
            0 => client.reset(),
            1 => drop(client),
            _ => {
                let _ = client.stream.shutdown(std::net::Shutdown::Write);
                while matches!(client.stream.read(&mut [0; 4096]), Ok(1..)) {}
            }
        }
        healthy.echo(b"still here");
    }
    server.stop().with(0);
}
