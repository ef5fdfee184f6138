//! Names that took long to look up.

use super::*;

#[test]
fn a_name_that_takes_long_is_told_once_for_all_parts_that_look_it_up() {
    let slow = |name: &str, took: &str| {
        let text = format!("looking up the name `{name}` took {took}, which is in no figure here");
        against(takes(80 * US), FindingKind::SlowName, Scope::Nothing, &text)
    };
    let all = checkup(vec![
        with(network(), slow("app1", "1.50 s")),
        with(locks(), slow("app1", "3.00 s")),
        with(part(CheckupLayer::Pages, "app", "/"), slow("app2", "200 ms")),
    ]);
    let names = all.verdict.remarks.iter().filter(|it| it.name == "names");
    let said: Vec<&str> = names.map(|it| &*it.text).collect();
    let each = ["`app1` took 1.50 s, which is in no figure here.", "`app2` took 200 ms, which"];
    assert_eq!(said.len(), each.len(), "{said:?}");
    assert!(said.iter().zip(each).all(|(text, name)| text.contains(name)), "{said:?}");
}
