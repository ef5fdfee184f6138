use std::path::Path;

use plumb_measure::LoadPart;
use plumb_scenario::Patterns;
use plumb_scenario::ScenarioSource;

use super::super::origin::Origins;
use super::super::script::{Overrides, compile};
use super::exchange::led_to;
use super::*;
use crate::proof::Initiators;
use plumb_scenario::refused::RefusedLogOns;

/// One user that asks for one page and looks into it.
fn player(step: &str) -> Player {
    player_of(&format!(
        "base = \"http://h\"\n[[scenario]]\nname = \"a\"\niterations = 2\n[[scenario.step]]\n\
         name = \"page\"\nget = \"/\"\n{step}\n"
    ))
}

/// The user of the file `text`.
fn player_of(text: &str) -> Player {
    let source = ScenarioSource::parse(Path::new("s.toml"), text.into()).unwrap();
    let overrides = Overrides {
        headers: std::collections::BTreeMap::new(),
        exclude: Patterns::default(),
        credentials: None,
        body_bytes_max: 100,
        part: LoadPart::default(),
        close: false,
        initiators: Initiators::default(),
        refused: RefusedLogOns::default(),
    };
    let origins = Arc::new(Origins::new(&source, None, None).unwrap());
    let mut compiled = compile(&source, &origins, &overrides, 1, &[]).unwrap();
    Player::new(compiled.scripts.remove(0), ToldNames::default(), None)
}

/// The answer in `bytes`, fed in pieces of `piece` bytes, then the end of the connection.
fn answered(player: &mut Player, user: &mut User, bytes: &[u8], piece: usize) -> Answer {
    let mut wire = Wire::default();
    let Next::Send(op) = player.encode(user, &mut wire, &mut Vec::new()) else {
        panic!("nothing was asked for");
    };
    let (mut from, mut to) = (0, 0);
    while to < bytes.len() {
        to = bytes.len().min(to + piece);
        while from < to {
            match player.decode(user, &mut wire, Some(op), &bytes[from..to], &mut Vec::new()) {
                Reading::Done { answer, .. } => return answer,
                Reading::Need { consumed: 0 } => break,
                Reading::Need { consumed } | Reading::Aside { consumed } => from += consumed,
                other => panic!("{other:?}"),
            }
        }
    }
    player.eof(user, &mut wire, op)
}

fn found(step: &str, bytes: &[u8]) -> Outcome {
    let outcomes = [1, 7, bytes.len()].map(|piece| {
        let mut player = player(step);
        let mut user = player.user(0);
        answered(&mut player, &mut user, bytes, piece).outcome
    });
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
    outcomes[0]
}

const LOOKS: &str = "check = { contains = [\"hello\"], length = 5 }";

#[test]
fn content_is_looked_into_however_it_is_framed() {
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
    let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let until_close = b"HTTP/1.0 200 OK\r\n\r\nhello";
    for bytes in [&chunked[..], interim, until_close] {
        assert_eq!(found(LOOKS, bytes), Outcome::Ok);
        assert_eq!(found("", bytes), Outcome::Ok);
    }
}

#[test]
fn wrong_answers_have_their_kinds() {
    let failed = |step, bytes: &[u8], kind| {
        assert_eq!(found(step, bytes), Outcome::Failed(kind), "{}", bytes.escape_ascii());
    };
    let ok = |rest: &str| format!("HTTP/1.1 200 OK\r\n{rest}").into_bytes();
    failed(LOOKS, &ok("Content-Length: 4\r\n\r\nhell"), FailureKind::CheckFailed);
    failed(LOOKS, &ok("Content-Length: 5\r\n\r\nworld"), FailureKind::CheckFailed);
    failed("", &ok("Content-Length: 5\r\n\r\nhell"), FailureKind::Closed);
    failed("", &ok("Transfer-Encoding: chunked\r\n\r\nzz\r\n"), FailureKind::Garbled);
    failed("", &ok("Content-Length: 101\r\n\r\nx"), FailureKind::Closed);
    failed("", b"220 mail\r\n", FailureKind::Garbled);
    failed("", b"HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n", FailureKind::UnexpectedStatus);
    failed(LOOKS, &ok("Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx"), FailureKind::Garbled);
    let long = ok(&format!("Content-Length: 101\r\n\r\n{}", "x".repeat(101)));
    failed("", &long, FailureKind::BodyTooLarge);
    let regex = "extract = [{ name = \"n\", regex = \"[0-9]+\" }]";
    failed(regex, &ok("Content-Length: 1\r\n\r\nx"), FailureKind::NothingExtracted);
}

#[test]
fn texts_of_checks_are_those_of_the_user() {
    let page = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nok /me";
    let step =
        |check: &str| format!("set = {{ who = \"ok\", other = \"no\" }}\ncheck = {{ {check} }}");
    let failed = Outcome::Failed(FailureKind::CheckFailed);
    for (check, outcome) in [
        ("contains = [\"${who} /me\"]", Outcome::Ok),
        ("contains = [\"${other}\"]", failed),
        ("contains-not = [\"${who}\"]", failed),
        ("contains-not = [\"${other}\"]", Outcome::Ok),
    ] {
        assert_eq!(found(&step(check), page), outcome, "{check}");
    }
}

#[test]
fn a_user_goes_through_its_scripts_and_is_done() {
    let mut player = player("extract = [{ name = \"n\", regex = \"[0-9]+\" }]");
    let mut user = player.user(0);
    for (turn, after) in [(1, After::Turn), (2, After::Finish)] {
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{turn}");
        let answer = answered(&mut player, &mut user, bytes.as_bytes(), 3);
        assert_eq!(answer.code, Some(200));
        let op = Op { label: 0, tag: 0 };
        let mut end = OpEnd { op, answer, took_ns: 5, response_ns: 5, counts: true };
        assert_eq!(player.settle(&mut user, &mut end), after);
    }
    let mut figures = ScenarioFigures::default();
    player.add_to(&mut figures);
    assert_eq!((figures.begun, figures.scripts, figures.empty), (1, 2, 0));
    let nothing = player.encode(&mut user, &mut Wire::default(), &mut Vec::new());
    assert_eq!(nothing, Next::Finish);
}

/// What a user does after an answer with `status`.
fn after(player: &mut Player, user: &mut User, status: u16) -> After {
    let bytes = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
    let answer = answered(player, user, bytes.as_bytes(), bytes.len());
    let op = Op { label: 0, tag: user.exchange.step };
    let mut end = OpEnd { op, answer, took_ns: 5, response_ns: 5, counts: true };
    player.settle(user, &mut end)
}

const SCENARIO: &str = "base = \"http://h\"\nfor = \"1s\"\n[[scenario]]\nname = \"a\"\n";
const STEP: &str = "[[scenario.step]]\nget = \"/\"\n";

#[test]
fn a_user_that_begins_anew_after_a_failure_thinks_and_pauses_first() {
    let login = "[[scenario.login]]\nget = \"/login\"\n";
    let (anew, think) = ("on-failure = \"restart\"\n", "think = \"500ms\"\n");
    let pause = "pause = \"400ms\"\n";
    let grouped = format!(
        "[[scenario.step]]\ngroup = \"g\"\n{think}[[scenario.step.step]]\nget = \"/\"\n\
         resources = true\n"
    );
    for (file, ms) in [
        (format!("{anew}{think}{STEP}{STEP}"), 500),
        (format!("{anew}{STEP}{think}{STEP}think = \"1s\"\n"), 500),
        (format!("{anew}{STEP}{STEP}{think}"), 500),
        (format!("{anew}{pause}{grouped}{STEP}"), 900),
        (format!("{anew}{think}{pause}{login}{STEP}"), 900),
        (format!("{anew}{pause}{login}{STEP}"), 400),
        (format!("{anew}{login}{STEP}{think}"), 500),
        (format!("{anew}{STEP}{STEP}{think}{STEP}"), 500),
        (format!("{anew}{login}{STEP}{STEP}{think}{STEP}"), 500),
    ] {
        let mut player = player_of(&format!("{SCENARIO}{file}"));
        let mut user = player.user(0);
        for _ in 0..2 {
            assert_eq!(after(&mut player, &mut user, 503), After::Pause(ms * 1_000_000), "{file}");
            assert_eq!(player.resume(&mut user), After::Turn, "{file}");
        }
        let mut out = Vec::new();
        let _ = player.encode(&mut user, &mut Wire::default(), &mut out);
        assert_eq!(out.starts_with(b"GET /login "), file.contains(login), "{file}");
    }
}

#[test]
fn a_user_thinks_as_behind_a_step_of_which_nobody_knows_whether_it_is_to_be_done() {
    let manner = "set = { v = \"${later}\" }\nthink = \"500ms\"\n";
    let group =
        format!("[[scenario.step]]\ngroup = \"g\"\n{manner}[[scenario.step.step]]\nget = \"/\"\n");
    let last = format!("{STEP}think = \"1s\"\nextract = [{{ name = \"later\", regex = \"x\" }}]\n");
    for step in [format!("{STEP}{manner}"), group] {
        let file = format!("{SCENARIO}on-failure = \"restart\"\n{step}{last}");
        let mut player = player_of(&file);
        let mut user = player.user(0);
        let next = player.encode(&mut user, &mut Wire::default(), &mut Vec::new());
        let Next::Fail(op, kind) = next else { panic!("{next:?}: {file}") };
        let answer = Answer::failed(kind);
        let mut end = OpEnd { op, answer, took_ns: 5, response_ns: 5, counts: true };
        assert_eq!(player.settle(&mut user, &mut end), After::Pause(500_000_000), "{file}");
    }
}

/// Groups that are complete after each of `answers` answers and the pause behind it, `g` of a script
/// whose steps in the group are `within`.
fn groups_complete(within: &str, answers: usize) -> Vec<(usize, usize)> {
    let group = "[[scenario.step]]\ngroup = \"g\"\n";
    let mut player = player_of(&format!("{SCENARIO}think = \"500ms\"\n{group}{within}"));
    let mut user = player.user(0);
    let groups = |player: &mut Player| std::iter::from_fn(|| player.complete()).count();
    let mut found = Vec::new();
    for _ in 0..answers {
        assert_eq!(after(&mut player, &mut user, 200), After::Pause(500_000_000), "{within}");
        let answered = groups(&mut player);
        player.resume(&mut user);
        found.push((answered, groups(&mut player)));
    }
    found
}

#[test]
fn a_group_is_complete_with_its_last_answer_whatever_thinks_behind_it() {
    let step = |name: &str, key: &str, depth: usize| {
        let table = format!("[[scenario.{}]]\n", vec!["step"; depth].join("."));
        let get = if key.contains("repeat") || key.contains("while") || key.contains("group") {
            String::new()
        } else {
            format!("get = \"/{name}\"\n")
        };
        format!("{table}{get}{key}\n")
    };
    let two = [step("a", "", 2), step("b", "", 2)].concat();
    assert_eq!(groups_complete(&two, 2), [(0, 0), (1, 0)]);
    let nested = [step("", "group = \"inner\"", 2), step("a", "", 3)].concat();
    assert_eq!(groups_complete(&nested, 1), [(2, 0)]);
    let repeated = [step("", "repeat = 2", 2), step("a", "", 3)].concat();
    assert_eq!(groups_complete(&repeated, 2), [(0, 0), (1, 0)]);
    let take = "extract = [{ name = \"v\", header = \"X\", default = \"no\" }]";
    let holds = [step("a", take, 2), step("", "while = \"${v} == yes\"", 2), step("b", "", 3)];
    assert_eq!(groups_complete(&holds.concat(), 1), [(1, 0)]);
    let left_out = [step("a", take, 2), step("b", "if = \"${v} == yes\"", 2)].concat();
    assert_eq!(groups_complete(&left_out, 1), [(1, 0)]);
    // nobody knows yet
    let drawn = [step("a", "", 2), step("b", "if = \"${random(1, 1)} == 2\"", 2)].concat();
    assert_eq!(groups_complete(&drawn, 1), [(0, 1)]);
}

#[test]
fn what_was_wrong_in_the_warm_up_is_told_from_what_was_wrong_behind_it() {
    let mut player = player_of(&format!("{SCENARIO}{STEP}"));
    let mut user = player.user(0);
    let mut fail = |status: u16, counts: bool| {
        let bytes = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
        let answer = answered(&mut player, &mut user, bytes.as_bytes(), 9);
        let op = Op { label: 0, tag: 0 };
        let mut end = OpEnd { op, answer, took_ns: 5, response_ns: 5, counts };
        player.settle(&mut user, &mut end);
        player.resume(&mut user);
        let first = player.complaints().next();
        first.map(|it| (it.warms_up, it.words.to_owned()))
    };
    let said = |warms_up: bool, status: u16| {
        Some((warms_up, format!("the status is {status}, expected 2xx")))
    };
    assert_eq!(fail(200, false), None);
    assert_eq!(fail(503, false), said(true, 503));
    assert_eq!(fail(500, false), said(true, 503));
    assert_eq!(fail(404, true), said(false, 404));
    assert_eq!(fail(410, true), said(false, 404));
}

#[test]
fn letters_of_another_charset_are_taken_as_those_of_the_page() {
    let step = "check = { contains = [\"Gr\u{f6}\u{df}e\"] }\n\
                extract = [{ name = \"n\", between = [\"<p>\", \"</p>\"], default = \"\" }]";
    for (charset, euro, outcome) in [
        ("; charset=windows-1252", 0x80, Outcome::Ok),
        ("; charset=ISO-8859-15", 0xa4, Outcome::Ok),
        ("", 0x80, Outcome::Failed(FailureKind::CheckFailed)),
    ] {
        let head = format!("HTTP/1.1 200 x\r\nContent-Type: text/html{charset}\r\n");
        let page = [&b"<p>Gr\xf6\xdfe: 5 "[..], &[euro], b"</p>"].concat();
        let mut bytes = format!("{head}Content-Length: {}\r\n\r\n", page.len()).into_bytes();
        bytes.extend(page);
        let mut player = player(step);
        let mut user = player.user(0);
        assert_eq!(answered(&mut player, &mut user, &bytes, 7).outcome, outcome, "{charset}");
        if outcome == Outcome::Ok {
            let slot = player.script.steps[0].extracts[0].slot();
            let text = "Gr\u{f6}\u{df}e: 5 \u{20ac}";
            assert_eq!(user.variables.get(slot), Some(&Value::text(text)), "{charset}");
        }
    }
}

/// What is asked next, answered with `bytes`: where it went, and the request.
fn asked(player: &mut Player, user: &mut User, bytes: &[u8]) -> (u16, String) {
    let (mut wire, mut out) = (Wire::default(), Vec::new());
    let (route, op) = match player.encode(user, &mut wire, &mut out) {
        Next::Send(op) => (0, op),
        Next::SendOver { route, op, .. } => (route, op),
        other => panic!("{other:?}"),
    };
    let read = player.decode(user, &mut wire, Some(op), bytes, &mut Vec::new());
    let Reading::Done { answer, .. } = read else { panic!("{read:?}") };
    let mut end = OpEnd { op, answer, took_ns: 5, response_ns: 5, counts: true };
    player.settle(user, &mut end);
    (route, String::from_utf8(out).unwrap())
}

#[test]
fn a_secret_of_a_page_goes_to_no_other_server_behind_a_redirect_of_what_it_embeds() {
    for (page, route) in [("/", 0), ("http://cdn/", 1)] {
        let mut player = player_of(&format!(
            "base = \"http://h\"\nhosts = [\"http://cdn\"]\n[[scenario]]\nname = \"a\"\n\
             [[scenario.step]]\nname = \"page\"\nget = \"{page}\"\nresources = true\n\
             redirects = true\nheaders = {{ X-Api-Key = \"s\" }}\n"
        ));
        let mut user = player.user(0);
        let embeds = "<img src=http://h/a.png><img src=http://cdn/a.png>";
        let html = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{embeds}",
            embeds.len()
        );
        let (to, request) = asked(&mut player, &mut user, html.as_bytes());
        assert!(to == route && request.contains("X-Api-Key: s"), "{request}");
        let away = b"HTTP/1.1 302 x\r\nLocation: /b.png\r\nContent-Length: 0\r\n\r\n";
        let image = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        for server in [0, 1] {
            for (answer, path) in [(&away[..], "/a.png"), (image, "/b.png")] {
                let (to, request) = asked(&mut player, &mut user, answer);
                assert_eq!((to, request.split(' ').nth(1)), (server, Some(path)));
                assert_eq!(request.contains("X-Api-Key"), server == route, "{page}: {request}");
            }
        }
    }
}

#[test]
fn what_a_page_embeds_is_asked_for_without_the_headers_of_the_content_that_went_before() {
    let mut player = player_of(&format!(
        "{SCENARIO}[[scenario.step]]\npath = \"/\"\nbody = \"a=1\"\nresources = true\n\
         headers = {{ Content-Type = \"a/form\", Content-Language = \"${{l}}\", X-A = \"1\" }}\n\
         [variables]\nl = \"de\"\n"
    ));
    let mut user = player.user(0);
    let embeds = "<img src=/a.png>";
    let html = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{embeds}",
        embeds.len()
    );
    let (_, page) = asked(&mut player, &mut user, html.as_bytes());
    assert!(page.starts_with("POST / ") && page.contains("Content-Type: a/form"), "{page}");
    let image = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let (_, request) = asked(&mut player, &mut user, image);
    assert!(request.starts_with("GET /a.png ") && request.contains("X-A: 1"), "{request}");
    assert!(!request.contains("Content-"), "{request}");
}

#[test]
fn a_redirect_leads_to_letters_of_iso_8859_1_as_well() {
    let player = player("redirects = true");
    let Script { steps, origins, .. } = &*player.script;
    let mut exchange = Exchange { target: "/a".into(), ..Exchange::default() };
    let head = b"HTTP/1.1 302 x\r\nLocation: /suche?q=M\xfcller\r\n\r\n";
    assert_eq!(exchange.lead_on(&steps[0], (302, head), origins), Ok(true));
    let next = exchange.pending().map(|hop| hop.place.target.as_str());
    assert_eq!(next, Some("/suche?q=M%FCller"));
    assert!(led_to(302, head).contains("it leads to /suche?q=M%FCller"));
}

#[test]
fn each_request_of_a_chain_may_be_challenged() {
    let player = player("redirects = true");
    let Script { steps, origins, .. } = &*player.script;
    let mut exchange = Exchange { target: "/a".into(), ..Exchange::default() };
    let stale =
        b"HTTP/1.1 401 x\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\", \
                  stale=true\r\n\r\n";
    let challenged =
        |exchange: &mut Exchange| exchange.challenged(&mut None, stale, [1, 2]).is_ok();
    for number in 0..4 {
        assert!(challenged(&mut exchange) && challenged(&mut exchange), "{number}");
        let head = format!("HTTP/1.1 302 x\r\nLocation: /{number}\r\n\r\n");
        assert_eq!(exchange.lead_on(&steps[0], (302, head.as_bytes()), origins), Ok(true));
    }
    assert!(challenged(&mut exchange) && challenged(&mut exchange));
    assert!(!challenged(&mut exchange), "again and again");
}
