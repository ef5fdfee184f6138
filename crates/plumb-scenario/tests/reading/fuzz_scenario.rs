//! Everything that reads answers, files and expressions of a scenario, over samples in which some
//! bytes were changed: never a panic, and nothing found that was not there.
//!
//! `PLUMB_FUZZ_CASES` sets the number of cases of each property.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use plumb_scenario::Reach;
use plumb_scenario::answer::Answer;
use plumb_scenario::check::Checker;
use plumb_scenario::condition::Condition;
use plumb_scenario::cookies::{Jar, Site};
use plumb_scenario::csv::Quotes;
use plumb_scenario::data::{Lines, OwnLine};
use plumb_scenario::draw::Draw;
use plumb_scenario::extract::Extractor;
use plumb_scenario::file::{self, AtEnd, Pick, Take};
use plumb_scenario::template::Template;
use plumb_scenario::variables::{Names, Value, Variables};
use proptest::prelude::*;
use toml::Spanned;

const HEAD: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: /sap(bD1lbg==)/list?sid=4711&page=2\r\n\
    Set-Cookie: sid=4711; Path=/sap; Max-Age=600; HttpOnly\r\n\
    Set-Cookie: lang=en; Expires=Sat, 21 Nov 2026 03:04:07 GMT; Domain=example.org\r\n\r\n";

const PAGE: &[u8] = include_bytes!("../../../../docs/http-expressions.md");
const JSON: &[u8] = include_bytes!("../samples/curl.json");
const XML: &[u8] = include_bytes!("../samples/list_details.jmx");
const CSV: &[u8] = include_bytes!("../samples/samples.csv");

fn config() -> ProptestConfig {
    let cases = std::env::var("PLUMB_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: cases.unwrap_or(128), failure_persistence: None, ..<_>::default() }
}

/// A change of some bytes: where, how many of them go, and what comes instead. The place is a part
/// of the whole, so that one change fits every sample.
#[derive(Clone, Debug)]
struct Change {
    at: f64,
    gone: usize,
    come: Vec<u8>,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let marks = br#"{}[]()<>/\"'&;:,=!?@$*. 	%#-0"#.to_vec();
    let come = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..4),
        prop::collection::vec(prop::sample::select(marks), 0..4),
        prop::sample::select(vec![
            "\r\n",
            "\"\"",
            "&#x41;",
            "\\ud800",
            "]]>",
            "${",
            "''",
            "<!DOCTYPE a>"
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let change =
        (0.0..1.0f64, 0usize..6, come).prop_map(|(at, gone, come)| Change { at, gone, come });
    prop::collection::vec(change, 0..6)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a place in a small sample"
)]
fn changed(sample: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    for change in changes {
        let at = (change.at * bytes.len() as f64) as usize;
        let end = bytes.len().min(at + change.gone);
        bytes.splice(at..end, change.come.iter().copied());
    }
    bytes
}

/// One extraction of each way, for content and head.
fn extracts() -> Vec<file::Extract> {
    let none = || file::Extract { name: "found".into(), ..file::Extract::default() };
    let json = |path: &str| file::Extract { json: Some(path.into()), ..none() };
    let xpath = |path: &str| file::Extract { xpath: Some(path.into()), ..none() };
    vec![
        json("$.http_code"),
        json("$..*"),
        json("$[?@ > 0]"),
        xpath("//stringProp[@name='HTTPSampler.path']"),
        xpath("//*[@enabled]/@testname"),
        xpath("//hashTree/*[last()]//text()"),
        file::Extract {
            regex: Some(r#""(\w+)":(\d+)"#.into()),
            template: Some("$2$=$1$".into()),
            ..none()
        },
        file::Extract { between: Some(["Prop name=\"".into(), "\"".into()]), ..none() },
        file::Extract {
            header: Some("location".into()),
            regex: Some("sid=(.*?)&".into()),
            ..none()
        },
        file::Extract { header: Some("Set-Cookie".into()), ..none() },
    ]
}

fn all_ways(answer: &Answer<'_>) {
    let mut draw = Draw::of_user(1, 1);
    for extract in extracts() {
        for pick in [Pick::First, Pick::All, Pick::Random, Pick::Number(2)] {
            let extract = file::Extract { pick, ..extract.clone() };
            let extractor = Extractor::new(&extract, &mut Names::default()).expect("as above");
            match (extractor.value(answer, &mut draw), pick) {
                (Ok(Value::List(list)), Pick::All) => assert!(!list.is_empty()),
                (Ok(Value::Text(_)), Pick::First | Pick::Random | Pick::Number(_))
                | (Err(_), _) => {}
                (value, pick) => unreachable!("{pick:?}: {value:?}"),
            }
        }
    }
}

fn read_data(folder: &Path, bytes: &[u8], at_end: AtEnd) {
    fs::write(folder.join("data.csv"), bytes).expect("a file");
    for quotes in [Quotes::AroundCells, Quotes::Characters] {
        read_written(folder, quotes, at_end);
    }
}

fn read_written(folder: &Path, quotes: Quotes, at_end: AtEnd) {
    let data = file::Data {
        file: Spanned::new(0..0, "data.csv".into()),
        names: Vec::new(),
        delimiter: None,
        quotes,
        ignore_further: false,
        take: Take::EachScript,
        at_end,
    };
    let Ok(lines) = Lines::read(&data, &Reach::of(folder), &mut Names::default()) else { return };
    let mut variables = Variables::new(Arc::default());
    for number in 0..lines.count() + 2 {
        let taken = lines.take(&mut OwnLine::default(), &mut variables);
        assert_eq!(taken.is_ok(), at_end == AtEnd::Again || number < lines.count());
        assert!(lines.slots().all(|slot| variables.get(slot).is_some()));
    }
    assert_eq!(lines.ran_dry(), if at_end == AtEnd::Stop { 2 } else { 0 });
}

#[test]
fn the_samples_themselves_are_read() {
    let found = |extract: &file::Extract, content| {
        let extractor = Extractor::new(extract, &mut Names::default()).expect("as above");
        let answer =
            Answer { status: 200, address: "", length: 0, took_ns: 0, head: HEAD, content };
        extractor.value(&answer, &mut Draw::of_user(1, 1))
    };
    let extracts = extracts();
    assert_eq!(found(&extracts[0], JSON), Ok(Value::text("200")));
    assert_eq!(found(&extracts[3], XML), Ok(Value::text("/flights.json")));
    assert_eq!(found(&extracts[6], JSON), Ok(Value::text("0=exitcode")));
    assert_eq!(found(&extracts[7], XML), Ok(Value::text("TestPlan.user_defined_variables")));
    assert_eq!(found(&extracts[8], b""), Ok(Value::text("4711")));
    let folder = tempfile::tempdir().expect("a folder");
    read_data(folder.path(), CSV, AtEnd::Stop);
    let mut names = Names::default();
    let data = file::Data {
        file: Spanned::new(0..0, "data.csv".into()),
        names: Vec::new(),
        delimiter: None,
        quotes: Quotes::AroundCells,
        ignore_further: false,
        take: Take::EachScript,
        at_end: AtEnd::Stop,
    };
    let lines = Lines::read(&data, &Reach::of(folder.path()), &mut names).expect("the sample");
    assert_eq!((lines.count(), names.all().nth(2)), (7, Some("label")));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn changed_answers_are_judged_and_searched(changes in changes()) {
        let check = file::Check {
            contains: vec!["http".into()],
            matches_not: vec![r"\berror\b".into()],
            ..file::Check::default()
        };
        let mut names = Names::default();
        let checker = Checker::new(&check, &mut names).expect("a check");
        let variables = Variables::new(Arc::default());
        let head = changed(HEAD, &changes);
        for sample in [JSON, XML, CSV, PAGE] {
            let content = changed(sample, &changes);
            let answer = Answer { status: 200, address: "", length: 1, took_ns: 1, head: &head, content: &content };
            if let Err(failed) = checker.judge(&answer, &variables) {
                prop_assert!(!checker.words(failed, &answer, &names).is_empty());
            }
            all_ways(&answer);
        }
    }

    #[test]
    fn changed_data_files_are_read_or_refused(changes in changes()) {
        let folder = tempfile::tempdir().expect("a folder");
        for at_end in [AtEnd::Again, AtEnd::Stop] {
            read_data(folder.path(), &changed(CSV, &changes), at_end);
        }
    }

    #[test]
    fn changed_cookies_are_taken_or_not(changes in changes(), now_ns: u64) {
        let head = String::from_utf8_lossy(&changed(HEAD, &changes)).into_owned();
        let mut jar = Jar::new([Site::plain("www.example.org", 1_795_230_000)].into());
        for line in head.lines() {
            let value = line.split_once(": ").map_or(line, |(_, value)| value);
            jar.take(0, (value, None), "/sap/x", now_ns);
        }
        let mut out = Vec::new();
        jar.write(0, "/sap/x?y", now_ns, &mut out);
        prop_assert!(!out.iter().any(u8::is_ascii_control));
    }

    #[test]
    fn changed_expressions_are_read_or_refused(changes in changes()) {
        let page = changed(PAGE, &changes);
        for line in String::from_utf8_lossy(&page).lines().filter(|line| line.contains("=>")) {
            let mut names = Names::default();
            let expression = line.split("=>").next().unwrap_or_default().trim();
            if let Ok(template) = Template::parse(expression, &mut names) {
                let missing = template.write(&Variables::new(Arc::default()), &mut Vec::new());
                prop_assert_eq!(missing.is_err(), template.slots().next().is_some());
            }
            if let Ok(condition) = Condition::parse(expression, &mut names) {
                let _ = condition.holds(&Variables::new(Arc::default()));
            }
            let json = Some(expression.to_owned());
            let xpath = json.clone();
            for extract in [
                file::Extract { name: "x".into(), json, ..file::Extract::default() },
                file::Extract { name: "x".into(), xpath, ..file::Extract::default() },
            ] {
                let Ok(extractor) = Extractor::new(&extract, &mut names) else { continue };
                for content in [JSON, XML] {
                    let answer = Answer { status: 200, address: "", length: 1, took_ns: 1, head: b"", content };
                    let _ = extractor.value(&answer, &mut Draw::of_user(1, 1));
                }
            }
        }
    }
}
