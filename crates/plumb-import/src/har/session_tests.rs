use plumb_draft::Source;

use super::*;
use crate::ImportOptions;

/// An entry: when it began and ended, milliseconds; its method and its URL; its status, and its type
/// or where it leads.
type Told<'a> = (u32, u32, &'a str, &'a str, u16, &'a str);

fn har(entries: &[Told<'_>]) -> String {
    let entry = |(start, end, method, url, status, what): &Told<'_>| {
        let (redirect, kind) = if *status / 100 == 3 { (*what, "") } else { ("", *what) };
        serde_json::json!({
            "startedDateTime": format!("2026-03-02T09:00:{:02}.{:03}Z", start / 1_000, start % 1_000),
            "time": end - start,
            "request": {"method": method, "url": url},
            "response": {"status": status, "redirectURL": redirect, "content": {"mimeType": kind}},
            "timings": {"send": 0, "wait": 0, "receive": 0},
        })
    };
    let entries: Vec<_> = entries.iter().map(entry).collect();
    let creator = serde_json::json!({"name": "t", "version": "1"});
    serde_json::json!({"log": {"version": "1.2", "creator": creator, "entries": entries}})
        .to_string()
}

fn drafted(entries: &[Told<'_>]) -> Draft {
    let source = Source { path: "a.har".into(), text: har(entries) };
    import(&source, &ImportOptions::of("a.har")).unwrap_or_else(|error| panic!("{error}"))
}

/// The steps in words: `[a b]` are made at the same time, `>` is a think time.
fn outline(draft: &Draft) -> String {
    fn words(steps: &[Step]) -> String {
        let one = |step: &Step| {
            let think = if step.think.is_some() { " >" } else { "" };
            match &step.name {
                Some(name) => format!("{}{think}", name.get_ref()),
                None => format!("[{}]{think}", words(&step.step)),
            }
        };
        steps.iter().map(one).collect::<Vec<_>>().join(" ")
    }
    words(&draft.file.scenario[0].step)
}

#[test]
fn a_log_on_over_two_servers_is_one_step_that_is_led_on() {
    let draft = drafted(&[
        (0, 40, "GET", "https://erp/start", 302, "https://idp/authorize?state=x"),
        (40, 80, "GET", "https://idp/authorize?state=x", 303, "/form"),
        (81, 120, "GET", "https://idp/form", 200, "text/html"),
        (5_000, 5_050, "POST", "https://idp/form", 302, "https://erp/callback?code=1"),
        (5_050, 5_090, "GET", "https://erp/callback?code=1", 302, "/home"),
        (5_100, 5_200, "GET", "https://erp/home", 200, "text/html"),
        (5_210, 5_230, "GET", "https://erp/logo.png", 200, "image/png"),
        (9_000, 9_100, "GET", "https://erp/list", 200, "text/html"),
    ]);
    assert_eq!(outline(&draft), "/start > POST idp/form /logo.png > /list");
    let steps = &draft.file.scenario[0].step;
    assert_eq!(steps[1].path.as_ref().unwrap().get_ref(), "https://idp/form");
    assert_eq!(steps[1].check.as_ref().unwrap().get_ref().status.as_deref(), Some("200"));
    let led = "led on to https://idp/authorize, https://idp/form";
    assert_eq!(draft.remarks["scenario.0.step.0"], [led]);
    // as many redirects as there were, and to where they led
    assert_eq!(draft.file.redirects, Some(Redirects::NONE));
    assert_eq!(draft.file.scenario[0].cookies, Cookies::Clear);
    let chain = |at: usize| {
        let path = steps[at].check.as_ref().unwrap().get_ref().path.clone();
        (steps[at].redirects.map(Redirects::most), path)
    };
    assert_eq!(chain(0), (Some(2), Some("https://idp/form".into())));
    assert_eq!(chain(1), (Some(2), Some("/home".into())));
    assert_eq!(chain(3), (None, None));
    let hosts: Vec<&String> = draft.file.hosts.iter().map(|host| host.get_ref()).collect();
    assert_eq!(hosts, ["https://idp"]);
    assert!(draft.head[0].ends_with("8 of 8 entries."), "{:?}", draft.head);
}

#[test]
fn a_cookie_that_a_redirect_sets_was_not_there_before() {
    let text = har(&[
        (0, 40, "GET", "https://a/", 302, "/home"),
        (40, 80, "GET", "https://a/home", 200, "text/html"),
    ]);
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let line = |name: &str, value: &str| serde_json::json!([{"name": name, "value": value}]);
    value["log"]["entries"][0]["response"]["headers"] = line("Set-Cookie", "sso=1; Path=/");
    value["log"]["entries"][1]["request"]["headers"] = line("Cookie", "sso=1; old=2");
    let source = Source { path: "a.har".into(), text: value.to_string() };
    let draft =
        import(&source, &ImportOptions::of("a.har")).unwrap_or_else(|error| panic!("{error}"));
    let notes: Vec<String> = draft.notes.sorted().iter().map(ToString::to_string).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("cookie old: it was there before"), "{notes:?}");
}

#[test]
fn a_redirect_that_the_recording_does_not_follow_stays_what_it_was() {
    let draft = drafted(&[
        (0, 40, "GET", "http://a/gone", 302, "/elsewhere"),
        // 307 keeps the method, and a person came to the address in another way
        (50, 90, "POST", "http://a/form", 307, "/form2"),
        (95, 99, "GET", "http://a/form2", 200, "text/html"),
        (100, 140, "GET", "http://a/old", 301, "/new"),
        (9_000, 9_100, "GET", "http://a/new", 200, "text/html"),
    ]);
    assert_eq!(outline(&draft), "/gone POST /form /form2 /old > /new");
    let status = |at: usize| {
        let check = draft.file.scenario[0].step[at].check.as_ref().unwrap().get_ref();
        check.status.clone().unwrap()
    };
    assert_eq!((status(0), status(1), status(3)), ("302".into(), "307".into(), "301".into()));
}

#[test]
fn redirects_whose_end_was_not_recorded_stay_steps_of_their_own() {
    let draft = drafted(&[
        (0, 10, "GET", "http://a/start", 302, "/check"),
        (10, 20, "GET", "http://a/check", 302, "/lost"),
        (30, 40, "GET", "http://a/page", 200, "text/html"),
    ]);
    assert_eq!(outline(&draft), "/start /check /page");
    let steps = &draft.file.scenario[0].step;
    let check = |at: usize| steps[at].check.as_ref().unwrap().get_ref();
    let asked: Vec<_> = (0..3).map(|at| (check(at).status.as_deref(), &check(at).path)).collect();
    assert_eq!(asked, [(Some("302"), &None), (Some("302"), &None), (Some("200"), &None)]);
    assert!(steps.iter().all(|step| step.redirects.is_none()));
}

#[test]
fn redirects_to_what_cannot_be_asked_for_stay_steps_of_their_own() {
    for to in ["myapp://callback?code=1", "http://u:p@a/page", ""] {
        let draft = drafted(&[
            (0, 10, "GET", "http://a/login", 302, "/authorize"),
            (10, 20, "GET", "http://a/authorize", 302, to),
            (30, 40, "GET", "http://a/page", 200, "text/html"),
        ]);
        assert_eq!(outline(&draft), "/login /authorize /page");
        let steps = &draft.file.scenario[0].step;
        let check = |at: usize| steps[at].check.as_ref().unwrap().get_ref();
        let asked: Vec<_> =
            (0..2).map(|at| (check(at).status.as_deref(), &check(at).path)).collect();
        assert_eq!(asked, [(Some("302"), &None), (Some("302"), &None)]);
        assert!(steps.iter().all(|step| step.redirects.is_none()));
    }
}

#[test]
fn no_more_redirects_are_one_step_than_a_step_follows() {
    let chain = |count: u32| {
        let urls: Vec<String> = (0..=count).map(|at| format!("http://a/p{at}")).collect();
        let mut told: Vec<Told<'_>> = Vec::new();
        for (at, pair) in (0..).zip(urls.windows(2)) {
            told.push((at * 10, at * 10 + 10, "GET", &pair[0], 302, &pair[1]));
        }
        told.push((count * 10, count * 10 + 10, "GET", &urls[count as usize], 200, "text/html"));
        drafted(&told)
    };
    let step = |draft: &Draft| draft.file.scenario[0].step[0].clone();
    let most = chain(50);
    assert_eq!(outline(&most), "/p0");
    assert_eq!(step(&most).redirects.map(Redirects::most), Some(50));
    let more = chain(52);
    assert_eq!(outline(&more), "/p0 /p1 /p2");
    assert_eq!(step(&more).redirects, None);
    assert_eq!(step(&more).check.unwrap().get_ref().status.as_deref(), Some("302"));
}

#[test]
fn what_may_be_another_one_each_time_is_open_where_redirects_end() {
    for (to, expected) in [
        ("/orders/4711/items", "/orders/*/items"),
        ("/home;jsessionid=A1B2", "/home"),
        ("/shop;v=1/;jsessionid=A1B2", "/shop/"),
        ("/;jsessionid=A1B2", "/"),
        ("/new/order-4711", "/new/order-*"),
        // it was asked for before
        ("/ui5_ui5/order-4711", "/ui5_ui5/order-*"),
        ("/flights(key='LH')?a=1", "/flights(*)"),
        ("https://idp/in", "https://idp/in"),
    ] {
        let url = Url::parse("http://a/").unwrap().join(to).unwrap().to_string();
        let draft = drafted(&[
            (0, 1, "GET", "http://a/ui5_ui5/form", 200, "text/html"),
            (2, 10, "POST", "http://a/new", 303, to),
            (10, 20, "GET", &url, 200, "text/html"),
            (30, 40, "GET", "http://a/page", 200, "text/html"),
        ]);
        let check = draft.file.scenario[0].step[1].check.clone().unwrap().into_inner();
        assert_eq!(check.path.as_deref(), Some(expected));
    }
}

#[test]
fn what_a_page_embeds_is_asked_for_at_the_same_time() {
    let draft = drafted(&[
        (0, 100, "GET", "http://a/page", 200, "text/html"),
        (50, 90, "GET", "http://a/s.css", 200, "text/css"),
        (60, 200, "GET", "http://a/a.js", 200, "application/javascript"),
        // one behind the other, as they were found
        (205, 240, "GET", "http://a/b.png", 200, "image/png"),
        // asked for while the image was under way, and the second while the first was
        (210, 300, "GET", "http://a/api/1", 200, "application/json"),
        (220, 260, "GET", "http://a/api/2", 200, "application/json"),
        // this one may need what came before
        (270, 310, "GET", "http://a/api/3", 200, "application/json"),
        (3_000, 3_010, "GET", "http://a/c.png", 200, "image/png"),
        (5_000, 5_010, "GET", "http://a/d.png", 200, "image/png"),
        (5_005, 5_015, "GET", "http://a/e.png", 200, "image/png"),
        (5_016, 5_030, "GET", "http://a/page2", 200, "text/html"),
    ]);
    let expected =
        "/page [/s.css /a.js /b.png /api/1 /api/2] /api/3 > /c.png > [/d.png /e.png] /page2";
    assert_eq!(outline(&draft), expected);
    let name = draft.file.scenario[0].step[1].parallel.as_ref().unwrap().get_ref();
    assert_eq!(name, "parts of /page");
    let name = draft.file.scenario[0].step[4].parallel.as_ref().unwrap().get_ref();
    assert_eq!(name, "parts of /page 2");
}

#[test]
fn kinds_that_the_browser_tells_count_more_than_types() {
    let text = har(&[
        (0, 10, "GET", "http://a/page", 200, "text/html"),
        (12, 30, "GET", "http://a/fragment", 200, "text/html"),
        (13, 30, "GET", "http://a/more", 200, "text/plain"),
    ]);
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (at, kind) in ["document", "xhr", "script"].into_iter().enumerate() {
        value["log"]["entries"][at]["_resourceType"] = kind.into();
    }
    let source = Source { path: "a.har".into(), text: value.to_string() };
    let draft =
        import(&source, &ImportOptions::of("a.har")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outline(&draft), "/page [/fragment /more]");
}

#[test]
fn a_redirect_that_the_browser_made_itself_asks_no_server() {
    let recorded = har(&[
        (0, 1, "GET", "http://shop/", 307, "https://shop/"),
        (1, 40, "GET", "https://shop/", 200, "text/html"),
    ]);
    let imported = |said: &str| {
        let text = recorded.replace("\"status\":307", &format!("\"status\":307{said}"));
        let source = Source { path: "a.har".into(), text };
        import(&source, &ImportOptions::of("a.har")).unwrap_or_else(|error| panic!("{error}"))
    };
    for said in [
        ",\"statusText\":\"Internal Redirect\"",
        ",\"headers\":[{\"name\":\"Non-Authoritative-Reason\",\"value\":\"HSTS\"}]",
    ] {
        let draft = imported(said);
        assert_eq!(draft.file.base.as_ref().unwrap().get_ref(), "https://shop");
        assert!(draft.file.hosts.is_empty(), "{:?}", draft.file.hosts);
        assert_eq!(outline(&draft), "/");
        let notes: Vec<String> = draft.notes.sorted().iter().map(ToString::to_string).collect();
        assert!(notes[0].starts_with("entry 1: ") && notes[0].contains("led on by itself"));
        assert_eq!(draft.notes.changes(), 0);
    }
    // a server's own is asked for
    assert_eq!(imported("").file.base.as_ref().unwrap().get_ref(), "http://shop");
}

#[test]
fn a_redirect_of_the_browser_to_which_a_server_led_is_followed() {
    let text = har(&[
        (0, 40, "POST", "https://shop/login", 302, "http://shop/cb?ticket=T1"),
        (40, 41, "GET", "http://shop/cb?ticket=T1", 307, "https://shop/cb?ticket=T1"),
        (41, 80, "GET", "https://shop/cb?ticket=T1", 200, "text/html"),
        // typed in, and led on twice
        (5_000, 5_001, "GET", "http://old/", 307, "http://shop/list"),
        (5_001, 5_002, "GET", "http://shop/list", 307, "https://shop/list"),
        (5_002, 5_040, "GET", "https://shop/list", 200, "text/html"),
    ]);
    let said = "\"status\":307,\"statusText\":\"Internal Redirect\",\"_transferSize\":0";
    let text = text.replace("\"status\":200", "\"status\":200,\"_transferSize\":9");
    let draft = imported(&text.replace("\"status\":307", said), &ImportOptions::of("a.har"));
    assert_eq!(outline(&draft), "POST /login > /list");
    let steps = &draft.file.scenario[0].step;
    assert_eq!(steps[0].check.as_ref().unwrap().get_ref().status.as_deref(), Some("200"));
    assert_eq!(draft.remarks["scenario.0.step.0"], ["led on to http://shop/cb, https://shop/cb"]);
    assert_eq!(draft.file.base.as_ref().unwrap().get_ref(), "https://shop");
    let hosts: Vec<&String> = draft.file.hosts.iter().map(|host| host.get_ref()).collect();
    assert_eq!(hosts, ["http://shop"]);
    let notes: Vec<String> = draft.notes.sorted().iter().map(ToString::to_string).collect();
    assert!(notes[0].starts_with("entry 2: ") && notes[0].contains("where the load asks"));
    assert_eq!((notes.len(), draft.notes.changes()), (3, 1), "{notes:?}");
}

/// A page twice, the second time with a style sheet and the end of a redirect out of the cache.
/// `told` is what the writer says of an entry, from its number and whether it was cached.
fn cached_at_the_second_page(told: impl Fn(&mut serde_json::Value, bool)) -> String {
    let text = har(&[
        (0, 40, "GET", "http://h/one", 200, "text/html"),
        (50, 60, "GET", "http://h/a.css", 200, "text/css"),
        (5_000, 5_040, "GET", "http://h/two", 200, "text/html"),
        (5_050, 5_050, "GET", "http://h/a.css", 200, "text/css"),
        (9_000, 9_040, "GET", "http://h/go", 302, "/there"),
        (9_040, 9_040, "GET", "http://h/there", 200, "text/html"),
    ]);
    let mut har: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (at, entry) in har["log"]["entries"].as_array_mut().unwrap().iter_mut().enumerate() {
        told(entry, [3, 5].contains(&at));
    }
    har.to_string()
}

fn imported(text: &str, options: &ImportOptions) -> Draft {
    let source = Source { path: "a.har".into(), text: text.into() };
    import(&source, options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_the_browser_took_out_of_its_cache_is_asked_of_no_server() {
    const ONCE: &str = "/one /a.css > /two > /go";
    const EACH: &str = "/one /a.css > /two /a.css 2 > /go";
    let by_size = cached_at_the_second_page(|entry, is_cached| {
        entry["response"]["_transferSize"] = if is_cached { 0 } else { 140 }.into();
    });
    let options = ImportOptions::of("a.har");
    let draft = imported(&by_size, &options);
    assert_eq!(outline(&draft), ONCE);
    let notes: Vec<String> = draft.notes.sorted().iter().map(ToString::to_string).collect();
    assert!(notes[0].contains("1 request that the browser answered out of its cache"), "{notes:?}");
    assert!(notes[1].starts_with("entry 6: GET http://h/there: "), "{notes:?}");
    assert_eq!((notes.len(), draft.notes.changes()), (2, 1), "what was led there is asked for");
    let keeps = ImportOptions { keep_cached: true, ..ImportOptions::of("a.har") };
    let kept = imported(&by_size, &keeps);
    assert_eq!((outline(&kept).as_str(), kept.notes.sorted().len()), (EACH, 0));
    let by_word = cached_at_the_second_page(|entry, is_cached| {
        entry["_fromCache"] = if is_cached { "memory".into() } else { serde_json::Value::Null };
    });
    assert_eq!(outline(&imported(&by_word, &options)), ONCE);
    // a writer without sizes, and an answer that says that nothing has changed
    let without =
        cached_at_the_second_page(|entry, _| entry["response"]["_transferSize"] = 0.into());
    assert_eq!(outline(&imported(&without, &options)), EACH);
    let asked = cached_at_the_second_page(|entry, is_cached| {
        entry["_fromCache"] = is_cached.into();
        entry["response"]["_transferSize"] = 90.into();
    });
    assert_eq!(outline(&imported(&asked, &options)), EACH);
}

#[test]
fn a_recording_out_of_the_cache_alone_is_refused_with_what_to_do() {
    let text = cached_at_the_second_page(|entry, _| entry["_fromCache"] = "disk".into());
    let text = text.replace("302", "200");
    let source = Source { path: "a.har".into(), text };
    let error = import(&source, &ImportOptions::of("a.har")).err().unwrap().to_string();
    assert!(error.contains("--keep-cached"), "{error}");
}

/// `entries`, of which those at `cached` are said to be of size 0.
fn sized(entries: &[Told<'_>], cached: &[usize]) -> serde_json::Value {
    let mut har: serde_json::Value = serde_json::from_str(&har(entries)).unwrap();
    for (at, entry) in har["log"]["entries"].as_array_mut().unwrap().iter_mut().enumerate() {
        entry["response"]["_transferSize"] = if cached.contains(&at) { 0 } else { 140 }.into();
    }
    har
}

#[test]
fn what_a_page_may_not_read_was_asked_of_its_server() {
    let entries = [
        (0, 40, "GET", "http://api/one", 200, "text/html"),
        (50, 60, "OPTIONS", "http://api/signup", 204, ""),
        (60, 90, "POST", "http://api/signup", 400, ""),
        (100, 120, "GET", "http://api/two", 200, "text/plain"),
        (130, 150, "GET", "http://api/three", 200, "text/plain"),
    ];
    let mut har = sized(&entries, &[1, 2, 3, 4]);
    har["log"]["entries"][3]["response"]["_error"] = "net::ERR_FAILED".into();
    let draft = imported(&har.to_string(), &ImportOptions::of("a.har"));
    assert_eq!(outline(&draft), "/one OPTIONS /signup POST /signup /two");
}

#[test]
fn a_page_is_of_its_server_wherever_its_parts_came_from() {
    let entries = [
        (0, 40, "GET", "http://app/", 200, "text/html"),
        (50, 50, "GET", "http://app/a.css", 200, "text/css"),
        (51, 51, "GET", "http://app/b.js", 200, "text/javascript"),
        (300, 310, "POST", "http://tracker/1", 204, ""),
        (320, 330, "POST", "http://tracker/2", 204, ""),
    ];
    let options = ImportOptions::of("a.har");
    let draft = imported(&sized(&entries, &[1, 2]).to_string(), &options);
    assert_eq!(draft.file.base.as_ref().unwrap().get_ref(), "http://app");
    let one_server = ImportOptions { one_server: true, ..options };
    let text = sized(&entries, &[0, 1, 2]).to_string();
    let source = Source { path: "a.har".into(), text };
    let error = import(&source, &one_server).err().unwrap().to_string();
    assert!(error.contains("took all of http://app out of its cache"), "{error}");
}

#[test]
fn parts_are_named_after_the_document_of_their_own_page() {
    let entries = [
        (0, 40, "GET", "http://h/detail", 200, "text/html"),
        (5_000, 5_000, "GET", "http://h/list", 200, "text/html"),
        (5_010, 5_050, "GET", "http://h/api/a", 200, "text/plain"),
        (5_011, 5_050, "GET", "http://h/api/b", 200, "text/plain"),
    ];
    let mut har = sized(&entries, &[1]);
    for (at, page) in ["p1", "p2", "p2", "p2"].into_iter().enumerate() {
        har["log"]["entries"][at]["pageref"] = page.into();
    }
    let draft = imported(&har.to_string(), &ImportOptions::of("a.har"));
    let parallel = draft.file.scenario[0].step[1].parallel.as_ref().unwrap();
    assert_eq!(parallel.get_ref(), "parts of a page");
}
