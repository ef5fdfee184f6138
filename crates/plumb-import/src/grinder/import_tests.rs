use super::*;
use proptest::prelude::*;

const SCRIPT: &str = include_str!("../../tests/files/script.properties");
const URLS: &str = include_str!("../../tests/files/urls.properties");

fn made(text: &str) -> Result<Draft, SourceError> {
    let source = Source { path: "grinder.properties".into(), text: text.into() };
    import(&source, &ImportOptions::of("grinder.properties"))
}

fn draft(text: &str) -> Draft {
    made(text).unwrap_or_else(|error| panic!("{error}"))
}

fn notes(draft: &Draft) -> Vec<String> {
    draft.notes.sorted().iter().map(ToString::to_string).collect()
}

fn span(text: &str) -> Option<Span> {
    Some(text.parse().unwrap())
}

#[test]
fn a_script_gives_its_users_and_their_times() {
    let draft = draft(SCRIPT);
    let scenario = &draft.file.scenario[0];
    assert_eq!(scenario.users.as_ref().map(|users| *users.get_ref()), Some(100));
    assert_eq!((scenario.iterations.is_none(), scenario.length), (true, span("30m")));
    // three more processes, ten seconds apart, and up to five seconds of sleep
    assert_eq!(scenario.ramp, span("35s"));
    assert_eq!(scenario.step.len(), 1);
    assert_eq!(
        notes(&draft),
        [
            "line 2: the script mii_transaction.py: it makes the requests and is a program, which is \
             not read; one request stands for it: write what it does as steps",
            "line 10: grinder.useConsole: has no part in the load",
            "line 11: grinder.logDirectory: has no part in the load",
            "line 12: grinder.jvm.arguments: has no part in the load",
            "line 14: mii.transaction: not of The Grinder; a script may have read it",
        ]
    );
}

#[test]
fn a_list_of_urls_becomes_steps() {
    let draft = draft(URLS);
    assert_eq!(draft.file.base.as_ref().unwrap().get_ref(), "http://mii.example:50000");
    let scenario = &draft.file.scenario[0];
    assert_eq!(scenario.users.as_ref().map(|users| *users.get_ref()), Some(6));
    assert_eq!(scenario.iterations.as_ref().map(|times| *times.get_ref()), Some(10));
    let [first, second, logo] = &scenario.step[..] else { panic!("{:?}", scenario.step) };
    assert_eq!(first.name.as_ref().unwrap().get_ref(), "start order");
    assert_eq!(
        first.get.as_ref().unwrap().get_ref(),
        "/XMII/Runner?Transaction=Plant%2FOrder&j_password=${j_password}"
    );
    assert_eq!(first.headers.keys().collect::<Vec<_>>(), ["Accept"]);
    assert_eq!(first.check.as_ref().unwrap().get_ref().contains, ["<Rowset"]);
    assert_eq!(second.path.as_ref().unwrap().get_ref(), "/XMII/Illuminator?Order=${nextOrder}");
    assert_eq!(second.body_file.as_ref().unwrap().get_ref().to_str(), Some("order.xml"));
    // the sleep in front of the second stands behind the first: 2 s by half, nearly all within 30 %
    let think = first.think.as_ref().map(|think| *think.get_ref());
    assert_eq!(think, Some(Think::Normal(span("1s").unwrap(), span("100ms").unwrap())));
    assert_eq!(logo.get.as_ref().unwrap().get_ref(), "http://other.example/logo.gif");
    assert_eq!(draft.file.hosts[0].get_ref(), "http://other.example");
    assert!(logo.think.is_none());
    let login = draft.login.as_ref().unwrap();
    assert_eq!((login.user.as_str(), login.password.as_str()), ("admin", "sup3r"));
    let all = format!("{:?} {:?} {:?}", draft.file, draft.remarks, notes(&draft));
    assert!(!all.contains("sup3r") && !all.contains("geheim"), "{all}");
    assert_eq!(draft.file.variables.keys().collect::<Vec<_>>(), ["j_password", "nextOrder"]);
}

#[test]
fn what_is_not_carried_over_is_named_with_its_line() {
    let notes = notes(&draft(URLS));
    for words in [
        "line 3: grinder.plugin.parameter.stringBean: a program",
        "line 14: grinder.test0.parameter.header.Content-Length: the load itself",
        "line 20: <nextOrder>: a string of the bean",
        "line 27: grinder.test9.sleepTime: there is nothing like it",
    ] {
        assert!(notes.iter().any(|note| note.starts_with(words)), "{words}: {notes:#?}");
    }
    assert_eq!(notes.len(), 4, "{notes:#?}");
}

#[test]
fn numbers_that_are_none_are_named_and_other_files_refused() {
    let odd =
        draft("grinder.threads=many\ngrinder.processes=-1\ngrinder.test0.parameter.url=ftp:/x\n");
    let notes = notes(&odd);
    assert!(
        notes.iter().any(|note| note.starts_with("line 1: grinder.threads: `many`")),
        "{notes:?}"
    );
    assert!(notes.iter().any(|note| note.starts_with("line 3: ") && note.contains("left out")));
    assert_eq!(odd.file.scenario[0].users.as_ref().map(|users| *users.get_ref()), Some(1));
    let error = made("a=b\n").err().unwrap().to_string();
    assert!(error.contains("is it a grinder.properties?"), "{error}");
    let times = "grinder.sleepTimeFactor=2\nmine=1\n";
    assert_eq!(draft(times).notes.changes(), 3, "a script sleeps");
    let list = draft(&format!("{times}grinder.test0.parameter.url=http://h/\n"));
    assert_eq!((list.notes.changes(), list.notes.sorted().len()), (0, 2));
    let bearer = draft(
        "grinder.test0.parameter.url=http://h/\n\
         grinder.test0.parameter.header.Authorization=Bearer abc.def\n",
    );
    let headers = &bearer.file.scenario[0].step[0].headers;
    assert_eq!(headers["Authorization"], "Bearer ${authorization}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn changed_properties_are_read_or_refused(at in any::<prop::sample::Index>(), with in "\\PC?|[=\\\\\n.<>]{0,3}") {
        let at = at.index(URLS.len());
        let text = format!("{}{with}{}", &URLS[..at], &URLS[at + 1..]);
        if let Ok(draft) = made(&text) {
            prop_assert!(!draft.file.scenario[0].step.is_empty());
        }
    }
}

#[test]
fn properties_cut_at_any_byte_are_read_or_refused() {
    for end in 0..URLS.len() {
        let _ = made(&URLS[..end]);
    }
}
