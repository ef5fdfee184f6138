//! Rows of a stream beside those of a tree.

use std::convert::Infallible;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::{FieldPath, Late, Row, RowPath, RowPlan, StreamError, rows_of_json, rows_of_xml};

type Rows = Vec<Vec<Option<String>>>;

const HOLD: Late = Late::Hold { bytes: 1 << 20 };

fn plan(rows: &str, fields: &[&str]) -> RowPlan {
    let rows: RowPath = rows.parse().unwrap();
    RowPlan::new(&rows, fields.iter().map(|path| (*path, path.parse::<FieldPath>().unwrap())))
        .unwrap()
}

fn collected(rows: &mut Rows) -> impl FnMut(Row<'_>) -> Result<(), Infallible> + '_ {
    |row| {
        rows.push(row.values.iter().map(|value| value.map(String::from)).collect());
        Ok(())
    }
}

fn xml(document: &str, plan: &RowPlan, late: Late) -> Result<Rows, String> {
    let mut rows = Vec::new();
    let counted = rows_of_xml(document.as_bytes(), plan, late, collected(&mut rows));
    let counted = counted.map_err(|error| error.to_string())?;
    assert_eq!(counted, rows.len() as u64);
    Ok(rows)
}

fn json(document: &str, plan: &RowPlan, late: Late) -> Result<Rows, String> {
    let mut rows = Vec::new();
    let counted = rows_of_json(document.as_bytes(), plan, late, collected(&mut rows));
    let counted = counted.map_err(|error| error.to_string())?;
    assert_eq!(counted, rows.len() as u64);
    // a byte order mark is no part of a document
    let mut marked = Vec::new();
    let document = format!("\u{feff}{document}");
    let counted = rows_of_json(document.as_bytes(), plan, late, collected(&mut marked));
    assert_eq!((counted.ok(), &marked), (Some(rows.len() as u64), &rows));
    Ok(rows)
}

fn some(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|value| Some((*value).into())).collect()
}

const ORDER: &str = "<LOIPRO01><IDOC BEGIN=\"1\"><E1AFKOL SEGMENT=\"1\"><AUFNR>7</AUFNR>\
    <E1AFFLL><E1AFVOL><VORNR>10</VORNR>\
    <E1RESBL><POSNR>1</POSNR><TEXT>a &lt; b &amp; &#99;</TEXT></E1RESBL>\
    <E1RESBL><POSNR>2</POSNR><TEXT><![CDATA[<d>]]></TEXT></E1RESBL></E1AFVOL>\
    <E1AFVOL><VORNR>20</VORNR><E1RESBL><POSNR>3</POSNR><POSNR>4</POSNR></E1RESBL></E1AFVOL>\
    </E1AFFLL></E1AFKOL></IDOC></LOIPRO01>";

#[test]
fn fields_of_a_row_and_of_what_it_stands_in() {
    let plan = plan(
        "/LOIPRO01/IDOC/E1AFKOL/E1AFFLL/E1AFVOL/E1RESBL",
        &["../../../AUFNR", "../VORNR", "POSNR", "TEXT", "../../../@SEGMENT", "../../../../@BEGIN"],
    );
    let rows = xml(ORDER, &plan, Late::Refuse).unwrap();
    assert_eq!(rows[0], some(&["7", "10", "1", "a < b & c", "1", "1"]));
    assert_eq!(rows[1], some(&["7", "10", "2", "<d>", "1", "1"]));
    let mut third = some(&["7", "20", "3", "", "1", "1"]);
    third[3] = None;
    assert_eq!(rows[2..], [third], "the first of two, and none where there is none");
    assert_eq!(xml(ORDER, &plan, HOLD).unwrap(), rows);
}

#[test]
fn json_is_read_by_the_same_paths_and_one_is_as_many() {
    let plan = plan("/order/item", &["../id", "pos", "qty/@unit", "ok"]);
    let many =
        r#"{"order": {"id": 7, "item": [{"pos": 1, "ok": true}, {"pos": "2", "ok": null}]}}"#;
    let rows = json(many, &plan, Late::Refuse).unwrap();
    assert_eq!(rows[0], [Some("7".into()), Some("1".into()), None, Some("true".into())]);
    assert_eq!(rows[1], [Some("7".into()), Some("2".into()), None, None]);
    let nulls =
        r#"{"order": {"id": [null, 7], "item": [null, {"pos": [null, 1], "ok": true}, null]}}"#;
    assert_eq!(json(nulls, &plan, Late::Refuse).unwrap(), rows[..1]);
    let one = r#"{"order": {"id": 7, "item": {"pos": 1, "ok": true}}}"#;
    assert_eq!(json(one, &plan, Late::Refuse).unwrap(), rows[..1]);
    let late = r#"{"order": {"item": [{"pos": 0.10}, {"pos": 12345678901234567890.5}], "id": 7}}"#;
    let rows = json(late, &plan, HOLD).unwrap();
    assert_eq!(rows[0][..2], some(&["7", "0.10"]), "with the digits it was written with");
    assert_eq!(rows[1][..2], some(&["7", "12345678901234567890.5"]));
}

#[test]
fn numbers_of_json_are_as_long_as_any_value() {
    let plan = plan("/", &["v"]);
    let digits = "7".repeat(200);
    for number in ["1.7e-120", "1e+100", "-4.9E-324", &digits] {
        let rows = json(&format!("{{\"w\": {number}, \"v\": {number}}}"), &plan, Late::Refuse);
        assert_eq!(rows, Ok(vec![some(&[number])]));
    }
}

#[test]
fn a_declaration_of_a_namespace_is_no_attribute() {
    let plan = plan("/E", &["@ID", "@xmlns"]);
    let rows = xml(r#"<E xmlns="urn:y" xmlns:ID="urn:x" ID="7"/>"#, &plan, Late::Refuse);
    assert_eq!(rows, Ok(vec![vec![Some("7".into()), None]]));
}

#[test]
fn a_document_that_is_a_list_has_an_item_a_row() {
    let plan = plan("/", &["a", "b/c"]);
    let rows = json(r#"[{"a": 1, "b": {"c": 2}}, null, {"a": 3}]"#, &plan, Late::Refuse).unwrap();
    assert_eq!(rows, [some(&["1", "2"]), vec![Some("3".into()), None]]);
    assert_eq!(json(r#"{"a": 1, "b": {"c": 2}}"#, &plan, Late::Refuse).unwrap(), rows[..1]);
    assert_eq!(xml("<a>1</a>", &plan, Late::Refuse).unwrap(), [[Some("1".into()), None]]);
}

#[test]
fn a_field_behind_its_row_is_an_error_with_its_place_or_waited_for() {
    let plan = plan("/A/R", &["../H", "X"]);
    let document = "<A>\n <R><X>1</X></R>\n <R/>\n  <H>h</H><R/></A>";
    let error = xml(document, &plan, Late::Refuse).unwrap_err();
    assert!(error.starts_with("line 4, column 3: `../H` stands behind a row"), "{error}");
    assert!(error.contains("ended at line 2, column 13"), "{error}");
    let rows = xml(document, &plan, HOLD).unwrap();
    assert_eq!(rows[0], some(&["h", "1"]));
    assert_eq!(rows[2], [Some("h".into()), None]);
    let small = Late::Hold { bytes: 200 };
    let error = xml(document, &plan, small).unwrap_err();
    assert!(error.contains("rows of more than 200 bytes wait"), "{error}");
    let error = json(r#"{"A": {"R": [{"X": 1}], "H": 2}}"#, &plan, Late::Refuse).unwrap_err();
    assert!(error.starts_with("line 1, column 30: `../H` stands behind"), "{error}");
}

#[test]
fn what_is_not_well_formed_is_refused_with_its_place() {
    let plan = plan("/A/R", &["X"]);
    let refused = |document: &str| xml(document, &plan, Late::Refuse).unwrap_err();
    for (document, reason) in [
        ("<A>\n<R></A>", "line 2, column 4"),
        ("<A/><A/>", "line 1, column 5: a second element"),
        ("<A/>x", "text outside"),
        ("<A>&x;</A>", "`&x;` is not defined"),
        ("<A>&#0;</A>", "line 1, column 4"),
        ("<A>]]></A>", "`]]>` in text"),
        ("<A a='1' a='2'/>", "line 1, column 1"),
        ("<A a='<'/>", "`<` in the value"),
        ("<A a=\"1\"b=\"2\"/>", "two attributes without a space"),
        ("<A a='\"'b='2'>x</A>", "two attributes without a space"),
        ("<?xml encoding='utf-8'?><A/>", "without a version"),
        ("<?xml version='1.0' standalone='maybe'?><A/>", "`maybe`, which is no standalone"),
        ("<?xml version='2.0'?><A/>", "`2.0`, which is no version"),
        ("<1/>", "`1` is no name"),
        ("<A>\u{1}</A>", "U+0001"),
        ("<A>\u{FFFE}</A>", "U+FFFE"),
        ("<A>&#xFFFF;</A>", "U+FFFF"),
        ("<A i='&#xFFFE;'/>", "U+FFFE"),
        ("<A><![CDATA[\u{FFFF}]]></A>", "U+FFFF"),
        ("<A><?xml version='1.0'?></A>", "does not come first"),
        ("<A><!-- a -- b --></A>", "line 1"),
        ("<!DOCTYPE A><A/>", "a DOCTYPE is refused"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?><A/>", "the encoding is ISO-8859-1"),
        ("", "there is no element"),
        ("<A>", "ends within an element"),
    ] {
        let error = refused(document);
        assert!(error.contains(reason), "{document}: {error}");
    }
    assert!(
        refused(&format!("{}{}", "<A>".repeat(300), "</A>".repeat(300))).contains("more than 256")
    );
    let refused = |document: &str| json(document, &plan, Late::Refuse).unwrap_err();
    for (document, reason) in [
        ("{\"A\": [[1]]}", "a list in a list"),
        ("{\"A\":\n tru}", "line 2"),
        ("{} {}", "line 1"),
        ("", "line 1"),
    ] {
        let error = refused(document);
        assert!(error.contains(reason), "{document}: {error}");
    }
    assert!(refused(&"{\"A\":".repeat(300)).contains("more than 256"));
    let latin = rows_of_xml(b"<A>\xe4</A>", &plan, Late::Refuse, |_| Ok::<(), ()>(()));
    assert!(matches!(latin, Err(StreamError::Malformed { .. })), "{latin:?}");
}

/// An element of a made-up document: few names, so that paths meet them.
#[derive(Clone, Debug)]
enum Tree {
    Text(String),
    Element(&'static str, Option<String>, Vec<Tree>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let text = "[a-c<&>]{1,3}".prop_map(Tree::Text);
    text.prop_recursive(5, 60, 5, |inner| {
        let name = prop::sample::select(vec!["A", "B", "R", "X"]);
        let attribute = prop::option::of("[a-c\"<&]{0,2}");
        (name, attribute, prop::collection::vec(inner, 0..5))
            .prop_map(|(name, attribute, children)| Tree::Element(name, attribute, children))
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn write(tree: &Tree, to: &mut String) {
    match tree {
        Tree::Text(text) => to.push_str(&escaped(text)),
        Tree::Element(name, attribute, children) => {
            write!(to, "<{name}").unwrap();
            if let Some(value) = attribute {
                write!(to, " i=\"{}\"", escaped(value)).unwrap();
            }
            to.push('>');
            children.iter().for_each(|child| write(child, to));
            write!(to, "</{name}>").unwrap();
        }
    }
}

/// The same by a tree of somebody else's.
fn by_tree(document: &str, rows: &str, fields: &[&str]) -> Rows {
    let tree = roxmltree::Document::parse(document).unwrap();
    let mut at = vec![tree.root()];
    for step in rows.split('/').filter(|step| !step.is_empty()) {
        at =
            at.iter().flat_map(|node| node.children()).filter(|it| it.has_tag_name(step)).collect();
    }
    at.into_iter().map(|row| fields.iter().map(|field| field_of(row, field)).collect()).collect()
}

fn field_of(row: roxmltree::Node<'_, '_>, field: &str) -> Option<String> {
    let mut at = vec![row];
    for step in field.split('/') {
        if let Some(name) = step.strip_prefix('@') {
            return at.iter().find_map(|node| node.attribute(name)).map(String::from);
        }
        at = match step {
            "." => at,
            ".." => at.iter().filter_map(roxmltree::Node::parent).collect(),
            name => at
                .iter()
                .flat_map(|node| node.children())
                .filter(|it| it.has_tag_name(name))
                .collect(),
        };
    }
    let text = |node: &roxmltree::Node<'_, '_>| {
        node.descendants().filter(|it| it.is_text()).filter_map(|it| it.text()).collect()
    };
    at.first().map(text)
}

proptest! {
    #[test]
    fn a_stream_gives_the_rows_of_the_tree(
        children in prop::collection::vec(tree(), 0..6),
        rows in prop::sample::select(vec!["/A", "/A/R", "/A/B/R", "/A/A/B"]),
        fields in prop::collection::vec(prop::sample::select(vec![
            "X", ".", "@i", "B/X", "B/@i", "../X", "../@i", "../B/X", "../R/X", "../A/B/@i", "../R",
        ]), 1..5),
    ) {
        let mut document = String::new();
        write(&Tree::Element("A", Some("o".into()), children), &mut document);
        let plan = plan(rows, &fields);
        let expected = by_tree(&document, rows, &fields);
        prop_assert_eq!(&xml(&document, &plan, HOLD).unwrap(), &expected, "{}", document);
        // without waiting: the same, or an error that names a field behind its row
        match xml(&document, &plan, Late::Refuse) {
            Ok(rows) => prop_assert_eq!(rows, expected),
            Err(error) => prop_assert!(error.contains("stands behind a row"), "{}", error),
        }
    }

    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let plan = plan("/A/R", &["X", "../H"]);
        let _ = rows_of_xml(&bytes, &plan, HOLD, |_| Ok::<(), ()>(()));
        let _ = rows_of_json(&bytes, &plan, HOLD, |_| Ok::<(), ()>(()));
    }

    #[test]
    fn markup_that_is_nearly_right_is_read_or_refused(
        text in "(<A>|</A>|<R/>|<R>|</R>|<!\\[CDATA\\[|\\]\\]>|<!--|-->|&amp;|&#9;|<\\?x|\\?>| i='|'|x|\n){0,20}"
    ) {
        let plan = plan("/A/R", &["X", "../H", "@i"]);
        let ours = xml(&text, &plan, HOLD);
        let theirs = roxmltree::Document::parse(&text);
        if theirs.is_err() {
            prop_assert!(ours.is_err(), "{:?} is taken, and refused by a tree: {:?}", text, theirs.err());
        }
    }
}
