//! Who asks for pages: users and their passwords, redirects, proxies.

use crate::http::{everything, field, folder, measured, ping};
use crate::kit;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kit::http::{Reply, ReplyServer};
use kit::scenario::{part, play_in, played, reasons, scenario, with_base};
use kit::{PLUMB, Program, only_run};
use serde_json::json;

const WHO: [(&str, &str); 2] =
    [("PLUMB_HTTP_USER", "DEMO"), ("PLUMB_HTTP_PASSWORD", "open-sesame")];
/// `DEMO:open-sesame`, base64.
const TOKEN: &str = "Basic REVNTzpvcGVuLXNlc2FtZQ==";

/// A site as that of an application server: the path gets a session, the session wants to know who
/// asks, and remembers it.
fn portal() -> ReplyServer {
    ReplyServer::start(|head, _| {
        let known = head.contains(&format!("Authorization: {TOKEN}\r\n"));
        if head.starts_with("GET /page ") {
            Reply::answer(
                302,
                "Location: /sap(bD1lbg==)/page?x=1\r\nSet-Cookie: sid=s3cret; Path=/\r\n",
                "",
            )
        } else if !known {
            Reply::answer(401, "WWW-Authenticate: Basic realm=\"DEV 000\"\r\n", "who?")
        } else if head.contains("\r\nCookie: sid=s3cret\r\n") {
            Reply::page("welcome")
        } else {
            Reply::answer(400, "", "no session")
        }
    })
}

#[test]
fn what_happens_to_a_user_once_happens_before_the_measurement() {
    let (site, folder) = (portal(), folder());
    let url = site.url("/page");
    let words = ["http", "ping", "--count", "20", "--warmup", "0s", "--lag", "10s", &url];
    let ended = Program::start_told(Path::new(PLUMB), &words, folder.path(), &WHO).wait().with(0);
    let record = kit::record(&only_run(folder.path()));
    let steps: Vec<String> = field(&record, "/results/0/parts/0/steps")
        .as_array()
        .expect("a list")
        .iter()
        .map(|step| format!("{} {}", step["status"], step["text"].as_str().unwrap_or_default()))
        .collect();
    let way = [
        "302 -> /sap(bD1lbg==)/page?x=1",
        "401 Basic realm=\"DEV 000\"",
        "200 7 bytes, cookies sid",
    ];
    assert_eq!(steps, way);
    assert!(
        way.iter().all(|step| ended.stdout.replace("\n               ", " ").contains(step)),
        "{}",
        ended.stdout
    );
    assert_eq!(record["results"][0]["codes"], json!({"200": 20}));
    let asked = site.asked();
    assert_eq!(asked.len(), 23, "three to resolve it, and no other that is not measured");
    assert!(asked[2..].iter().all(|head| head == &asked[2]), "the first is like the last");
    let left = everything(&ended, folder.path());
    for secret in ["open-sesame", "REVNTzpvcGVuLXNlc2FtZQ", "s3cret"] {
        assert!(!left.contains(secret), "{secret} stands somewhere");
    }
}

#[test]
fn a_wrong_password_is_tried_once() {
    let site =
        ReplyServer::always(Reply::answer(401, "WWW-Authenticate: Basic realm=\"x\"\r\n", "who?"));
    let (folder, url) = (folder(), site.url("/"));
    let words = ["http", "ping", "--count", "5", "--warmup", "0s", &url];
    let ended = Program::start_told(Path::new(PLUMB), &words, folder.path(), &WHO).wait().with(2);
    assert!(
        ended.stderr.contains("answers 401 to the user and the password that were given (Basic)"),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("open-sesame"), "{}", ended.stderr);
    assert_eq!(site.asked().len(), 2, "one without, one with, none measured");
    assert!(!site.asked()[0].contains("Authorization"));
    assert!(!folder.path().join("plumb-runs").exists());
    let wanted = [&words[..6], &["--expect-status", "401", &url]].concat();
    Program::start_told(Path::new(PLUMB), &wanted, folder.path(), &WHO).wait().with(0);
    assert_eq!(site.asked().len(), 2 + 7, "a refusal that is expected is measured");
}

/// A server that says no to everybody but Ann and Bob, whoever asks.
fn gate() -> ReplyServer {
    ReplyServer::start(|head, _| {
        let known = [ANN, BOB].iter().any(|known| head.contains(&format!(": {known}\r\n")));
        match known {
            true => Reply::page("welcome"),
            false => Reply::answer(401, "WWW-Authenticate: Basic realm=\"x\"\r\n", "who?"),
        }
    })
}

/// `ann:one`, `bob:two` and `eve:three`, base64.
const ANN: &str = "Basic YW5uOm9uZQ==";
const BOB: &str = "Basic Ym9iOnR3bw==";
const EVE: &str = "Basic ZXZlOnRocmVl";

/// How often somebody asked with `line`.
fn log_ons(site: &ReplyServer, line: &str) -> usize {
    site.asked().iter().filter(|head| head.contains(line)).count()
}

#[test]
fn users_of_a_load_send_a_wrong_password_once_each_and_the_load_ends() {
    let site = gate();
    let text = with_base(
        &site,
        "for = \"10m\"\n[[finish]]\nget = \"/end\"\n[[scenario]]\nname = \"a\"\nusers = 4\n\
         [[scenario.step]]\nname = \"page\"\nget = \"/\"\n\
         [[scenario.finish]]\nget = \"/log-off\"\n",
    );
    let folder = scenario(&text);
    let ended = play_in(folder.path(), &["--users", "3,4", "--json"]).with(1);
    let record = ended.json();
    let first = field(&record, "/results/0/labels/users").as_str().unwrap_or_default().to_owned();
    let most: usize = first.parse().expect("a number of users");
    assert!((1..=most).contains(&site.asked().len()), "{first}: {:?}", site.asked());
    assert_eq!(field(&record, "/results").as_array().map(Vec::len), Some(1));
    let said = reasons(&record);
    assert!(
        said.starts_with(&format!(
            "{} answered 401 to the user and the password that were given (Basic)",
            site.url("")
        )),
        "{said}"
    );
    assert!(said.contains(&format!("{first} users of a ended: ")), "{said}");
    let all = field(&record, "/validity/reasons").to_string();
    assert!(all.contains("not begun"), "{all}");
    assert!(!everything(&ended, folder.path()).contains("ZGVtbzpkZW1v"), "the password is kept");
}

#[test]
fn of_several_users_those_that_are_refused_log_on_no_more() {
    let site = gate();
    let text = with_base(
        &site,
        "[[scenario]]\nname = \"a\"\nusers = 3\niterations = 4\non-failure = \"restart\"\n\
         data = [{ file = \"users.csv\", take = \"by-user\" }]\n\
         headers = { Authorization = \"Basic ${base64(${user}:${password})}\" }\n\
         [[scenario.step]]\nparallel = \"both\"\n\
         [[scenario.step.step]]\nname = \"one\"\nget = \"/one\"\n\
         [[scenario.step.step]]\nname = \"two\"\nget = \"/two\"\n\
         [[scenario.finish]]\nget = \"/log-off\"\n",
    );
    let folder = scenario(&text);
    let lines = "user,password\nann,one\neve,three\nbob,two\n";
    fs::write(folder.path().join("users.csv"), lines).expect("a file");
    let ended = play_in(folder.path(), &["--json"]).with(1);
    let record = ended.json();
    // both of what is asked for at the same time may be on their way when the first is refused
    assert!((1..=2).contains(&log_ons(&site, EVE)), "{:?}", site.asked());
    for line in [ANN, BOB] {
        assert_eq!(log_ons(&site, line), 4 * 2 + 1, "{line}: {}", reasons(&record));
    }
    let said = reasons(&record);
    assert!(said.contains("that were given (Basic), which are sent no more"), "{said}");
    assert!(said.contains("1 user of a ended: "), "{said}");
    assert!(!everything(&ended, folder.path()).contains(&EVE["Basic ".len()..]));
}

#[test]
fn a_key_in_the_place_of_a_user_is_shown_nowhere() {
    let site = gate();
    let step = "[[scenario]]\nname = \"a\"\nusers = 2\n[[scenario.step]]\nget = \"/\"\n";
    let folder = scenario(&with_base(&site, &format!("for = \"10m\"\n{step}")));
    let (load, url) =
        (["http", "load", "s.toml", "--lag", "10s", "--junit", "j.xml"], site.url("/"));
    let who = [("PLUMB_HTTP_USER", "sk_live_key"), ("PLUMB_HTTP_PASSWORD", "")];
    let ended = Program::start_told(Path::new(PLUMB), &load, folder.path(), &who).wait().with(1);
    let told = reasons(&kit::record(&only_run(folder.path())));
    assert!(told.contains("that were given (Basic), which are sent no more"), "{told}");
    let junit = fs::read_to_string(folder.path().join("j.xml")).expect("a file");
    let ping = ["http", "ping", "--count", "5", &url];
    let pinged = Program::start_told(Path::new(PLUMB), &ping, folder.path(), &who).wait().with(2);
    assert!(pinged.stderr.contains("that were given (Basic)"), "{}", pinged.stderr);
    let said = everything(&ended, folder.path()) + &junit + &pinged.stderr;
    for secret in ["sk_live_key", "c2tfbGl2ZV9rZXk"] {
        assert!(!said.contains(secret), "{secret} stands somewhere");
    }
}

#[test]
fn a_server_that_refuses_whoever_logs_off_takes_no_figures_away() {
    let site = ReplyServer::start(|head, _| match head.starts_with("GET /log-off ") {
        true => Reply::answer(401, "WWW-Authenticate: Basic realm=\"x\"\r\n", "bye"),
        false => Reply::page("welcome"),
    });
    let text = "[[finish]]\nget = \"/log-off\"\n[[scenario]]\nname = \"a\"\niterations = 2\n\
                [[scenario.step]]\nget = \"/\"\n[[scenario.finish]]\nget = \"/log-off\"\n";
    let record = played(&with_base(&site, text), &["--users", "1,2"], 0);
    assert_eq!(field(&record, "/results").as_array().map(Vec::len), Some(2), "{record:#}");
    let asked = site.asked();
    let off = asked.iter().filter(|head| head.starts_with("GET /log-off ")).count();
    assert_eq!(off, 1 + 2 + 1, "each user of each point, and once for the load: {asked:?}");
    assert!(reasons(&record).contains("requests of finish steps failed"), "{record:#}");
}

#[test]
fn a_password_that_a_step_was_answered_with_before_is_not_refused_later() {
    // the directory behind the server is too slow once
    let site = ReplyServer::start(|_, before| match before {
        6 => Reply::answer(401, "WWW-Authenticate: Basic realm=\"x\"\r\n", "who?"),
        _ => Reply::page("welcome"),
    });
    let text = "[[scenario]]\nname = \"a\"\niterations = 20\non-failure = \"continue\"\n\
                [[scenario.step]]\nname = \"page\"\nget = \"/\"\n";
    let folder = scenario(&with_base(&site, text));
    let record = play_in(folder.path(), &["--json"]).json();
    assert_eq!(part(&record, "page")["failures"], json!({"unexpected-status": 1}), "{record:#}");
    assert_eq!(site.asked().len(), 20, "{}", reasons(&record));
}

#[test]
fn a_page_that_is_anybodys_says_nothing_of_a_password() {
    let site = ReplyServer::start(|head, _| match head.starts_with("GET /open ") {
        true => Reply::page("welcome"),
        false => Reply::answer(401, "WWW-Authenticate: Basic realm=\"x\"\r\n", "who?"),
    });
    let text = "for = \"10m\"\n[[scenario]]\nname = \"a\"\non-failure = \"continue\"\n\
                [[scenario.step]]\nget = \"/open\"\n[[scenario.step]]\nget = \"/closed\"\n";
    let record = played(&with_base(&site, text), &[], 1);
    assert!(reasons(&record).contains("which are sent no more"), "{record:#}");
    assert_eq!(site.asked().len(), 2, "{:?}", site.asked());
}

#[test]
fn a_password_of_another_host_beside_digest_is_sent_no_more_either() {
    let (site, other) = (ReplyServer::always(Reply::page("welcome")), gate());
    let text = format!(
        "hosts = [\"{}\"]\nauthentication = \"digest\"\n[[scenario]]\nname = \"a\"\n\
         iterations = 5\non-failure = \"continue\"\n[[scenario.step]]\nget = \"{}\"\n\
         headers = {{ Authorization = \"Basic ${{base64(${{user}}:${{password}})}}\" }}\n\
         [variables]\nuser = \"eve\"\npassword = \"three\"\n",
        other.url(""),
        other.url("/")
    );
    let record = played(&with_base(&site, &text), &[], 1);
    assert_eq!(log_ons(&other, EVE), 1, "{:?}", other.asked());
    assert!(reasons(&record).contains("that were given (Basic)"), "{record:#}");
}

#[test]
fn a_password_that_digest_proves_wrong_is_proved_once_by_each_user() {
    let site = ReplyServer::start(|_, before| {
        let nonce = format!("WWW-Authenticate: Digest realm=\"x\", nonce=\"n{before}\"\r\n");
        Reply::answer(401, &nonce, "who?")
    });
    let text = "for = \"10m\"\nauthentication = \"digest\"\n[[scenario]]\nname = \"a\"\n\
                users = 2\n[[scenario.step]]\nget = \"/\"\n";
    let record = played(&with_base(&site, text), &[], 1);
    assert!((1..=2).contains(&log_ons(&site, "Authorization: Digest ")), "{:?}", site.asked());
    assert!(reasons(&record).contains("that were given (Digest)"), "{record:#}");
}

#[test]
fn a_refusal_that_is_expected_ends_nothing() {
    let site = gate();
    let text = "[[scenario]]\nname = \"a\"\niterations = 5\n[[scenario.step]]\nname = \"page\"\n\
                get = \"/\"\ncheck = { status = \"401\" }\n";
    let record = played(&with_base(&site, text), &[], 0);
    assert_eq!(part(&record, "page")["operations"], 5, "{}", reasons(&record));
    // a token that is no longer good is no password
    let bearer = "[[scenario]]\nname = \"a\"\niterations = 5\n\
                  headers = { Authorization = \"Bearer x\" }\n\
                  [[scenario.step]]\nname = \"page\"\nget = \"/\"\n";
    let record = played(&with_base(&site, bearer), &[], 1);
    assert_eq!(part(&record, "page")["failures"], json!({"unexpected-status": 5}));
}

#[test]
fn whoever_is_known_and_may_not_see_the_page_is_not_asked_for_again() {
    let site = ReplyServer::start(|head, _| match head.contains("Authorization: ") {
        true => Reply::answer(403, "", "not you"),
        false => Reply::answer(401, "WWW-Authenticate: Basic realm=\"x\"\r\n", "who?"),
    });
    let (folder, url) = (folder(), site.url("/"));
    let words = ["http", "ping", "--count", "5", "--warmup", "0s", &url];
    let ended = Program::start_told(Path::new(PLUMB), &words, folder.path(), &WHO).wait().with(2);
    assert!(
        ended.stderr.contains("answers 403 to the user and the password that were given (Basic)"),
        "{}",
        ended.stderr
    );
    assert_eq!(site.asked().len(), 2);
}

#[test]
fn a_url_that_is_taken_as_given_is_told_the_user_of_a_file_at_once() {
    let (site, folder) = (ReplyServer::always(Reply::page("x")), folder());
    let file = folder.path().join("who");
    fs::write(&file, "DEMO:open-sesame\n").expect("a file");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("our own file");
    let (url, other) = (site.url("/a"), site.url("/b"));
    let named = ["--as-given", "--credentials", "who", "--method", "POST", &url, &other];
    let ended = ping(&named, folder.path()).with(0);
    let asked = site.asked();
    assert_eq!(asked.len(), 20, "nothing was asked for before");
    let line = format!("\r\nAuthorization: {TOKEN}\r\n");
    assert!(asked.iter().all(|head| head.contains(&line)), "{asked:?}");
    // a server that waits for a length would wait for ever
    assert!(asked.iter().all(|head| head.contains("\r\nContent-Length: 0\r\n")), "{asked:?}");
    assert!(!everything(&ended, folder.path()).contains(TOKEN));
    let environment = ["http", "ping", "--count", "2", "--warmup", "0s", "--as-given", &url];
    let place = self::folder();
    Program::start_told(Path::new(PLUMB), &environment, place.path(), &WHO).wait().with(0);
    let last = site.asked().pop().unwrap_or_default();
    assert!(!last.contains("Authorization"), "the environment answers a challenge only");
}

#[test]
fn credentials_go_to_the_server_that_was_named_and_to_no_other() {
    let thief =
        ReplyServer::always(Reply::answer(401, "WWW-Authenticate: Basic realm=\"x\"\r\n", "who?"));
    let there = thief.url("/");
    let site =
        ReplyServer::start(move |_, _| Reply::answer(302, &format!("Location: {there}\r\n"), ""));
    let (folder, url) = (folder(), site.url("/"));
    let words = ["http", "ping", "--count", "5", "--warmup", "0s", &url];
    let ended = Program::start_told(Path::new(PLUMB), &words, folder.path(), &WHO).wait().with(1);
    assert!(ended.stdout.contains("another server"), "{}", ended.stdout);
    assert!(thief.asked().iter().all(|head| !head.contains("Authorization")));
}

#[test]
fn secrets_are_refused_where_others_would_read_them() {
    let folder = folder();
    let refused = |words: &[&str], said: &str| {
        let ended = ping(words, folder.path()).with(2);
        assert!(ended.stderr.contains(said) && !ended.stderr.contains("open-sesame"), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    };
    refused(&["http://DEMO:open-sesame@127.0.0.1:1/"], "PLUMB_HTTP_PASSWORD");
    refused(
        &["http://127.0.0.1:1/", "--header", "Authorization: Basic open-sesame"],
        "--credentials",
    );
    refused(&["http://127.0.0.1:1/", "--header", "Cookie: sid=open-sesame"], "cookies");
    let file = folder.path().join("who");
    fs::write(&file, "DEMO:open-sesame\n").expect("a file");
    fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("our own file");
    let site = portal();
    let named = ["--credentials", file.to_str().expect("a plain path"), &site.url("/page")];
    refused(&named, "chmod 600");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("our own file");
    ping(&named, folder.path()).with(0);
}

#[test]
fn ways_without_an_end_are_refused() {
    let site = ReplyServer::start(|head, _| {
        let number = head.bytes().filter(|byte| *byte == b'x').count();
        Reply::answer(302, &format!("Location: /{}\r\n", "x".repeat(number + 1)), "")
    });
    let folder = folder();
    let ended = ping(&[&site.url("/")], folder.path()).with(2);
    assert!(ended.stderr.contains("redirects more than 10 times"), "{ended:?}");
    let astray = ReplyServer::always(Reply::answer(302, "Location: ftp://elsewhere/\r\n", ""));
    let ended = ping(&[&astray.url("/")], folder.path()).with(2);
    assert!(ended.stderr.contains("leads nowhere"), "{ended:?}");
}

#[test]
fn a_proxy_is_asked_for_the_whole_url() {
    let proxy = ReplyServer::always(Reply::page("from afar"));
    let result = measured(&["http://erp.example/a?b", "--proxy", &proxy.url("")], 0);
    assert_eq!(result["operations"], 20);
    let expected = "GET http://erp.example/a?b HTTP/1.1\r\nHost: erp.example\r\n";
    assert!(proxy.asked().iter().all(|head| head.starts_with(expected)), "{:?}", proxy.asked());
}

#[test]
fn a_proxy_that_asks_is_told_who_asks_from_the_environment_only() {
    let line = format!("\r\nProxy-Authorization: {TOKEN}\r\n");
    let proxy = ReplyServer::start(move |head, _| {
        if head.contains(&line) { Reply::page("from afar") } else { Reply::answer(407, "", "who?") }
    });
    let folder = folder();
    let ended = ping(&["http://erp.example/", "--proxy", &proxy.url("")], folder.path()).with(1);
    assert!(ended.stdout.contains("PLUMB_PROXY_USER"), "{ended:?}");

    let gate = proxy.url("");
    let words =
        ["http", "ping", "--count=3", "--warmup=0s", "--proxy", &gate, "http://erp.example/"];
    let who = [("PLUMB_PROXY_USER", "DEMO"), ("PLUMB_PROXY_PASSWORD", "open-sesame")];
    let place = self::folder();
    let ended = Program::start_told(Path::new(PLUMB), &words, place.path(), &who).wait().with(0);
    let said = everything(&ended, place.path());
    assert!(!said.contains("open-sesame") && !said.contains(TOKEN), "a secret was kept");

    let given = ["http://erp.example/", "--header", "Proxy-Authorization: Basic eA=="];
    let ended = ping(&given, folder.path()).with(2);
    assert!(ended.stderr.contains("PLUMB_PROXY_PASSWORD in the environment"), "{ended:?}");
}
