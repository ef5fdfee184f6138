mod pieces;

use super::*;
use crate::frame::{FrameHead, flag, kind};

/// A frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    FrameHead { length: payload.len(), kind, flags, stream }.write(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

fn settings(pairs: &[(u16, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::settings(pairs, &mut bytes);
    bytes
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        hpack::encode(name.as_bytes(), value.as_bytes(), false, &mut block);
    }
    block
}

/// A whole head; `flags` beside that it ends here.
fn head(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(kind::HEADERS, flags | flag::END_HEADERS, stream, &block(fields))
}

const OK: (&str, &str) = (":status", "200");

fn data(stream: u32, content: &[u8], flags: u8) -> Vec<u8> {
    frame(kind::DATA, flags, stream, content)
}

fn request(body: &[u8]) -> Request {
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
    Request::of_http1(&[head.as_bytes(), body].concat(), "http").unwrap()
}

/// A connection that stands, with `streams` under way in slots 0, 1, ...
fn standing(streams: u16, ours: &[(u16, u32)]) -> Client {
    let mut client = Client::default();
    told(&mut client, &settings(ours));
    for slot in 0..streams {
        assert_eq!(client.begin(&request(b""), 0, b"", &mut Vec::new()), slot);
    }
    client
}

/// What `bytes` mean, in words, and what is answered.
fn told(client: &mut Client, bytes: &[u8]) -> (Vec<String>, Vec<u8>) {
    let (mut at, mut out, mut events) = (0, Vec::new(), Vec::new());
    loop {
        match client.read(&bytes[at..], &mut out) {
            Err(violation) => {
                events.push(violation.to_string());
                break;
            }
            Ok((_, Event::None)) => break,
            Ok((taken, event)) => {
                at += taken;
                events.push(words(event));
            }
        }
    }
    (events, out)
}

fn words(event: Event<'_>) -> String {
    match event {
        Event::None => String::new(),
        Event::Head { slot, head, ends } => format!("{slot} {} {ends}", head.status),
        Event::Content { slot, bytes, ends } => {
            format!("{slot} `{}` {ends}", String::from_utf8_lossy(bytes))
        }
        Event::Ended { slot } => format!("{slot} ended"),
        Event::Reset { slot, code } => format!("{slot} reset {code}"),
        Event::Faulty { slot, fault } => format!("{slot} {fault}"),
        Event::Unprocessed { slot } => format!("{slot} unprocessed"),
        Event::Failed { slot, code } => format!("{slot} failed {code}"),
        Event::Left { code } => format!("left {code}"),
    }
}

fn events(client: &mut Client, bytes: &[u8]) -> Vec<String> {
    told(client, bytes).0
}

/// The types, flags, streams and lengths of the frames in `bytes`.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, usize)> {
    let mut all = Vec::new();
    while let Some(head) = FrameHead::read(bytes) {
        all.push((head.kind, head.flags, head.stream, head.length));
        bytes = &bytes[HEAD_BYTES + head.length..];
    }
    all
}

#[test]
fn a_connection_stands_once_the_settings_came_and_takes_what_they_allow() {
    let mut client = Client::default();
    let mut out = Vec::new();
    client.open(&mut out);
    assert!(out.starts_with(PREFACE) && !client.takes_more());
    let (none, out) = told(&mut client, &settings(&[(3, 2)]));
    assert!(none.is_empty() && client.stands());
    assert_eq!(frames(&out), [(kind::SETTINGS, flag::ACK, 0, 0)]);
    for _ in 0..2 {
        assert!(client.takes_more());
        client.begin(&request(b""), 0, b"", &mut Vec::new());
    }
    assert!(!client.takes_more(), "two at a time");
    told(&mut client, &settings(&[(3, 3)]));
    assert!(client.takes_more(), "one more, in mid-flight");
}

#[test]
fn answers_come_in_any_order_and_in_pieces() {
    let mut client = standing(3, &[]);
    let bytes = [
        head(3, 0, &[OK]),
        head(1, flag::END_STREAM, &[(":status", "204")]),
        data(3, b"ab", 0),
        head(5, 0, &[OK, ("content-length", "1")]),
        data(3, b"c", flag::END_STREAM),
        data(5, b"\x02x\0\0", flag::END_STREAM | flag::PADDED),
    ]
    .concat();
    let all =
        ["1 200 false", "0 204 true", "1 `ab` false", "2 200 false", "1 `c` true", "2 `x` true"];
    assert_eq!(events(&mut client, &bytes), all);
    assert_eq!(client.under_way(), 0);
}

#[test]
fn interim_answers_are_passed_over_and_trailers_end_an_answer() {
    let mut client = standing(1, &[]);
    let bytes = [
        head(1, 0, &[(":status", "103"), ("link", "</a>")]),
        head(1, 0, &[OK]),
        data(1, b"", 0),
        data(1, b"abc", 0),
        head(1, flag::END_STREAM, &[("x-checksum", "1")]),
    ]
    .concat();
    assert_eq!(events(&mut client, &bytes), ["0 200 false", "0 `abc` false", "0 ended"]);
    assert_eq!(client.lines(0), b"HTTP/2 200\r\n\r\n");
}

#[test]
fn a_head_in_pieces_is_put_together_and_nothing_may_stand_within() {
    let whole = block(&[OK, ("x-a", "1234567890")]);
    let (one, two) = whole.split_at(4);
    let padded = [&[1][..], &[0; 5], one, &[0]].concat();
    let flags = flag::PADDED | flag::PRIORITY | flag::END_STREAM;
    let bytes = [
        frame(kind::HEADERS, flags, 1, &padded),
        frame(kind::CONTINUATION, 0, 1, b""),
        frame(kind::CONTINUATION, flag::END_HEADERS, 1, two),
    ];
    let mut client = standing(1, &[]);
    assert_eq!(events(&mut client, &bytes.concat()), ["0 200 true"]);
    assert_eq!(client.lines(0), b"HTTP/2 200\r\nx-a: 1234567890\r\n\r\n");
    let mut client = standing(1, &[]);
    let within = [&bytes[0][..], &data(1, b"x", 0)].concat();
    let refused = "sent another frame within a head (PROTOCOL_ERROR)";
    assert_eq!(events(&mut client, &within), [refused]);
    let mut client = standing(1, &[]);
    let piece = frame(kind::CONTINUATION, 0, 1, &[0; PAYLOAD]);
    let endless = [&bytes[0][..], &piece.repeat(5)].concat();
    let refused = "sent a head that has no end within 64 KiB (ENHANCE_YOUR_CALM)";
    assert_eq!(events(&mut client, &endless), [refused]);
}

const PAYLOAD: usize = crate::frame::PAYLOAD_BYTES;

#[test]
fn a_stream_that_is_refused_or_ended_leaves_the_others_alone() {
    let mut client = standing(3, &[]);
    let bytes = [
        frame(kind::RST_STREAM, 0, 3, &7_u32.to_be_bytes()),
        frame(kind::RST_STREAM, 0, 1, &2_u32.to_be_bytes()),
        head(5, flag::END_STREAM, &[OK]),
        frame(kind::RST_STREAM, 0, 5, &0_u32.to_be_bytes()), // it is over already
    ]
    .concat();
    let all = ["1 reset REFUSED_STREAM", "0 reset INTERNAL_ERROR", "2 200 true"];
    assert_eq!(events(&mut client, &bytes), all);
    assert!(client.takes_more());
}

#[test]
fn what_is_no_answer_ends_its_stream_and_not_the_connection() {
    let mut client = standing(5, &[]);
    let bytes = [
        head(1, flag::END_STREAM, &[("x-a", "no status")]),
        head(3, 0, &[OK, ("content-length", "2")]),
        data(3, b"abc", 0),
        data(3, b"more of it", 0),
        head(5, 0, &[OK, ("content-length", "2")]),
        data(5, b"a", flag::END_STREAM),
        head(7, 0, &[(":status", "101")]),
        head(9, flag::END_STREAM, &[OK]),
    ]
    .concat();
    let (found, out) = told(&mut client, &bytes);
    let long = "sent content that is not as long as its content-length (PROTOCOL_ERROR)";
    let all = [
        "0 sent an answer without a status (PROTOCOL_ERROR)".to_owned(),
        "1 200 false".into(),
        format!("1 {long}"),
        "2 200 false".into(),
        format!("2 {long}"),
        "3 sent an interim answer that is none (PROTOCOL_ERROR)".into(),
        "4 200 true".into(),
    ];
    assert_eq!(found, all);
    let ended: Vec<u32> = frames(&out)
        .iter()
        .map(|(kind, _, id, _)| {
            assert_eq!(*kind, 3);
            *id
        })
        .collect();
    assert_eq!(ended, [1, 3, 5, 7]);
}

#[test]
fn a_farewell_lets_what_is_under_way_end_and_tells_what_was_not_begun() {
    let mut client = standing(3, &[]);
    let goaway = frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0, b'b', b'y', b'e']);
    assert_eq!(events(&mut client, &goaway), ["2 unprocessed"]);
    assert!(!client.takes_more() && !client.is_over());
    let rest = [head(1, flag::END_STREAM, &[OK]), head(3, flag::END_STREAM, &[OK])].concat();
    assert_eq!(events(&mut client, &rest), ["0 200 true", "1 200 true"]);
    assert!(client.is_over());
    let mut idle = standing(0, &[]);
    assert_eq!(events(&mut idle, &goaway), ["left NO_ERROR"]);
    let mut client = standing(2, &[]);
    let error = frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0xb]);
    let all = [0, 1].map(|slot| format!("{slot} failed ENHANCE_YOUR_CALM"));
    assert_eq!(
        events(&mut client, &error),
        [&all[..], &["left ENHANCE_YOUR_CALM".into()]].concat()
    );
}

#[test]
fn a_body_goes_as_far_as_the_windows_allow_in_either_order() {
    let window = |stream: u32, by: u32| frame(kind::WINDOW_UPDATE, 0, stream, &by.to_be_bytes());
    let lengths = |out: &[u8]| -> Vec<(u32, usize, u8)> {
        let of_data = frames(out).into_iter().filter(|(kind, ..)| *kind == kind::DATA);
        of_data.map(|(_, flags, id, length)| (id, length, flags)).collect()
    };
    let mut client = standing(0, &[(4, 10)]);
    let mut out = Vec::new();
    client.begin(&request(&[b'x'; 70_000]), 0, b"", &mut out);
    assert_eq!(lengths(&out), [(1, 10, 0)], "the window of the stream");
    let (_, out) = told(&mut client, &window(1, 60_000));
    assert_eq!(lengths(&out), [(1, PAYLOAD, 0), (1, PAYLOAD, 0), (1, PAYLOAD, 0), (1, 10_848, 0)]);
    let (_, out) = told(&mut client, &settings(&[(4, 20_010)]));
    assert_eq!(lengths(&out), [(1, 5_525, 0)], "65,535 are the window of the connection");
    let (_, out) = told(&mut client, &window(0, 100_000));
    assert_eq!(lengths(&out), [(1, 4_465, flag::END_STREAM)]);
    let mut client = standing(0, &[(4, 10)]);
    client.begin(&request(&[b'x'; 15]), 0, b"", &mut Vec::new());
    let (_, out) = told(&mut client, &[settings(&[(4, 2)]), window(1, 10)].concat());
    assert_eq!(lengths(&out), [(1, 2, 0)], "a window that shrank below zero first has to grow");
    let (found, out) = told(&mut client, &head(1, flag::END_STREAM, &[(":status", "413")]));
    assert_eq!(found, ["0 413 true"]);
    assert_eq!(frames(&out), [(kind::RST_STREAM, 0, 1, 4)], "nobody wants the rest");
    assert!(told(&mut client, &window(0, 10)).1.is_empty());
}

#[test]
fn windows_that_cannot_be_are_refused() {
    let window = |stream: u32, by: u32| frame(kind::WINDOW_UPDATE, 0, stream, &by.to_be_bytes());
    let last = |bytes: &[u8]| events(&mut standing(1, &[]), bytes).pop().unwrap();
    assert!(last(&window(0, 0)).contains("FLOW_CONTROL_ERROR"));
    assert!(last(&window(0, 0x7fff_ffff)).contains("FLOW_CONTROL_ERROR"));
    assert!(last(&window(1, 0)).starts_with("0 sent a window that is none"));
    assert!(last(&window(3, 1)).contains("nobody began"));
    assert!(last(&settings(&[(4, 1 << 31)])).contains("FLOW_CONTROL_ERROR"));
}

#[test]
fn more_is_granted_once_half_is_used_and_nobody_may_send_beyond() {
    let mut client = standing(1, &[]);
    told(&mut client, &head(1, 0, &[OK]));
    let piece = data(1, &vec![0; PAYLOAD], 0);
    let mut granted = Vec::new();
    for _ in 0..=GRANTED as usize / 2 / PAYLOAD {
        granted.extend(frames(&told(&mut client, &piece).1));
    }
    assert_eq!(granted, [(kind::WINDOW_UPDATE, 0, 0, 4), (kind::WINDOW_UPDATE, 0, 1, 4)]);
    client.granted = 10;
    assert_eq!(
        events(&mut client, &data(1, &[0; 11], 0)).pop().unwrap(),
        "sent more content than it may (FLOW_CONTROL_ERROR)"
    );
}

#[test]
fn pings_are_answered_and_idle_talk_has_an_end() {
    let mut client = standing(1, &[]);
    let ping = frame(kind::PING, 0, 0, b"12345678");
    let (_, out) =
        told(&mut client, &[ping.clone(), frame(kind::PING, flag::ACK, 0, b"12345678")].concat());
    assert_eq!(out, frame(kind::PING, flag::ACK, 0, b"12345678"));
    let unknown = frame(0xbe, 0xff, 77, b"anything");
    assert!(events(&mut client, &unknown).is_empty());
    let found = events(&mut client, &ping.repeat(10_001));
    assert_eq!(found, ["sends frame after frame that belongs to no answer (ENHANCE_YOUR_CALM)"]);
}

#[test]
fn a_server_that_takes_a_body_in_small_steps_is_sent_all_of_it() {
    const STEPS: usize = 10_001;
    let window = |stream: u32| frame(kind::WINDOW_UPDATE, 0, stream, &1_u32.to_be_bytes());
    let mut client = standing(0, &[(4, 0)]);
    client.window = 0;
    client.begin(&request(&[b'x'; STEPS + 1]), 0, b"", &mut Vec::new());
    let (found, out) = told(&mut client, &[window(1), window(0)].concat().repeat(STEPS));
    assert_eq!(found, [""; 0]);
    assert_eq!(frames(&out), [(kind::DATA, 0, 1, 1)].repeat(STEPS));
    let idle = window(0).repeat(STEPS);
    let calm = "sends frame after frame that belongs to no answer (ENHANCE_YOUR_CALM)";
    assert_eq!(events(&mut client, &idle), [calm], "none of these lets anything go on");
}

#[test]
fn what_no_server_may_send_ends_the_connection() {
    let refused = |bytes: &[u8]| events(&mut standing(1, &[]), bytes).pop().unwrap_or_default();
    for (bytes, code) in [
        (frame(kind::PUSH_PROMISE, 4, 1, &[0, 0, 0, 2]), "PROTOCOL_ERROR"),
        (frame(kind::SETTINGS, 0, 1, b""), "PROTOCOL_ERROR"),
        (frame(kind::SETTINGS, 1, 0, &[0; 6]), "FRAME_SIZE_ERROR"),
        (frame(kind::PING, 0, 0, b"1"), "FRAME_SIZE_ERROR"),
        (frame(kind::GOAWAY, 0, 0, b"1234567"), "FRAME_SIZE_ERROR"),
        (frame(kind::RST_STREAM, 0, 1, b"123"), "FRAME_SIZE_ERROR"),
        (frame(kind::RST_STREAM, 0, 3, b"1234"), "PROTOCOL_ERROR"),
        (frame(kind::PRIORITY, 0, 1, b"1234"), "FRAME_SIZE_ERROR"),
        (frame(kind::CONTINUATION, 4, 1, b""), "PROTOCOL_ERROR"),
        (data(0, b"x", 0), "PROTOCOL_ERROR"),
        (data(2, b"x", 0), "PROTOCOL_ERROR"),
        (data(1, b"x", 0), "PROTOCOL_ERROR"),
        (data(1, &[9, 0], flag::PADDED), "PROTOCOL_ERROR"),
        (frame(kind::HEADERS, 4, 1, &[0x80]), "COMPRESSION_ERROR"),
        (frame(kind::DATA, 0, 1, &[0; 16_385]), "FRAME_SIZE_ERROR"),
        ([head(1, 1, &[OK]), data(1, b"x", 0)].concat(), "STREAM_CLOSED"),
    ] {
        let found = refused(&bytes);
        assert!(found.ends_with(&format!("({code})")), "{found}: {}", bytes.escape_ascii());
    }
    let early = events(&mut Client::default(), b"HTTP/1.1 400 Bad Request\r\n");
    assert_eq!(early, ["did not begin with its settings (PROTOCOL_ERROR)"]);
}

#[test]
fn what_was_given_up_may_still_come_and_silence_is_told() {
    let mut client = standing(2, &[]);
    let mut out = Vec::new();
    told(&mut client, &[head(1, 0, &[OK]), data(1, b"a", 0)].concat());
    told(&mut client, &data(1, b"0123456789", 0)[..12]); // a part of a frame
    assert!(client.cancel(0, &mut out));
    assert_eq!(frames(&out), [(kind::RST_STREAM, 0, 1, 4)]);
    let rest =
        [&b"3456789"[..], &data(1, b"x", flag::END_STREAM), &head(3, flag::END_STREAM, &[OK])]
            .concat();
    assert_eq!(events(&mut client, &rest), ["1 200 true"]);
    let slot = client.begin(&request(b""), 0, b"", &mut out);
    assert!(!client.cancel(slot, &mut out), "nothing has come since it began");
}

#[test]
fn a_head_like_the_last_is_not_decoded_again_unless_the_table_has_changed() {
    let mut client = standing(4, &[]);
    let kept = [&[0x88, 0x40, 3][..], b"x-a", &[1, b'1']].concat(); // x-a goes into the table
    let referring = [0x88, 0xbe]; // to its first entry
    let answer = |id: u32, block: &[u8]| frame(kind::HEADERS, 5, id, block);
    let number = |client: &mut Client, bytes: &[u8]| match client.read(bytes, &mut Vec::new()) {
        Ok((_, Event::Head { head, .. })) => (head.number, client.lines(0).to_vec()),
        other => panic!("{other:?}"),
    };
    let one = b"HTTP/2 200\r\nx-a: 1\r\n\r\n".to_vec();
    assert_eq!(number(&mut client, &answer(1, &kept)), (1, one.clone()));
    assert_eq!(number(&mut client, &answer(3, &referring)), (2, one.clone()));
    assert_eq!(number(&mut client, &answer(5, &referring)), (2, one.clone()));
    client.begin(&request(b""), 1, b"", &mut Vec::new());
    let other = [&[0x88, 0x40, 3][..], b"x-a", &[1, b'2']].concat();
    told(&mut client, &answer(9, &other));
    let two = b"HTTP/2 200\r\nx-a: 2\r\n\r\n".to_vec();
    assert_eq!(number(&mut client, &answer(7, &referring)), (4, two));
}

#[test]
fn a_table_that_the_server_wants_smaller_is_confirmed_in_the_next_head() {
    let mut client = standing(0, &[(1, 0)]);
    let mut out = Vec::new();
    client.begin(&request(b""), 0, b"", &mut out);
    assert_eq!(out[HEAD_BYTES], hpack::NO_TABLE);
    let first = out.len();
    client.begin(&request(b""), 0, b"", &mut out);
    assert_eq!(out[first + HEAD_BYTES], 0x83, "once");
}
