//! `plumb flow serve` end to end: its doors, its queue, its manager.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::kit::web::{Reply, Web};
use crate::kit::{Program, Server, plumb, until};

pub(crate) const XML: (&str, &str) = ("Content-Type", "application/xml");
const JSON: (&str, &str) = ("Accept", "application/json");
const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// Rows of an order, counted; an order without rows fails.
pub(crate) const ORDER: &str = r#"
about = "Rows of an order"
mode = "async"
persist = "always"
accepts = [{ element = "ORDER" }]
[parameters]
plant = "1000"
[[action]]
name = "rows"
repeat = "/ORDER/ITEM"
assign = { part = "PART" }
[[action]]
if = "${rows.rows} == 0"
do = [{ fail = "an order without items" }]
[[action]]
respond = "<rows plant=\"${plant}\">${rows.rows}</rows>"
type = "application/xml"
"#;

pub(crate) const TWO: &str =
    "<ORDER><ITEM><PART>a</PART></ITEM><ITEM><PART>b</PART></ITEM></ORDER>";

/// A server of one transaction, with settings, in a folder of its own.
pub(crate) struct Flow {
    pub(crate) folder: TempDir,
    pub(crate) server: Server,
}

impl Flow {
    pub(crate) fn start(settings: &str) -> Self {
        Self::of(settings, &[])
    }

    /// With further files beside the transaction.
    pub(crate) fn of(settings: &str, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("flows")).expect("it can be written");
        for (name, text) in [&[("order.toml", ORDER)], files].concat() {
            fs::write(folder.path().join("flows").join(name), text).expect("it can be written");
        }
        fs::write(folder.path().join("settings.toml"), settings).expect("it can be written");
        let server = serve(folder.path());
        Self { folder, server }
    }

    pub(crate) fn web(&self) -> Web {
        self.server.web()
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.web().ask("POST", path, headers, body.as_bytes())
    }

    pub(crate) fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.web().ask("GET", path, headers, b"")
    }

    /// The execution `id` once it is in `state`.
    pub(crate) fn until(&self, id: &str, state: &str) -> Value {
        let mut web = self.web();
        until(|| {
            let reply = web.ask("GET", &format!("/executions/{id}"), &[], b"");
            let found = (reply.status == 200).then(|| reply.json())?;
            (found["state"] == state).then_some(found)
        })
    }

    /// Puts a file into the folder of transactions, whole: who looks meanwhile sees no half of it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let beside = self.folder.path().join("file.written");
        fs::write(&beside, text).expect("it can be written");
        fs::rename(beside, self.folder.path().join("flows").join(name)).expect("it can be moved");
    }

    /// A verb of the command line for this server.
    pub(crate) fn ask(&self, verb: &str, words: &[&str]) -> crate::kit::Ended {
        let url = format!("http://{}", self.server.address);
        plumb(&[&["flow", verb, &url], words].concat(), self.folder.path())
    }
}

fn serve(folder: &Path) -> Server {
    let words = ["flow", "serve", "flows", "--settings", "settings.toml"];
    let words = [&words[..], &["--listen", "127.0.0.1:0", "--queue", "queue"]].concat();
    Server::ready(Program::start(&words, folder))
}

#[test]
fn a_call_is_answered_with_the_response_or_with_an_id() {
    let flow = Flow::start("");
    let now = flow.post("/runner/order?mode=sync&plant=2000", &[XML], TWO).with(200);
    assert_eq!(now.text(), "<rows plant=\"2000\">2</rows>");
    assert_eq!(now.header("content-type"), "application/xml");
    assert!(now.timing("total") > now.timing("door") && now.timing("queue") >= 0.0);
    let json = r#"{"ORDER": {"ITEM": [{"PART": "a"}]}}"#;
    let kind = ("Content-Type", "application/json");
    let now = flow.post("/runner/order?mode=sync", &[kind], json).with(200);
    assert_eq!(now.text(), "<rows plant=\"1000\">1</rows>");

    let later = flow.post("/runner/order", &[XML], TWO).with(202);
    let id = later.json()["id"].as_str().expect("an id").to_owned();
    assert_eq!(later.header("location"), format!("/executions/{id}"));
    let done = flow.until(&id, "done");
    assert_eq!((&done["transaction"], &done["failures"]), (&"order".into(), &0.into()));

    let failed = flow.post("/runner/order?mode=sync", &[XML], "<ORDER/>").with(500);
    assert!(failed.text().contains("an order without items"), "{}", failed.text());
    let later = flow.post("/runner/order", &[XML], "<ORDER/>").with(202).json();
    let dead = flow.until(later["id"].as_str().expect("an id"), "failed");
    assert!(dead["error"].as_str().expect("an error").contains("an order without items"));
}

#[test]
fn what_a_door_does_not_take_is_refused_with_its_reason() {
    let flow = Flow::start("[front]\nbody-size = \"4KiB\"\n");
    let order = "/runner/order?mode=sync";
    let wrong = flow.post(order, &[XML, JSON], "<ORDER>\n  <ITEM></ORDER>").with(400).json();
    assert_eq!((&wrong["error"]["line"], &wrong["error"]["column"]), (&2.into(), &9.into()));
    let doctype = flow.post(order, &[XML], "<!DOCTYPE a><a/>").with(400);
    assert!(doctype.text().contains("DOCTYPE"), "{}", doctype.text());
    assert_eq!(doctype.header("content-type"), "application/xml; charset=utf-8");
    for (path, headers, body, status, expected) in [
        ("/runner/ordr", &[XML][..], TWO, 404, "did you mean `order`?"),
        ("/runner/order?plnt=1", &[XML], TWO, 400, "no parameter `plnt`"),
        ("/runner/order?mode=soon", &[XML], TWO, 400, "expected sync or async"),
        ("/runner/order?plant=%00", &[XML], TWO, 400, "U+0000"),
        ("/runner/order?plant=%EF%BF%BF", &[XML], TWO, 400, "U+FFFF"),
        ("/runner/order?mode=async", &[XML], "", 400, "no document, and order reads one: rows"),
        (order, &[], "", 400, "no document, and order reads one: rows"),
        (order, &[XML], "<ORDER a=\"1\"b=\"2\"/>", 400, "without a space between them"),
        (order, &[XML, ("Content-Encoding", "gzip")], TWO, 415, "Content-Encoding is gzip"),
        (order, &[("Content-Type", "text/plain")], "x", 415, "expected application/xml"),
        (order, &[XML, ("Idempotency-Key", "a")], TWO, 400, "belong to messages of the queue"),
        ("/runner/order?sap-password=hunter2", &[XML], TWO, 400, "stands in the URL"),
        ("/XMII/Runner?plant=1", &[], "", 400, "add Transaction=NAME"),
        ("/messages", &[XML], "<OTHER/>", 422, "the element `OTHER`"),
        ("/nothing", &[], "", 404, "nothing at this path"),
        ("/executions/0123456789abcdef", &[], "", 405, "use GET"),
    ] {
        let reply = flow.post(path, headers, body).with(status);
        assert!(reply.text().contains(expected), "{path}: {}", reply.text());
        assert!(!reply.text().contains("hunter2"), "{path}");
    }
    let large = flow.post(order, &[XML], &format!("<a>{}</a>", "x".repeat(5_000))).with(413);
    assert!(large.text().contains("front.body-size"), "{}", large.text());
    assert_eq!(flow.get("/executions/0123456789abcdef", &[]).with(404).status, 404);
    assert!(!flow.server.stop().with(0).stderr.contains("hunter2"));
}

#[test]
fn the_classic_form_of_a_call_is_understood() {
    let flow = Flow::start("");
    let query = "/XMII/Runner?Transaction=Plant/order&plant=7&OutputParameter=*&mode=sync\
        &Content-Type=text/xml";
    let reply = flow.post(query, &[XML], TWO).with(200);
    assert_eq!(reply.text(), "<rows plant=\"7\">2</rows>");
    assert_eq!(reply.header("content-type"), "text/xml; charset=utf-8");
    let form = "Transaction=order&mode=sync&InputParameter=xml&xml=%3CORDER%3E%3CITEM%2F%3E\
        %3C%2FORDER%3E";
    let reply = flow.post("/XMII/Runner", &[FORM], form).with(200);
    assert_eq!(reply.text(), "<rows plant=\"1000\">1</rows>");
    let word = "/XMII/Runner?Transaction=order&IllumLoginName=a&IllumLoginPassword=hunter2";
    let refused = flow.get(word, &[]).with(400).text();
    assert!(refused.contains("IllumLoginName") && !refused.contains("hunter2"), "{refused}");
    let foreign = [("Sec-Fetch-Site", "cross-site")];
    flow.get("/XMII/Runner?Transaction=order", &foreign).with(403);
}

#[test]
fn messages_find_their_transactions_by_what_they_are() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("flows")).expect("it can be written");
    let special =
        ORDER.replace("accepts = [{ element = \"ORDER\" }]", "").replace("1000", "special");
    for (name, text) in [("flows/order.toml", ORDER), ("flows/special.toml", &special)] {
        fs::write(folder.path().join(name), text).expect("it can be written");
    }
    let route = "[[route]]\nheader = \"X-Kind: special\"\ntransaction = \"special\"\n";
    fs::write(folder.path().join("settings.toml"), route).expect("it can be written");
    let server = serve(folder.path());
    let post = |headers: &[(&str, &str)]| {
        server.web().ask("POST", "/messages?mode=sync", headers, TWO.as_bytes()).with(200).text()
    };
    assert_eq!(post(&[XML]), "<rows plant=\"1000\">2</rows>");
    assert_eq!(post(&[XML, ("X-Kind", "special")]), "<rows plant=\"special\">2</rows>");
    assert_eq!(post(&[XML, ("X-Kind", "plain")]), "<rows plant=\"1000\">2</rows>");
}

#[test]
fn an_idempotency_key_is_answered_as_the_first_time() {
    let flow = Flow::start("");
    let key = ("Idempotency-Key", "order-7");
    let first = flow.post("/runner/order", &[XML, key], TWO).with(202).json();
    let again = flow.post("/runner/order", &[XML, key], TWO).with(202).json();
    assert_eq!((&first["repeated"], &again["repeated"]), (&false.into(), &true.into()));
    assert_eq!(first["id"], again["id"]);
    let long = "x".repeat(256);
    flow.post("/runner/order", &[XML, ("X-Order-Key", &long)], TWO).with(400);
}

#[test]
fn what_was_accepted_is_done_by_the_next_server_too() {
    let flow = Flow::start("");
    let ids: Vec<String> = (0..50)
        .map(|_| flow.post("/runner/order", &[XML], TWO).with(202).json()["id"].to_string())
        .map(|id| id.trim_matches('"').to_owned())
        .collect();
    let Flow { folder, server } = flow;
    server.kill();
    let flow = Flow { server: serve(folder.path()), folder };
    for id in &ids {
        flow.until(id, "done");
    }
    // a retired server leaves nothing behind and says nothing
    let Flow { server, folder: _folder } = flow;
    let ended = server.stop().with(0);
    assert_eq!(ended.stderr, "", "{ended:?}");
}

#[test]
fn changed_files_come_into_force_together_or_not_at_all() {
    let flow = Flow::start("");
    let rows = || flow.post("/runner/order?mode=sync", &[XML], TWO).with(200).text();
    assert!(rows().contains("plant=\"1000\""));
    flow.write("order.toml", &ORDER.replace("1000", "3000"));
    assert!(flow.server.log().starts_with("1 transaction in force, "));
    assert!(rows().contains("plant=\"3000\""));
    flow.write("order.toml", &ORDER.replace("${plant}", "${plnt}"));
    let told = flow.server.log();
    assert!(told.starts_with("changed transactions are not in force: "), "{told}");
    assert!(told.contains("order.toml, line"), "{told}");
    assert!(rows().contains("plant=\"3000\""));
    let seen = flow.get("/manager", &[JSON]).with(200).json();
    let problem = seen["figures"]["transactions"]["problem"].as_str().expect("a problem");
    assert!(problem.contains("plnt"), "{problem}");
    assert!(flow.get("/metrics", &[]).text().contains("plumb_flow_transactions_current 0\n"));
    let page = flow.get("/manager", &[("Accept", "text/html")]).with(200).text();
    assert!(page.contains("Changed files are not in force"), "{page}");
}

#[test]
fn failed_executions_are_found_shown_retried_and_dropped() {
    let flow = Flow::start("");
    let mut ids = Vec::new();
    for _ in 0..3 {
        let reply = flow.post("/runner/order?plant=%3Cscript%3E", &[XML], "<ORDER/>").with(202);
        ids.push(reply.json()["id"].as_str().expect("an id").to_owned());
    }
    ids.iter().for_each(|id| drop(flow.until(id, "failed")));
    let listed = flow.ask("list", &["--state", "failed"]).with(0).stdout;
    assert!(listed.starts_with("in the queue: 0 waiting, 0 running, 3 failed\n"), "{listed}");
    assert!(ids.iter().all(|id| listed.contains(id)), "{listed}");
    let shown = flow.ask("show", &[&ids[0]]).with(0).stdout;
    assert!(shown.contains("parameter plant: <script>\n"), "{shown}");
    assert!(shown.contains("\nmessage:\n<ORDER/>\n"), "{shown}");
    assert!(shown.contains("order of version "), "{shown}");
    let page = format!("/manager/executions/{}", ids[0]);
    let page = flow.get(&page, &[("Accept", "text/html")]).with(200).text();
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"), "{page}");

    // a transaction that was mended does what failed
    flow.write("order.toml", &ORDER.replace("${rows.rows} == 0", "${rows.rows} == 99"));
    assert!(flow.server.log().starts_with("1 transaction in force"));
    let one = flow.ask("retry", &["--id", &ids[0]]).with(0).stdout;
    assert_eq!(one, "1 execution retried\n");
    flow.until(&ids[0], "done");
    let said = flow.ask("retry", &[]).with(2).stderr;
    assert!(said.contains("this would mean all"), "{said}");
    let rest = flow.ask("retry", &["--all", "--rate", "1000"]).with(0).stdout;
    assert_eq!(rest, "2 executions retried\n");
    ids.iter().for_each(|id| drop(flow.until(id, "done")));
    let dropped = flow.ask("drop", &["--state", "done", "--transaction", "order"]).with(0).stdout;
    assert_eq!(dropped, "3 executions dropped\n");
    flow.get(&format!("/executions/{}", ids[0]), &[]).with(404);
    let gone = flow.ask("show", &[&ids[0]]).with(2).stderr;
    assert!(gone.contains("nothing is known of the execution"), "{gone}");
}

#[test]
fn a_form_of_another_site_does_nothing() {
    let flow = Flow::start("");
    let form = "all=yes";
    for headers in [
        &[FORM, ("Origin", "http://elsewhere")][..],
        &[FORM, ("Origin", "null")],
        &[FORM, ("Sec-Fetch-Site", "same-site")],
    ] {
        flow.post("/manager/drop", headers, form).with(403);
    }
    let own = [FORM, ("Origin", "http://localhost:8000"), ("Sec-Fetch-Site", "same-origin")];
    let reply = flow.post("/manager/drop", &[&own[..], &[("Accept", "text/html")]].concat(), form);
    assert_eq!(reply.with(303).header("location"), "/manager?");
}

#[test]
fn a_name_that_a_page_made_point_here_is_refused_where_nobody_logs_on() {
    let ask = |flow: &Flow, head: &str| {
        let mut web = flow.web();
        web.raw(format!("{head} HTTP/1.1\r\nHost: evil.example:1\r\n\r\n").as_bytes());
        web.answer().expect("the server answers")
    };
    let open = Flow::start("");
    for head in ["GET /manager", "GET /metrics", "POST /manager/drop", "POST /runner/order"] {
        let text = ask(&open, head).with(421).text();
        assert!(text.contains("`evil.example:1` is no name of this server"), "{text}");
    }
    ask(&Flow::start("names = [\"evil.example\"]\n"), "GET /manager").with(200);
    let closed = Flow::start("[users]\nanna = \"secret\"\n");
    ask(&closed, "GET /manager").with(401);
    // free for this machine, and no browser of it may be led here
    ask(&closed, "GET /metrics").with(401);
    let text = open.post("/manager/drop", &[FORM], &"a&".repeat(40_000)).with(413).text();
    assert!(text.contains("at most 65536 bytes"), "{text}");
}

#[test]
fn whoever_has_an_account_logs_on_everywhere() {
    let settings = "[users]\nanna = \"secret\"\n[tokens]\nline = \"0123456789abcdef\"\n";
    let flow = Flow::start(settings);
    for path in ["/manager", "/executions/0123456789abcdef", "/soap/order?wsdl"] {
        let reply = flow.get(path, &[]).with(401);
        assert!(reply.header("www-authenticate").starts_with("Basic "));
    }
    flow.get("/metrics", &[]).with(200);
    flow.post("/runner/order", &[XML], TWO).with(401);
    let basic = ("Authorization", "Basic YW5uYTpzZWNyZXQ=");
    let bearer = ("Authorization", "Bearer 0123456789abcdef");
    flow.get("/manager", &[basic]).with(200);
    flow.post("/runner/order", &[XML, bearer], TWO).with(202);
    fs::write(flow.folder.path().join("pw"), "secret\n").expect("it can be written");
    flow.ask("list", &["--user", "anna", "--password-file", "pw"]).with(0);
    let refused = flow.ask("list", &[]).with(2).stderr;
    assert!(refused.contains("401"), "{refused}");
    let open = ["flow", "serve", "flows", "--listen", "0.0.0.0:0"];
    let said = plumb(&open, flow.folder.path()).with(2).stderr;
    assert!(said.contains("nobody has to log on"), "{said}");
}

#[test]
fn what_is_wrong_is_said_before_the_server_listens() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("flows")).expect("it can be written");
    fs::write(folder.path().join("flows/a.toml"), "[[action]]\nlgo = \"x\"\n").expect("written");
    let said = |words: &[&str]| plumb(&[&["flow", "serve"], words].concat(), folder.path());
    let wrong = said(&["flows"]).with(2).stderr;
    assert!(wrong.contains("a.toml, line 2, column 1"), "{wrong}");
    assert!(said(&["none"]).with(2).stderr.contains("cannot read none"));
    fs::write(folder.path().join("s.toml"), "[queue]\nmesages = 1\n").expect("written");
    let wrong = said(&["flows", "--settings", "s.toml"]).with(2).stderr;
    assert!(wrong.contains("line 2") && wrong.contains("did you mean `messages`?"), "{wrong}");
}

#[test]
fn a_full_queue_says_when_to_come_again() {
    let flow = Flow::start("[queue]\nmessages = 1\n[retry]\ninterval = \"1h\"\n");
    // a port that nobody listens on: whatever is sent there is tried again in an hour
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let nobody = nobody.expect("loopback has free ports");
    flow.write("back-ends.toml", &format!("[back-end.erp]\nurl = \"http://{nobody}\"\n"));
    let Flow { folder, server } = flow;
    server.stop().with(0);
    let call = "mode = \"async\"\n[[action]]\ncall = \"erp\"\ntarget = \"/\"\n";
    fs::write(folder.path().join("flows/call.toml"), call).expect("it can be written");
    let flow = Flow { server: serve(folder.path()), folder };
    let id = flow.post("/runner/call", &[XML], "<a/>").with(202).json();
    let id = id["id"].as_str().expect("an id").to_owned();
    until(|| {
        let found = flow.get(&format!("/executions/{id}"), &[]).with(200).json();
        (found["failures"] == 1).then_some(())
    });
    let refused = flow.post("/runner/call", &[XML], "<a/>").with(429);
    // none has left it
    assert_eq!(refused.header("retry-after"), "60");
    let said = refused.text();
    assert!(said.contains("the queue is full") && said.contains("is not known"), "{said}");
    // synchronous calls need no room in it; what they cannot reach is worth another try
    let lost = flow.post("/runner/call?mode=sync", &[XML], "<a/>").with(503);
    assert!(!lost.header("retry-after").is_empty() && lost.text().contains("erp"));
}

#[test]
fn a_server_told_to_stop_finishes_what_is_under_way() {
    let flow = Flow::start("");
    let mut web = flow.web();
    // the head and half of the document are there when the server is told to stop
    let head = format!(
        "POST /runner/order?mode=sync HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/xml\r\n\
         Content-Length: {}\r\n\r\n",
        TWO.len()
    );
    web.raw(&[head.as_bytes(), &TWO.as_bytes()[..10]].concat());
    let mut other = flow.web();
    other.ask("GET", "/manager", &[JSON], b"").with(200);
    flow.server.signal(Signal::TERM);
    web.raw(&TWO.as_bytes()[10..]);
    let reply = web.answer().expect("an answer").with(200);
    assert_eq!(reply.text(), "<rows plant=\"1000\">2</rows>");
    flow.server.wait().with(0);
}
