//! What holds for several requests, and what is carried over of each of them.

use std::collections::BTreeMap;

use plumb_scenario::file::{Pick, Step};

use super::group_tests::{notes, plan, text};
use super::*;

/// A draft of one group with `inside` it.
fn draft(inside: &str) -> Draft {
    let text = plan(&format!("<ThreadGroup testname='g'/><hashTree>{inside}</hashTree>"));
    let source = Source { path: "p.jmx".into(), text };
    import(&source, WantedServers::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn steps(draft: &Draft) -> &[Step] {
    &draft.file.scenario[0].step
}

fn property(name: &str, value: &str) -> String {
    format!("<stringProp name='{name}'>{value}</stringProp>")
}

/// A GET of `path` with the argument `s`, and what stands `below` it.
fn get(path: &str, below: &str) -> String {
    let own = property("HTTPSampler.domain", "h") + &property("HTTPSampler.path", path);
    let argument = property("Argument.name", "s") + &property("Argument.value", "1");
    format!(
        "<HTTPSamplerProxy testname='r'>{own}<elementProp name='HTTPsampler.Arguments'>\
         <collectionProp name='Arguments.arguments'><elementProp name='s'>{argument}</elementProp>\
         </collectionProp></elementProp></HTTPSamplerProxy><hashTree>{below}</hashTree>"
    )
}

/// A manager of headers, all with the value `value`.
fn headers(names: &[&str], value: &str) -> String {
    let one = |name: &&str| {
        let own = property("Header.name", name) + &property("Header.value", value);
        format!("<elementProp name='{name}'>{own}</elementProp>")
    };
    let all: String = names.iter().map(one).collect();
    format!(
        "<HeaderManager testname='m'><collectionProp name='HeaderManager.headers'>{all}\
         </collectionProp></HeaderManager><hashTree/>"
    )
}

#[test]
fn a_counter_that_holds_for_several_requests_is_one() {
    let around = headers(&["X-A", "X-B"], "${__counter(FALSE,)}");
    let draft = draft(&(around + &get("/a", "") + &get("/b${__counter(FALSE,)}", "")));
    let values = |at: usize| {
        let own = steps(&draft).get(at).map(|step| step.headers.clone()).unwrap_or_default();
        // what every request sends is said once
        let all = own.into_iter().chain(draft.file.scenario[0].headers.clone());
        all.filter(|(name, _)| name.starts_with("X-")).map(|(_, value)| value).collect::<Vec<_>>()
    };
    let expected = ["${counter(counter_1, load)}", "${counter(counter_2, load)}"];
    assert_eq!((values(0), values(1)), (expected.map(String::from).to_vec(), values(0)));
    let path = text(steps(&draft)[1].get.as_ref());
    assert_eq!(path, "/b${counter(counter_3, load)}?s=1", "one of its own");
}

#[test]
fn a_counter_in_the_path_of_defaults_is_one() {
    let path = property("HTTPSampler.path", "/x/${__counter(FALSE,)}");
    let defaults = format!(
        "<ConfigTestElement guiclass='HttpDefaultsGui' testname='d'>{path}</ConfigTestElement>\
         <hashTree/>"
    );
    let draft = draft(&(defaults + &get("", "") + &get("", "")));
    for step in steps(&draft) {
        assert_eq!(text(step.get.as_ref()), "/x/${counter(counter_1, load)}?s=1");
    }
    assert_eq!(steps(&draft).len(), 2);
}

#[test]
fn the_load_asks_a_path_whether_it_has_a_query() {
    for (path, expected) in [
        ("/a", "/a?s=1"),
        ("/a?b=2", "/a?b=2&s=1"),
        ("${l}", "${l}${query-mark(${l})}s=1"),
        ("/x/${l}/${m}", "/x/${l}/${m}${query-mark(${l}${m})}s=1"),
        ("/x/${__UUID}", "/x/${uuid()}?s=1"),
        ("/a//b/", "/a/b/?s=1"),
    ] {
        let draft = draft(&get(path, ""));
        assert_eq!(text(steps(&draft)[0].get.as_ref()), expected);
    }
    let delete = property("HTTPSampler.method", "DELETE");
    let both = draft(&get("/a", "").replacen("<elementProp", &(delete + "<elementProp"), 1));
    assert_eq!(text(steps(&both)[0].path.as_ref()), "/a?s=1");
    let said = notes(&both);
    assert!(said.iter().any(|note| note.contains("as a form, too")), "{said:?}");
    let dots = draft(&get("/a/../b", ""));
    let said = notes(&dots);
    assert!(said.iter().any(|note| note.contains("here it is resolved")), "{said:?}");
}

#[test]
fn single_matches_and_groups_are_extracted_where_they_are_asked_for() {
    let extractor = |name: &str, number: &str| {
        let own = property("RegexExtractor.refname", name)
            + &property("RegexExtractor.regex", "a(b)(c)")
            + &property("RegexExtractor.template", "$2$")
            + &property("RegexExtractor.match_number", number);
        format!("<RegexExtractor testname='e'>{own}</RegexExtractor><hashTree/>")
    };
    let all = [("l", "-1"), ("x", "2"), ("y", "0")].map(|(name, number)| extractor(name, number));
    let used = "/${l_3}/${l_2_g1}/${x_g1}/${x_g0}/${y_g1}/${x_2}/${x_g7}";
    let draft = draft(&(get("/a", &all.concat()) + &get(used, "")));
    let extracts = steps(&draft)[0].extract.iter().map(|extract| extract.get_ref());
    let found: BTreeMap<_, _> = extracts
        .map(|it| (it.name.as_str(), (it.pick, it.template.as_deref().unwrap_or_default())))
        .collect();
    let expected = [
        ("l", (Pick::All, "$2$")),
        ("l_3", (Pick::Number(3), "$2$")),
        ("l_2_g1", (Pick::Number(2), "$1$")),
        ("x", (Pick::Number(2), "$2$")),
        ("x_g0", (Pick::Number(2), "$0$")),
        ("x_g1", (Pick::Number(2), "$1$")),
        ("y", (Pick::Random, "$2$")),
    ];
    assert_eq!(found, expected.into());
    let said = notes(&draft).join("\n");
    for name in ["y_g1", "x_2", "x_g7"] {
        assert!(said.contains(&format!("the variable `{name}`: nothing")), "{said}");
    }
    assert!(!said.contains("`l_3`") && !said.contains("`x_g1`"), "{said}");
}

#[test]
fn a_user_of_a_part_of_the_server_is_named() {
    let manager = |url: &str| {
        let own = property("Authorization.url", url)
            + &property("Authorization.username", "u")
            + &property("Authorization.password", "p");
        format!(
            "<AuthManager testname='m'><collectionProp name='AuthManager.auth_list'><elementProp \
             name=''>{own}</elementProp></collectionProp></AuthManager><hashTree/>"
        )
    };
    for (url, path, is_named) in [
        ("http://h", "/open", false),
        ("http://h/", "/open", false),
        ("http://h/basic/", "/basic/a", false),
        ("http://h/basic/", "basic/${x}", false),
        ("http://h/basic/", "/open", true),
        ("http://h/basic/", "${x}", true),
        ("", "/open", false),
    ] {
        let draft = draft(&(manager(url) + &get(path, "")));
        assert!(draft.login.is_some());
        let said = notes(&draft);
        let found =
            said.iter().any(|note| note.contains("JMeter names its user below /basic/ alone"));
        assert_eq!(found, is_named, "{url} {path}: {said:?}");
    }
}

#[test]
fn turns_are_those_of_the_loop_or_of_the_group_whose_name_is_asked_for() {
    let named = |kind: &str, name: &str, properties: &str, below: &str| {
        format!("<{kind} testname='{name}'>{properties}</{kind}><hashTree>{below}</hashTree>")
    };
    let loops = |name: &str, below: &str| {
        named("LoopController", name, &property("LoopController.loops", "2"), below)
    };
    let asks = get("/${__jm__g__idx}/${__jm__a b__idx}/${__jm__in__idx}", "");
    let nested = loops("a b", &(loops("in", &asks) + &get("/${__jm__a b__idx}", "")));
    let draft = draft(&(get("/", "") + &nested));
    let outer = &steps(&draft)[1];
    let (first, turn) = ("__jm__a_b__idx", &outer.step[0]);
    let set = |step: &Step, name: &str| step.set.get(name).cloned().unwrap_or_default();
    assert_eq!(
        (set(outer, first), set(turn, first)),
        ("-1".into(), format!("${{sum(${{{first}}}, 1)}}"))
    );
    let (inner, second) = (&turn.step[0], "__jm__in__idx_1");
    assert_eq!(set(inner, second), "-1");
    let path = text(inner.step[0].step[0].get.as_ref());
    let turns = format!("/${{sum(${{iteration()}}, -1)}}/${{{first}}}/${{{second}}}$");
    assert!(path.starts_with(&turns), "{path}");
    assert!(notes(&draft).iter().all(|note| note.contains("num_threads")), "{:?}", notes(&draft));
}

#[test]
fn the_condition_of_a_loop_is_asked_for_the_turn_to_come() {
    let condition = property("WhileController.condition", "${__jexl3(${__jm__w__idx} &lt; 2)}");
    let below = get("/", "");
    let text_of = |inside: &str| {
        format!(
            "<WhileController testname='w'>{condition}</WhileController><hashTree>{inside}</hashTree>"
        )
    };
    let whiled = draft(&text_of(&below));
    let step = &steps(&whiled)[0];
    assert_eq!(text(step.holds.as_ref()), "${sum(${__jm__w__idx}, 1)} < 2");
    assert_eq!(step.set["__jm__w__idx"], "-1");
    assert_eq!(step.step[0].set["__jm__w__idx"], "${sum(${__jm__w__idx}, 1)}");
    let nobody = draft(&get("/${__jm__other__idx}", ""));
    let said = notes(&nobody);
    assert!(said.iter().any(|note| note.contains("a function without an equivalent")), "{said:?}");
}
