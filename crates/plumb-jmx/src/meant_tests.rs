//! Properties of elements that change what a plan asks for: controllers that choose, numbers of turns,
//! charsets, arguments, and what is set anew.

use plumb_scenario::file::{Cookies, Step};

use super::group_tests::{notes, plan, text};
use super::*;

fn made(text: &str) -> Result<Draft, SourceError> {
    let source = Source { path: "p.jmx".into(), text: text.into() };
    import(&source, WantedServers::default())
}

fn draft(inside: &str) -> Draft {
    made(&plan(&group("1", "1", inside))).unwrap_or_else(|error| panic!("{error}"))
}

fn steps(draft: &Draft) -> &[Step] {
    &draft.file.scenario[0].step
}

fn group(users: &str, loops: &str, inside: &str) -> String {
    let main = property("LoopController.continue_forever", "false")
        + &property("LoopController.loops", loops);
    let users = property("ThreadGroup.num_threads", users);
    format!(
        "<ThreadGroup testname='g'>{users}<elementProp name='ThreadGroup.main_controller'>{main}\
         </elementProp></ThreadGroup><hashTree>{inside}</hashTree>"
    )
}

fn property(name: &str, value: &str) -> String {
    format!("<stringProp name='{name}'>{value}</stringProp>")
}

/// An element with its properties, and what stands below it.
fn element(kind: &str, properties: &[(&str, &str)], below: &str) -> String {
    let properties: String = properties.iter().map(|(name, value)| property(name, value)).collect();
    format!("<{kind} testname='{kind}'>{properties}</{kind}><hashTree>{below}</hashTree>")
}

/// A request to `http://h/NAME` with further properties.
fn request(name: &str, method: &str, further: &str) -> String {
    let own = property("HTTPSampler.domain", "h")
        + &property("HTTPSampler.path", &format!("/{name}"))
        + &property("HTTPSampler.method", method);
    format!("<HTTPSamplerProxy testname='{name}'>{own}{further}</HTTPSamplerProxy><hashTree/>")
}

fn get(name: &str) -> String {
    request(name, "GET", "")
}

/// Arguments: name, value, and further properties of each.
fn arguments(all: &[(&str, &str, &str)]) -> String {
    let one = |(name, value, further): &(&str, &str, &str)| {
        let own = property("Argument.name", name) + &property("Argument.value", value);
        format!("<elementProp name='{name}'>{own}{further}</elementProp>")
    };
    let all: String = all.iter().map(one).collect();
    format!(
        "<elementProp name='HTTPsampler.Arguments'><collectionProp name='Arguments.arguments'>{all}\
         </collectionProp></elementProp>"
    )
}

const ENCODE: &str = "<boolProp name='HTTPArgument.always_encode'>true</boolProp>";

#[test]
fn users_who_interleave_across_each_other_count_together() {
    let of = |across: &str| {
        let properties =
            [("InterleaveControl.style", "1"), ("InterleaveControl.accrossThreads", across)];
        let inside = [get("a"), get("b")].concat();
        draft(&element("InterleaveControl", &properties, &inside))
    };
    let (alone, together) = (of("false"), of("true"));
    assert_eq!(steps(&alone)[0].set["choice_1"], "${counter(choice_1, user, 1, 1, 2)}");
    assert_eq!(notes(&alone), [""; 0]);
    assert_eq!(steps(&together)[0].set["choice_1"], "${counter(choice_1, load, 1, 1, 2)}");
    assert!(notes(&together)[0].contains("all users count on together"), "{:?}", notes(&together));
}

#[test]
fn a_block_that_is_not_whole_gives_one_request_a_turn() {
    let block = element("GenericController", &[], &[get("a"), get("b")].concat());
    let one = element("IfController", &[("IfController.condition", "${x} == 1")], &get("d"));
    let of = |kind: &str, style: &[(&str, &str)], inside: &str| {
        draft(&element(kind, style, &[inside, &get("c")].concat()))
    };
    for kind in ["RandomController", "InterleaveControl"] {
        let whole = of(kind, &[("InterleaveControl.style", "1")], &block);
        assert_eq!(steps(&whole)[0].step[0].step.len(), 2);
        for style in [&[("InterleaveControl.style", "0")][..], &[]] {
            let single = of(kind, style, &[block.clone(), one.clone()].concat());
            let first = &steps(&single)[0].step[0];
            let [turn] = &first.step[..] else { panic!("one step that counts: {first:?}") };
            assert_eq!(turn.set["choice_2"], "${counter(choice_2, user, 1, 1, 2)}");
            let conditions: Vec<&str> =
                turn.step.iter().map(|step| text(step.condition.as_ref())).collect();
            assert_eq!(conditions, ["${choice_2} == 1", "${choice_2} == 2"]);
            let unset = |note: &&String| !note.contains("the variable `x`");
            assert_eq!(notes(&single).iter().filter(unset).count(), 0, "{:?}", notes(&single));
        }
        let looped = element("LoopController", &[("LoopController.loops", "2")], &get("a"));
        let named = of(kind, &[], &looped);
        assert!(notes(&named)[0].contains("one request of it is made in each turn"));
        // one request to JMeter, alone or in a block
        let at_once = "com.blazemeter.jmeter.controller.ParallelSampler";
        let at_once = element(at_once, &[], &[get("a"), get("b")].concat());
        let alone = of(kind, &[], &at_once);
        assert!(steps(&alone)[0].step[0].step[0].parallel.is_some(), "{:?}", steps(&alone));
        assert_eq!(notes(&alone), [""; 0]);
        let block = [at_once, get("d")].concat();
        let inside = of(kind, &[], &element("GenericController", &[], &block));
        assert_eq!(steps(&inside)[0].step[0].step[0].step.len(), 2, "{:?}", steps(&inside));
        assert_eq!(notes(&inside), [""; 0]);
    }
}

#[test]
fn a_switch_that_the_load_decides_takes_the_first_element_for_a_number_of_none() {
    let value = [("SwitchController.value", "${n}")];
    let draft = draft(&element("SwitchController", &value, &[get("a"), get("b")].concat()));
    let chosen = &steps(&draft)[0];
    assert_eq!(chosen.set["choice_1"], "${index(${n}, 2)}");
    let of = |step: &Step| text(step.condition.as_ref()).to_owned();
    let conditions: Vec<String> = chosen.step.iter().map(of).collect();
    let expected = ["'0'", "'a'", "'1'", "'b'"].map(|it| format!("${{choice_1}} == {it}"));
    assert_eq!(conditions, expected);
}

#[test]
fn groups_without_users_or_turns_ask_for_nothing() {
    let setup = |text: &str| text.replace("ThreadGroup testname", "SetupThreadGroup testname");
    let setup = |text: &str| setup(text).replace("</ThreadGroup>", "</SetupThreadGroup>");
    let idle = [
        group("20", "${__P(adminLoops,0)}", &get("delete")),
        group("0", "1", &get("nobody")),
        setup(&group("1", "0", &get("prepare"))),
        group("1", "1", &get("a")),
        group("1", "${__P(turns,-1)}", &get("b")),
    ];
    let draft = made(&plan(&idle.concat())).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(draft.file.scenario.len(), 2);
    assert!(draft.file.prepare.is_empty());
    let turns: Vec<bool> = draft.file.scenario.iter().map(|it| it.iterations.is_some()).collect();
    assert_eq!(turns, [true, false], "-1 has no end");
    let said = notes(&draft);
    let count = |words: &str| said.iter().filter(|note| note.contains(words)).count();
    assert_eq!((count("it is done 0 times"), count("it has no users")), (2, 1), "{said:?}");
    let endless = plan(&group("1", "1", &get("a"))).replace(">false<", ">true<");
    assert!(made(&endless).is_ok_and(|it| it.file.scenario[0].iterations.is_none()));
}

#[test]
fn a_counter_that_begins_again_with_each_turn_is_constant_or_named() {
    let counter = |reset: &str| {
        let properties = [
            ("CounterConfig.name", "n"),
            ("CounterConfig.start", "7"),
            ("CounterConfig.per_user", "true"),
            ("CounterConfig.reset_on_tg_iteration", reset),
        ];
        element("CounterConfig", &properties, "")
    };
    let of = |reset: &str| draft(&[counter(reset), get("a")].concat());
    assert_eq!(steps(&of("true"))[0].set["n"], "7");
    assert!(steps(&of("false"))[0].set["n"].starts_with("${counter(n, user, 7, 1, "));
    let inside = [counter("true"), get("a")].concat();
    let looped = draft(&element("LoopController", &[("LoopController.loops", "3")], &inside));
    assert!(notes(&looped)[0].contains("it begins again with each turn"), "{:?}", notes(&looped));
}

#[test]
fn letters_are_sent_in_the_charset_of_the_request_or_the_request_is_left_out() {
    let charset = |name: &str| property("HTTPSampler.contentEncoding", name);
    let latin = charset("ISO-8859-1");
    let name = arguments(&[("q", "M\u{fc}ller", ENCODE)]);
    let raw =
        |value: &str| property("HTTPSampler.postBodyRaw", "true") + &arguments(&[("", value, "")]);
    let inside = [
        request("query", "GET", &[&name, latin.as_str()].concat()),
        request("form", "POST", &[&name, latin.as_str()].concat()),
        request("utf8", "GET", &[&name, charset("utf8").as_str()].concat()),
        request("body", "POST", &[raw("<a/>"), latin.clone()].concat()),
        request("lost", "POST", &[raw("\u{fc}"), latin.clone()].concat()),
        request("greek", "GET", &[name.clone(), charset("ISO-8859-7")].concat()),
        request("later", "GET", &[arguments(&[("q", "${x}", ENCODE)]), latin.clone()].concat()),
    ];
    let made = draft(&inside.concat());
    let [query, form, utf8, body, later] = steps(&made) else { panic!("five steps") };
    assert_eq!(text(query.get.as_ref()), "/query?q=M%FCller");
    assert_eq!(text(form.body.as_ref()), "q=M%FCller");
    let kind = "application/x-www-form-urlencoded; charset=ISO-8859-1";
    assert_eq!(form.headers["Content-Type"], kind);
    assert_eq!(text(utf8.get.as_ref()), "/utf8?q=M%C3%BCller");
    assert_eq!(body.headers["Content-Type"], "text/plain; charset=ISO-8859-1");
    assert_eq!(text(later.get.as_ref()), "/later?q=${x:url}");
    let said = notes(&made);
    for (name, words) in [
        ("lost", "sent in ISO-8859-1, which is not possible here"),
        ("greek", "sent in ISO-8859-7, which is not possible here"),
        ("later", "letters in its variables are sent in UTF-8"),
    ] {
        let found =
            said.iter().any(|note| note.contains(&format!("\"{name}\": ")) && note.contains(words));
        assert!(found, "{name}: {said:?}");
    }
}

#[test]
fn arguments_without_a_name_or_switched_off_are_not_sent() {
    let multipart = property("HTTPSampler.DO_MULTIPART_POST", "true");
    let off = arguments(&[("", "x", ""), ("b", "1", ""), ("c", "2", "")])
        .replace("<elementProp name='c'>", "<elementProp name='c' enabled='false'>");
    let inside = [
        request("query", "GET", &off),
        request("form", "POST", &off),
        request("parts", "POST", &[&multipart, off.as_str()].concat()),
        request("head", "HEAD", &off),
        request("nameless", "GET", &arguments(&[("", "x&amp;y", "")])),
        request("whole", "GET", &off).replace(">/whole<", ">http://h/whole<"),
    ];
    let made = draft(&inside.concat());
    let [query, form, parts, head, nameless, whole] = steps(&made) else { panic!("six steps") };
    assert_eq!(text(query.get.as_ref()), "/query?b=1");
    assert_eq!(text(form.body.as_ref()), "b=1");
    assert_eq!(parts.parts.iter().map(|it| it.get_ref().name.as_str()).collect::<Vec<_>>(), ["b"]);
    assert_eq!(text(head.path.as_ref()), "/head", "JMeter sends no arguments with HEAD");
    assert_eq!(text(nameless.body.as_ref()), "x&y", "values without names are the body");
    assert_eq!(text(whole.get.as_ref()), "/whole", "an address that is whole is all of it");
}

#[test]
fn fields_have_the_types_that_are_said_and_forms_are_encoded() {
    let multipart = property("HTTPSampler.DO_MULTIPART_POST", "true");
    let kind = |kind: &str| property("HTTPArgument.content_type", kind);
    let typed = arguments(&[
        ("order", "{}", &kind("application/json")),
        ("note", "x", &kind("text/plain")),
        ("old", "x", ""),
        ("later", "x", &kind("${type}")),
    ]);
    let inside = [
        request("parts", "POST", &[multipart, typed].concat()),
        request("form", "POST", &arguments(&[("a", "b c&amp;d=${x}", "")])),
        request("query", "GET", &arguments(&[("a", "b%20c&amp;d", "")])),
        request("old", "POST", &property("HTTPSampler.FILE_NAME", "a.pdf")),
    ];
    let made = draft(&inside.concat());
    let [parts, form, query] = steps(&made) else { panic!("three steps") };
    let types: Vec<Option<&str>> =
        parts.parts.iter().map(|it| it.get_ref().content_type.as_deref()).collect();
    assert_eq!(types, [Some("application/json"), None, None, None]);
    assert!(notes(&made).iter().any(|note| note.contains("the type `${type}` of a part")));
    assert_eq!(text(form.body.as_ref()), "a=b+c%26d%3D${from-url(${x}):url}");
    assert_eq!(text(query.get.as_ref()), "/query?a=b%20c&d");
    assert!(notes(&made).iter().any(|note| note.contains("as old versions do")));
}

#[test]
fn what_is_extracted_from_an_unescaped_body_is_decoded() {
    let of = |regex: &str| {
        let properties = [
            ("RegexExtractor.refname", "next"),
            ("RegexExtractor.regex", regex),
            ("RegexExtractor.useHeaders", "unescaped"),
        ];
        let below = element("RegexExtractor", &properties, "");
        draft(&get("a").replace("<hashTree/>", &format!("<hashTree>{below}</hashTree>")))
    };
    let sure = of("next=(\\S+)");
    assert!(steps(&sure)[0].extract[0].get_ref().html);
    assert_eq!(notes(&sure), [""; 0]);
    let unsure = of("href=&quot;(/next[^&quot;]+)");
    assert!(notes(&unsure)[0].contains("before it looks"), "{:?}", notes(&unsure));
    let later = of("${later}(.+)");
    assert!(steps(&later)[0].extract.is_empty());
    assert!(notes(&later)[0].contains("`${later}(.+)` is not known"), "{:?}", notes(&later));
}

#[test]
fn a_condition_for_each_element_stands_at_each() {
    let of = |all: &str, inside: &str| {
        let properties =
            [("IfController.condition", "${x} == 1"), ("IfController.evaluateAll", all)];
        draft(&element("IfController", &properties, inside))
    };
    let two = [get("a"), get("b")].concat();
    assert_eq!(steps(&of("false", &two)).len(), 1);
    let each = of("true", &two);
    let conditions: Vec<&str> =
        steps(&each).iter().map(|step| text(step.condition.as_ref())).collect();
    assert_eq!(conditions, ["${x} == 1"; 2]);
    let group = element("TransactionController", &[], &two);
    let said = notes(&of("true", &group));
    for words in ["holds for each request", "its time holds waits"] {
        assert!(said.iter().any(|note| note.contains(words)), "{words}: {said:?}");
    }
}

#[test]
fn cookies_and_parameters_follow_what_their_elements_say() {
    let cookies = |manager: &[(&str, &str)], same: &str| {
        let inside = [element("CookieManager", manager, ""), get("a")].concat();
        let said = property("ThreadGroup.same_user_on_next_iteration", same);
        let said = if same.is_empty() { String::new() } else { said };
        let groups =
            group("1", "1", &inside).replace("</ThreadGroup>", &format!("{said}</ThreadGroup>"));
        made(&plan(&groups)).map(|it| it.file.scenario[0].cookies).ok()
    };
    let by_group = [("CookieManager.controlledByThreadGroup", "true")];
    assert_eq!(cookies(&by_group, ""), Some(Cookies::Keep));
    assert_eq!(cookies(&by_group, "true"), Some(Cookies::Keep));
    assert_eq!(cookies(&by_group, "false"), Some(Cookies::Clear));
    assert_eq!(cookies(&[("CookieManager.policy", "ignoreCookies")], ""), Some(Cookies::Off));
    let parameters = |value: &str, once: &str, requests: &str| {
        let list = |name: &str, inside: &str| {
            format!("<collectionProp name='{name}'>{inside}</collectionProp>")
        };
        let names = list("UserParameters.names", &property("1", "id"));
        let values = list("UserParameters.thread_values", &list("2", &property("3", value)));
        let once = property("UserParameters.per_iteration", once);
        let all = format!(
            "<UserParameters testname='u'>{names}{values}{once}</UserParameters><hashTree/>"
        );
        notes(&draft(&[&all, requests].concat()))
    };
    let (one, two) = (get("a"), [get("a"), get("b")].concat());
    let looped = element("LoopController", &[("LoopController.loops", "2")], &one);
    for several in [&two, &looped] {
        assert!(parameters("${__UUID}", "false", several)[0].contains("anew before each request"));
    }
    for (value, once, requests) in
        [("${__UUID}", "true", &two), ("1", "false", &two), ("${__UUID}", "false", &one)]
    {
        assert_eq!(parameters(value, once, requests), [""; 0]);
    }
}

#[test]
fn what_is_set_below_a_request_is_set_with_it() {
    let counter = element("CounterConfig", &[("CounterConfig.name", "n")], "");
    let below = format!("<hashTree>{counter}</hashTree>");
    let made = draft(&[get("a"), get("b${n}").replace("<hashTree/>", &below)].concat());
    assert!(steps(&made)[0].set.is_empty(), "{:?}", steps(&made)[0]);
    assert!(steps(&made)[1].set["n"].starts_with("${counter(n, load, 0, 1, "));
    assert_eq!(notes(&made), [""; 0]);
}

#[test]
fn what_is_set_below_a_request_knows_what_is_set_beside_it() {
    let list = |name: &str, inside: &str| {
        format!("<collectionProp name='{name}'>{inside}</collectionProp>")
    };
    let of = |value: &str| {
        let names = list("UserParameters.names", &property("1", "order"));
        let values = list("UserParameters.thread_values", &list("2", &property("3", value)));
        let below = format!(
            "<hashTree><UserParameters testname='u'>{names}{values}</UserParameters><hashTree/>\
             </hashTree>"
        );
        let counter = element("CounterConfig", &[("CounterConfig.name", "n")], "");
        draft(&[counter, get("a${order}").replace("<hashTree/>", &below)].concat())
    };
    let made = of("ORD-${n}");
    let [around] = steps(&made) else { panic!("{:?}", steps(&made)) };
    assert!(around.set.contains_key("n") && !around.set.contains_key("order"), "{around:?}");
    assert_eq!(around.step[0].set["order"], "ORD-${n}");
    let beside = of("1");
    assert!(["n", "order"].iter().all(|name| steps(&beside)[0].set.contains_key(*name)));
}

#[test]
fn a_header_that_stands_twice_in_a_manager_is_named() {
    let header = |value: &str| {
        let own = property("Header.name", "Accept") + &property("Header.value", value);
        format!("<elementProp name='' elementType='Header'>{own}</elementProp>")
    };
    let manager = |inside: &str| {
        format!(
            "<HeaderManager testname='m'><collectionProp name='HeaderManager.headers'>{inside}\
             </collectionProp></HeaderManager><hashTree/>"
        )
    };
    let twice = manager(&[header("a/b"), header("c/d")].concat());
    assert!(notes(&draft(&[twice, get("a")].concat()))[0].contains("sent as often as it stands"));
    let nested = element("GenericController", &[], &[manager(&header("c/d")), get("a")].concat());
    let nearest = draft(&[manager(&header("a/b")), nested].concat());
    assert_eq!(steps(&nearest)[0].headers["Accept"], "c/d");
    assert_eq!(notes(&nearest), [""; 0]);
}

#[test]
fn a_group_whose_turns_are_other_users_has_connections_that_are_kept() {
    let of = |turns: &str, same: &str, alive: &str| {
        let kept = property("HTTPSampler.use_keepalive", alive);
        let same = property("ThreadGroup.same_user_on_next_iteration", same);
        let group = group("1", turns, &request("a", "GET", &kept));
        let group = group.replace("</ThreadGroup>", &format!("{same}</ThreadGroup>"));
        made(&plan(&group)).map(|draft| notes(&draft)).unwrap_or_default()
    };
    assert!(of("2", "false", "true")[0].contains("connections of its own; here they are kept"));
    for (turns, same, alive) in
        [("1", "false", "true"), ("2", "true", "true"), ("2", "false", "false")]
    {
        assert_eq!(of(turns, same, alive), [""; 0]);
    }
    let kind = "kg.apc.jmeter.threads.UltimateThreadGroup";
    let row: String = ["2", "0", "1", "5", "1"].iter().map(|it| property("1", it)).collect();
    let rows = format!(
        "<collectionProp name='ultimatethreadgroupdata'><collectionProp name='1'>{row}\
         </collectionProp></collectionProp>"
    );
    let kept = request("a", "GET", &property("HTTPSampler.use_keepalive", "true"));
    let group = format!("<{kind} testname='u'>{rows}</{kind}><hashTree>{kept}</hashTree>");
    let draft = made(&plan(&group)).unwrap_or_else(|error| panic!("{error}"));
    assert!(notes(&draft)[0].contains("here they are kept"), "{:?}", notes(&draft));
}

#[test]
fn connections_are_kept_where_it_is_said() {
    let of = |name: &str, said: &str| request(name, "GET", said);
    let kept = property("HTTPSampler.use_keepalive", "true");
    assert!(draft(&of("a", "")).file.close);
    assert!(!draft(&of("a", &kept)).file.close);
    let mixed = draft(&[of("a", &kept), of("b", "")].concat());
    assert!(!mixed.file.close && notes(&mixed)[0].contains("\"b\": its connection is kept"));
}

#[test]
fn what_is_done_after_a_failure_is_named_where_it_is_something() {
    let of = |action: &str| {
        let handler = element("ResultAction", &[("OnError.action", action)], "");
        let draft = draft(&[handler, get("a")].concat());
        draft.notes.changes()
    };
    assert_eq!(["", "0", "1", "4"].map(of), [0, 0, 1, 1]);
}
