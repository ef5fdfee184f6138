//! What files become, and what is said of those that are wrong.

use std::fs;

use clap::ValueEnum;
use clap::error::ErrorKind;
use plumb_measure::{ByteSize, Rate, Span};
use proptest::prelude::*;

use super::*;

/// Commands as the program has them, with what a file can say of options: switches, lists, values
/// of a type or from a choice, options that exclude others, arguments without a dash.
fn commands() -> Command {
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let one = |name: &'static str| Arg::new(name).long(name);
    let list = |name: &'static str| one(name).action(ArgAction::Append);
    let ping = Command::new("ping").args([
        Arg::new("target").value_name("HOST").required(true),
        list("size").value_delimiter(',').value_parser(value_parser!(ByteSize)),
        one("connections").value_parser(value_parser!(usize)).default_value("1"),
        one("count").value_parser(value_parser!(u64).range(1..)),
        one("for").value_parser(value_parser!(Span)).conflicts_with("count"),
        one("rate").value_parser(value_parser!(Rate)).conflicts_with("delay"),
        one("delay").value_parser(value_parser!(Span)),
        one("depth").value_parser(value_parser!(usize)),
        one("seed").value_parser(value_parser!(u64)),
        list("pin").value_parser(value_parser!(usize)),
        one("out").value_parser(value_parser!(PathBuf)),
        one("server-name"),
        switch("tls"),
        switch("spin"),
        switch("json").conflicts_with("markdown"),
        switch("markdown"),
        switch("ipv4").short('4').conflicts_with("ipv6"),
        switch("ipv6").short('6'),
    ]);
    let serve = Command::new("serve").args([
        list("listen"),
        one("max-clients").value_parser(value_parser!(usize)).default_value("10000"),
        one("idle").value_parser(value_parser!(Span)).default_value("2h"),
        list("pin").value_parser(value_parser!(usize)),
        switch("quiet"),
    ]);
    let watch = Command::new("watch").arg(one("every").value_parser(value_parser!(Span)));
    let ab = Command::new("ab").args([
        Arg::new("command").value_name("COMMAND").num_args(2..).required(true),
        one("block").value_parser(value_parser!(Span)),
        one("pairs").value_parser(value_parser!(u32)),
        one("time").value_parser(value_parser!(Span)).conflicts_with("pairs"),
        one("seed").value_parser(value_parser!(u64)),
        one("fail-on").value_parser(["worse"]),
    ]);
    Command::new("plumb")
        .subcommand(Command::new("net").subcommand(ping).subcommand(serve))
        .subcommand(Command::new("host").subcommand(watch))
        .subcommand(ab)
        .mut_subcommands(offer)
}

/// The words of `line` with the options of a file that holds `text`, as one line.
fn merged(text: &str, line: &str) -> Result<String, String> {
    merged_by(&commands(), text, line)
}

fn merged_by(all: &Command, text: &str, line: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("x.toml");
    fs::write(&file, text).expect("a temporary folder can be written");
    let words = format!("plumb {line} --options");
    let words: Vec<OsString> =
        words.split_whitespace().map(Into::into).chain([file.into_os_string()]).collect();
    let own = words.len() - 1;
    let merged = expand(all, &words).map_err(|error| {
        let folder = format!("{}/", folder.path().display());
        error.to_string().replace(&folder, "")
    })?;
    let shown = merged.iter().filter(|word| **word != words[own] && *word != "--options");
    let shown: Vec<_> = shown.map(|word| word.to_string_lossy()).collect();
    Ok(shown.join(" "))
}

/// What is said of a wrong file, without the excerpt.
fn wrong(text: &str, line: &str) -> String {
    let said = merged(text, line).expect_err("it is wrong");
    said.lines().next().expect("a line").to_owned()
}

#[test]
fn a_line_without_a_file_stays_as_it_is() {
    let words = ["plumb", "net", "ping", "db1"].map(OsString::from);
    assert_eq!(expand(&commands(), &words).expect("no file"), words);
}

#[test]
fn options_become_words_in_front_of_the_user_s() {
    let text = "connections = 64\nsize = [\"500B\", \"1000B\"]\nfor = \"5s\"\ntls = true\n\
                spin = false\npin = []\nserver-name = \"-x y\"\n";
    assert_eq!(
        merged(text, "net ping db1 --depth 2").as_deref(),
        Ok("plumb net ping --connections=64 --size=500B --size=1000B --for=5s --tls \
            --server-name=-x y db1 --depth 2")
    );
}

#[test]
fn an_argument_without_a_dash_goes_by_the_name_of_its_value() {
    assert_eq!(merged("host = \"db1\"", "net ping").as_deref(), Ok("plumb net ping -- db1"));
    let ab = merged("command = [\"net ping a\", \"net ping b\"]\nblock = \"1s\"", "ab --seed 1");
    assert_eq!(ab.as_deref(), Ok("plumb ab --block=1s --seed 1 -- net ping a net ping b"));
    assert_eq!(merged("host = \"db1\"", "net ping db2").as_deref(), Ok("plumb net ping db2"));
}

#[test]
fn integers_lose_their_base_and_underscores() {
    assert_eq!(
        merged("count = 0x10_00\nseed = 1_000", "net ping a").as_deref(),
        Ok("plumb net ping --count=4096 --seed=1000 a")
    );
}

#[test]
fn the_command_line_replaces_what_it_gives_itself() {
    let text = "size = [\"1B\", \"2B\"]\nconnections = 4";
    let line = "plumb net ping --connections=4 db1 --size 3B";
    assert_eq!(merged(text, "net ping db1 --size 3B").as_deref(), Ok(line));
}

#[test]
fn the_command_line_replaces_what_it_excludes_in_either_direction() {
    for (text, option) in [
        ("for = \"5s\"", "--count=9"),
        ("count = 9", "--for=5s"),
        ("rate = \"9/s\"", "--delay=1s"),
        ("json = true", "--markdown"),
        ("ipv4 = true", "-6"),
    ] {
        let line = format!("net ping db1 {option}");
        assert_eq!(merged(text, &line), Ok(format!("plumb {line}")), "{text}");
    }
    assert_eq!(
        merged("time = \"9s\"", "ab a b --pairs 5").as_deref(),
        Ok("plumb ab a b --pairs 5")
    );
}

#[test]
fn a_file_may_have_a_section_for_each_command() {
    let text = "[net.ping]\ncount = 5\n[net.serve]\nidle = \"5s\"\n[ab]\nseed = 1\n";
    assert_eq!(merged(text, "net ping a").as_deref(), Ok("plumb net ping --count=5 a"));
    assert_eq!(merged(text, "net serve").as_deref(), Ok("plumb net serve --idle=5s"));
    assert_eq!(
        merged("net.ping.count = 5", "net ping a").as_deref(),
        merged(text, "net ping a").as_deref()
    );
    assert_eq!(
        wrong(text, "host watch"),
        "x.toml, line 1, column 1: the file has sections, but none for this command: begin one \
         with [host.watch]"
    );
    assert_eq!(
        wrong("count = 5\n[net.ping]\n", "net ping a"),
        "x.toml, line 1, column 1: `count` stands in no section of a command: write it below \
         [net.ping]"
    );
    assert_eq!(
        wrong("[net.pin]\ncount = 5\n", "net ping a"),
        "x.toml, line 1, column 6: there is no command `pin` to have a section; did you mean \
         `ping`?"
    );
}

#[test]
fn an_unknown_key_is_shown_with_what_was_probably_meant() {
    let expected = "x.toml, line 2, column 3: `plumb net ping` has no option `connectons`; did you \
                    mean `connections`?\n  |\n2 |   connectons = 64 # many\n  |   ^^^^^^^^^^";
    let said =
        merged("count = 5\n\tconnectons = 64 # many\n".replace('\t', "  ").as_str(), "net ping a");
    assert_eq!(said.expect_err("it is wrong"), expected);
    assert_eq!(
        wrong("zzz = 1", "net ping a"),
        "x.toml, line 1, column 1: `plumb net ping` has no option `zzz`"
    );
    for own in ["options", "print-options", "help"] {
        assert!(wrong(&format!("{own} = true"), "net ping a").contains("has no option"), "{own}");
    }
}

#[test]
fn a_value_of_the_wrong_type_is_shown() {
    for (text, said) in [
        ("tls = \"yes\"", "7: `tls` takes true or false, not a TOML string"),
        ("for = true", "7: `for` takes one value, not a TOML boolean"),
        ("for = [\"5s\"]", "7: `for` takes one value, not a TOML array"),
        ("count = {}", "9: `count` takes one value, not a TOML table"),
        ("size = [\"1B\", []]", "15: `size` takes a value or a list of values, not a TOML array"),
    ] {
        assert_eq!(wrong(text, "net ping a"), format!("x.toml, line 1, column {said}"));
    }
}

#[test]
fn a_value_that_the_option_does_not_take_is_shown() {
    for (text, said) in [
        ("size = [\"1B\", \"2x\"]", "15: `size` cannot be `2x`: "),
        ("count = -1", "9: `count` cannot be `-1`: "),
        ("count = 1.5", "9: `count` cannot be `1.5`: "),
        ("count = 99999999999999999999", "9: `count` cannot be `99999999999999999999`: "),
        ("out = \"\"", "7: `out` cannot be ``: a value is required"),
    ] {
        let line = wrong(text, "net ping a --size 1B --count 1 --out x");
        assert!(line.starts_with(&format!("x.toml, line 1, column {said}")), "{line}");
    }
    assert_eq!(
        wrong("fail-on = \"better\"", "ab a b"),
        "x.toml, line 1, column 11: `fail-on` cannot be `better`: expected one of worse"
    );
}

#[test]
fn a_text_that_is_no_toml_is_shown() {
    let said = merged("count = 5\ncount = 6\n", "net ping a").expect_err("it is wrong");
    let expected =
        "x.toml, line 2, column 1: not TOML: duplicate key\n  |\n2 | count = 6\n  | ^^^^^";
    assert_eq!(said, expected);
    assert!(wrong("size = [", "net ping a").starts_with("x.toml, line 1, column 9: not TOML: "));
}

#[test]
fn options_of_one_file_that_exclude_each_other_are_shown() {
    assert_eq!(
        wrong("rate = \"5/s\"\ncount = 5\ndelay = \"1s\"", "net ping a"),
        "x.toml, line 3, column 1: `delay` cannot stand beside `rate`: take one of them out"
    );
}

#[test]
fn arguments_of_several_values_keep_their_order_and_number() {
    #[derive(Clone, ValueEnum)]
    enum Way {
        In,
        Out,
    }
    let pair = Arg::new("pair").long("pair").num_args(2).value_parser(value_parser!(Way));
    let go = Command::new("go").args([
        Arg::new("from").value_name("FROM").required(true),
        Arg::new("to").value_name("TO"),
        pair,
    ]);
    let all = Command::new("plumb").subcommand(go).mut_subcommands(offer);
    let of = |text: &str, line: &str| merged_by(&all, text, line);
    let text = "to = \"b\"\nfrom = \"a\"\npair = [\"in\", \"out\"]";
    assert_eq!(of(text, "go").as_deref(), Ok("plumb go --pair in out -- a b"));
    assert_eq!(of(text, "go c").as_deref(), Ok("plumb go --pair in out c -- b"));
    let first = |said: Result<String, String>| {
        said.expect_err("it is wrong").lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        first(of("to = \"b\"", "go")),
        "x.toml, line 1, column 1: `to` needs `from`, which comes before it"
    );
    assert_eq!(
        first(of("pair = [\"in\"]", "go a")),
        "x.toml, line 1, column 8: `pair` takes 2 values"
    );
    assert_eq!(
        first(of("pair = [\"in\", \"on\"]", "go a")),
        "x.toml, line 1, column 15: `pair` cannot be `on`: expected one of in, out"
    );
}

/// The options of `words` as a file.
fn printed(words: &[OsString]) -> String {
    let all = commands();
    let mut words = words.to_vec();
    words.insert(3, "--print-options".into());
    let matches = all.clone().try_get_matches_from(&words).expect("a command line");
    in_force(&all, &matches).expect("it is text").expect("it was asked for")
}

/// A command line that names a file, ready for one text after another.
fn asked(line: &str) -> Asked {
    let words: Vec<OsString> = line.split_whitespace().map(Into::into).collect();
    Asked::of(&commands(), &words).expect("a file is named")
}

#[test]
fn options_in_force_are_printed_and_those_without_a_value_are_not() {
    let words = ["plumb", "net", "serve", "--max-clients", "7", "--listen", "a:1"];
    let file = printed(&words.map(Into::into));
    assert!(file.starts_with("# plumb net serve\n"), "{file}");
    for line in ["max-clients = 7", "listen = [\"a:1\"]", "idle = \"2h\"", "quiet = false"] {
        assert!(file.lines().any(|printed| printed == line), "{line}: {file}");
    }
    assert!(!file.lines().any(|line| line.starts_with("pin = ")), "{file}");
}

#[test]
fn a_default_that_something_else_replaces_is_not_in_force() {
    let go = Command::new("go").args([
        Arg::new("size").long("size").default_value("1B"),
        Arg::new("preset").long("preset").conflicts_with("size"),
    ]);
    let all = Command::new("plumb").subcommand(go).mut_subcommands(offer);
    let of = |words: &[&str]| {
        let words = [&["plumb", "go", "--print-options"], words].concat();
        let matches = all.clone().try_get_matches_from(words).expect("a command line");
        in_force(&all, &matches).expect("it is text").expect("it was asked for")
    };
    assert_eq!(of(&[]), "# plumb go\nsize = \"1B\"\n");
    assert_eq!(of(&["--preset", "x"]), "# plumb go\npreset = \"x\"\n");
}

/// Lines of a file for `net ping`, some of which exclude each other.
const ENTRIES: [&str; 11] = [
    "host = \"-x\"",
    "size = [\"1B\", \"2B\"]",
    "count = 3",
    "for = \"1s\"",
    "rate = \"5/s\"",
    "delay = \"1s\"",
    "json = true",
    "markdown = true",
    "ipv4 = true",
    "ipv6 = true",
    "spin = false",
];

proptest! {
    #[test]
    fn no_text_makes_it_panic(
        text in prop_oneof![
            any::<String>(),
            // close to what is right
            "((size|for|host|net|ping|tls|é|\"a b\"|count)( = |=|\\.|\n|\\]\n))?\
             ((\"[^\"]{0,4}\"|[0-9_.xe+-]{0,4}|true|\\[|\\]|\\{|\\}|\\[net\\.ping\\]\n|,|\n){0,9}\n?){0,3}",
            (1_usize..300).prop_map(|depth| format!("size = {}", "[".repeat(depth))),
        ]
    ) {
        let file = Text { path: "x.toml".into(), text: text.clone() };
        let asked = asked("plumb net ping --options x.toml");
        if let Err(fault) = asked.settings(&text) {
            let said = file.refused(fault).to_string();
            prop_assert!(said.starts_with("x.toml, line "), "{}", said);
        }
    }

    #[test]
    fn what_a_file_may_say_a_command_line_may_say(
        entries in Just(ENTRIES.to_vec()).prop_shuffle(),
        many in 0..=ENTRIES.len(),
        own in prop::sample::subsequence(vec!["db1", "--count=1", "--json", "-4", "--size=1B"], 0..=5),
    ) {
        let line = [vec!["plumb", "net", "ping", "--options=x.toml"], own].concat();
        let asked = asked(&line.join(" "));
        if let Ok(settings) = asked.settings(&entries[..many].join("\n")) {
            let line: Vec<OsString> = line.into_iter().map(Into::into).collect();
            let parsed = commands().try_get_matches_from(asked.merged(&line, &settings));
            let kind = parsed.err().map(|error| error.kind());
            let complete = kind.is_none() || kind == Some(ErrorKind::MissingRequiredArgument);
            prop_assert!(complete, "{:?}", kind);
        }
    }

    #[test]
    fn what_is_printed_reads_back(host in any::<String>(), name in ".+", count in 1_u64..) {
        let words = ["plumb", "net", "ping", "--count"].map(OsString::from).into_iter();
        let words: Vec<OsString> = words
            .chain([count.to_string(), format!("--server-name={name}"), "--".into(), host.clone()].map(Into::into))
            .collect();
        let file = printed(&words);
        let line = ["plumb", "net", "ping", "--options", "x.toml"].map(OsString::from);
        let asked = asked("plumb net ping --options x.toml");
        let settings = asked.settings(&file).map_err(|fault| fault.problem.to_string());
        let merged = asked.merged(&line, &settings.expect("it was printed by us"));
        prop_assert_eq!(printed(&merged), file);
    }
}
