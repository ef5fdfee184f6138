//! Files of agents: what they say, and what is wrong in them.

use super::*;
use crate::change::TagValue;
use crate::condition::Condition;
use crate::source::{Pace, Shape};
use crate::spool::WhenFull;
use crate::trigger::{Fires, Sent};

const SMALL: &str = "[source.sim]\ntag = [{ name = \"t\", shape = \"constant\", value = 1 }]\n\
    [target]\nurl = \"http://127.0.0.1:50000/runner/event?mode=async\"\n";

fn read_one(text: &str) -> AgentPlan {
    parse(text, "agent", Path::new("/agents")).unwrap().remove(0)
}

fn complaint(text: &str) -> String {
    parse(text, "agent", Path::new("/agents")).unwrap_err().to_string()
}

#[test]
fn a_small_file_has_the_defaults() {
    let plan = read_one(SMALL);
    assert_eq!((plan.name.as_str(), plan.form, plan.bundle.count), ("agent", Form::Xml, 1));
    assert_eq!((plan.retry.times, plan.retry.interval), (100, Span::from_ms(10_000)));
    assert_eq!((plan.target.address.as_str(), plan.target.window), ("127.0.0.1:50000", 4));
    assert_eq!(plan.target.path, "/runner/event?mode=async");
    assert_eq!((plan.spool.messages, plan.spool.when_full), (1_000_000, WhenFull::Wait));
    let SourcePlan::Sim(sim) = &plan.source else { panic!("{:?}", plan.source) };
    assert_eq!((sim.rate, sim.tags[0].shape), (None, Shape::Constant { value: 1.0 }));
}

#[test]
fn everything_that_can_be_said_is_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.password"), "secret-word\n").unwrap();
    let text = r#"
name = "press"
about = "Temperatures of the press"
copies = 3
[source.sim]
seed = 7
rate = 100.0
changes = 5000
[[source.sim.tag]]
name = "temperature"
count = 4
shape = "random-walk"
low = 20
high = 90
step = 0.5
[[source.sim.tag]]
name = "batch"
shape = "steps"
low = 1
high = 5
steps = 5
every = 60
[changes]
deadband = 0.1
[trigger]
fires = "while-true"
tags = ["batch"]
send = ["temperature-1", "batch"]
when = { all = [{ tag = "temperature-1", above = 80, until = 75 }, { not = { tag = "mode", equals = "manual" } }] }
[message]
form = "json"
[bundle]
count = 20
size = "64KiB"
time = "250ms"
[target]
url = "http://plant.example/messages"
user = "press"
password-file = "agent.password"
window = 8
ordered = true
keys = "omit"
timeout = "5s"
[retry]
times = 3
interval = "1s"
lifetime = "1h"
[spool]
messages = 250000
size = "512MiB"
when-full = "drop"
"#;
    let plans = parse(text, "any", folder.path()).unwrap();
    let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    assert_eq!(names, ["press-1", "press-2", "press-3"]);
    let plan = &plans[1];
    let SourcePlan::Sim(sim) = &plan.source else { panic!("{:?}", plan.source) };
    assert_eq!((sim.seed, sim.tags.len(), &*sim.tags[3].name), (9, 5, "temperature-4"));
    let trigger = plan.trigger.as_ref().unwrap();
    assert_eq!(trigger.fires, Fires::WhileTrue);
    assert_eq!(trigger.sent, Sent::Tags(vec!["temperature-1".into(), "batch".into()]));
    let Condition::All(all) = &trigger.when else { panic!("{:?}", trigger.when) };
    let Condition::Not(not) = &all[1] else { panic!("{all:?}") };
    assert_eq!(**not, Condition::Equals("mode".into(), TagValue::Text("manual".into())));
    assert!(plan.wanted.only_changed);
    assert_eq!((plan.bundle.bytes, plan.bundle.time_ns), (64 << 10, 250_000_000));
    assert_eq!(plan.target.address, "plant.example:80");
    assert_eq!(plan.retry.lifetime, Some(Span::from_ms(3_600_000)));
    assert!(!format!("{plan:?}").contains("secret"), "{plan:?}");
    let expected = authorization_of("press", "secret-word");
    assert_eq!(plan.target.authorization.as_deref(), Some(expected.as_str()));
}

fn authorization_of(user: &str, password: &str) -> String {
    plumb_serve::accounts::authorization(user, password)
}

#[test]
fn files_and_brokers_are_sources_too() {
    let target = "[target]\nurl = \"http://h/\"\n";
    let file = format!(
        "[source.file]\npath = \"a.csv\"\ntime-column = \"t\"\ndelimiter = \";\"\n\
         read = \"follow\"\npace = {{ speed = 10.0 }}\n{target}"
    );
    let SourcePlan::Replay(replay) = read_one(&file).source else { panic!("{file}") };
    assert_eq!(replay.file, Path::new("/agents/a.csv"));
    assert_eq!((replay.pace, replay.follows), (Pace::TimeStamps(10.0), true));
    assert_eq!(replay.columns.unwrap().delimiter, b';');
    let broker = format!(
        "[source.mqtt]\nbroker = \"mqtt://h\"\nversion = \"3.1.1\"\nclient-id = \"a\"\n\
         topics = [\"plant/#\"]\npayload = \"json\"\nsequence = \"n\"\n{target}"
    );
    let SourcePlan::Mqtt(mqtt) = read_one(&broker).source else { panic!("{broker}") };
    assert_eq!((mqtt.host.as_str(), mqtt.port), ("h", 1883));
    assert_eq!(mqtt.sequence.as_deref(), Some("n"));
}

#[cfg(feature = "opcua")]
#[test]
fn the_tag_that_counts_is_that_of_a_node() {
    let server = |sequence: &str| {
        format!(
            "[source.opc-ua]\nurl = \"opc.tcp://h:4840\"\nsequence = \"{sequence}\"\n\
             node = [{{ id = \"ns=2;s=N\", tag = \"n\" }}, {{ id = \"ns=2;s=T\" }}]\n\
             [target]\nurl = \"http://h/\"\n"
        )
    };
    let SourcePlan::OpcUa(plan) = read_one(&server("n")).source else { panic!("no OPC UA") };
    assert_eq!(plan.sequence.as_deref(), Some("n"));
    let told = complaint(&server("m"));
    assert!(told.contains("line 3, column 12: no node has this tag"), "{told}");
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_without_secrets() {
    let sim = "[source.sim]\ntag = [{ name = \"t\", shape = \"constant\", value = 1 }]\n";
    let with = |rest: &str| format!("{SMALL}{rest}");
    let url = |url: &str| format!("{sim}[target]\nurl = \"{url}\"\n");
    let mqtt = |keys: &str| {
        format!("[source.mqtt]\n{keys}\ntopics = [\"a\"]\n[target]\nurl = \"http://h/\"\n")
    };
    for (text, expected) in [
        ("[source.sim]\ntag = []\n[target]\nurl = \"http://h\"".into(), "simulates no tag"),
        ("[source]\n[target]\nurl = \"http://h\"".into(), "one source: `sim`, `file`"),
        (with("windw = 3\n"), "did you mean `window`?"),
        (with("window = 0\n"), "line 5, column 10: `window` is a number"),
        (with("[bundle]\ncount = 0\n"), "`count` is a number of changes"),
        (with("[spool]\nmessages = 0\n"), "how many may wait"),
        (with("[retry]\ninterval = \"10us\"\n"), "1ms at least"),
        (with("user = \"u\"\n"), "`user` needs `password-file`"),
        (with("token-env = \"PLUMB_NO_SUCH_VARIABLE\"\n"), "no variable PLUMB_NO_SUCH_VARIABLE"),
        (with("token-file = \"none\"\n"), "cannot read /agents/none"),
        (with("ca = \"a.pem\"\n"), "`ca` belongs to a URL of https"),
        (with("[changes]\ndeadband = -1.0\n"), "`deadband` is a number from 0"),
        (format!("copies = 0\n{SMALL}"), "from 1 to 10000"),
        (format!("name = \"a b\"\n{SMALL}"), "a name has 1 to 64 letters"),
        (url("http://u:secret@h/"), "a name stands in the URL"),
        (url("http://h/?j_password=secret"), "a password or token stands in the URL"),
        (url("ftp://h/"), "line 4, column 7"),
        (with("[trigger]\nwhen = {}\n"), "one of `all`, `any`, `not`"),
        (with("[trigger]\nwhen = { any = [] }\n"), "it has no condition"),
        (with("[trigger]\nwhen = { tag = \"t\" }\n"), "one of `above`, `below`"),
        (with("[trigger]\nwhen = { tag = \"t\", above = 1, until = 2 }\n"), "`until` lies"),
        (with("[trigger]\nsend = []\nwhen = { changed = \"t\" }\n"), "`send` names tags"),
        (mqtt("broker = \"h:1883\"\nclient-id = \"a\""), "write mqtt://HOST:PORT"),
        (mqtt("broker = \"mqtt://u:secret@h\"\nclient-id = \"a\""), "a name stands in"),
        (mqtt("broker = \"mqtt://h\""), "it needs `client-id`"),
    ] {
        let told = complaint(&text);
        assert!(told.contains(expected) && !told.contains("secret"), "{text}\n{told}");
    }
}

#[test]
fn folders_are_read_and_names_are_of_one_agent() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert!(read_all(&[folder.path().into()]).unwrap_err().to_string().contains("no agent"));
    for name in ["b.toml", "a.toml", "note.txt"] {
        std::fs::write(path(name), SMALL).unwrap();
    }
    let names = |paths: &[PathBuf]| -> Vec<String> {
        read_all(paths).unwrap().into_iter().map(|plan| plan.name).collect()
    };
    assert_eq!(names(&[folder.path().into()]), ["a", "b"]);
    let twice = read_all(&[path("a.toml"), path("a.toml")]).unwrap_err().to_string();
    assert!(twice.contains("two agents are called `a`"), "{twice}");
    std::fs::write(path("b.toml"), "[source").unwrap();
    std::fs::write(path("a.toml"), "[target").unwrap();
    let both = read_all(&[folder.path().into()]).unwrap_err().to_string();
    assert!(both.contains("a.toml, line 1") && both.contains("b.toml, line 1"), "{both}");
}

#[test]
fn a_file_that_is_too_large_is_refused_and_not_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    let comment = |bytes: usize| format!("{SMALL}#{}", "x".repeat(bytes - SMALL.len() - 1));
    std::fs::write(&path, comment(1 << 20)).unwrap();
    assert_eq!(read_all(std::slice::from_ref(&path)).unwrap().len(), 1);
    std::fs::write(&path, comment((1 << 20) + 1)).unwrap();
    let refused = read_all(std::slice::from_ref(&path)).unwrap_err().to_string();
    assert!(refused.ends_with("a.toml has more than 1 MiB: make several files of it"), "{refused}");
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "\\PC{0,200}") {
        let _ = parse(&text, "agent", Path::new("/agents"));
    }
}
