//! `plumb flow serve` when what it reaches changes, is away, is slow, or has to be believed first.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::symlink;
use std::sync::{Mutex, mpsc};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use crate::flow_serve::{Flow, ORDER, TWO, XML};
use crate::kit::PATIENCE;
use crate::kit::authority::TestAuthority;
use crate::kit::http::{Reply, ReplyServer};
use crate::kit::postgres::{PASSWORD, Postgres, psql};
use crate::kit::until;

/// Two rows, with a call between them.
const STEPS: &str = r#"
[[action]]
name = "first"
sql = "INSERT INTO seen(step) VALUES ('first') RETURNING step"
server = "plant"
[[action]]
log = "${first.step}"
[[action]]
call = "gate"
target = "/"
[[action]]
sql = "INSERT INTO seen(step) VALUES ('second')"
server = "plant"
"#;

/// A back end that answers when it is told to.
fn gate() -> (ReplyServer, mpsc::Sender<()>) {
    let (open, told) = mpsc::channel();
    let told = Mutex::new(told);
    let server = ReplyServer::start(move |_, _| {
        // without the test nobody waits any more
        let _ = told.lock().expect("nobody panics with it").recv();
        Reply::page("ok")
    });
    (server, open)
}

fn plant(url: &str) -> String {
    format!("[server.plant]\nurl = \"{url}\"\npassword-file = \"password\"\n")
}

fn id_of(accepted: &Value) -> String {
    accepted["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_changed_data_server_takes_effect_and_a_message_under_way_keeps_its_own() {
    let server = Postgres::start("");
    let first = server.url();
    psql(&first, "CREATE DATABASE second");
    let second = format!("{}second", first.strip_suffix("postgres").expect("its database"));
    for url in [&first, &second] {
        psql(url, "CREATE TABLE seen (step text)");
    }
    let rows = |url: &str| psql(url, "SELECT count(*) FROM seen");
    let (gate, open) = gate();
    let ends = format!("[back-end.gate]\nurl = \"{}\"\n", gate.url("/"));
    let files = [("steps.toml", STEPS), ("back-ends.toml", &*ends), ("password", PASSWORD)];
    let flow = Flow::of("", &[&files[..], &[("data-servers.toml", &*plant(&first))]].concat());
    let changed = |told: &str| {
        let changed = told.starts_with("2 transactions in force, ");
        assert!(changed && told.ends_with("; other sessions with plant"), "{told}");
    };

    // a call that somebody waits for
    let mut caller = flow.web();
    caller.send("POST", "/runner/steps", &[XML], b"<a/>");
    until(|| (gate.asked().len() == 1).then_some(()));
    flow.write("data-servers.toml", &plant(&second));
    changed(&flow.server.log());
    open.send(()).expect("it waits");
    caller.answer().expect("an answer").with(200);
    assert_eq!((rows(&first), rows(&second)), ("2".into(), "0".into()));
    // with the last message that began with them the sessions of before are closed
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
        AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    until(|| (psql(&first, sessions) == "0").then_some(()));
    open.send(()).expect("it waits");
    flow.post("/runner/steps", &[XML], "<a/>").with(200);
    assert_eq!((rows(&first), rows(&second)), ("2".into(), "2".into()));

    // a message of the queue
    let id = id_of(&flow.post("/runner/steps?mode=async", &[XML], "<a/>").with(202).json());
    until(|| (gate.asked().len() == 3).then_some(()));
    flow.write("data-servers.toml", &plant(&first));
    changed(&flow.server.log());
    open.send(()).expect("it waits");
    // nothing is kept of what is done
    until(|| (flow.get(&format!("/executions/{id}"), &[]).status == 404).then_some(()));
    assert_eq!((rows(&first), rows(&second)), ("2".into(), "4".into()));
    until(|| (psql(&second, sessions) == "0").then_some(()));

    // what is wrong changes nothing
    flow.write("data-servers.toml", "[server.plant]\nurll = \"x\"\n");
    let told = flow.server.log();
    assert!(told.starts_with("changed transactions are not in force: "), "{told}");
    assert!(told.contains("data-servers.toml, line 2, column 1"), "{told}");
    flow.write("data-servers.toml", "");
    let told = flow.server.log();
    assert!(told.contains("steps.toml: first: data-servers.toml has no data server"), "{told}");
    open.send(()).expect("it waits");
    flow.post("/runner/steps", &[XML], "<a/>").with(200);
    assert_eq!((rows(&first), rows(&second)), ("4".into(), "4".into()));
    assert!(!flow.server.stop().with(0).stderr.contains(PASSWORD));
}

#[test]
fn a_folder_that_takes_the_place_of_another_is_seen() {
    let flow = Flow::start("");
    let place = |name: &str| flow.folder.path().join(name);
    let plant = || flow.post("/runner/order?mode=sync", &[XML], TWO).with(200).text();
    for (name, value) in [("next", "2000"), ("last", "3000")] {
        fs::create_dir(place(name)).expect("it can be made");
        fs::write(place(name).join("order.toml"), ORDER.replace("1000", value)).expect("written");
    }
    // a link in the place of the folder, and another in that of the link
    fs::rename(place("flows"), place("first")).expect("it can be moved");
    symlink("next", place("flows")).expect("the name is free");
    until(|| plant().contains("plant=\"2000\"").then_some(()));
    symlink("last", place("link")).expect("the name is free");
    fs::rename(place("link"), place("flows")).expect("it can be moved");
    until(|| plant().contains("plant=\"3000\"").then_some(()));
    // and there files are seen as before
    fs::write(place("last").join("order.toml"), ORDER.replace("1000", "4000")).expect("written");
    until(|| plant().contains("plant=\"4000\"").then_some(()));
}

const CALL: &str = "[[action]]\nname = \"erp\"\ncall = \"erp\"\ntarget = \"/x\"\n\
    [[action]]\nrespond = \"${erp.body}\"\n";

/// A server with one back end, described by `lines`.
fn calling(lines: &str, files: &[(&str, &str)]) -> Flow {
    let ends = format!("[back-end.erp]\n{lines}");
    Flow::of("", &[files, &[("call.toml", CALL), ("back-ends.toml", &*ends)]].concat())
}

#[test]
fn a_back_end_is_believed_by_its_certificate_and_shown_ours() {
    let ours = TestAuthority::new();
    let theirs = ours.authority.sign("localhost");
    let mine = ours.authority.sign("mii");
    let (ca, wrong) = (ours.authority.ca(), TestAuthority::new());
    let config = theirs.server_config_among(&ours.authority);
    let erp = ReplyServer::encrypted_by(config, |_, _| Reply::page("fine"));
    let url = format!("url = \"https://localhost:{}/sap\"\n", erp.address.port());
    let shown = format!("cert = \"{}\"\nkey = \"{}\"\n", mine.cert, mine.key);
    let flow = calling(&format!("{url}ca = \"{ca}\"\n{shown}"), &[]);
    let call = || flow.post("/runner/call", &[XML], "<a/>");
    assert_eq!(call().with(200).text(), "fine");
    assert_eq!(call().with(200).text(), "fine");
    let asked = erp.asked();
    assert!(asked[1].starts_with("POST /sap/x HTTP/1.1\r\nHost: localhost:"), "{asked:?}");
    for (lines, expected) in [
        (format!("ca = \"{}\"\n{shown}", wrong.authority.ca()), "certificate"),
        (format!("ca = \"{ca}\"\n{shown}server-name = \"erp\"\n"), "certificate"),
        (format!("ca = \"{ca}\"\n"), "ertificate"), // it asks for ours
    ] {
        flow.write("back-ends.toml", &format!("[back-end.erp]\n{url}{lines}"));
        assert!(flow.server.log().ends_with("; other sessions with erp"));
        let refused = call().with(503).text();
        assert!(refused.contains("the back end erp at localhost:"), "{refused}");
        assert!(refused.contains(expected), "{lines}: {refused}");
        let told = flow.server.log();
        assert!(told.starts_with("the back end erp cannot be used: localhost:"), "{told}");
    }
    assert_eq!(erp.asked().len(), 2);
    // a file that does not serve is refused where it is named
    let key = format!("[back-end.erp]\n{url}cert = \"{}\"\n", mine.cert);
    flow.write("back-ends.toml", &key);
    let told = flow.server.log();
    assert!(told.contains("back-ends.toml, line 3, column 8"), "{told}");
}

#[test]
fn a_repeated_call_has_the_key_that_it_had_and_headers_of_its_own() {
    let erp = ReplyServer::start(|_, before| match before {
        0 | 2 => Reply::answer(503, "", "not now"),
        _ => Reply::page("ok"),
    });
    let ends = format!("[back-end.erp]\nurl = \"{}\"\n", erp.url("/"));
    let call = "persist = \"always\"\nretry = { times = 5, interval = \"1ms\" }\n[[action]]\nrepeat = \"/A/B\"\n\
        assign = { n = \".\" }\n[[action.do]]\ncall = \"erp\"\ntarget = \"/${n:url}\"\n\
        headers = { SOAPAction = \"urn:${n:url}\" }\n";
    let flow = Flow::of("", &[("call.toml", call), ("back-ends.toml", &*ends)]);
    let keys = |heads: &[String]| -> Vec<String> {
        let key = |head: &String| {
            let line = head.lines().find_map(|line| line.strip_prefix("Idempotency-Key: "));
            line.unwrap_or_default().to_owned()
        };
        heads.iter().map(key).collect()
    };
    let document = "<A><B>1</B><B>2</B><B>1</B></A>";
    let accepted = flow.post("/runner/call?mode=async", &[XML], document).with(202).json();
    let id = id_of(&accepted);
    flow.until(&id, "done");
    // the first fails, then the second of the next attempt, and then all are taken
    let asked = erp.asked();
    let targets: Vec<&str> = asked.iter().filter_map(|head| head.split(' ').nth(1)).collect();
    assert_eq!(targets, ["/1", "/1", "/2", "/1", "/2", "/1"]);
    assert!(asked[2].contains("\r\nSOAPAction: urn:2\r\n"), "{asked:?}");
    let sent = keys(&asked);
    assert!(sent.iter().all(|key| key.len() == 32), "{sent:?}");
    assert!(sent[0] == sent[1] && sent[1] == sent[3] && sent[2] == sent[4], "{sent:?}");
    assert!(sent[5] != sent[3] && sent[5] != sent[4], "{sent:?}");
    // a call whose caller waits is not repeated, and some back ends take no keys
    flow.post("/runner/call?mode=sync", &[XML], document).with(200);
    flow.write("back-ends.toml", &format!("{ends}keys = \"omit\"\n"));
    assert!(flow.server.log().ends_with("; other sessions with erp"));
    let accepted = flow.post("/runner/call?mode=async", &[XML], document).with(202).json();
    flow.until(&id_of(&accepted), "done");
    assert_eq!(keys(&erp.asked()[6..]), [""; 6]);
}

#[test]
fn a_manager_is_asked_over_tls() {
    let ours = TestAuthority::new();
    let theirs = ours.authority.sign("127.0.0.1");
    let settings = format!("[tls]\ncert = \"{}\"\nkey = \"{}\"\n", theirs.cert, theirs.key);
    let flow = Flow::start(&settings);
    let url = format!("https://{}", flow.server.address);
    let ask = |words: &[&str]| crate::kit::plumb(words, flow.folder.path());
    let ca = ours.authority.ca();
    let listed = ask(&["flow", "list", &url, "--ca", &ca]).with(0).stdout;
    assert_eq!(listed, "in the queue: 0 waiting, 0 running, 0 failed\n");
    let retried = ask(&["flow", "retry", &url, "--all", "--ca", &ca]).with(0).stdout;
    assert_eq!(retried, "0 executions retried\n");
    let dropped = ask(&["flow", "drop", &url, "--state", "failed", "--all", "--ca", &ca]).with(0);
    assert_eq!(dropped.stdout, "0 executions dropped\n");
    let id = "0123456789abcdef";
    let unknown = ask(&["flow", "show", &url, id, "--ca", &ca]).with(2).stderr;
    assert!(unknown.contains("nothing is known of the execution"), "{unknown}");
    let wrong = TestAuthority::new();
    let refused = ask(&["flow", "list", &url, "--ca", &wrong.authority.ca()]).with(2).stderr;
    assert!(refused.contains("certificate"), "{refused}");
    let plain = format!("http://{}", flow.server.address);
    let refused = ask(&["flow", "list", &plain, "--ca", &ca]).with(2).stderr;
    assert!(refused.contains("write https:// instead of"), "{refused}");
    let spoken = ask(&["flow", "list", &plain]).with(2).stderr;
    assert!(spoken.contains("does not answer as a transaction manager"), "{spoken}");
}

#[test]
fn a_back_end_that_never_comes_to_its_end_meets_its_time_limit() {
    // bytes come all the time, so that no read has to wait, but the answer never
    let dribbles = ReplyServer::always(Reply::Endless(b"HTTP/1.1 100 Continue\r\n\r\n".into()));
    let hangs = ReplyServer::always(Reply::Silence);
    for server in [dribbles, hangs] {
        let flow = calling(&format!("url = \"{}\"\ntimeout = \"100ms\"\n", server.url("/")), &[]);
        let lost = flow.post("/runner/call", &[XML], "<a/>").with(503).text();
        assert!(lost.contains("it is not done within 100ms"), "{lost}");
        assert!(flow.server.log().starts_with("the back end erp cannot be used: "));
        // what is left of the time limit of the transaction is less
        flow.write("call.toml", &format!("time-limit = \"50ms\"\n{CALL}"));
        assert!(flow.server.log().starts_with("2 transactions in force"));
        let late = flow.post("/runner/call", &[XML], "<a/>").with(504).text();
        assert!(late.contains("time-limit"), "{late}");
    }
}

#[test]
fn what_is_sent_while_the_data_server_is_away_is_in_the_table_once_when_it_is_back() {
    let mut server = Postgres::start("");
    psql(&server.url(), "CREATE TABLE seen (step text)");
    let url = server.url();
    let note = "mode = \"async\"\n[parameters]\nstep = \"\"\n[retry]\ntimes = 1000\n\
        interval = \"50ms\"\n[[action]]\nsql = \"INSERT INTO seen(step) VALUES (${step})\"\n";
    let files = [("note.toml", note), ("data-servers.toml", &plant(&url)), ("password", PASSWORD)];
    let flow = Flow::of("", &files);
    let mut web = flow.web();
    let mut send = |from: u32, to: u32| {
        (from..to).for_each(|step| {
            let path = format!("/runner/note?step={step}");
            web.ask("POST", &path, &[XML], b"<a/>").with(202);
        });
    };
    send(0, 20);
    server.stop();
    send(20, 60);
    // somebody has tried, in vain
    let figures = || flow.get("/manager", &[("Accept", "application/json")]).json();
    until(|| (figures()["figures"]["queued"]["again"].as_u64()? > 40).then_some(()));
    // who it is that is away, and why, is told once, and stands on the page of figures
    let told = flow.server.log();
    assert!(told.starts_with("the data server plant cannot be used: "), "{told}");
    let metrics = flow.get("/metrics", &[]).with(200).text().to_owned();
    assert!(metrics.contains("plumb_flow_data_server_away{server=\"plant\"} 1\n"), "{metrics}");
    let none = "plumb_flow_data_server_failed_log_ons_total{server=\"plant\"} 0\n";
    assert!(!metrics.contains(none), "{metrics}");
    server.start_again();
    assert_eq!(flow.server.log(), "the data server plant can be used again");
    send(60, 80);
    until(|| {
        let queue = &figures()["figures"]["queue"];
        (queue["waiting"] == 0 && queue["running"] == 0).then_some(())
    });
    assert_eq!(figures()["figures"]["queue"]["failed"], 0);
    let back = flow.get("/metrics", &[]).with(200);
    assert!(back.text().contains("plumb_flow_data_server_away{server=\"plant\"} 0\n"));
    let counted = "SELECT count(*), count(DISTINCT step) FROM seen";
    assert_eq!(psql(&url, counted), "80|80");
}

/// Requests at every door that takes some.
fn requests() -> Vec<String> {
    let soap = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>\
        <Request xmlns=\"urn:plumb:flow:order\"><plant>7</plant><Document><ORDER/></Document></Request>\
        </s:Body></s:Envelope>";
    let form = "Transaction=order&mode=sync&InputParameter=xml&xml=%3CORDER%3E%3C%2FORDER%3E";
    [
        ("POST /runner/order?mode=sync&plant=2000", "application/xml", TWO),
        (
            "POST /runner/order?mode=async",
            "application/json",
            "{\"ORDER\": {\"ITEM\": [{\"PART\": 1}]}}",
        ),
        (
            "POST /XMII/Runner?Transaction=Plant/order&plant=7&Content-Type=text/xml",
            "text/xml",
            TWO,
        ),
        ("POST /XMII/Runner", "application/x-www-form-urlencoded", form),
        ("POST /soap/order", "text/xml; charset=utf-8", soap),
        ("POST /messages?mode=sync", "application/xml", TWO),
        ("POST /manager/retry", "application/x-www-form-urlencoded", "all=yes&rate=1"),
        ("GET /manager?state=failed&most=10&before=0123456789abcdef", "", ""),
    ]
    .iter()
    .map(|(line, kind, body)| {
        let length = body.len();
        format!(
            "{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nX-Order-Key: a\r\n\
             Accept: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    })
    .collect()
}

#[test]
fn requests_that_are_nearly_right_are_answered_or_refused_and_harm_nobody() {
    let flow = Flow::start("[front]\nstall = \"1s\"\n");
    let bytes = proptest::collection::vec(any::<u8>(), 0..6);
    let changes = proptest::collection::vec((any::<Index>(), 0..8_usize, bytes), 1..4);
    let mut runner =
        TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(400) });
    let tried = runner.run(&(select(requests()), changes), |(request, changes)| {
        let mut sent = request.into_bytes();
        for (at, cut, put) in changes {
            let at = at.index(sent.len() + 1);
            let end = (at + cut).min(sent.len());
            sent.splice(at..end, put);
        }
        let mut stream = TcpStream::connect(&flow.server.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it is above zero");
        // it may have closed already
        let _ = stream.write_all(&sent);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        prop_assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 "), "{answer}");
        prop_assert!(!answer.contains("broke off"), "{answer}");
        Ok(())
    });
    tried.expect("it is answered");
    let now = flow.post("/runner/order?mode=sync", &[XML], TWO).with(200);
    assert_eq!(now.text(), "<rows plant=\"1000\">2</rows>");
    let said = flow.server.stop().with(0).stderr;
    assert!(!said.contains("panicked"), "{said}");
}
