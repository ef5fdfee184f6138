//! Options from a file, end to end: they are in force, the command line goes before them and the
//! environment behind, and a record's options make such a file.

use crate::kit;

use std::fs;
use std::path::Path;

use kit::authority::Authority;
use kit::{PLUMB, Server, only_run, ping, plumb, record, runs};
use serde_json::{Value, json};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn write(at: &Path, text: &str) {
    fs::write(at.join("x.toml"), text).expect("a temporary folder can be written");
}

/// The options in the record of the only run in `at`.
fn options(at: &Path) -> Value {
    record(&only_run(at))["plan"]["options"].clone()
}

#[test]
fn a_measurement_takes_its_options_and_its_target_from_a_file() {
    let server = Server::start(&["--quiet"]);
    let at = folder();
    let text = format!(
        "host = \"{}\"\ncount = 20\nsize = [\"10B\", \"20B\"]\nnagle = true\nwarmup = \"0s\"\n",
        server.address
    );
    write(at.path(), &text);
    plumb(&["net", "ping", "--options", "x.toml", "--count", "5"], at.path()).with(0);
    let record = record(&only_run(at.path()));
    let options = &record["plan"]["options"];
    assert_eq!(options["size"], json!(["10B", "20B"]));
    assert_eq!(options["count"], 5);
    assert_eq!(options["nagle"], true);
    assert_eq!(record["results"].as_array().expect("results").len(), 2);
    let command = record["plan"]["command"].as_array().expect("words");
    assert_eq!(command[1..], ["net", "ping", "--options", "x.toml", "--count", "5"]);
}

/// Measures with `words`, then with the options in the record of that: the second record has the
/// same.
fn measured_again(server: &Server, words: &[&str]) {
    let at = folder();
    ping(&server.address, &[&["--count", "5", "--warmup", "0s"], words].concat(), at.path())
        .with(0);
    let first = options(at.path());
    let again = folder();
    write(again.path(), &toml::to_string(&first).expect("options are TOML"));
    ping(&server.address, &["--options=x.toml"], again.path()).with(0);
    assert_eq!(options(again.path()), first);
}

#[test]
fn a_record_s_options_are_such_a_file() {
    let server = Server::start(&["--quiet"]);
    measured_again(&server, &["--size", "10B,20B", "-4", "--lag", "2ms"]);
    measured_again(&server, &["--rate", "5000/s", "--nagle", "--lag", "50s"]);
    let certificates = folder();
    let authority = Authority::new(certificates.path(), "ours");
    let secured = Server::start(&[&authority.sign("127.0.0.1").shown()[..], &["--quiet"]].concat());
    measured_again(&secured, &["--tls", "--ca", &authority.ca()]);
}

#[test]
fn a_file_goes_before_the_environment() {
    let at = folder();
    write(at.path(), "foreign-limit = \"7%\"\n");
    let limit = |words: &[&str]| {
        let words = [&["checkup", "--print-options"], words].concat();
        let file = plumb(&words, at.path()).with(0).stdout;
        let file: toml::Table = file.parse().expect("TOML");
        file["foreign-limit"].as_str().expect("a text").to_owned()
    };
    assert_eq!(limit(&[]), "100%", "from the environment of the tests");
    assert_eq!(limit(&["--options", "x.toml"]), "7%");
    assert_eq!(limit(&["--options", "x.toml", "--foreign-limit", "8%"]), "8%");
}

#[test]
fn a_printed_file_serves_as_it_was_printed() {
    let at = folder();
    let words = ["host", "record", "--every", "20ms", "--for", "1s", "--print-options"];
    let first = plumb(&words, at.path()).with(0).stdout;
    write(at.path(), &first);
    let words = ["host", "record", "--options", "x.toml", "--print-options"];
    assert_eq!(plumb(&words, at.path()).with(0).stdout, first);
    assert_eq!(kit::names_in(at.path()), ["x.toml"], "nothing was recorded");
}

#[test]
fn variants_of_a_comparison_take_files_of_their_own() {
    let server = Server::start(&["--quiet"]);
    let at = folder();
    let text = format!("[net.ping]\nhost = \"{}\"\ncount = 20\nwarmup = \"0s\"\n", server.address);
    write(
        at.path(),
        &format!(
            "{text}\n[ab]\npairs = 2\nseed = 1\nout = \"e\"\naccept-invalid = true\n\
                  accept-unchecked = true\n"
        ),
    );
    let variant = "net ping --options x.toml";
    let other = "net ping --options x.toml --size 50B";
    // two pairs are too few to show anything
    plumb(&["ab", "--options", "x.toml", variant, other], at.path()).with(3);
    let blocks = kit::names_in(&at.path().join("e/blocks"));
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        let record = record(&at.path().join("e/blocks").join(&block));
        assert_eq!(record["plan"]["options"]["count"], 20, "{block}");
        assert_eq!(record["target"]["address"], server.address);
        assert!(record["plan"]["options"].get("for").is_none(), "{block}");
    }
}

#[test]
fn a_file_cannot_give_a_variant_what_belongs_to_the_comparison() {
    let at = folder();
    write(at.path(), "json = true\n");
    let ended = plumb(&["ab", "net ping x --options x.toml", "net ping x"], at.path()).with(2);
    assert!(ended.stderr.contains("--json belongs to the experiment"), "{}", ended.stderr);
}

#[test]
fn a_wrong_file_is_refused_with_its_place_and_leaves_nothing() {
    let at = folder();
    write(at.path(), "count = 5\nconnectons = 64\n");
    let ended = plumb(&["net", "ping", "x", "--options", "x.toml"], at.path()).with(2);
    assert_eq!(ended.stdout, "");
    assert_eq!(
        ended.stderr,
        "plumb: x.toml, line 2, column 1: `plumb net ping` has no option `connectons`; did you mean \
         `connections`?\n  |\n2 | connectons = 64\n  | ^^^^^^^^^^\n"
    );
    assert!(runs(at.path()).is_empty());
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let at = folder();
    let said =
        |file: &str| plumb(&["net", "ping", "x", "--options", file], at.path()).with(2).stderr;
    assert!(said("none.toml").starts_with("plumb: cannot read the options file none.toml: "));
    assert!(said("/dev/zero").starts_with("plumb: /dev/zero is no options file: it is larger "));
    assert!(said(PLUMB).starts_with(&format!("plumb: {PLUMB}")), "{}", said(PLUMB));
    fs::write(at.path().join("latin.toml"), b"host = \"\xe9\"\n").expect("it can be written");
    let place = "plumb: latin.toml, line 1, column 9: this is no UTF-8 text; TOML is\n";
    assert!(said("latin.toml").starts_with(place), "{}", said("latin.toml"));
}

#[test]
fn help_needs_no_file() {
    let at = folder();
    let help = plumb(&["net", "ping", "--options", "none.toml", "--help"], at.path()).with(0);
    assert!(help.stdout.contains("--options <FILE>"));
}
