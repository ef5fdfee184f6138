//! `plumb db ping` against a peer that speaks SAP HANA's protocol as far as a ping needs it. It is written
//! from the published protocol (SQL Command Network Protocol); there is no SAP HANA in any of these tests.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Mutex;

use ring::{digest, hmac, pbkdf2};

use crate::kit::Ended;
use crate::kit::sql_peer::{self, SqlPeer};

const SALT: [u8; 16] = [0x51; 16];
const CHALLENGE: [u8; 48] = [0x52; 48];
/// A server asks for 15,000, which take a test too long.
const ROUNDS: u32 = 1_000;

/// What somebody asked: by which message, whether it commits, and the text of a statement.
type Asked = (u8, bool, String);

const TOLD: (&str, &str) = ("HDB_PASSWORD", "sesame");

type SapHana = SqlPeer<Vec<Asked>>;

impl SapHana {
    fn ping(&self, words: &[&str], folder: &Path) -> Ended {
        sql_peer::ping(&format!("hana://ME@{}/ERP", self.address), TOLD, words, folder)
    }
}

fn converse(mut stream: TcpStream, heard: &Mutex<Vec<Asked>>) -> Option<()> {
    let mut hello = [0; 14];
    stream.read_exact(&mut hello).ok()?;
    assert_eq!(hello[..4], [0xff; 4]);
    stream.write_all(&[4, 20, 0, 4, 1, 0, 0, 0]).ok()?;
    let (mut theirs, mut is_query) = (Vec::new(), false);
    loop {
        let mut head = [0; 32];
        stream.read_exact(&mut head).ok()?;
        let length = u32::from_le_bytes(head[12..16].try_into().ok()?);
        let mut payload = vec![0; usize::try_from(length).ok()?];
        stream.read_exact(&mut payload).ok()?;
        let (ask, commits) = (payload[13], payload[14] == 1);
        let text = String::from_utf8_lossy(part(&payload, 3).unwrap_or_default()).into_owned();
        let said = match ask {
            65 => challenge(&payload, &mut theirs),
            66 => connected(&payload, &theirs),
            77 => return None,
            3 => {
                is_query = text.starts_with("SELECT");
                let function = if is_query { 5 } else { 2 };
                reply(2, function, &[(10, 0, 1, &[6; 8])])
            }
            68 => reply(2, 12, &[(39, 0, 1, &time(1))]),
            _ => answer(&text, if text.is_empty() { is_query } else { text.starts_with("SELECT") }),
        };
        heard.lock().expect("nobody broke off").push((ask, commits, text));
        stream.write_all(&said).ok()?;
    }
}

/// A reply of one segment.
fn reply(kind: u8, function: i16, parts: &[(u8, u8, i16, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, attributes, count, data) in parts {
        let length = u32::try_from(data.len()).expect("short").to_le_bytes();
        body.extend([*kind, *attributes]);
        body.extend(count.to_le_bytes());
        body.extend([0; 4]);
        body.extend(length);
        body.extend([0, 0, 2, 0]);
        body.extend(*data);
        body.resize(body.len().next_multiple_of(8), 0);
    }
    let length = u32::try_from(24 + body.len()).expect("short").to_le_bytes();
    let count = u8::try_from(parts.len()).expect("few");
    let mut out = Vec::new();
    out.extend(77_i64.to_le_bytes()); // the session
    out.extend([0; 4]);
    out.extend(length);
    out.extend([0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.extend(length);
    out.extend([0, 0, 0, 0, count, 0, 1, 0, kind, 0]);
    out.extend(function.to_le_bytes());
    out.extend([0; 8]);
    [out, body].concat()
}

/// Values behind each other, each with its length in a byte.
fn fields(values: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![u8::try_from(values.len()).expect("few"), 0];
    for value in values {
        out.push(u8::try_from(value.len()).expect("short"));
        out.extend(*value);
    }
    out
}

/// The bytes of the part of this kind.
fn part(payload: &[u8], kind: u8) -> Option<&[u8]> {
    let mut at = 24;
    while let Some(head) = payload.get(at..at + 16) {
        let size = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        let size = usize::try_from(size).expect("short");
        if head[0] == kind {
            return payload.get(at + 16..at + 16 + size);
        }
        at += 16 + size.next_multiple_of(8);
    }
    None
}

/// The values of the authentication.
fn values(payload: &[u8]) -> Vec<Vec<u8>> {
    let data = part(payload, 33).expect("an authentication");
    let (mut at, mut found) = (2, Vec::new());
    for _ in 0..u16::from_le_bytes([data[0], data[1]]) {
        let length = usize::from(data[at]);
        found.push(data[at + 1..at + 1 + length].to_vec());
        at += 1 + length;
    }
    found
}

fn challenge(payload: &[u8], theirs: &mut Vec<u8>) -> Vec<u8> {
    let values = values(payload);
    let at = values.iter().position(|it| it == b"SCRAMPBKDF2SHA256").expect("it is offered");
    theirs.clone_from(&values[at + 1]);
    let data = fields(&[&SALT, &CHALLENGE, &ROUNDS.to_be_bytes()]);
    reply(2, 0, &[(33, 0, 1, &fields(&[b"SCRAMPBKDF2SHA256", &data]))])
}

fn connected(payload: &[u8], theirs: &[u8]) -> Vec<u8> {
    let sum = |key: &[u8], parts: &[&[u8]]| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        hmac::sign(&key, &parts.concat()).as_ref().to_vec()
    };
    let hash = |bytes: &[u8]| digest::digest(&digest::SHA256, bytes).as_ref().to_vec();
    let mut salted = [0; 32];
    let rounds = NonZeroU32::new(ROUNDS).expect("some");
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &SALT, b"sesame", &mut salted);
    let key = hash(&salted);
    let signed = sum(&hash(&key), &[&SALT, &CHALLENGE, theirs]);
    let proof: Vec<u8> = signed.iter().zip(&key).map(|(one, other)| one ^ other).collect();
    if !values(payload)[2].ends_with(&proof) {
        return failed(10, "authentication failed");
    }
    let ours = sum(&sum(&salted, &[&SALT]), &[theirs, &SALT, &CHALLENGE]);
    let proven = fields(&[b"SCRAMPBKDF2SHA256", &fields(&[&ours])]);
    let version = b"2.00.077.00.1718000000";
    let option = [&[44, 29, 22, 0][..], version].concat();
    reply(2, 14, &[(33, 0, 1, &proven), (42, 0, 1, &option)])
}

fn failed(number: i32, message: &str) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("short").to_le_bytes();
    let data =
        [&number.to_le_bytes()[..], &[0; 4], &length, &[1], b"HY000", message.as_bytes()].concat();
    reply(5, 0, &[(6, 0, 1, &data)])
}

/// What the server says of its time, microseconds.
fn time(us: i64) -> Vec<u8> {
    [&[2, 4][..], &us.to_le_bytes()].concat()
}

/// The answer to a statement: a row of numbers to a query.
fn answer(text: &str, is_query: bool) -> Vec<u8> {
    let row = |numbers: &[i64]| -> Vec<u8> {
        numbers.iter().flat_map(|number| [&[1][..], &number.to_le_bytes()].concat()).collect()
    };
    let time = time(2);
    let rows = if text.contains("M_SQL_PLAN_CACHE") {
        row(&[60, 900])
    } else if text.contains("EXPLAIN_PLAN_TABLE") {
        [&[22][..], b"COLUMN TABLE, rows: 40"].concat()
    } else if text.contains("M_LOCK_WAITS") {
        return failed(258, "insufficient privilege");
    } else if !is_query {
        return reply(2, 2, &[(12, 0, 1, &[1, 0, 0, 0]), (39, 0, 1, &time)]);
    } else {
        row(&[1])
    };
    // one column without a name, of BIGINT
    let column = [&[2, 4, 0, 0, 0, 0, 0, 0][..], &[0xff; 16]].concat();
    let parts: [(u8, u8, i16, &[u8]); 3] =
        [(48, 0, 1, &column), (5, 17, 1, &rows), (39, 0, 1, &time)];
    reply(2, 5, &parts)
}

#[test]
fn a_ping_tells_what_the_server_says_of_itself_and_what_it_does_not() {
    let (server, folder) = (SapHana::start(converse), tempfile::tempdir().expect("a folder"));
    let ended = server.ping(&["--over", "kept,pool,connect"], folder.path()).with(0);
    for found in sql_peer::attributions(&ended, "SAP HANA") {
        let of_statement = &found["readings"][0];
        assert_eq!(of_statement["source"], "M_SQL_PLAN_CACHE");
        assert!(of_statement["about"].to_string().contains("no execution"), "{of_statement}");
        let locks = found["readings"][1]["about"].to_string();
        assert!(locks.contains("CATALOG READ"), "{locks}");
    }
    assert!(!ended.stdout.contains("sesame"));
    let asked = server.asked.lock().expect("whole");
    assert!(asked.iter().any(|(_, _, text)| text == "SET SCHEMA \"ERP\""));
}

#[test]
fn a_statement_is_asked_where_the_server_finds_it_to_be_a_query_or_is_rolled_back() {
    let (server, folder) = (SapHana::start(converse), tempfile::tempdir().expect("a folder"));
    let own = |text| ["--ask", "own", "--over", "kept", "--statement", text];
    server.ping(&own("SELECT A FROM T"), folder.path()).with(0);
    let insert = own("INSERT INTO T VALUES (1)");
    let other = folder.path().join("other");
    std::fs::create_dir(&other).expect("it is ours");
    let refused = server.ping(&insert, &other).with(2);
    assert!(refused.stderr.contains("--allow-writes"), "{}", refused.stderr);
    let ran = |ask: &Asked| ask.0 == 13 && !ask.1;
    assert!(!server.asked.lock().expect("whole").iter().any(ran), "nothing was left uncommitted");
    server.ping(&[&insert[..], &["--allow-writes"]].concat(), &other).with(0);
    let asked = server.asked.lock().expect("whole");
    let (runs, rolled_back) =
        (asked.iter().filter(|it| ran(it)).count(), asked.iter().filter(|it| it.0 == 68).count());
    assert!(runs >= 60 && rolled_back >= runs, "{runs} {rolled_back}");
}

#[test]
fn what_the_server_refuses_is_said_with_what_to_do() {
    let (server, folder) = (SapHana::start(converse), tempfile::tempdir().expect("a folder"));
    let run =
        |password, words: &[&str]| sql_peer::run(words, ("HDB_PASSWORD", password), folder.path());
    let url = format!("hana://ME@{}", server.address);
    let wrong = run("wide-open", &["db", "ping", &url]).with(2);
    assert!(wrong.stderr.contains("authentication failed"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("HDB_PASSWORD") && !wrong.stderr.contains("wide-open"));
    let strict = run("sesame", &["db", "ping", &format!("{url}?encrypt=true")]).with(2);
    assert!(strict.stderr.contains("no encrypted connection"), "{}", strict.stderr);
}

#[test]
fn the_plan_of_a_statement_is_told_and_nothing_of_it_stays() {
    let (server, folder) = (SapHana::start(converse), tempfile::tempdir().expect("a folder"));
    let own = ["--ask", "own", "--over", "kept", "--explain", "--statement", "SELECT A FROM T"];
    let ended = server.ping(&own, folder.path()).with(0);
    let readings = ended.json()["results"][0]["attribution"]["readings"].clone();
    assert_eq!(readings[1]["source"], "EXPLAIN PLAN", "{readings:#}");
    assert!(readings[1]["about"].to_string().contains("COLUMN TABLE, rows: 40"), "{readings:#}");
    let asked = server.asked.lock().expect("whole");
    let at = asked.iter().position(|it| it.2.starts_with("EXPLAIN PLAN SET")).expect("it is asked");
    let then: Vec<_> = asked[at..at + 3].iter().map(|(ask, commits, _)| (*ask, *commits)).collect();
    assert_eq!(then, [(2, false), (2, false), (68, false)]);
}

#[test]
fn a_log_is_replayed_in_transactions_that_only_read() {
    let (server, folder) = (SapHana::start(converse), tempfile::tempdir().expect("a folder"));
    let log = folder.path().join("day.txt");
    let lines =
        "0\t1\tSELECT A FROM T WHERE B = 'sesame'\n0.001\t1\tDELETE FROM T\n0.002\t2\tCOMMIT\n";
    std::fs::write(&log, lines).expect("it is ours");
    let (log, out) = (log.display().to_string(), folder.path().join("run").display().to_string());
    let url = format!("hana://ME@{}", server.address);
    let words =
        ["db", "replay", &log, &url, "--connections", "2", "--out", &out, "--json", "--lag", "10s"];
    let ended = sql_peer::run(&words, TOLD, folder.path()).with(0);
    let result = ended.json()["results"][0].clone();
    assert_eq!(result["operations"], 1, "{result:#}");
    assert_eq!(result["parts"][0]["name"], "SELECT A FROM T WHERE B = ?");
    let asked = server.asked.lock().expect("whole");
    let directly: Vec<_> = asked.iter().filter(|it| it.0 == 2).map(|it| (it.1, &*it.2)).collect();
    let (sets, asks): (Vec<_>, Vec<_>) =
        directly.into_iter().partition(|it| it.1.starts_with("SET"));
    assert_eq!(sets, [(false, "SET TRANSACTION READ ONLY")], "one session, one connection");
    assert_eq!(asks, [(false, "SELECT A FROM T WHERE B = 'sesame'")]);
}
