use std::sync::Arc;

use plumb_measure::LoadPart;
use proptest::prelude::*;

use super::*;
use crate::generator::Generator;
use crate::variables::Value;

fn judged(text: &str) -> Result<bool, String> {
    let mut names = Names::with_values(LoadPart::default());
    let mut variables = Variables::with(Arc::default(), Generator::default());
    for (name, value) in [("a", "x"), ("n", "10"), ("yes", "true"), ("empty", "")] {
        variables.set(names.slot(name).unwrap(), Value::text(value));
    }
    variables.set(names.slot("list").unwrap(), Value::list(["1", "2"]));
    let condition = Condition::parse(text, &mut names).map_err(|error| error.to_string())?;
    condition.holds(&variables).map_err(|undecided| undecided.words(&names))
}

#[test]
fn conditions_are_judged() {
    for (text, expected) in [
        ("${yes}", true),
        ("${a}", false),
        ("true", true),
        ("${a} == 'x'", true),
        ("${a}==x", true),
        ("${a} != 'x'", false),
        ("${empty} == ''", true),
        ("'${a} == x' == 'x == x'", true),
        ("${n} == 10.0", false),
        ("${n} < 9", false),
        ("${n} > 9", true),
        ("${n} >= 10 ", true),
        ("${n} <= 9.5", false),
        ("${list:count} > 1", true),
        ("${sum('1', 2)} == 3", true),
        ("${base64('a > b')} != '${lower(\"it's\")}'", true),
    ] {
        assert_eq!(judged(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_cannot_be_decided_is_said() {
    assert_eq!(judged("${a} > 1").unwrap_err(), "`x` is no number");
    assert_eq!(judged("${a} > ${n}").unwrap_err(), "`x` is no number");
    assert_eq!(judged("${b}").unwrap_err(), "${b} has no value");
    assert!(judged("${list} == 1").unwrap_err().contains("is a list"));
}

#[test]
fn what_is_no_condition_is_refused() {
    for (text, part) in [
        ("", "nothing stands"),
        ("${a} ==", "nothing stands"),
        ("== 1", "nothing stands"),
        ("1 < 2 < 3", "one comparison"),
        ("${a} == 'x", "single quotes"),
        ("${a} == 'x'y", "single quotes"),
        ("${a", "without `}`"),
    ] {
        let problem = judged(text).unwrap_err();
        assert!(problem.contains(part), "{text}: {problem}");
    }
}

#[test]
fn what_would_never_hold_is_refused() {
    for (text, part) in [
        ("${a} = 5", "`${a} = 5` never becomes `true`: write a comparison"),
        ("${a} = 'x'", "`${a} = 'x'` never becomes"),
        ("${a} =! 5", "never becomes"),
        ("${a} eq 5", "never becomes"),
        ("${a} && ${b}", "never becomes"),
        ("!${a}", "never becomes"),
        ("yes", "never becomes"),
        ("'${a} == x'", "never becomes"),
        ("${list:count}", "never becomes"),
        ("${a} === 5", "`===` is no comparison"),
        ("${a} !== 5", "`!==` is no comparison"),
        ("${n} => 4", "`=>` is no comparison"),
        ("${n} =< 4", "`=<` is no comparison"),
        ("${a} =!= 4", "`=!=` is no comparison"),
        ("${a} == 1 && ${b}", "nothing that joins several"),
        ("${a} || ${b} == 2", "nothing that joins several"),
        ("${a} == \"5\"", "single ones, '5', or '\"5\"' where"),
        ("\"${a}\" != x", "single ones, '${a}'"),
        ("\"${n}\" > \"${m}\"", "single ones, '${n}'"),
        ("${n} >= x", "`x` is no number"),
        ("'' < ${n}", "`` is no number"),
        ("${n} > nan", "`nan` is no number"),
        ("a == 5", "`a` is a text, always the same: the variable is written ${a}"),
        ("5 != n", "${n}"),
        ("${user()} % 2 == 0", "`${user()} % 2` is not computed"),
        ("11 == 1 + ${n}", "`1 + ${n}` is not computed"),
        ("${n} - 1 * 2 < 5", "in single quotes"),
    ] {
        let problem = judged(text).unwrap_err();
        assert!(problem.contains(part), "{text}: {problem}");
    }
}

#[test]
fn what_may_be_meant_is_taken() {
    for (text, expected) in [
        ("false", false),
        ("'${yes}'", true),
        ("${yes}${empty}", true),
        ("${lower('TRUE')}", true),
        ("${a} == '=x'", false),
        ("${a} == =x", false),
        ("dGVzdDE= == ${a}", false),
        ("${a} != '\"x\"'", true),
        ("${a} == 'x && y'", false),
        ("${a} == 'a'", false),
        ("\"${a}\" == \"x\"", true),
        ("\"${a}\" != \"x\"", false),
        ("a == ${a}", false),
        ("'${n} % 2' == '10 % 2'", true),
        ("${n}-1 == 10-1", true),
        ("${a} - b == 'x - b'", true),
        // what a plan of another program says when its variables are fixed
        ("1 == 1", true),
        ("Java != 'Java'", false),
        ("no == true", false),
        ("${n} > ' 9 '", true),
    ] {
        assert_eq!(judged(text), Ok(expected), "{text}");
    }
}

#[test]
fn the_variables_of_both_sides_are_needed() {
    let mut names = Names::default();
    let condition = Condition::parse("${a} == ${b}", &mut names).unwrap();
    assert_eq!(condition.slots().map(|slot| names.name(slot)).collect::<Vec<_>>(), ["a", "b"]);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(\\PC|\\$\\{|\\}|'|==|<|a){0,20}") {
        let _ = judged(&text);
    }
}
