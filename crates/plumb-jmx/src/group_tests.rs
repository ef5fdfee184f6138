//! Plans of groups and requests that are written here: groups of the plugins, groups around a load,
//! and uploads.

use plumb_scenario::file::{Part, Step};

use super::*;

fn made(text: &str) -> Result<Draft, SourceError> {
    let source = Source { path: "p.jmx".into(), text: text.into() };
    import(&source, WantedServers::default())
}

fn draft(text: &str) -> Draft {
    made(text).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn notes(draft: &Draft) -> Vec<String> {
    draft.notes.sorted().iter().map(ToString::to_string).collect()
}

pub(super) fn text<T: AsRef<str>>(value: Option<&toml::Spanned<T>>) -> &str {
    value.map_or("", |value| value.get_ref().as_ref())
}

/// A plan of `groups`, with the server in each request.
pub(super) fn plan(groups: &str) -> String {
    format!(
        "<jmeterTestPlan><hashTree><TestPlan testname='p'/><hashTree>{groups}</hashTree></hashTree>\
         </jmeterTestPlan>"
    )
}

/// A request with further `properties`, and the empty tree below it.
fn request(name: &str, method: &str, properties: &str) -> String {
    format!(
        "<HTTPSamplerProxy testname='{name}'><stringProp name='HTTPSampler.domain'>h</stringProp>\
         <stringProp name='HTTPSampler.path'>/{name}</stringProp>\
         <stringProp name='HTTPSampler.method'>{method}</stringProp>{properties}</HTTPSamplerProxy>\
         <hashTree/>"
    )
}

fn group(kind: &str, properties: &str, requests: &str) -> String {
    format!("<{kind} testname='g'>{properties}</{kind}><hashTree>{requests}</hashTree>")
}

const USERS: &str = "<stringProp name='ThreadGroup.num_threads'>1</stringProp>";

#[test]
fn uploads_are_parts_or_whole_bodies_and_never_sent_empty() {
    let file = |path: &str, field: &str| {
        format!(
            "<elementProp name='HTTPsampler.Files'><collectionProp name='HTTPFileArgs.files'>\
             <elementProp name='x'><stringProp name='File.path'>{path}</stringProp>\
             <stringProp name='File.paramname'>{field}</stringProp></elementProp></collectionProp>\
             </elementProp>"
        )
    };
    let multipart = "<boolProp name='HTTPSampler.DO_MULTIPART_POST'>true</boolProp>";
    let field = "<elementProp name='HTTPsampler.Arguments'><collectionProp \
                 name='Arguments.arguments'><elementProp name='a'><stringProp \
                 name='Argument.name'>a</stringProp><stringProp name='Argument.value'>1 &amp; 2\
                 </stringProp></elementProp></collectionProp></elementProp>";
    let requests = [
        request("part", "POST", &file("a.pdf", "f")),
        request("multi", "POST", &format!("{multipart}{}", file("a.pdf", ""))),
        request("later", "PUT", &file("${path}", "")),
        request("get", "GET", &file("a.pdf", "")),
        request("whole", "PUT", &file("a.pdf", "")),
        request("fields", "POST", &format!("{multipart}{field}")),
    ]
    .concat();
    let draft = draft(&plan(&group("ThreadGroup", USERS, &requests)));
    let steps = &draft.file.scenario[0].step;
    let names: Vec<&str> = steps.iter().map(|step| text(step.name.as_ref())).collect();
    assert_eq!(names, ["part", "multi", "whole", "fields"]);
    let parts = |step: &Step| {
        let one = |part: &toml::Spanned<Part>| {
            let part = part.get_ref();
            let file = part.file.as_ref().map(|file| file.get_ref().display().to_string());
            (part.name.clone(), part.value.clone().or(file).unwrap_or_default())
        };
        step.parts.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(parts(&steps[0]), [("f".into(), "a.pdf".into())]);
    assert_eq!(parts(&steps[1]), [(String::new(), "a.pdf".into())]);
    assert_eq!(steps[2].body_file.as_ref().unwrap().get_ref().as_os_str(), "a.pdf");
    assert_eq!(parts(&steps[3]), [("a".into(), "1 & 2".into())]);
    assert!(steps[3].headers.is_empty(), "{:?}", steps[3].headers);
    let said = notes(&draft);
    assert_eq!(said.iter().filter(|note| note.contains("is left out")).count(), 2, "{said:?}");
}

#[test]
fn names_of_arguments_are_templates_and_those_of_parts_are_known_before() {
    let field = |encode: &str| {
        format!(
            "<elementProp name='HTTPsampler.Arguments'><collectionProp \
             name='Arguments.arguments'><elementProp name='a'><boolProp \
             name='HTTPArgument.always_encode'>{encode}</boolProp><stringProp \
             name='Argument.name'>${{my.field}}[]</stringProp><stringProp name='Argument.value'>1\
             </stringProp></elementProp></collectionProp></elementProp>"
        )
    };
    let multipart = "<boolProp name='HTTPSampler.DO_MULTIPART_POST'>true</boolProp>";
    let requests = [
        request("encoded", "POST", &field("true")),
        request("plain", "GET", &field("false")),
        request("part", "POST", &format!("{multipart}{}", field("false"))),
    ]
    .concat();
    let draft = draft(&plan(&group("ThreadGroup", USERS, &requests)));
    let [encoded, plain, part] = &draft.file.scenario[0].step[..] else { panic!("three steps") };
    assert_eq!(text(encoded.body.as_ref()), "${my_field:url}%5B%5D=1");
    assert_eq!(text(plain.get.as_ref()), "/plain?${my_field}[]=1");
    assert_eq!(part.parts[0].get_ref().name, "${my.field}[]");
    assert!(draft.file.variables.contains_key("my_field"), "it is declared");
    let said = notes(&draft);
    assert!(said.iter().any(|note| note.contains("of a part is not known")), "{said:?}");
}

#[test]
fn groups_of_the_plugins_become_stages() {
    let stepping = "<stringProp name='ThreadGroup.num_threads'>4</stringProp>\
                    <stringProp name='Start users count'>2</stringProp>\
                    <stringProp name='Start users period'>10</stringProp>\
                    <stringProp name='rampUp'>1</stringProp>\
                    <stringProp name='flighttime'>20</stringProp>";
    let concurrency = "<stringProp name='TargetLevel'>3</stringProp><stringProp name='RampUp'>5\
                       </stringProp><stringProp name='Hold'>10</stringProp><stringProp \
                       name='Unit'>S</stringProp>";
    let groups = [
        group("kg.apc.jmeter.threads.SteppingThreadGroup", stepping, &request("a", "GET", "")),
        group(
            "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup",
            concurrency,
            &request("b", "GET", ""),
        ),
    ]
    .concat();
    let draft = draft(&plan(&groups));
    let users = |number: usize| {
        let stages = draft.file.scenario[number].stages.iter().map(|stage| *stage.get_ref());
        stages.map(|stage| (stage.over.ns() / 1_000_000, stage.users.unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(users(0), [(1_000, 2), (10_000, 2), (1_000, 4), (20_000, 4), (1, 0)]);
    assert_eq!(users(1), [(5_000, 3), (10_000, 3)]);
    assert_eq!(draft.file.scenario[1].step.len(), 1);
}

#[test]
fn a_group_that_runs_out_of_data_ends_and_any_other_without_end_is_said_to_need_a_length() {
    let asks = request("a", "GET", "");
    let never = |properties: &str, below: &str| {
        let draft = draft(&plan(&group("ThreadGroup", &format!("{USERS}{properties}"), below)));
        assert_eq!(draft.file.scenario[0].iterations, None);
        draft.remarks.values().flatten().any(|said| said.contains("never ends in JMeter"))
    };
    let data = |recycle: bool| {
        format!(
            "<CSVDataSet testname='d'><stringProp name='filename'>a.csv</stringProp><stringProp \
             name='variableNames'>b</stringProp><boolProp name='recycle'>{recycle}</boolProp>\
             <boolProp name='stopThread'>true</boolProp></CSVDataSet><hashTree/>{asks}"
        )
    };
    assert!(never("", &asks) && never("", &data(true)));
    assert!(!never("", &data(false)));
    let inside = format!(
        "<LoopController testname='l'><boolProp name='LoopController.continue_forever'>true\
         </boolProp><intProp name='LoopController.loops'>-1</intProp></LoopController><hashTree>{}\
         </hashTree>",
        data(false)
    );
    assert!(never("", &inside), "they stay in the loop and take no further line");
    let timed = "<boolProp name='ThreadGroup.scheduler'>true</boolProp><stringProp \
                 name='ThreadGroup.duration'>9</stringProp>";
    assert!(!never(timed, &asks));
}

#[test]
fn what_is_set_up_is_prepared_and_what_is_torn_down_is_done_at_the_end() {
    let requests = [request("a", "GET", ""), request("b", "GET", "")].concat();
    let loops = "<elementProp name='ThreadGroup.main_controller'><boolProp \
                 name='LoopController.continue_forever'>false</boolProp><stringProp \
                 name='LoopController.loops'>1</stringProp></elementProp>";
    let groups = [
        group("SetupThreadGroup", &format!("{USERS}{loops}"), &requests),
        group("ThreadGroup", USERS, &request("c", "GET", "")),
        group("PostThreadGroup", &format!("{USERS}{loops}"), &request("d", "GET", "")),
    ]
    .concat();
    let draft = draft(&plan(&groups));
    let prepared: Vec<&str> =
        draft.file.prepare.iter().map(|step| text(step.name.as_ref())).collect();
    assert_eq!(prepared, ["a", "b"]);
    assert!(draft.remarks.contains_key("prepare.0") && draft.remarks.contains_key("prepare.1"));
    let finished: Vec<&str> =
        draft.file.finish.iter().map(|step| text(step.name.as_ref())).collect();
    assert_eq!(finished, ["d"]);
    assert!(draft.remarks.contains_key("finish.0"));
    assert_eq!(notes(&draft), [""; 0]);
}

#[test]
fn a_plan_of_groups_that_make_no_load_is_refused_by_what_they_are() {
    for (kind, named) in [
        ("PostThreadGroup", "a tearDown group"),
        ("OctoPerfThreadGroup", "OctoPerfThreadGroup \"g\": there is nothing like it here"),
    ] {
        let text = plan(&group(kind, USERS, &request("a", "GET", "")));
        let error = made(&text).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(named) && error.contains("none of its 1 request"), "{error}");
    }
}

const RANDOM: &str = "<RandomVariableConfig testname='r'><stringProp name='variableName'>r\
                      </stringProp><stringProp name='minimumValue'>1</stringProp><stringProp \
                      name='maximumValue'>10</stringProp></RandomVariableConfig><hashTree/>";

/// The values of a `UserParameters` for `user`.
fn parameters(value: &str) -> String {
    format!(
        "<UserParameters testname='u'><collectionProp name='UserParameters.names'><stringProp \
         name='1'>user</stringProp></collectionProp><collectionProp \
         name='UserParameters.thread_values'><collectionProp name='2'><stringProp name='3'>{value}\
         </stringProp></collectionProp></collectionProp></UserParameters><hashTree/>"
    )
}

fn set(step: &Step) -> Vec<(&str, &str)> {
    step.set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

#[test]
fn what_is_set_beside_a_condition_or_a_share_is_set_in_every_turn() {
    let a = request("a", "GET", "");
    for guard in [
        "<IfController testname='i'><stringProp name='IfController.condition'>${__jexl3(${r} == 3)}\
         </stringProp><boolProp name='IfController.useExpression'>true</boolProp></IfController>",
        "<ThroughputController testname='t'><intProp name='ThroughputController.style'>1</intProp>\
         <FloatProperty><name>ThroughputController.percentThroughput</name><value>20.0</value>\
         </FloatProperty></ThroughputController>",
    ] {
        let requests =
            [RANDOM, guard, &format!("<hashTree>{a}</hashTree>"), &request("b", "GET", "")];
        let draft = draft(&plan(&group("ThreadGroup", USERS, &requests.concat())));
        let [drawn, b] = &draft.file.scenario[0].step[..] else { panic!("two steps") };
        assert_eq!(set(drawn), [("r", "${random(1, 10)}")]);
        assert!(drawn.condition.is_none() && drawn.share.is_none(), "{drawn:?}");
        let [a] = &drawn.step[..] else { panic!("one step: {drawn:?}") };
        assert!(a.condition.is_some() || a.share.is_some(), "{a:?}");
        assert!(a.set.is_empty() && b.set.is_empty());
        assert_eq!(text(b.name.as_ref()), "b");
    }
}

#[test]
fn a_login_has_the_values_that_are_set_beside_it() {
    let once = format!(
        "<OnceOnlyController testname='o'/><hashTree>{}</hashTree>",
        request("login", "GET", "")
    );
    let of = |beside: &str, rest: &str| {
        let all = [beside, &once, rest].concat();
        draft(&plan(&group("ThreadGroup", USERS, &all))).file.scenario.remove(0)
    };
    let rest = request("x", "GET", "");
    let constant = of(&parameters("u1"), &rest);
    assert_eq!(set(&constant.login[0]), [("user", "u1")]);
    assert_eq!(set(&constant.step[0]), [("user", "u1")]);
    // drawn once in each turn, for the login and for what stands behind it
    for (beside, name) in [(RANDOM.to_owned(), "r"), (parameters("${__UUID}"), "user")] {
        let drawn = of(&beside, &rest);
        assert!(drawn.login.is_empty(), "{:?}", drawn.login);
        let [first, x] = &drawn.step[..] else { panic!("two steps") };
        assert_eq!(set(first)[0].0, name);
        assert_eq!(text(first.step[0].condition.as_ref()), "${iteration()} == 1");
        assert!(x.condition.is_none() && x.set.is_empty());
    }
    // nothing stands behind it
    for beside in [RANDOM.to_owned(), parameters("u1")] {
        let alone = of(&beside, "");
        assert!(alone.login.is_empty());
        assert_eq!(set(&alone.step[0]).len(), 1, "{:?}", alone.step);
    }
}

#[test]
fn what_functions_store_is_set_before_requests_at_the_same_time() {
    let stores = |name: &str| {
        request(name, "GET", "")
            .replace(&format!("/{name}<"), &format!("/{name}?x=${{__Random(1,9,x)}}<"))
    };
    let of = |requests: &str| {
        let kind = "com.blazemeter.jmeter.controller.ParallelSampler";
        draft(&plan(&group("ThreadGroup", USERS, &group(kind, "", requests))))
    };
    let one = of(&[stores("a"), request("b", "GET", "")].concat());
    let [together] = &one.file.scenario[0].step[..] else { panic!("one step") };
    assert_eq!(set(together), [("x", "${random(1, 9)}")]);
    assert!(together.parallel.is_some() && together.step.iter().all(|step| step.set.is_empty()));
    assert_eq!(text(together.step[0].get.as_ref()), "/a?x=${x}");
    assert_eq!(notes(&one), [""; 0]);
    let two = of(&[stores("a"), stores("b")].concat());
    assert!(notes(&two)[0].contains("at the same time have one `x`"), "{:?}", notes(&two));
}

/// A group of the plugins in which nobody takes part.
fn empty(kind: &str) -> (&str, String) {
    let property =
        |name: &str, value: &str| format!("<stringProp name='{name}'>{value}</stringProp>");
    let list = |name: &str, inside: &str| {
        format!("<collectionProp name='{name}'>{inside}</collectionProp>")
    };
    let own = match kind {
        "UltimateThreadGroup" => {
            let row: String = ["0", "0", "1", "60", "1"].map(|cell| property("1", cell)).concat();
            list("ultimatethreadgroupdata", &list("2", &row))
        }
        "FreeFormArrivalsThreadGroup" => {
            let row: String = ["0", "0", "60"].map(|cell| property("1", cell)).concat();
            list("Schedule", &list("2", &row))
        }
        "OpenModelThreadGroup" => {
            property("OpenModelThreadGroup.schedule", "rate(${__P(r,0)}/s) even_arrivals(1 min)")
        }
        "ThreadGroup" => property("ThreadGroup.num_threads", "${__P(admins,0)}"),
        _ => property("TargetLevel", "${__P(admins,0)}") + &property("Hold", "5"),
    };
    (kind, own)
}

const KINDS: [&str; 6] = [
    "UltimateThreadGroup",
    "ConcurrencyThreadGroup",
    "ArrivalsThreadGroup",
    "FreeFormArrivalsThreadGroup",
    "OpenModelThreadGroup",
    "ThreadGroup",
];

#[test]
fn a_group_whose_plan_brings_nobody_asks_for_nothing() {
    for (kind, own) in KINDS.map(empty) {
        let groups = [
            group(kind, &own, &request("delete", "DELETE", "")),
            group("ThreadGroup", USERS, &request("a", "GET", "")),
        ];
        let draft = draft(&plan(&groups.concat()));
        assert_eq!(draft.file.scenario.len(), 1, "{kind}");
        assert_eq!(text(draft.file.scenario[0].step[0].name.as_ref()), "a");
        let said = notes(&draft);
        let is_named = |note: &String| note.contains("its requests are left out");
        assert!(said.iter().any(is_named), "{kind}: {said:?}");
    }
}

#[test]
fn groups_that_ask_for_nothing_count_for_nothing() {
    let timer = "<ConstantThroughputTimer testname='t'><stringProp name='throughput'>60</stringProp>\
                 <intProp name='calcMode'>1</intProp></ConstantThroughputTimer><hashTree/>";
    let data = "<CSVDataSet testname='d'><stringProp name='filename'>a.csv</stringProp><stringProp \
                name='variableNames'>x</stringProp><stringProp name='shareMode'>shareMode.all\
                </stringProp></CSVDataSet><hashTree/>";
    let elsewhere = request("b", "GET", "").replace(">h<", ">admin<");
    for (kind, own) in KINDS.map(empty) {
        let main = [timer, data, &request("a", "GET", "")].concat();
        let groups =
            [group("ThreadGroup", USERS, &main), group(kind, &own, &elsewhere.repeat(3))].concat();
        let text = plan(&groups).replace(
            "<TestPlan testname='p'/>",
            "<TestPlan testname='p'><boolProp name='TestPlan.serialize_threadgroups'>true</boolProp>\
             </TestPlan>",
        );
        let draft = draft(&text);
        assert_eq!(draft.file.base.as_ref().unwrap().get_ref(), "http://h", "{kind}");
        assert!(draft.file.hosts.is_empty(), "{kind}");
        assert!(draft.file.scenario[0].rate.is_some(), "{kind}: {:?}", notes(&draft));
        let said = notes(&draft);
        for words in ["shared by all groups", "run one after another"] {
            assert!(!said.iter().any(|note| note.contains(words)), "{kind}: {said:?}");
        }
    }
}
