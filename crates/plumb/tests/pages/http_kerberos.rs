//! Users who prove who they are by tickets of Kerberos, with the KDC of MIT and Apache's mod_auth_gssapi.
//! Part of a program that was built with that.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use std::path::Path;
use std::{fs, thread};

use crate::kit;

use kit::Ended;
use kit::http::{Reply, ReplyServer};
use kit::kerberos::{Apache, PASSWORD, Realm, USER, later};
use kit::not_tried;
use kit::scenario::{part, reasons, scenario};
use serde_json::{Value, json};

/// Two users who ask three times each for `path`, with further `keys` of the file.
fn text(url: &str, path: &str, keys: &str) -> String {
    format!(
        "base = \"{url}\"\nauthentication = \"negotiate\"\n{keys}\n[[scenario]]\nname = \"a\"\n\
         users = 2\niterations = 3\n[[scenario.step]]\nname = \"page\"\nget = \"{path}\"\n"
    )
}

/// A realm with a user who has a ticket, and a server; `Err` says why not.
fn landscape() -> Result<(Realm, Apache), String> {
    let realm = Realm::start()
        .map_err(|why| format!("{why}; ./test --full installs what Kerberos needs"))?;
    realm.kinit("good", &[]);
    let apache = realm.apache("localhost");
    Ok((realm, apache))
}

fn play(realm: &Realm, text: &str, told: (&str, &[(&str, &str)])) -> Ended {
    let folder = scenario(text);
    let words = ["http", "load", "s.toml", "--lag", "10s", "--json", "--out", "run"];
    let ended = realm.plumb(&words, told, folder.path());
    assert_nothing_secret(&ended, &folder.path().join("run"));
    ended
}

/// Neither a password nor a token stands in what was said or written.
fn assert_nothing_secret(ended: &Ended, run: &Path) {
    let files = fs::read_dir(run).into_iter().flatten();
    let written = files.map(|file| fs::read(file.expect("a file").path()).unwrap_or_default());
    let said = [&ended.stdout, &ended.stderr].map(|text| text.clone().into_bytes());
    for bytes in written.chain(said) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(PASSWORD) && !text.contains("Negotiate YI"), "{text}");
    }
}

fn ping(realm: &Realm, url: &str, words: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let own = ["http", "ping", url, "--authentication", "negotiate", "--count", "20", "--json"];
    realm.plumb(&[&own, words].concat(), ("good", &[]), folder.path()).with(0).json()
}

#[test]
fn each_user_proves_who_asks_as_often_as_the_server_wants() {
    let (realm, apache) = match landscape() {
        Ok(both) => both,
        Err(why) => return not_tried(why),
    };
    for (path, keys, challenges) in
        [("/each", "", 6), ("/once", "", 2), ("/once", "close = true", 6)]
    {
        let record = play(&realm, &text(&apache.url, path, keys), ("good", &[])).with(0).json();
        assert_eq!(part(&record, "page")["codes"], json!({"200": 6}), "{}", reasons(&record));
        let challenge = part(&record, "page (challenge)");
        assert_eq!(challenge["codes"], json!({"401": challenges}), "{path} {keys}");
    }
}

#[test]
fn pings_carry_tickets_and_meet_no_challenge() {
    let (realm, apache) = match landscape() {
        Ok(both) => both,
        Err(why) => return not_tried(why),
    };
    let step = |record: &Value| record["results"][0]["parts"][0]["steps"][0]["text"].clone();
    for (path, words, said) in [
        ("/each", &[][..], "Negotiate, with each request"),
        ("/once", &[], "Negotiate, once a connection"),
        ("/once", &["--close"], "Negotiate, once a connection"),
        ("/each", &["--service", "HTTP/localhost@PLUMB.TEST"], "Negotiate, with each request"),
    ] {
        let record = ping(&realm, &format!("{}{path}", apache.url), words);
        assert_eq!(record["results"][0]["codes"], json!({"200": 20}), "{path} {words:?}");
        assert_eq!(step(&record), said, "{path} {words:?}");
    }
    let url = format!("{}/each", apache.url);
    assert_eq!(ping(&realm, &url, &["--as-given"])["results"][0]["codes"], json!({"200": 20}));
}

#[test]
fn a_challenge_of_another_server_than_the_one_that_was_answered_ends_the_way() {
    let (realm, apache) = match landscape() {
        Ok(both) => both,
        Err(why) => return not_tried(why),
    };
    let other = ReplyServer::always(Reply::answer(401, "WWW-Authenticate: Basic realm=x\r\n", ""));
    let (folder, url) = (tempfile::tempdir().expect("a folder"), format!("{}/each", apache.url));
    let words = ["http", "ping", &url, &other.url("/"), "--authentication", "negotiate"];
    let ended = realm.plumb(&words, ("good", &[]), folder.path()).with(2);
    assert!(ended.stderr.contains("lead to different servers"), "{}", ended.stderr);
    assert_eq!(other.asked().len(), 1);
}

#[test]
fn tickets_come_from_a_keytab_or_a_password_too() {
    let (realm, apache) = match landscape() {
        Ok(both) => both,
        Err(why) => return not_tried(why),
    };
    let (text, keytab) = (text(&apache.url, "/each", ""), realm.keytab(USER));
    for told in [
        &[("KRB5_CLIENT_KTNAME", keytab.as_str())][..],
        &[("PLUMB_HTTP_USER", USER), ("PLUMB_HTTP_PASSWORD", PASSWORD)],
        &[("PLUMB_HTTP_USER", "demo@PLUMB.TEST"), ("PLUMB_HTTP_PASSWORD", PASSWORD)],
    ] {
        let record = play(&realm, &text, ("new", told)).with(0).json();
        assert_eq!(part(&record, "page")["operations"], 6, "{}", reasons(&record));
    }
}

#[test]
fn what_keeps_a_user_from_a_ticket_is_said_before_anything_is_asked() {
    let (mut realm, apache) = match landscape() {
        Ok(both) => both,
        Err(why) => return not_tried(why),
    };
    let plain = text(&apache.url, "/each", "");
    let refused = |realm: &Realm, text: &str, told: (&str, &[(&str, &str)]), words: [&str; 2]| {
        let ended = play(realm, text, told).with(2);
        for words in words {
            assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        }
    };
    realm.kinit("short", &["-l", "1s"]);
    refused(&realm, &plain, ("none", &[]), ["No Kerberos credentials available", "kinit"]);
    let wrong = [("PLUMB_HTTP_USER", USER), ("PLUMB_HTTP_PASSWORD", "wrong")];
    refused(&realm, &plain, ("none", &wrong), ["no ticket for", "the password is not right"]);
    let nobody = [("PLUMB_HTTP_USER", "nobody"), ("PLUMB_HTTP_PASSWORD", "wrong")];
    refused(&realm, &plain, ("none", &nobody), ["Client 'nobody@PLUMB.TEST'", "is the user right"]);
    let nowhere = text(&apache.url, "/each", "service = \"HTTP/nowhere\"");
    refused(
        &realm,
        &nowhere,
        ("good", &[]),
        ["HTTP/nowhere@PLUMB.TEST", "give its name as service"],
    );
    let no_name = text(&apache.url, "/each", "service = \"erp\"");
    refused(&realm, &no_name, ("good", &[]), ["s.toml", "write HTTP/HOST"]);
    match later("+2h") {
        Some(skewed) => {
            refused(&realm, &plain, ("good", &skewed), ["Clock skew too great", "NTP"]);
        }
        None => not_tried("faketime is not there; ./test --full installs it"),
    }
    // within the second in which it ends it is good for one and not for another
    while realm.is_good("short") || play(&realm, &plain, ("short", &[])).code != Some(2) {
        thread::yield_now();
    }
    refused(&realm, &plain, ("short", &[]), ["Ticket expired", "kinit"]);
    realm.kinit("alone", &[]);
    realm.stop();
    refused(&realm, &plain, ("alone", &[]), ["Cannot contact any KDC", "does the KDC run"]);
}

#[test]
fn a_server_that_does_not_accept_a_ticket_or_prove_itself_fails_the_step() {
    let (realm, _apache) = match landscape() {
        Ok(both) => both,
        Err(why) => return not_tried(why),
    };
    let other = realm.apache("other");
    let record = play(&realm, &text(&other.url, "/each", ""), ("good", &[])).with(1).json();
    assert_eq!(part(&record, "page")["failures"], json!({"unexpected-status": 6}));
    assert!(reasons(&record).contains("does not accept the ticket"), "{}", reasons(&record));
    let negotiate = "WWW-Authenticate: Negotiate\r\n";
    for (answer, words) in [
        (Reply::page("hello"), "the server did not prove who it is"),
        (
            Reply::answer(200, "WWW-Authenticate: Negotiate oYG3MIG0\r\n", "hello"),
            "HTTP@localhost did not prove who it is",
        ),
        (Reply::answer(200, "WWW-Authenticate: Negotiate ?\r\n", "hello"), "no Base64"),
    ] {
        let site =
            ReplyServer::start(move |head, _| match head.contains("Authorization: Negotiate ") {
                true => answer.clone(),
                false => Reply::answer(401, negotiate, "who?"),
            });
        let url = format!("http://localhost:{}", site.address.port());
        let record = play(&realm, &text(&url, "/page", ""), ("good", &[])).with(1).json();
        assert_eq!(part(&record, "page")["failures"], json!({"check-failed": 6}));
        assert!(reasons(&record).contains(words), "{words}: {}", reasons(&record));
    }
    let basic = ReplyServer::always(Reply::answer(401, "WWW-Authenticate: Basic realm=x\r\n", ""));
    let url = format!("http://localhost:{}", basic.address.port());
    let record = play(&realm, &text(&url, "/page", ""), ("good", &[])).with(1).json();
    assert!(reasons(&record).contains("the server offers no Negotiate"), "{}", reasons(&record));
}
