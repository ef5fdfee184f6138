//! `$batch` end to end: its parts, its memory, and clients that do not take what they asked for.

use crate::kit;

use kit::Server;
use kit::web::{DEMO, Reply, Web};
use serde_json::json;

const STANDARD: &str = "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT";
const KIND: (&str, &str) = ("Content-Type", "multipart/mixed; boundary=b");

fn part(head: &str, request: &str) -> String {
    format!("--b\r\nContent-Type: application/http\r\n{head}\r\n{request}\r\n\r\n")
}

fn send(web: &mut Web, body: &str, headers: &[(&str, &str)]) {
    web.send("POST", &format!("{STANDARD}/$batch"), headers, body.as_bytes());
}

fn ask(web: &mut Web, body: &str) -> Reply {
    send(web, body, &[DEMO, KIND]);
    web.answer().expect("an answer")
}

/// The parts of an answer, each from its MIME headers on.
fn parts(answer: &Reply) -> Vec<String> {
    let kind = answer.header("content-type");
    let boundary = kind.split_once("boundary=").expect("a boundary").1;
    let text = answer.text();
    let whole = text.strip_suffix(&format!("--{boundary}--\r\n")).expect("the last boundary");
    whole.split(&format!("--{boundary}\r\n")).skip(1).map(str::to_owned).collect()
}

#[test]
fn every_part_has_an_answer_in_its_form_and_under_its_name() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let mut web = server.web();
    let json = "Accept: application/json\r\n";
    let changes = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\nContent-ID: 5\r\n\r\n--c\r\n\
        Content-Type: application/http\r\nContent-ID: 6\r\n\r\nPOST FlightCollection HTTP/1.1\r\n\
        Accept: application/json\r\nContent-Length: 2\r\n\r\n{}\r\n--c--\r\n";
    let body =
        part("Content-ID: 1\r\n", &format!("GET CarrierCollection('LH') HTTP/1.1\r\n{json}"))
            + &part(
                "Content-ID: two\r\n",
                "GET CarrierCollection('LH') HTTP/1.1\r\nContent-ID: in\r\n",
            )
            + &part("", &format!("GET Nothing HTTP/1.1\r\n{json}"))
            + changes
            + &part("", &format!("GET {STANDARD}/FlightCollection/$count HTTP/1.1\r\n"))
            + &part("", "DELETE CarrierCollection('LH') HTTP/1.1\r\n")
            + "--b--\r\n";
    let answer = ask(&mut web, &body).with(202);
    assert_eq!(answer.header("dataserviceversion"), "2.0");
    let parts = parts(&answer);
    assert_eq!(parts.len(), 6, "{parts:#?}");
    let holds = |number: usize, texts: &[&str]| {
        for text in texts {
            assert!(parts[number].contains(text), "{text}: {}", parts[number]);
        }
    };
    holds(0, &["Content-ID: 1\r\n", "HTTP/1.1 200 OK", "application/json", "\"Lufthansa\""]);
    holds(0, &["server-timing: queue;dur="]);
    holds(1, &["Content-ID: two\r\n", "HTTP/1.1 200 OK", "application/atom+xml;type=entry"]);
    holds(1, &["content-id: in\r\n"]);
    holds(2, &["HTTP/1.1 404 Not Found", "{\"error\":{\"code\":\"PLUMB/404\""]);
    holds(3, &["Content-ID: 5\r\n", "HTTP/1.1 400 Bad Request", "{\"error\":{"]);
    holds(3, &["a new Flight needs `carrid`"]);
    holds(4, &["HTTP/1.1 200 OK", "\r\n\r\n400\r\n"]);
    holds(5, &["HTTP/1.1 405 Method Not Allowed", "{\"error\":{"]);
    for part in &parts {
        let (_, inner) = part.split_once("\r\n\r\n").expect("MIME headers");
        let (head, body) = inner.split_once("\r\n\r\n").expect("headers");
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        assert_eq!(length.map(str::parse), Some(Ok(body.len() - 2)), "{part}");
    }
}

#[test]
fn a_batch_that_cannot_be_understood_is_refused_as_a_whole() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    let good = part("", "GET CarrierCollection HTTP/1.1\r\n") + "--b--\r\n";
    ask(&mut web, "--b nonsense").with(400);
    ask(&mut web, &good.replace("--b--", "")).with(400);
    // what is refused before it was read may end its connection
    let refused = |headers: &[(&str, &str)]| {
        let mut web = server.web();
        send(&mut web, &good, headers);
        web.answer().expect("an answer")
    };
    refused(&[DEMO]).with(400);
    refused(&[KIND]).with(401);
    web.get(&format!("{STANDARD}/$batch")).with(405);
    let json = [DEMO, ("Accept", "application/json"), ("Content-Type", "text/plain")];
    let message = refused(&json).with(400).json();
    assert!(message["error"]["message"]["value"].is_string(), "{message}");
    // who asks is said by the batch, not by its parts
    let other = good.replace("HTTP/1.1\r\n", "HTTP/1.1\r\nAuthorization: Basic eDp5\r\n");
    assert!(parts(&ask(&mut web, &other).with(202))[0].contains("HTTP/1.1 200 OK"));
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn slow_readers_of_batches_hold_little_memory_and_no_work_process() {
    const READERS: usize = 8;
    const PARTS: usize = 40;
    let config =
        "[front]\nbatch-memory = \"32MiB\"\nstall = \"10m\"\n[dispatcher]\nwork-processes = 2\n";
    let (_folder, server) = Server::configured(config);
    let body = part("", "GET FlightCollection HTTP/1.1\r\n").repeat(PARTS) + "--b--\r\n";
    assert!(body.len() < 3_000);
    let mut readers: Vec<Web> = (0..READERS).map(|_| server.web()).collect();
    for reader in &mut readers {
        send(reader, &body, &[DEMO, KIND]);
    }
    // with nobody taking anything, others are served
    let mut web = server.web();
    web.get(&format!("{STANDARD}/CarrierCollection")).with(200);
    for reader in &mut readers {
        let answer = reader.answer().expect("an answer").with(202);
        assert!(answer.body.len() > PARTS * 800_000, "{}", answer.body.len());
        let parts = parts(&answer);
        assert_eq!(parts.len(), PARTS);
        assert!(parts.iter().all(|part| part.contains("HTTP/1.1 200 OK")));
    }
    let batches = web.get("/status.json").with(200).json()["batches"].clone();
    assert_eq!((&batches["size"], &batches["used"]), (&json!(32 << 20), &json!(0)));
    assert!(batches["used_max"].as_u64() <= Some(32 << 20), "{batches}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id()));
    let status = status.expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak_kib = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
    // all answers together are 250 MiB and more
    assert!(peak_kib.expect("a number") < 120 << 10, "{peak:?}");
    server.stop().with(0);
}
