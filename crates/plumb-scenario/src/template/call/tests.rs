use std::sync::Arc;

use plumb_measure::LoadPart;
use proptest::prelude::*;

use crate::generator::Generator;
use crate::template::Template;
use crate::variables::{Names, Value, Variables};

/// 2026-11-21T22:30:00.123456789Z
const NOW_NS: u64 = 1_795_300_200_123_456_789;

/// Writes the same template several times, for one user after the other.
fn written(text: &str, users: u64, times: usize) -> Result<Vec<String>, String> {
    let mut names = Names::with_values(LoadPart::default());
    let template = Template::parse(text, &mut names).map_err(|error| error.to_string())?;
    let slot = names.slot("a").unwrap();
    let mut all = Vec::new();
    for user in 0..users {
        let generator = Generator::of_user(7, user, || NOW_NS);
        let mut variables = Variables::with(Arc::default(), generator);
        variables.set(slot, Value::text("é/1"));
        for _ in 0..times {
            let mut out = Vec::new();
            template.write(&variables, &mut out).map_err(|missing| missing.words(&names))?;
            all.push(String::from_utf8_lossy(&out).into_owned());
        }
    }
    Ok(all)
}

fn once(text: &str) -> Result<String, String> {
    written(text, 1, 1).map(|mut all| all.remove(0))
}

#[test]
fn texts_are_coded_and_digested() {
    for (text, expected) in [
        ("${base64(user:pass)}", "dXNlcjpwYXNz"),
        ("${from-base64(dXNlcjpwYXNz)}", "user:pass"),
        ("${base64('a, b')}${base64(\"it's\")}", "YSwgYg==aXQncw=="),
        // RFC 1321 and FIPS 180-4: digests of "abc"
        ("${md5(abc)}", "900150983cd24fb0d6963f7d28e17f72"),
        ("${sha1(abc)}", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("${sha256(abc)}", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("${sha256(abc, base64)}", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="),
        ("${url(${a} &)}|${a:url}|${upper(${a}):url}", "%C3%A9%2F1%20%26|%C3%A9%2F1|%C3%89%2F1"),
        ("${from-url(a%20b%25)}", "a b%"),
        ("/a${query-mark(/a)}b", "/a?b"),
        ("/a?b${query-mark(/a?b)}c", "/a?b&c"),
        ("${index(1, 2)}${index(01, 2)}${index(7, 2)}${index('', 2)}", "1100"),
        ("${index(-1, 2)}|${index(s1, 2)}|${index(' 1', 2)}", "-1|s1| 1"),
        ("${pad(${sum(40, 2)}, 5)} ${pad('x', 3, _)}", "00042 __x"),
        ("${lower(ÄB)}${upper('${a}')}", "äbÉ/1"),
    ] {
        assert_eq!(once(text).unwrap(), expected, "{text}");
    }
    assert!(once("${sha512(abc)}").unwrap().starts_with("ddaf35a193617abacc417349ae204131"));
    // RFC 4231, test case 2, with its key in base64
    let hmac = "${hmac(sha256, ${from-base64(SmVmZQ==)}, 'what do ya want for nothing?')}";
    let digest = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(once(hmac).unwrap(), digest);
}

#[test]
fn the_time_has_any_form() {
    for (text, expected) in [
        ("${time()}", "2026-11-21T22:30:00.123Z"),
        ("${time(ms)} ${time(s)}", "1795300200123 1795300200"),
        ("${time(%Y%m%d-%H%M%S%3f)}", "20261121-223000123"),
        ("${time(iso, +1d)}", "2026-11-22T22:30:00.123Z"),
        ("${time(iso, -1h 30m)}", "2026-11-21T21:00:00.123Z"),
        ("${time(%d.%m., P1M)}", "21.12."),
        ("${time(iso, 0, Europe/Berlin)}", "2026-11-21T23:30:00.123+01:00"),
    ] {
        assert_eq!(once(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_is_drawn_follows_from_the_seed_and_the_user() {
    let text = "${uuid()} ${random(1, 1000000)} ${random-text(8)} ${one-of(a, b, c)}";
    let all = written(text, 3, 20).unwrap();
    assert_eq!(all, written(text, 3, 20).unwrap());
    let mut different = all.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), 60, "all of them differ");
    for one in &all {
        let parts: Vec<&str> = one.split(' ').collect();
        let [uuid, number, text, chosen] = parts[..] else { panic!("{one}") };
        assert_eq!((uuid.len(), uuid.as_bytes()[14]), (36, b'4'), "{uuid}");
        assert!(matches!(uuid.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{uuid}");
        assert!((1..=1_000_000).contains(&number.parse::<u32>().unwrap()));
        assert!(text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert!(["a", "b", "c"].contains(&chosen));
    }
    assert!(written("${random-text(50, xy)}", 1, 1).unwrap()[0].chars().all(|c| "xy".contains(c)));
    let ends: Vec<String> = written("${random(-1, 1)}", 1, 100).unwrap();
    assert!(["-1", "0", "1"].iter().all(|end| ends.iter().any(|drawn| drawn == end)));
}

#[test]
fn users_turns_and_counters_have_numbers() {
    let all = written("${user()}.${iteration()}.${counter()}.${counter(x, load, 10, 5)}", 2, 2);
    assert_eq!(all.unwrap(), ["1.1.1.10", "1.1.2.15", "2.1.1.20", "2.1.2.25"]);
    // two of one name are one counter, and behind the end it begins again
    let all = written("${counter(a, user, 1, 1, 3)}${counter(a, user, 1, 1, 3)}", 1, 2);
    assert_eq!(all.unwrap(), ["12", "31"]);
}

#[test]
fn what_cannot_be_is_said_before_the_load_where_it_is_known() {
    for (text, part) in [
        ("x${uid()}", "byte 1: `uid()`: there is no built-in value `uid`; did you mean `uuid`?"),
        ("${random(1)}", "it has 1 arguments, expected random(FROM, TO)"),
        ("${random(9, 1)}", "the first number is above the second, expected random(FROM, TO)"),
        ("${random(a, 1)}", "a whole number is none"),
        ("${time(yyyy)}", "a format is iso, ms, s"),
        ("${time(%Y, tomorrow)}", "an offset is a time such as"),
        ("${time(iso, 0, Mars/Base)}", "that zone is not known"),
        ("${counter(${a})}", "known before the load"),
        ("${counter(a, all)}", "known before the load"),
        ("${hmac(sha256, key, text)}", "the key of hmac is a variable"),
        ("${md5(a, b)}", "that form is not known"),
        ("${random-text(2000000)}", "the length is not 0 to"),
        ("${pad(1, 5, ab)}", "one character"),
        ("${from-base64(?)}", "no base64"),
        ("${md5(${b c})}", "argument 1: byte 0"),
        ("${uuid():count}", "no form"),
        ("${md5(", "without `}`"),
    ] {
        let problem = once(text).unwrap_err();
        assert!(problem.contains(part), "{text}: {problem}");
    }
    // what only the load knows
    assert!(once("${random(${a}, 5)}").unwrap_err().contains("a whole number is none"));
    assert_eq!(once("${md5(${nobody})}").unwrap_err(), "${nobody} has no value");
    let deep = "${md5(".repeat(9) + &")}".repeat(9);
    assert!(once(&deep).unwrap_err().contains("8 deep at most"));
    let here = Template::parse("${uuid()}", &mut Names::default()).unwrap_err();
    assert!(here.to_string().contains("no built-in values here"), "{here}");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(
        text in "(\\PC|\\$\\{|\\}|\\(|\\)|'|\"|,|[0-9-]|%[A-Za-z]|time\\(|random\\(|pad\\(|counter\\(|sum\\(|hmac\\(|\\$\\{a\\}|from-url\\(){0,20}",
    ) {
        let _ = once(&text);
        let _ = once(&format!("${{{text})}}"));
    }

    #[test]
    fn a_coded_text_comes_back(text in "[^'$]{0,30}") {
        prop_assert_eq!(once(&format!("${{from-base64(${{base64('{text}')}})}}")).unwrap(), text.clone());
        prop_assert_eq!(once(&format!("${{from-url(${{url('{text}')}})}}")).unwrap(), text);
    }
}
