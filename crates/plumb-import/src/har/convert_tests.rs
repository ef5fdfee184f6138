use plumb_draft::Source;

use super::*;
use crate::ImportOptions;
use proptest::prelude::*;

const SHOP: &str = include_str!("../../tests/files/shop.har");

fn options() -> ImportOptions {
    ImportOptions::of("shop.har")
}

fn source(text: &str) -> Source {
    Source { path: "shop.har".into(), text: text.into() }
}

fn draft(text: &str, options: &ImportOptions) -> Draft {
    import(&source(text), options).unwrap_or_else(|error| panic!("{error}"))
}

/// All requests of the scenario, in their order.
fn requests(draft: &Draft) -> Vec<&Step> {
    let steps = draft.file.scenario[0].step.iter();
    steps
        .flat_map(|step| if step.step.is_empty() { vec![step] } else { step.step.iter().collect() })
        .collect()
}

fn rows(draft: &Draft) -> Vec<String> {
    let names = requests(draft).into_iter().map(|step| step.name.as_ref().unwrap());
    names.map(|name| name.get_ref().clone()).collect()
}

fn notes(draft: &Draft) -> Vec<String> {
    draft.notes.sorted().iter().map(ToString::to_string).collect()
}

#[test]
fn a_session_of_a_browser_becomes_steps_in_the_order_of_their_beginnings() {
    let draft = draft(SHOP, &options());
    assert_eq!(
        rows(&draft),
        [
            "/login",
            "/style.css",
            "cdn.example/logo.png",
            "POST /login",
            "/odata/Orders",
            "PUT /odata/Orders(7)"
        ]
    );
    let steps = &draft.file.scenario[0].step;
    assert_eq!(steps[1].parallel.as_ref().unwrap().get_ref(), "parts of /login");
    let thinks: Vec<Option<u64>> = steps
        .iter()
        .map(|step| match step.think.as_ref().map(|think| *think.get_ref()) {
            Some(Think::Fixed(span)) => Some(span.ns() / 1_000_000),
            _ => None,
        })
        .collect();
    // ten seconds between the pages, five inside the second one
    assert_eq!(thinks, [None, Some(10_000), None, Some(5_000), None]);
    let checks: Vec<String> = requests(&draft)
        .iter()
        .map(|step| step.check.as_ref().unwrap().get_ref().status.clone().unwrap())
        .collect();
    // a log-on is led on to the page behind it
    assert_eq!(checks, ["200", "200", "200", "200", "200", "204"]);
    assert_eq!(draft.remarks["scenario.0.step.2"][1], "led on to https://shop.example/home");
    assert_eq!(draft.file.base.as_ref().unwrap().get_ref(), "https://shop.example");
    let hosts: Vec<&String> = draft.file.hosts.iter().map(|host| host.get_ref()).collect();
    assert_eq!(hosts, ["https://cdn.example"]);
}

#[test]
fn no_secret_of_the_recording_is_left() {
    let draft = draft(SHOP, &options());
    let all = format!("{:?} {:?} {:?} {:?}", draft.file, draft.remarks, draft.head, notes(&draft));
    for secret in ["sesame", "s3cr3t", "t0ken", "aaa.bbb", "4711", "QU5OQT"] {
        assert!(!all.contains(secret), "{secret} in {all}");
    }
    let steps = requests(&draft);
    let body = |at: usize| steps[at].body.as_ref().unwrap().get_ref().clone();
    assert_eq!(body(3), "user=ANNA&password=${password}&lang=$${x}");
    assert_eq!(body(5), "{\"note\":\"call \\\"me\\\"\",\"pin\":${pin}}");
    let path = steps[5].path.as_ref().unwrap().get_ref();
    assert_eq!(path, "/odata/Orders(7)?access_token=${access_token}");
    assert_eq!(steps[5].headers["X-CSRF-Token"], "${x_csrf_token}");
    assert_eq!(steps[4].headers["X-CSRF-Token"], "Fetch");
    let names: Vec<&String> = draft.file.variables.keys().collect();
    assert_eq!(names, ["access_token", "password", "pin", "x_csrf_token"]);
    let login = draft.login.unwrap();
    assert_eq!((login.user.as_str(), login.password.as_str()), ("ANNA", "open sesame"));
}

#[test]
fn headers_of_the_client_are_left_out_and_common_ones_said_once() {
    let draft = draft(SHOP, &ImportOptions { one_server: true, ..options() });
    let scenario = &draft.file.scenario[0];
    assert_eq!(scenario.headers, Pairs::from([("User-Agent".into(), "Browser/131".into())]));
    let login = &scenario.step[0].headers;
    assert_eq!(login.keys().collect::<Vec<_>>(), ["Accept-Language"]);
    assert_eq!(scenario.step[2].headers.keys().collect::<Vec<_>>(), ["Content-Type"]);
}

#[test]
fn what_is_left_out_is_named_with_its_entry() {
    let draft = draft(SHOP, &ImportOptions { one_server: true, ..options() });
    let notes = notes(&draft);
    for (entry, words) in [
        (2, "cookie consent: it was there before"),
        (3, "https://cdn.example: 1 request to another server"),
        (4, "its address is not asked for"),
        (7, "its address is not asked for"),
        (8, "the server asked who it is"),
        (11, "no answer came"),
    ] {
        let found = notes
            .iter()
            .any(|note| note.starts_with(&format!("entry {entry}: ")) && note.contains(words));
        assert!(found, "entry {entry} {words}: {notes:#?}");
    }
    assert_eq!(notes.len(), 6, "{notes:#?}");
    assert_eq!(draft.notes.changes(), 5);
}

#[test]
fn static_files_conditions_and_lengths_are_options() {
    let told = ImportOptions { drop_static: true, check_length: true, ..options() };
    let dropped = draft(SHOP, &told);
    assert!(!rows(&dropped).contains(&"/style.css".to_owned()), "{:?}", rows(&dropped));
    // the page ended with its style sheet, asked for or not
    let think = dropped.file.scenario[0].step[0].think.as_ref().map(|think| *think.get_ref());
    assert_eq!(think, Some(Think::Fixed(Span::from_ms(10_000))));
    let lengths: Vec<Option<u64>> = requests(&dropped)
        .iter()
        .map(|step| step.check.as_ref().unwrap().get_ref().length)
        .collect();
    assert_eq!(lengths, [Some(512), Some(700), Some(4000), Some(0)]);
    let kept = draft(SHOP, &ImportOptions { keep_conditions: true, ..options() });
    let style = requests(&kept)[1];
    assert!(style.headers.contains_key("If-None-Match"));
    assert_eq!(style.check.as_ref().unwrap().get_ref().status.as_deref(), Some("304"));
}

#[test]
fn another_server_may_be_chosen_and_must_be_there() {
    let base = Some(Url::parse("https://cdn.example").unwrap());
    let told = ImportOptions { base: base.clone(), one_server: true, ..options() };
    assert_eq!(rows(&draft(SHOP, &told)), ["/logo.png"]);
    let other = draft(SHOP, &ImportOptions { base, ..options() });
    assert_eq!(rows(&other)[..3], ["shop.example/login", "shop.example/style.css", "/logo.png"]);
    // who asks is told the base alone
    assert!(other.login.is_none());
    assert!(notes(&other).iter().any(|note| note.contains("credentials go to `base` alone")));
    let base = Some(Url::parse("https://nowhere.example").unwrap());
    let error = import(&source(SHOP), &ImportOptions { base, ..options() }).err().unwrap();
    assert!(error.to_string().contains("https://shop.example (7)"), "{error}");
}

#[test]
fn codings_that_no_check_looks_into_are_told_where_all_requests_take_them() {
    for (codings, told) in
        [("gzip, deflate, br;q=0.9", true), ("zstd", true), ("gzip, broken", false)]
    {
        let headers = Pairs::from([("accept-encoding".to_owned(), codings.to_owned())]);
        assert_eq!(asks_for_unread(&headers), told, "{codings}");
    }
}

#[test]
fn a_recording_without_requests_is_refused() {
    let text = r#"{"log":{"version":"1.2","creator":{"name":"t","version":"1"},"entries":[]}}"#;
    let error = import(&source(text), &options()).err().unwrap().to_string();
    assert!(error.contains("record a page first"), "{error}");
    let words = SHOP.replace("09:00:10.200+01:00", "soon");
    let error = import(&source(&words), &options()).err().unwrap().to_string();
    assert!(error.starts_with("shop.har: entry 6: startedDateTime"), "{error}");
}

#[test]
fn tokens_of_bearers_are_variables_and_other_schemes_named() {
    let text = SHOP.replace("Basic QU5OQTpvcGVuIHNlc2FtZQ==", "Bearer ey.ab.cd");
    let bearer = draft(&text, &options());
    assert_eq!(requests(&bearer)[4].headers["Authorization"], "Bearer ${token}");
    assert!(bearer.login.is_none() && bearer.file.variables.contains_key("token"));
    let text = SHOP.replace("Basic QU5OQTpvcGVuIHNlc2FtZQ==", "NTLM abcdef");
    let other = draft(&text, &options());
    assert!(notes(&other).iter().any(|note| note.ends_with("only Basic and Bearer are sent")));
}

#[test]
fn bodies_that_the_recording_does_not_hold_are_named() {
    let form = "application/x-www-form-urlencoded\", \"text\": \"user=ANNA&password=open%20sesame&lang=${x}\"";
    let parts = SHOP.replace(form, "multipart/form-data; boundary=x\", \"text\": \"\"");
    let lost = draft(&parts, &options());
    assert!(notes(&lost).iter().any(|note| note.contains("does not hold its body")));
    assert!(!rows(&lost).contains(&"POST /login".to_owned()), "an empty request is none");
    assert!(!notes(&lost).iter().any(|note| note.contains("--keep-body")));
    let said = "the body of the request is not kept: longer than --keep-body";
    let cut = SHOP.replacen(form, "text/plain\", \"text\": \"\"", 1);
    let cut = cut
        .replace("\"startedDateTime\"", &format!("\"comment\": \"{said}\", \"startedDateTime\""));
    let cut = draft(&cut, &options());
    let remedy = "does not hold its body: record it again with a larger --keep-body";
    assert!(notes(&cut).iter().any(|note| note.contains(remedy)), "{:?}", notes(&cut));
    let fields = SHOP
        .replace(form, "application/x-www-form-urlencoded\", \"text\": \"\"")
        .replacen("\"params\": []", "\"params\": [{\"name\": \"a b\", \"value\": \"c&d\"}]", 1);
    let made = draft(&fields, &options());
    let body = requests(&made)[3].body.as_ref().unwrap().get_ref();
    assert_eq!(body, "a+b=c%26d");
    // what chrome-har makes of JSON: its text is gone
    let json = SHOP.replace(form, "application/json\", \"text\": \"\"").replacen(
        "\"params\": []",
        "\"params\": [{\"name\": \"a\", \"value\": {\"b\": 1}}]",
        1,
    );
    let lost = draft(&json, &options());
    assert!(notes(&lost).iter().any(|note| note.contains("holds fields of its body, and not")));
    assert!(!rows(&lost).contains(&"POST /login".to_owned()), "it is no form");
    let field = |value: &str| {
        let params = format!("\"params\": [{{\"name\": \"a\", \"value\": {value}}}]");
        let form = SHOP.replace(form, "application/x-www-form-urlencoded\", \"text\": \"\"");
        draft(&form.replacen("\"params\": []", &params, 1), &options())
    };
    for (written, sent) in
        [("12.5", "a=12.5"), ("18446744073709551615", "a=18446744073709551615"), ("true", "a=true")]
    {
        let made = field(written);
        assert_eq!(requests(&made)[3].body.as_ref().unwrap().get_ref(), sent);
    }
    for lost in ["{}", "[1]", "123456789012345678901234567890"] {
        let lost = field(lost);
        let why = "the recording holds no text for a field of its body";
        assert!(notes(&lost).iter().any(|note| note.contains(why)), "{:?}", notes(&lost));
    }
}

#[test]
fn answers_that_have_no_content_are_expected_without() {
    let told =
        ImportOptions { check_length: true, keep_conditions: true, one_server: true, ..options() };
    let checks = |text: &str| {
        let draft = draft(text, &told);
        let check = |step: &&Step| step.check.as_ref().unwrap().get_ref().clone();
        let checks: Vec<_> = requests(&draft).iter().map(check).collect();
        assert!(!notes(&draft).iter().any(|note| note.contains("--check-length")));
        checks.into_iter().map(|it| (it.status.unwrap(), it.length)).collect::<Vec<_>>()
    };
    let style = checks(SHOP)[1].clone();
    assert_eq!(style, ("304".into(), Some(0)), "the size is that of what the browser had");
    let mut har: serde_json::Value = serde_json::from_str(SHOP).unwrap();
    let entries = har["log"]["entries"].as_array_mut().unwrap();
    entries.iter_mut().for_each(|entry| entry["request"]["method"] = "HEAD".into());
    let heads = checks(&har.to_string());
    assert!(heads.iter().all(|(_, length)| *length == Some(0)), "{heads:?}");
}

#[test]
fn bodies_in_another_charset_are_left_out() {
    let form = "application/x-www-form-urlencoded\", \"text\": \"user=ANNA&password=open%20sesame&lang=${x}\"";
    for (mime, body, is_sent) in [
        ("text/xml; charset=ISO-8859-1", "<a>Müller</a>", false),
        ("text/xml; charset=ISO-8859-1", "<a>Mueller</a>", true),
        ("text/xml; charset=\\\"UTF-8\\\"", "<a>Müller</a>", true),
        ("text/xml", "<a>Müller</a>", true),
    ] {
        let draft =
            draft(&SHOP.replace(form, &format!("{mime}\", \"text\": \"{body}\"")), &options());
        let said = notes(&draft);
        let is_named = said.iter().any(|note| note.contains("its body is not in UTF-8"));
        let has_it = rows(&draft).contains(&"POST /login".to_owned());
        assert_eq!((has_it, is_named), (is_sent, !is_sent), "{mime}: {said:?}");
    }
    // a form may be told by its fields alone
    for (charset, user, is_sent) in [
        ("ISO-8859-1", "Müller", false),
        ("ISO-8859-1", "Mueller", true),
        ("UTF-8", "M\u{fffd}", false),
    ] {
        let mime =
            format!("application/x-www-form-urlencoded; charset={charset}\", \"text\": \"\"");
        let field = format!("\"params\": [{{\"name\": \"n\", \"value\": \"{user}\"}}]");
        let har = SHOP.replace(form, &mime).replacen("\"params\": []", &field, 1);
        let has_it = rows(&draft(&har, &options())).contains(&"POST /login".to_owned());
        assert_eq!(has_it, is_sent, "{charset}: {user}");
    }
}

#[test]
fn uploads_are_sent_as_they_were_or_left_out() {
    let form = "application/x-www-form-urlencoded\", \"text\": \"user=ANNA&password=open%20sesame&lang=${x}\"";
    let with = |text: &str, params: &str| {
        let parts = format!("multipart/form-data; boundary=B\", \"text\": \"{text}\"");
        let made = SHOP.replace(form, &parts);
        made.replacen("\"params\": []", &format!("\"params\": [{params}]"), 1)
    };
    let file = "{\"name\": \"f\", \"fileName\": \"a.pdf\", \"contentType\": \"application/pdf\"}";
    let chrome = "--B\\r\\nContent-Disposition: form-data; name=\\\"f\\\"; filename=\\\"a.pdf\\\"\\r\\n\
                  Content-Type: application/pdf\\r\\n\\r\\n\\r\\n--B--\\r\\n";
    for lost in [with("", file), with(chrome, "")] {
        let draft = draft(&lost, &options());
        let said = notes(&draft);
        let named = |note: &String| note.contains("uploads a file") && note.contains("left out");
        assert!(said.iter().any(named), "{said:?}");
        assert!(!rows(&draft).contains(&"POST /login".to_owned()), "{:?}", rows(&draft));
    }
    let whole = chrome.replace("pdf\\r\\n\\r\\n\\r\\n--B--", "pdf\\r\\n\\r\\n%PDF\\r\\n--B--");
    let made = draft(&with(&whole, ""), &options());
    let body = requests(&made)[3].body.as_ref().unwrap().get_ref();
    assert!(body.ends_with("application/pdf\r\n\r\n%PDF\r\n--B--\r\n"), "{body}");
    let fields = with("", "{\"name\": \"a\", \"value\": \"1\"}");
    let made = draft(&fields, &options());
    let body = requests(&made)[3].body.as_ref().unwrap().get_ref();
    assert_eq!(body, "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B--\r\n");
}

#[test]
fn users_in_addresses_stand_nowhere() {
    let text = SHOP.replace("https://shop.example/home", "https://me:hidden@shop.example/home");
    let draft = draft(&text, &options());
    assert!(!format!("{:?} {:?}", draft.file, draft.remarks).contains("hidden"));
    assert_eq!(without_user("http://a:b@c/d@e"), "http://c/d@e");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_recording_is_read_or_refused(at in any::<prop::sample::Index>(), with in "\\PC?|[\"{}\\[\\],:0-9]{0,3}") {
        let mut at = at.index(SHOP.len());
        while !SHOP.is_char_boundary(at) { at -= 1; }
        let text = format!("{}{with}{}", &SHOP[..at], SHOP[at..].chars().skip(1).collect::<String>());
        if let Ok(draft) = import(&source(&text), &options()) {
            prop_assert!(!draft.file.scenario[0].step.is_empty());
        }
    }
}

#[test]
fn a_recording_cut_at_any_byte_is_refused() {
    let end = SHOP.trim_end().len();
    for end in (0..end).step_by(7) {
        assert!(import(&source(&SHOP[..end]), &options()).is_err(), "{end}");
    }
}
