//! `plumb http record` end to end: what passes is what is written, nothing secret is, and whatever
//! goes wrong is recorded as what it was.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use kit::PATIENCE;
use kit::authority::Authority;
use kit::http::{Reply, ReplyServer};
use kit::message::{head, rest};
use kit::peer::nobody;
use kit::recorder::{Recorder, encrypted};
use kit::web::Web;
use serde_json::{Value, json};
use tempfile::tempdir;

pub(crate) fn echo(request: &str, _: usize) -> Reply {
    Reply::page(request.lines().next().unwrap_or_default())
}

fn header<'a>(message: &'a Value, name: &str) -> &'a Value {
    let headers = message["headers"].as_array().expect("headers");
    headers.iter().find(|pair| pair["name"] == name).map_or(&Value::Null, |pair| &pair["value"])
}

/// A server that sends bytes of its own making, on a thread for each connection: whichever comes
/// first keeps none waiting. Where it listens.
fn raw_server(answer: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            stream.set_read_timeout(Some(PATIENCE)).expect("it is above zero");
            thread::spawn(move || answer(stream));
        }
    });
    address
}

#[test]
fn requests_are_forwarded_as_they_are_and_written_without_their_secrets() {
    let site = ReplyServer::start(|request, number| match number {
        0 => Reply::answer(
            302,
            "Location: /home?sid=geheim\r\nSet-Cookie: sid=geheim; Path=/\r\n",
            "",
        ),
        _ => echo(request, number),
    });
    let recorder = Recorder::start(&[]);
    let mut client = Web::connect(&recorder.address);
    let form = b"user=demo&password=geheim";
    let lines = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Authorization", "Basic geheim"),
        ("Accept-Encoding", "gzip, br"),
        ("Proxy-Connection", "keep-alive"),
    ];
    client.ask("POST", &site.url("/in?token=geheim&a=b"), &lines, form).with(302);
    let login = recorder.recorded();
    let lines = [("Cookie", "sid=geheim; theme=dark")];
    let page = client.ask("GET", &site.url("/home"), &lines, b"").with(200);
    assert_eq!(page.text(), "GET /home HTTP/1.1");
    let place = site.address;
    assert_eq!(login, format!("POST http://{place}/in 302"));
    assert_eq!(recorder.recorded(), format!("GET http://{place}/home 200"));

    let asked = site.asked();
    assert!(asked[0].contains("Authorization: Basic geheim\r\n"), "{}", asked[0]);
    assert!(asked[0].contains(&format!("Host: {place}\r\n")), "{}", asked[0]);
    assert!(asked[0].contains("Accept-Encoding: gzip\r\n"), "{}", asked[0]);
    assert!(!asked[0].contains("Proxy-Connection"), "{}", asked[0]);
    assert!(asked[1].contains("Cookie: sid=geheim; theme=dark\r\n"), "{}", asked[1]);

    assert!(!recorder.text().contains("geheim"), "{}", recorder.text());
    let entries = recorder.entries();
    let [login, home] = entries.as_slice() else { panic!("two entries: {entries:#?}") };
    let (request, response) = (&login["request"], &login["response"]);
    assert_eq!(request["url"], format!("http://{place}/in?token=MASKED&a=b"));
    assert_eq!(request["postData"]["text"], "user=demo&password=MASKED");
    assert_eq!(header(request, "authorization"), "Basic MASKED");
    assert_eq!(
        (&response["status"], &response["redirectURL"]),
        (&json!(302), &json!("/home?sid=MASKED"))
    );
    assert_eq!(header(response, "set-cookie"), "sid=MASKED; Path=/");
    assert_eq!(home["request"]["cookies"][1], json!({"name": "theme", "value": "MASKED"}));
    assert_eq!(home["response"]["content"]["text"], "GET /home HTTP/1.1");
    // the second request went over the connection of the first
    assert!(login["timings"]["connect"].as_f64() >= Some(0.0), "{login:#}");
    assert_eq!(home["timings"]["connect"], -1.0);
    // without a body there is nothing to send but the head, and something to wait for
    assert_eq!(home["timings"]["send"], 0.0);
    assert!(home["timings"]["wait"].as_f64() > Some(0.0), "{home:#}");

    let mut shown = login.clone();
    for figures in ["startedDateTime", "time", "timings"] {
        shown.as_object_mut().expect("an entry").remove(figures);
    }
    let shown = serde_json::to_string_pretty(&shown).expect("it was text before");
    kit::golden::check("http-record-entry.txt", &kit::golden::without_figures(&shown));

    let (ended, _folder) = recorder.stop();
    assert!(ended.with(0).stdout.starts_with("2 requests in "));
}

/// The content of an answer in chunks, wherever they were cut.
fn joined(answer: &str) -> String {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    body.split("\r\n").skip(1).step_by(2).collect()
}

#[test]
fn every_framing_passes_and_is_measured() {
    let chunks = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n\
                  5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n";
    let site = ReplyServer::start(move |request, _| {
        let target = request.split(' ').nth(1).unwrap_or_default();
        match target {
            "/chunks" => Reply::Drip(chunks.into()),
            "/close" => {
                Reply::Close(b"HTTP/1.0 200 Fine\r\nContent-Type: text/plain\r\n\r\nold".into())
            }
            "/same" => Reply::Keep(b"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n".into()),
            "/head" => Reply::Keep(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n".into()),
            _ => Reply::answer(201, "", ""),
        }
    });
    let recorder = Recorder::start(&[]);
    assert_eq!(joined(&recorder.get(&site.url("/chunks"))), "hello!");
    assert!(recorder.get(&site.url("/close")).contains("old"));
    assert!(recorder.get(&site.url("/same")).starts_with("HTTP/1.1 304 "));
    let url = site.url("/head");
    let request = format!("HEAD {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(recorder.ask(request.as_bytes()).contains("12\r\n"));

    // a client that waits to be told to go on
    let mut client = recorder.connect();
    let url = site.url("/post");
    let request = format!(
        "POST {url} HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\
         Expect: 100-continue\r\nConnection: close\r\n\r\n"
    );
    client.write_all(request.as_bytes()).expect("it is taken");
    assert_eq!(head(&mut client), "HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(b"hello").expect("it is taken");
    assert!(head(&mut client).starts_with("HTTP/1.1 201 "));

    let outcomes: Vec<String> = (0..5).map(|_| recorder.recorded()).collect();
    assert!(outcomes[4].ends_with("/post 201"), "{outcomes:?}");
    let entries = recorder.entries();
    let seen: Vec<_> = entries
        .iter()
        .map(|entry| {
            let response = &entry["response"];
            (
                response["status"].as_i64(),
                response["bodySize"].as_i64(),
                &response["content"]["text"],
            )
        })
        .collect();
    let none = &Value::Null;
    assert_eq!(seen[0], (Some(200), Some(6), &json!("hello!")));
    assert_eq!(seen[1], (Some(200), Some(3), &json!("old")));
    assert_eq!(
        seen[2..],
        [(Some(304), Some(0), none), (Some(200), Some(0), none), (Some(201), Some(0), none)]
    );
    assert_eq!(entries[1]["response"]["httpVersion"], "HTTP/1.0");
    assert_eq!(entries[1]["response"]["statusText"], "Fine");
    assert_eq!(entries[4]["request"]["postData"]["text"], "hello");
}

#[test]
fn a_server_that_closes_without_a_word_is_asked_again() {
    let site = ReplyServer::start(|request, _| {
        let page = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{request}", request.len());
        Reply::Close(page.into())
    });
    let recorder = Recorder::start(&[]);
    let mut client = Web::connect(&recorder.address);
    for number in 0..20 {
        let path = format!("/{number}");
        let page = client.ask("GET", &site.url(&path), &[], b"").with(200).text();
        assert!(page.starts_with(&format!("GET {path} ")), "{page}");
        assert!(recorder.recorded().ends_with(&format!("{path} 200")));
    }
    assert_eq!((site.asked().len(), recorder.entries().len()), (20, 20));
    let (ended, _folder) = recorder.stop();
    assert!(ended.with(0).stdout.starts_with("20 requests in "));
}

#[test]
fn what_goes_wrong_is_recorded_as_what_it_was() {
    let site = ReplyServer::start(|request, _| match request.split(' ').nth(1) {
        Some("/cut") => Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".into()),
        Some("/mute") => Reply::Close(Vec::new()),
        Some("/odd") => Reply::Close(b"SSH-2.0-OpenSSH\r\n".into()),
        _ => Reply::page("fine"),
    });
    let recorder = Recorder::start(&[]);
    assert!(recorder.get(&site.url("/cut")).ends_with("half"));
    let said = recorder.recorded();
    assert!(said.contains("/cut 200: the body of the answer broke off"), "{said}");
    for path in ["/mute", "/odd"] {
        assert!(recorder.get(&site.url(path)).starts_with("HTTP/1.1 502 "));
        let said = recorder.recorded();
        assert!(
            said.contains(&format!("{path} no answer: {} gave no answer", site.address)),
            "{said}"
        );
    }
    let gone = nobody();
    assert!(
        recorder.get(&format!("http://{gone}/")).contains(&format!("cannot connect to {gone}"))
    );
    assert!(recorder.recorded().contains("no answer: cannot connect"));
    let itself = format!("http://{}/", recorder.address);
    assert!(recorder.get(&itself).contains("is this proxy itself"));
    assert!(recorder.recorded().contains("is this proxy itself"));
    assert!(recorder.get(&site.url("/")).ends_with("fine"));
    recorder.recorded();
    let entries = recorder.entries();
    let cut = &entries[0];
    assert_eq!(
        (&cut["response"]["status"], &cut["response"]["bodySize"]),
        (&json!(200), &json!(4))
    );
    assert!(cut["comment"].as_str().is_some_and(|text| text.contains("broke off")), "{cut:#}");
    let statuses: Vec<_> = entries.iter().map(|it| it["response"]["status"].as_i64()).collect();
    assert_eq!(statuses, [200, 0, 0, 0, 0, 200].map(Some));
}

#[test]
fn what_is_no_request_ends_its_own_connection_only() {
    let site = ReplyServer::start(echo);
    let recorder = Recorder::start(&[]);
    for garbage in
        [b"\x16\x03\x01\x02\x00\x01\xff".as_slice(), b"\0\0\0\0\r\n\r\n", b"SSH-2.0-x\r\n\r\n"]
    {
        recorder.ask(garbage);
        recorder.log("no request of HTTP/1.1");
    }
    let long = format!("GET http://x/ HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(1 << 20));
    recorder.ask(long.as_bytes());
    recorder.log("no request of HTTP/1.1");
    for (request, said) in [
        ("GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "name it to a client"),
        ("GET https://x/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "through CONNECT"),
        (
            "GET http://a:b@x/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            "belong into a header",
        ),
        ("CONNECT x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "CONNECT wants HOST:PORT"),
    ] {
        let answer = recorder.ask(request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains(said), "{answer}");
    }
    let (_stream, refused) = recorder.tunnel(&nobody());
    assert!(refused.starts_with("HTTP/1.1 502 "), "{refused}");
    recorder.log("no tunnel: cannot connect");
    // a client that goes away while it waits
    let (asks, asked) = mpsc::channel();
    let silent = ReplyServer::start(move |_, _| {
        asks.send(()).expect("somebody waits");
        Reply::Silence
    });
    let mut client = recorder.connect();
    let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", silent.url("/wait"));
    client.write_all(request.as_bytes()).expect("it is taken");
    asked.recv_timeout(PATIENCE).expect("the request arrives");
    drop(client);
    assert!(
        recorder
            .recorded()
            .ends_with("no answer: the client did not wait for the end of the answer")
    );
    assert!(recorder.get(&site.url("/")).ends_with("GET / HTTP/1.1"));
    assert!(recorder.recorded().ends_with("/ 200"));
    assert_eq!(recorder.entries().len(), 2);
}

#[test]
fn only_named_hosts_are_opened() {
    let folder = tempdir().expect("a temporary folder");
    let theirs = Authority::new(folder.path(), "theirs");
    let site = ReplyServer::encrypted(&theirs.sign("127.0.0.1"), echo);
    let place = site.address.to_string();
    let page = "GET /page?pwd=geheim HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

    // without a word everything passes through: the client sees the server's own certificate
    let recorder = Recorder::start(&[]);
    let (stream, head) = recorder.tunnel(&place);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let mut tls = encrypted(stream, Path::new(&theirs.ca()), "127.0.0.1").expect("their own");
    tls.write_all(page.as_bytes()).expect("it is taken");
    assert!(kit::message::head(&mut tls).starts_with("HTTP/1.1 200 "));
    drop(tls);
    recorder.log("127.0.0.1 passes through and is not recorded; --intercept 127.0.0.1 opens it");
    assert!(!recorder.authority().exists());
    let (ended, _folder) = recorder.stop();
    let ended = ended.with(0);
    assert!(ended.stdout.contains("0 requests in "), "{ended:?}");
    assert!(ended.stdout.contains("not recorded: connections through to 127.0.0.1"), "{ended:?}");

    let recorder = Recorder::start(&["--intercept", "127.0.0.1", "--ca", &theirs.ca()]);
    let introduced = recorder.said();
    assert_eq!(introduced, format!("authority: {}", recorder.authority().display()));
    let (stream, _) = recorder.tunnel(&place);
    let mut tls = encrypted(stream, &recorder.authority(), "127.0.0.1").expect("ours");
    tls.write_all(page.as_bytes()).expect("it is taken");
    assert!(rest(&mut tls).ends_with("GET /page?pwd=geheim HTTP/1.1"));
    assert_eq!(recorder.recorded(), format!("GET https://{place}/page 200"));
    let entry = &recorder.entries()[0];
    assert_eq!(entry["request"]["url"], format!("https://{place}/page?pwd=MASKED"));
    assert!(entry["timings"]["ssl"].as_f64() > Some(0.0), "{entry:#}");
    // a client that was not told to trust it
    let (stream, _) = recorder.tunnel(&place);
    assert!(encrypted(stream, Path::new(&theirs.ca()), "127.0.0.1").is_err());
    recorder.log("does it trust the authority?");
    assert_eq!(recorder.entries().len(), 1);
}

#[test]
fn a_server_that_proves_nothing_is_not_asked() {
    let folder = tempdir().expect("a temporary folder");
    let strangers = Authority::new(folder.path(), "strangers");
    let site = ReplyServer::encrypted(&strangers.sign("127.0.0.1"), echo);
    let known = Authority::new(folder.path(), "known");
    let recorder = Recorder::start(&["--intercept", "*", "--ca", &known.ca()]);
    let (stream, _) = recorder.tunnel(&site.address.to_string());
    let mut tls = encrypted(stream, &recorder.authority(), "127.0.0.1").expect("ours");
    tls.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("it is taken");
    let answer = rest(&mut tls);
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("with --ca FILE"), "{answer}");
    assert!(recorder.recorded().contains("no answer: no TLS with 127.0.0.1"));
    assert!(site.asked().is_empty());
    // no option helps here
    let expired = ReplyServer::encrypted(&known.sign_until("127.0.0.1", 2005), echo);
    let (stream, _) = recorder.tunnel(&expired.address.to_string());
    let mut tls = encrypted(stream, &recorder.authority(), "127.0.0.1").expect("ours");
    tls.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("it is taken");
    let answer = rest(&mut tls);
    assert!(answer.contains("a certificate that has expired: renew it"), "{answer}");
    assert!(!answer.contains("--ca"), "{answer}");
}

#[test]
fn a_changed_protocol_passes_through_in_every_way() {
    let place = raw_server(|mut stream| {
        let asked = head(&mut stream);
        assert!(asked.to_ascii_lowercase().contains("upgrade: websocket"), "{asked}");
        let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                      Connection: Upgrade\r\n\r\n";
        stream.write_all(answer.as_bytes()).expect("it is taken");
        let mut bytes = [0; 4];
        stream.read_exact(&mut bytes).expect("four bytes");
        stream.write_all(&bytes).expect("they are taken");
    });
    let recorder = Recorder::start(&["--intercept", "*"]);
    let upgrade = "Host: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let mut direct = recorder.connect();
    let request = format!("GET http://{place}/ws HTTP/1.1\r\n{upgrade}");
    direct.write_all(request.as_bytes()).expect("it is taken");
    // as browsers do: a tunnel in which nothing is encrypted
    let (mut inside, _) = recorder.tunnel(&place);
    inside.write_all(format!("GET /ws HTTP/1.1\r\n{upgrade}").as_bytes()).expect("it is taken");
    for stream in [&mut direct, &mut inside] {
        let answer = head(stream);
        assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
        stream.write_all(b"ping").expect("it is taken");
        assert_eq!(rest(stream), "ping");
        let said = recorder.recorded();
        assert!(said.starts_with(&format!("GET http://{place}/ws 101: ")), "{said}");
        assert!(said.contains("passes through and is not recorded"), "{said}");
    }
}
