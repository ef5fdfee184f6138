//! What is refused before anything is measured.

use std::fs;

use super::{PRINTED, SERVERS, experiment, folder};
use crate::kit::{Program, names_in, plumb};

#[test]
fn what_is_not_of_one_kind_is_refused_before_anything_is_measured() {
    let at = folder();
    let text = SERVERS.replace("name = \"slow\"", "name = \"slow\"\noptions = { rate = \"9/s\" }");
    experiment(at.path(), &text);
    let refused = plumb(&["lab", "run", "x.toml"], at.path()).with(2);
    let told = "quick is net ping under closed load, and slow is net ping under open load";
    assert!(refused.stderr.contains(told), "{refused:?}");
    assert_eq!(names_in(at.path()), ["x.toml"]);
}

#[test]
fn what_cannot_be_written_down_leaves_no_folder() {
    let at = folder();
    experiment(at.path(), PRINTED);
    let ladder = "[ladder]\nrun = \"net ping 127.0.0.1:1\"\nconnections = [1, 2]\n";
    fs::write(at.path().join("ladder.toml"), ladder).expect("writable");
    let ab = ["ab", "--exec", "--pairs", "6", "echo 1", "echo 2", "--out", "one"];
    let of = |file: &'static str| ["lab", "run", file, "--out", "one"];
    for words in [&ab[..], &of("x.toml"), &of("ladder.toml")] {
        // a file takes no byte more, and a write that fails is no signal
        let ended = Program::limited("-f 0 && trap '' XFSZ", words, at.path()).wait().with(2);
        assert!(ended.stderr.contains("(os error 27)"), "{words:?}: {ended:?}");
        assert_eq!(names_in(at.path()), ["ladder.toml", "x.toml"], "{words:?}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place_before_anything_is_measured() {
    let at = folder();
    let refusals: &[(&str, &str, &[&str])] = &[
        ("rounds = 6", "rouns = 6", &["line 3, column 1", "did you mean `rounds`?"]),
        ("rounds = 6", "rounds = 0", &["line 3", "expected 1 to 1000 rounds"]),
        ("rounds = 6", "rounds = 6\ntime = \"1m\"", &["line 4", "give one of rounds"]),
        ("rounds = 6", "baseline = \"chep\"", &["line 3", "did you mean `cheap`?"]),
        ("${size}", "${sise}", &["line 17, column 32", "did you mean `${size}`?"]),
        ("${size}", "${size", &["line 17, column 32", "has no `}`"]),
        ("${users} ", "", &["line 14", "the factor changes nothing"]),
        ("name = \"dear\"", "name = \"cheap\"", &["line 8", "two are called `cheap`"]),
        ("[10, 20]", "[]", &["line 12", "at least one level"]),
        ("[10, 20]", "[10, 10]", &["line 12", "`10` stands there twice"]),
        ("\"size\"", "\"probe\"", &["line 11", "a meaning of its own"]),
        ("\"size\"", "\"users\"", &["line 14", "`users` names two things"]),
        ("exec = ", "figure = \"p95\"\nexec = ", &["line 17", "`p95` can decide nothing here"]),
        ("exec = ", "run = \"net ping x\"\nexec = ", &["line 18", "either `run` or `exec`"]),
        ("set = { factor = 2 }", "words = \"--nagle\"", &["line 9", "there is none"]),
        ("set = { factor = 2 }", "set = { factor = 2, pol = 5 }", &["line 9", "has ${pol} in it"]),
        ("rounds = 6", "settle = \"1s\"", &["line 3", "nothing is switched before a block"]),
        ("rounds = 6", "block = \"1s\"", &["line 3", "a shell command ends by itself"]),
        ("[[probe]]", "[[prob]]", &["line 16", "did you mean `probe`?"]),
    ];
    for (from, to, expected) in refusals {
        experiment(at.path(), &PRINTED.replacen(from, to, 1));
        let ended = plumb(&["lab", "run", "x.toml"], at.path()).with(2);
        for text in *expected {
            assert!(ended.stderr.contains(text), "{to}: {ended:#?}");
        }
        assert!(ended.stderr.contains("x.toml, line"), "{ended:?}");
    }
    let run = [
        ("--size ${size}", "--size 5x", "line 19", "is no unit here"),
        ("--size ${size}", "--size ${size} --json", "line 19", "belongs to the experiment"),
        ("--service-time ${time}", "--service-tim ${time}", "line 6", "--service-time"),
        ("figure = \"p95\"", "figure = \"thruput\"", "line 23", "did you mean `throughput`?"),
        ("set = { time = \"2ms\" }", "", "line 6", "`${time}` is no factor"),
        ("\"2ms\" }", "\"2ms\" }\nservers = { eco = \"-4\" }", "line 14", "mean `echo`?"),
        ("\"2ms\" }", "\"2ms\" }\noptions = { nagel = true }", "line 20", "--nagle"),
    ];
    for (from, to, place, expected) in run {
        experiment(at.path(), &SERVERS.replacen(from, to, 1));
        let ended = plumb(&["lab", "run", "x.toml"], at.path()).with(2);
        assert!(ended.stderr.contains(place), "{to}: {ended:#?}");
        assert!(ended.stderr.contains(expected), "{to}: {ended:#?}");
    }
    let nowhere = plumb(&["lab", "run", "nowhere.toml"], at.path()).with(2);
    assert!(nowhere.stderr.contains("nowhere.toml"), "{nowhere:?}");
    experiment(at.path(), PRINTED);
    let many = plumb(&["lab", "run", "x.toml", "--rounds", "1001"], at.path()).with(2);
    assert!(many.stderr.contains("1 to 1000"), "{many:?}");
    assert_eq!(names_in(at.path()), ["x.toml"]);
}
