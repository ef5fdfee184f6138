//! `plumb db ping` against a peer that speaks SQL Server's protocol as far as a ping needs it. It is
//! written from the published protocol (MS-TDS); there is no SQL Server in any of these tests.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Mutex;

use crate::kit::Ended;
use crate::kit::sql_peer::{self, SqlPeer};

const LOG_ON: u8 = 0x10;
const PRE_LOGIN: u8 = 0x12;

const TOLD: (&str, &str) = ("SQLCMDPASSWORD", "sesame");

type SqlServer = SqlPeer<VecDeque<String>>;

impl SqlServer {
    fn ping(&self, words: &[&str], folder: &Path) -> Ended {
        sql_peer::ping(&format!("mssql://sa@{}/erp", self.address), TOLD, words, folder)
    }
}

fn converse(mut stream: TcpStream, heard: &Mutex<VecDeque<String>>) -> Option<()> {
    let (mut ticks, mut explains) = (0, false);
    loop {
        let (kind, payload) = message(&mut stream)?;
        let said = match kind {
            PRE_LOGIN => vec![1, 0, 6, 0, 1, 0xff, 2],
            LOG_ON => logged_on(&payload),
            _ => {
                let text = told(payload.get(22..)?);
                explains |= text == "SET STATISTICS XML ON";
                let answer = answer(&text, &mut ticks, explains);
                heard.lock().expect("nobody broke off").push_back(text);
                answer
            }
        };
        let length = u16::try_from(said.len() + 8).ok()?.to_be_bytes();
        let head = [4, 1, length[0], length[1], 0, 0, 1, 0];
        stream.write_all(&[&head[..], &said].concat()).ok()?;
    }
}

/// One message of the client.
fn message(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut payload = Vec::new();
    loop {
        let mut head = [0; 8];
        stream.read_exact(&mut head).ok()?;
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let mut packet = vec![0; length.checked_sub(8)?];
        stream.read_exact(&mut packet).ok()?;
        payload.extend(packet);
        if head[1] & 1 == 1 {
            return Some((head[0], payload));
        }
    }
}

fn told(utf16: &[u8]) -> String {
    let units: Vec<u16> =
        utf16.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

fn text(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// `LOGINACK`, or `ERROR` 18456 for another password than `sesame`.
fn logged_on(payload: &[u8]) -> Vec<u8> {
    let of = |at: usize| usize::from(u16::from_le_bytes([payload[at], payload[at + 1]]));
    let hidden = &payload[of(44)..of(44) + 2 * of(46)];
    let password: Vec<u8> = hidden.iter().map(|it| (it ^ 0xa5).rotate_left(4)).collect();
    if told(&password) != "sesame" {
        return error(18456, "Login failed for user 'sa'.");
    }
    let name = text("Microsoft SQL Server");
    let length = u8::try_from(10 + name.len()).expect("short");
    let ack = [&[0xad, length, 0, 1, 0x74, 0, 0, 4, 20][..], &name, &[15, 0, 0x10, 0x68]];
    [ack.concat(), done(0)].concat()
}

fn error(number: u32, message: &str) -> Vec<u8> {
    let units = u16::try_from(message.len()).expect("short").to_le_bytes();
    let inner = [&number.to_le_bytes()[..], &[1, 14], &units, &text(message), &[0; 6]].concat();
    let length = u16::try_from(inner.len()).expect("short").to_le_bytes();
    [&[0xaa][..], &length, &inner, &done(2)].concat()
}

fn done(status: u8) -> Vec<u8> {
    [&[0xfd, status, 0][..], &[0; 10]].concat()
}

/// A table of one row of numbers, each `bigint`.
fn numbers(row: &[i64]) -> Vec<u8> {
    let count = u16::try_from(row.len()).expect("few").to_le_bytes();
    let mut out = [&[0x81][..], &count].concat();
    row.iter().for_each(|_| out.extend([0, 0, 0, 0, 0, 0, 0x7f, 0]));
    out.push(0xd1);
    row.iter().for_each(|number| out.extend(number.to_le_bytes()));
    [out, done(0x11)].concat()
}

/// A table of one `datetime2(7)`.
fn clock(ticks: u64) -> Vec<u8> {
    let ticks = ticks.to_le_bytes();
    let column = [0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0x2a, 7, 0];
    [&column[..], &[0xd1, 8], &ticks[..5], &[0x5b, 0x95, 0x0a], &done(0x11)].concat()
}

/// A table of one `nvarchar(max)`, in two pieces: the plan of a statement that ran for 12 ms.
fn plan() -> Vec<u8> {
    let plan = "<ShowPlanXML><QueryTimeStats CpuTime=\"3\" ElapsedTime=\"12\"/></ShowPlanXML>";
    let plan = text(plan);
    let column = [0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0xe7, 0xff, 0xff, 9, 4, 0xd0, 0, 0x34, 0];
    let unknown_length = (u64::MAX - 1).to_le_bytes();
    let piece = |bytes: &[u8]| {
        let length = u32::try_from(bytes.len()).expect("short").to_le_bytes();
        [&length[..], bytes].concat()
    };
    let pieces = [piece(&plan[..51]), piece(&plan[51..]), piece(&[])].concat();
    [&column[..], &[0xd1], &unknown_length, &pieces, &done(0x11)].concat()
}

/// The answer to a batch. The peer's clock goes on by a tick with each reading.
fn answer(text: &str, ticks: &mut u64, explains: bool) -> Vec<u8> {
    let mut reading = || {
        *ticks += 1;
        clock(*ticks)
    };
    if text.contains("dm_exec_query_stats") {
        return error(300, "VIEW SERVER STATE permission was denied");
    }
    if text.contains("dm_os_wait_stats") {
        return numbers(&[3, 40, 1, 2]);
    }
    let rows = if text.contains("SELECT") { numbers(&[1]) } else { Vec::new() };
    if explains && text.contains("FROM t") {
        return [rows, plan(), done(0)].concat();
    }
    if text.contains("SYSUTCDATETIME") {
        return [reading(), rows, reading(), reading(), done(0)].concat();
    }
    [rows, done(0)].concat()
}

#[test]
fn a_ping_tells_what_the_server_says_of_itself_and_what_it_does_not() {
    let (server, folder) = (SqlServer::start(converse), tempfile::tempdir().expect("a folder"));
    let ended = server.ping(&["--over", "kept,pool,connect"], folder.path()).with(0);
    for found in sql_peer::attributions(&ended, "TDS") {
        let of_statement = &found["readings"][0];
        assert_eq!(of_statement["source"], "sys.dm_exec_query_stats");
        assert!(of_statement["about"].to_string().contains("VIEW SERVER STATE"));
        let altogether = found["readings"][1]["about"].to_string();
        assert!(altogether.contains("0 waits for locks"), "{altogether}");
    }
    assert!(!ended.stdout.contains("sesame"));
}

#[test]
fn an_own_statement_is_asked_only_where_each_call_is_rolled_back() {
    let (server, folder) = (SqlServer::start(converse), tempfile::tempdir().expect("a folder"));
    let own = ["--ask", "own", "--over", "kept", "--statement", "SELECT a FROM t"];
    let refused = server.ping(&own, folder.path()).with(2);
    assert!(refused.stderr.contains("--allow-writes"), "{}", refused.stderr);
    assert!(!server.asked.lock().expect("whole").iter().any(|text| text.contains("FROM t")));
    server.ping(&[&own[..], &["--allow-writes"]].concat(), folder.path()).with(0);
    let asked = server.asked.lock().expect("whole");
    let calls: Vec<_> = asked.iter().filter(|text| text.contains("SELECT a FROM t")).collect();
    assert!(calls.len() >= 60);
    for call in calls.iter().filter(|call| !call.contains("dm_exec")) {
        assert!(call.contains("BEGIN TRANSACTION") && call.contains("ROLLBACK"), "{call}");
    }
}

#[test]
fn a_batch_that_ends_its_transaction_is_asked_nowhere() {
    let (server, folder) = (SqlServer::start(converse), tempfile::tempdir().expect("a folder"));
    let own = ["--ask", "own", "--over", "kept", "--allow-writes", "--statement"];
    for batch in ["UPDATE t SET a = 1 COMMIT", "ROLLBACK; DELETE FROM t", "SELECT 1COMMIT"] {
        let refused = server.ping(&[&own[..], &[batch]].concat(), folder.path()).with(2);
        assert!(refused.stderr.contains("holds COMMIT or ROLLBACK"), "{}", refused.stderr);
    }
    let log = folder.path().join("day.txt");
    let lines = "0\t1\tUPDATE t SET a = 2\n0\t1\tUPDATE t SET a = 1; COMMIT\n\
                 0\t1\tIF @@TRANCOUNT > 0 COMMIT TRAN\n";
    std::fs::write(&log, lines).expect("it is ours");
    let (log, out) = (log.display().to_string(), folder.path().join("run").display().to_string());
    let url = format!("mssql://sa@{}/erp", server.address);
    let words = ["db", "replay", &log, &url, "--allow-writes", "--out", &out, "--json"];
    let words = [&words[..], &["--speed", "max"]].concat();
    let ended = sql_peer::run(&words, TOLD, folder.path()).with(0);
    assert_eq!(ended.json()["results"][0]["operations"], 1, "{}", ended.stdout);
    let asked = server.asked.lock().expect("whole");
    assert!(!asked.iter().any(|text| text.contains("COMMIT")), "{asked:?}");
}

#[test]
fn what_the_server_refuses_is_said_with_what_to_do() {
    let (server, folder) = (SqlServer::start(converse), tempfile::tempdir().expect("a folder"));
    let run = |password, words: &[&str]| {
        sql_peer::run(words, ("SQLCMDPASSWORD", password), folder.path())
    };
    let url = format!("mssql://sa@{}/erp", server.address);
    let wrong = run("wide-open", &["db", "ping", &url]).with(2);
    assert!(wrong.stderr.contains("Login failed"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("SQLCMDPASSWORD") && !wrong.stderr.contains("wide-open"));
    let strict = run("sesame", &["db", "ping", &format!("{url}?encrypt=yes")]).with(2);
    assert!(strict.stderr.contains("does not offer TLS"), "{}", strict.stderr);
}

#[test]
fn what_the_plan_says_of_the_time_stands_beside_what_was_measured() {
    let (server, folder) = (SqlServer::start(converse), tempfile::tempdir().expect("a folder"));
    let own = ["--over", "kept", "--statement", "SELECT a FROM t", "--allow-writes", "--explain"];
    let ended = server.ping(&[&own[..], &["--ask", "own"]].concat(), folder.path()).with(0);
    let readings = ended.json()["results"][0]["attribution"]["readings"].clone();
    assert_eq!(readings[1]["source"], "SET STATISTICS XML", "{readings:#}");
    assert_eq!(readings[1]["mean_ns"], 12_000_000, "{readings:#}");
}

#[test]
fn of_a_log_only_what_asks_is_replayed_and_rolled_back() {
    let (server, folder) = (SqlServer::start(converse), tempfile::tempdir().expect("a folder"));
    let log = folder.path().join("day.txt");
    let lines = "0\t1\tSELECT a FROM t WHERE [b's] = 'sesame'\n0.001\t1\tDELETE FROM t\n\
                 0.002\t2\tSELECT 1 DROP TABLE t\n0.003\t2\tUSE other\n0.004\t2\tSELECT a INTO u FROM t\n";
    std::fs::write(&log, lines).expect("it is ours");
    let (log, out) = (log.display().to_string(), folder.path().join("run").display().to_string());
    let url = format!("mssql://sa@{}/erp", server.address);
    let words =
        ["db", "replay", &log, &url, "--connections", "2", "--out", &out, "--json", "--lag", "10s"];
    let ended = sql_peer::run(&words, TOLD, folder.path()).with(0);
    let record = ended.json();
    let result = &record["results"][0];
    assert_eq!(result["operations"], 1, "{result:#}");
    assert_eq!(result["parts"][0]["name"], "SELECT a FROM t WHERE [b's] = ?");
    let told = record["target"].to_string() + &ended.stdout;
    assert!(told.contains("hold no word that writes"), "{told}");
    let asked = server.asked.lock().expect("whole");
    let own: Vec<_> = asked.iter().filter(|text| text.contains(" t")).collect();
    let [call] = own[..] else { panic!("{own:?}") };
    assert!(call.starts_with("BEGIN TRANSACTION;") && call.ends_with("ROLLBACK"), "{call}");
}
