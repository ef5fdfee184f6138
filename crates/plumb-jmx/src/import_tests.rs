use plumb_scenario::file::{Arrivals, AtEnd, Cookies, OnFailure, ScenarioFile, Step, Take, Think};

use super::*;
use proptest::prelude::*;

const FLIGHTS: &str = include_str!("../tests/files/flights.jmx");

fn made(text: &str) -> Result<Draft, SourceError> {
    let source = Source { path: "flights.jmx".into(), text: text.into() };
    import(&source, WantedServers::default())
}

fn draft(text: &str) -> Draft {
    made(text).unwrap_or_else(|error| panic!("{error}"))
}

fn flights() -> ScenarioFile {
    draft(FLIGHTS).file
}

fn notes(draft: &Draft) -> Vec<String> {
    draft.notes.sorted().iter().map(ToString::to_string).collect()
}

fn text<T: AsRef<str>>(value: Option<&toml::Spanned<T>>) -> &str {
    value.map_or("", |value| value.get_ref().as_ref())
}

fn think(step: &Step) -> Option<Think> {
    step.think.as_ref().map(|think| *think.get_ref())
}

fn span(text: &str) -> plumb_measure::Span {
    text.parse().unwrap()
}

/// The line of the fixture on which `words` stand.
fn line(words: &str) -> usize {
    let found = FLIGHTS.lines().position(|line| line.contains(words));
    1 + found.unwrap_or_else(|| panic!("{words} stands nowhere"))
}

#[test]
fn the_plan_gives_server_limits_and_variables() {
    let file = flights();
    assert_eq!(file.name.as_deref(), Some("flights, list to details"));
    assert_eq!(text(file.base.as_ref()), "http://erp.example:8000");
    assert_eq!((file.connect_timeout, file.timeout), (Some(span("5s")), Some(span("30s"))));
    assert_eq!(file.seed, Some(42));
    assert_eq!(file.variables["HOST"], "erp.example");
    let names: Vec<&str> = file.scenario.iter().map(|scenario| scenario.name.as_str()).collect();
    assert_eq!(names, ["buyers", "visitors", "pacemakers", "watchers"]);
}

#[test]
fn a_group_gives_its_users() {
    let file = flights();
    let buyers = &file.scenario[0];
    assert_eq!(buyers.users.as_ref().map(|users| *users.get_ref()), Some(20));
    assert_eq!(buyers.ramp, Some(span("10s")));
    assert_eq!((buyers.length, buyers.start), (Some(span("10m")), Some(span("5s"))));
    assert!(buyers.iterations.is_none());
    assert_eq!((buyers.on_failure, buyers.cookies), (OnFailure::Restart, Cookies::Clear));
    let data = &buyers.data[0];
    assert_eq!(data.names, ["customer", "city"]);
    assert_eq!(
        (data.delimiter, data.take, data.at_end),
        (Some(';'), Take::EachScript, AtEnd::Stop)
    );
}

#[test]
fn open_and_paced_groups_have_rates() {
    let file = flights();
    let visitors = &file.scenario[1];
    assert_eq!(visitors.arrivals, Arrivals::Poisson);
    let stages: Vec<_> = visitors
        .stages
        .iter()
        .map(|stage| (stage.get_ref().over, stage.get_ref().rate.map(|rate| rate.to_string())))
        .collect();
    let rate = Some("50/s".to_owned());
    assert_eq!(stages, [(span("1m"), rate.clone()), (span("5m"), rate)]);
    // 60 requests a minute, two a script; 50 scripts
    let paced = &file.scenario[2];
    assert_eq!(
        paced.rate.as_ref().map(|rate| rate.get_ref().to_string()).as_deref(),
        Some("0.5/s")
    );
    assert_eq!((paced.length, paced.iterations.is_none()), (Some(span("100s")), true));
    let watchers = &file.scenario[3];
    assert_eq!(
        watchers.rate.as_ref().map(|rate| rate.get_ref().to_string()).as_deref(),
        Some("2/s")
    );
    assert_eq!((watchers.arrivals, watchers.on_failure), (Arrivals::Poisson, OnFailure::Stop));
}

#[test]
fn list_and_details_are_a_loop_over_what_was_extracted() {
    let file = flights();
    let [list, details, ..] = &file.scenario[0].step[..] else { panic!("too few steps") };
    assert_eq!(text(list.get.as_ref()), "/flights.json?sap-client=100");
    let extracts: Vec<_> = list.extract.iter().map(|extract| extract.get_ref()).collect();
    let picks: Vec<_> = extracts.iter().map(|one| (one.name.as_str(), one.pick)).collect();
    assert_eq!(
        picks,
        [
            ("connid", Pick::All),
            ("carrid", Pick::First),
            ("title", Pick::Random),
            ("token", Pick::Number(2))
        ]
    );
    assert_eq!(extracts[0].json.as_deref(), Some("$.flights[*].connid"));
    assert_eq!(extracts[1].regex.as_deref(), Some("\"carrid\": \"(.+?)\""));
    assert_eq!(extracts[2].xpath.as_deref(), Some("//title"));
    assert_eq!(extracts[3].between, Some(["value=\"".into(), "\"".into()]));
    let check = list.check.as_ref().unwrap().get_ref();
    assert_eq!((check.status.as_deref(), check.length_min), (Some("200"), Some(11)));
    assert_eq!((check.within, &check.contains[..]), (Some(span("2s")), &["connid".to_owned()][..]));
    assert_eq!((text(details.each.as_ref()), text(details.variable.as_ref())), ("connid", "id"));
    assert_eq!(details.most.as_ref().map(|most| *most.get_ref()), Some(400));
    assert_eq!(text(details.step[0].get.as_ref()), "/f/${id}.json");
    assert_eq!(think(&details.step[0]), Some(Think::Uniform(span("1s"), span("3s"))));
}

#[test]
fn controllers_are_groups_conditions_shares_and_loops() {
    let file = flights();
    let steps = &file.scenario[0].step;
    let group = &steps[2];
    assert_eq!(text(group.group.as_ref()), "order");
    // 500 ms and a normal wait of 300 ms, in front of both
    let wait = Some(Think::Normal(span("800ms"), span("100ms")));
    assert_eq!(group.step.iter().map(think).collect::<Vec<_>>(), [wait, wait]);
    assert_eq!(
        text(group.step[1].body.as_ref()),
        "{\"carrier\":\"${carrid}\",\"secret\":\"${secret}\"}"
    );
    assert!(group.step[1].method.is_none() && text(group.step[1].path.as_ref()) == "/order");
    assert_eq!(text(steps[3].condition.as_ref()), "${city} == 'Berlin'");
    assert_eq!(text(steps[3].get.as_ref()), "/de");
    assert_eq!(text(steps[4].share.as_ref()), "20%");
    assert_eq!(steps[5].repeat.as_ref().map(|times| *times.get_ref()), Some(3));
    assert_eq!(text(steps[5].step[0].get.as_ref()), "/status?t=${time(ms)}");
}

#[test]
fn what_is_done_once_is_the_login_and_secrets_are_left_out() {
    let draft = draft(FLIGHTS);
    let login = &draft.file.scenario[0].login[0];
    assert_eq!(
        text(login.body.as_ref()),
        "user=${from-url(${customer}):url}&password=${password}&from=a+b%26c"
    );
    assert_eq!(login.headers["Content-Type"], "application/x-www-form-urlencoded; charset=UTF-8");
    assert_eq!(draft.file.scenario[0].headers["X-API-Key"], "${x_api_key}");
    let all = format!("{:?} {:?} {:?}", draft.file, draft.remarks, notes(&draft));
    for secret in ["w3lcome", "pa ss", "pa+ss", "k3y", "t0psecret", "abc\""] {
        assert!(!all.contains(secret), "{secret}");
    }
    let who = draft.login.unwrap();
    assert_eq!((who.user.as_str(), who.password.as_str()), ("DEMO", "w3lcome"));
    assert!(draft.login_of.is_empty());
}

#[test]
fn what_properties_stand_for_is_told_with_their_lines() {
    let notes = notes(&draft(FLIGHTS));
    for (words, value) in [("__P(host", "erp.example"), ("__P(port", "8000"), ("__P(users", "20")] {
        let told = format!("taken as `{value}`");
        let found = notes.iter().any(|note| note.contains(words) && note.ends_with(&told));
        assert!(found, "{words}: {notes:#?}");
    }
}

#[test]
fn what_is_not_carried_over_is_named_with_element_name_and_line() {
    let draft = draft(FLIGHTS);
    let notes = notes(&draft);
    for (words, why) in [
        ("CacheManager", "CacheManager \"browser cache\": there is nothing like it"),
        ("ResultCollector guiclass", "ResultCollector \"all results\": has no part"),
        ("WhileController guiclass", "the variable `again`"),
        ("JSR223Sampler", "JSR223Sampler \"sign\": there is nothing like it"),
        ("PoissonRandomTimer guiclass", "PoissonRandomTimer \"rare\": there is nothing like it"),
        ("testname=\"seat\"", "the variable `seat_matchNr`"),
        ("OpenModelThreadGroup guiclass", "connections of its own; here they are kept"),
    ] {
        let place = format!("line {}: ", line(words));
        let found = notes.iter().any(|note| note.starts_with(&place) && note.contains(why));
        assert!(found, "{place}{why}: {notes:#?}");
    }
    assert_eq!(draft.notes.changes(), 6, "{notes:#?}");
    let hosts: Vec<&String> = draft.file.hosts.iter().map(toml::Spanned::get_ref).collect();
    assert_eq!(hosts, ["http://maps.example"]);
    assert!(!format!("{:?}", draft.file).contains("/old"), "a disabled element was carried over");
}

/// A plan with one group of one user around `inside`.
fn plan(inside: &str) -> String {
    format!(
        "<jmeterTestPlan><hashTree><TestPlan testname='p'/><hashTree>\n<ThreadGroup testname='g'>\
         <stringProp name='ThreadGroup.num_threads'>1</stringProp><elementProp \
         name='ThreadGroup.main_controller'><boolProp name='LoopController.continue_forever'>false\
         </boolProp><stringProp name='LoopController.loops'>1</stringProp></elementProp></ThreadGroup>\
         <hashTree>\n{inside}</hashTree></hashTree></hashTree></jmeterTestPlan>"
    )
}

/// A request to `http://h/PATH` with a tree below it.
fn request(path: &str, below: &str) -> String {
    format!(
        "<HTTPSamplerProxy testname='{path}'><stringProp name='HTTPSampler.domain'>h</stringProp>\
         <stringProp name='HTTPSampler.path'>/{path}</stringProp></HTTPSamplerProxy><hashTree>{below}\
         </hashTree>\n"
    )
}

fn wait(ms: u32) -> String {
    format!(
        "<ConstantTimer testname='w'><stringProp name='ConstantTimer.delay'>{ms}</stringProp>\
         </ConstantTimer><hashTree/>\n"
    )
}

#[test]
fn timers_hold_for_everything_beside_and_below_and_waits_keep_their_sum() {
    let inner =
        format!("<GenericController/><hashTree>{}{}</hashTree>", wait(10), request("c", ""));
    let text = plan(&format!("{}{}{}{inner}", request("a", &wait(5)), request("b", ""), wait(100)));
    let file = draft(&text).file;
    let waits: Vec<_> = file.scenario[0].step.iter().map(think).collect();
    // in front of a 105 ms, of b 100 ms, of c 110 ms
    let fixed = |text: &str| Some(Think::Fixed(span(text)));
    assert_eq!(waits, [fixed("100ms"), fixed("105ms"), fixed("110ms")]);
}

#[test]
fn a_recorded_plan_keeps_its_requests_and_the_waits_between_them() {
    let action = |action: &str, ms: &str, below: &str| {
        format!(
            "<TestAction testname='t'><intProp name='ActionProcessor.action'>{action}</intProp>\
             <stringProp name='ActionProcessor.duration'>{ms}</stringProp></TestAction>\
             <hashTree>{below}</hashTree>"
        )
    };
    let recorded = [
        request("a", ""),
        action("1", "300", &wait(50)),
        request("b", &wait(7)),
        action("1", "20", ""),
    ];
    let inside = format!("<RecordingController/><hashTree>{}</hashTree>", recorded.concat());
    let draft = draft(&plan(&inside));
    let waits: Vec<_> = draft.file.scenario[0].step.iter().map(think).collect();
    let fixed = |text: &str| Some(Think::Fixed(span(text)));
    assert_eq!(waits, [fixed("357ms"), fixed("20ms")]);
    assert_eq!(notes(&draft), [] as [String; 0]);
}

#[test]
fn an_action_that_is_no_wait_or_has_no_request_beside_it_is_named() {
    let action = |action: &str| {
        format!(
            "<TestAction testname='t'><intProp name='ActionProcessor.action'>{action}</intProp>\
             <stringProp name='ActionProcessor.duration'>10</stringProp></TestAction><hashTree/>"
        )
    };
    let text = plan(&format!("{}{}", request("a", ""), action("0")));
    assert!(notes(&draft(&text))[0].contains("it ends or restarts users"));
    let group = format!("<GenericController/><hashTree>{}</hashTree>", request("a", ""));
    let text = plan(&format!("{group}{}", action("1")));
    assert!(notes(&draft(&text))[0].contains("no request stands directly before"));
}

#[test]
fn a_body_that_is_written_out_is_sent_with_any_method() {
    let raw = "<boolProp name='HTTPSampler.postBodyRaw'>true</boolProp><elementProp \
               name='HTTPsampler.Arguments'><collectionProp name='Arguments.arguments'><elementProp>\
               <stringProp name='Argument.value'>x&amp;y</stringProp></elementProp></collectionProp>\
               </elementProp>";
    let text = plan(
        &request("a", "").replace("</HTTPSamplerProxy>", &format!("{raw}</HTTPSamplerProxy>")),
    );
    let file = draft(&text).file;
    let step = &file.scenario[0].step[0];
    assert_eq!(
        (text_of(&step.path), text_of(&step.method), text_of(&step.body)),
        ("/a", "GET", "x&y")
    );
    let method = "<stringProp name='HTTPSampler.method'>${later}</stringProp></HTTPSamplerProxy>";
    let other = request("b", "").replace("</HTTPSamplerProxy>", method);
    let draft = draft(&plan(&format!("{}{other}", request("a", ""))));
    assert_eq!(draft.file.scenario[0].step.len(), 1);
    assert!(notes(&draft).iter().any(|note| note.contains("its method is not known")));
}

fn text_of(value: &Option<toml::Spanned<String>>) -> &str {
    text(value.as_ref())
}

#[test]
fn a_secret_takes_no_name_that_a_data_file_has() {
    let arguments = |value: &str| {
        format!(
            "<elementProp name='HTTPsampler.Arguments'><collectionProp name='Arguments.arguments'>\
             <elementProp><stringProp name='Argument.name'>password</stringProp><stringProp \
             name='Argument.value'>{value}</stringProp></elementProp></collectionProp></elementProp>\
             </HTTPSamplerProxy>"
        )
    };
    let of = |value: &str| request("a", "").replace("</HTTPSamplerProxy>", &arguments(value));
    let data = "<CSVDataSet><stringProp name='filename'>u.csv</stringProp><stringProp \
                name='variableNames'>password</stringProp></CSVDataSet><hashTree/>";
    let file = draft(&plan(&format!("{data}{}{}", of("${password}"), of("hidden")))).file;
    let paths: Vec<&str> =
        file.scenario[0].step.iter().map(|step| text(step.get.as_ref())).collect();
    assert_eq!(paths, ["/a?password=${password}", "/a?password=${password_2}"]);
    assert_eq!(file.variables.keys().collect::<Vec<_>>(), ["password_2"]);
}

#[test]
fn an_expression_that_no_load_reads_is_named_and_what_needs_it_is_left_out() {
    let extractor = |path: &str| {
        format!(
            "<JSONPostProcessor testname='ids'><stringProp \
             name='JSONPostProcessor.referenceNames'>id</stringProp><stringProp \
             name='JSONPostProcessor.jsonPathExprs'>{path}</stringProp><stringProp \
             name='JSONPostProcessor.match_numbers'>-1</stringProp></JSONPostProcessor><hashTree/>"
        )
    };
    let each = format!(
        "<ForeachController testname='f'><stringProp name='ForeachController.inputVal'>id</stringProp>\
         <stringProp name='ForeachController.returnVal'>one</stringProp></ForeachController>\
         <hashTree>{}</hashTree>",
        request("${one}", "")
    );
    let plan_of = |path: &str| plan(&format!("{}{each}", request("list", &extractor(path))));
    let sound = draft(&plan_of("items[*].id"));
    assert_eq!(sound.file.scenario[0].step.len(), 2);
    assert_eq!(notes(&sound), [] as [String; 0]);
    let lost = draft(&plan_of("$.items.length()"));
    let [list] = &lost.file.scenario[0].step[..] else { panic!("one step is left") };
    assert!(list.extract.is_empty());
    let notes = notes(&lost);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("JSONPostProcessor \"ids\": `id` is not extracted: json: "));
    assert!(notes[1].contains("`id` is no list"), "{notes:?}");
}

#[test]
fn a_loop_without_end_wants_a_length() {
    let of = |loops: &str| {
        let text = format!(
            "<LoopController testname='l'><boolProp name='LoopController.continue_forever'>true\
             </boolProp><intProp name='LoopController.loops'>{loops}</intProp></LoopController>\
             <hashTree>{}</hashTree>",
            request("a", "")
        );
        draft(&plan(&format!("{}{text}", request("first", ""))))
    };
    let three = of("3").file.scenario.remove(0);
    let times = |scenario: &plumb_scenario::file::Scenario| {
        scenario.step[1].repeat.as_ref().map(|times| *times.get_ref())
    };
    assert_eq!((times(&three), three.iterations.is_some()), (Some(3), true));
    let draft = of("-1");
    let scenario = &draft.file.scenario[0];
    assert_eq!(notes(&draft), [] as [String; 0]);
    assert!(scenario.iterations.is_none() && scenario.length.is_none(), "a load refuses it so");
    assert_eq!(times(scenario), Some(1_000_000_000));
    assert!(draft.remarks["scenario.0"].iter().any(|text| text.contains("give the load a length")));
}

#[test]
fn without_a_manager_there_are_no_cookies() {
    let file = draft(&plan(&request("a", ""))).file;
    assert_eq!(file.scenario[0].cookies, Cookies::Off);
    let kept = draft(&plan(&format!("<CookieManager/><hashTree/>{}", request("a", ""))));
    assert_eq!(kept.file.scenario[0].cookies, Cookies::Keep);
    assert_eq!(flights().scenario[1].cookies, Cookies::Clear);
}

#[test]
fn conditions_that_are_more_leave_their_requests_out_and_say_so() {
    let text = plan(&format!(
        "{}<IfController testname='i'><stringProp name='IfController.condition'>${{x}} &gt; 1 &amp;&amp; \
         ${{y}}</stringProp></IfController><hashTree>{}</hashTree>",
        request("a", ""),
        request("b", "")
    ));
    let draft = draft(&text);
    assert_eq!(draft.file.scenario[0].step.len(), 1);
    let notes = notes(&draft);
    assert!(notes[0].contains("`${x} > 1 && ") && notes[0].ends_with("(1 request)"), "{notes:?}");
}

#[test]
fn what_is_no_plan_is_refused_with_its_place() {
    for (text, words) in [
        ("<html>\n</html>", "flights.jmx: line 1: the first element is <html>"),
        ("<jmeterTestPlan>\n<a>", "line 2: <a> is not closed"),
        ("<jmeterTestPlan/>", "no request over HTTP"),
        ("<!DOCTYPE x><jmeterTestPlan/>", "document type"),
    ] {
        let error = made(text).err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_plan_without_a_server_asks_for_one() {
    let text = plan(&request("a", "")).replace(">h<", ">${later}<");
    let draft = draft(&text);
    assert!(draft.file.base.is_none());
    let notes = notes(&draft);
    assert!(notes.iter().any(|note| note.contains("name it with the load")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("`http://${later}`")), "{notes:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_plan_is_read_or_refused(at in any::<prop::sample::Index>(), with in "\\PC?|[<>/&;\"${}0-9-]{0,3}") {
        let mut at = at.index(FLIGHTS.len());
        while !FLIGHTS.is_char_boundary(at) { at -= 1; }
        let rest: String = FLIGHTS[at..].chars().skip(1).collect();
        if let Ok(draft) = made(&format!("{}{with}{rest}", &FLIGHTS[..at])) {
            prop_assert!(draft.file.scenario.iter().all(|scenario| !scenario.step.is_empty()));
        }
    }
}

#[test]
fn a_plan_cut_at_any_byte_is_refused() {
    for end in (0..FLIGHTS.trim_end().len()).step_by(37) {
        assert!(made(&FLIGHTS[..end]).is_err(), "{end}");
    }
}
