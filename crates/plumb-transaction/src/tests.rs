//! Files of transactions, and messages that go through them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{
    Body, Completed, Failed, FailureKind, Mode, Persist, Request, Trace, Traced, Transaction,
    Unreachable, run,
};

const ORDER: &str = r#"
about = "Components of an order"
mode = "async"
persist = "always"

[parameters]
plant = "1000"
shift = { about = "early or late" }

[[action]]
name = "components"
repeat = "/ORDER/ITEM"
assign = { order = "../NO", part = "PART", amount = "QTY" }

[[action.do]]
if = "${amount} > 10"
[[action.do.do]]
log = "${order}: much of ${part} in ${plant}, ${shift}"

[[action]]
choose = [
    { if = "${components.rows} == 0", do = [{ name = "nothing", fail = "no components" }] },
    { do = [{ respond = "{\"rows\": ${components.rows}}", type = "application/json", status = 201 }] },
]
"#;

/// One of each action, and of each key.
const ALL: &str = r#"
retention = "6h"
time-limit = "60s"
retry = { times = 3, interval = "30s", factor = 2 }
accepts = [{ element = "ORDER" }, { idoc = "LOIPRO01", message = "LOIPRO", header = "X-Kind: a" }]
[[action]]
xslt = "rowsets.xsl"
[[action]]
name = "stock"
sql = "SELECT plant, quantity FROM stock WHERE material = ${material} AND a = 'it''s ${'"
server = "plant"
[[action]]
name = "erp"
call = "erp"
method = "PUT"
target = "/orders/${stock.plant:url}"
body = "<CONF>${stock.quantity}</CONF>"
type = "application/xml"
as = "document"
[[action]]
transaction = "other"
with = { plant = "${erp.status}" }
[[action]]
repeat = "/"
assign = { all = ".", id = "@ID" }
buffer = "1MiB"
do = [{ respond = "${all}", append = ", " }, { if = "${id} != 1", do = [] }]
[parameters]
material = "m"
"#;

const MESSAGE: &str = "<ORDER><NO>7</NO><ITEM><PART>a</PART><QTY>5</QTY></ITEM>\n\
    <ITEM><PART>b</PART><QTY>50</QTY></ITEM></ORDER>";

#[derive(Default)]
struct Lines(Vec<String>);

impl Trace for Lines {
    fn traced(&mut self, depth: usize, action: &str, what: Traced<'_>) {
        let what = match what {
            Traced::Row(values) => format!("{values:?}"),
            Traced::Rows(rows) => format!("{rows} rows"),
            Traced::Branch(branch) => format!("{branch:?}"),
            Traced::Log(text) => format!("log {text}"),
            Traced::Response(response) => format!("{} {}", response.status, response.text),
            Traced::Called(name) => format!("calls {name}"),
            Traced::Statement { .. } | Traced::Answer(_) | Traced::BackEnd { .. } => {
                what.to_string()
            }
            Traced::Transformed(bytes) => format!("{bytes} bytes"),
        };
        self.0.push(format!("{depth} {action}: {what}"));
    }
}

fn asked(
    transactions: &[Transaction],
    body: Body<'_>,
    parameters: &[(&str, &str)],
) -> (Result<Completed, Failed>, Vec<String>) {
    let parameters: BTreeMap<String, String> =
        parameters.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    let find = |name: &str| transactions.iter().find(|it| &*it.name == name);
    let mut lines = Lines::default();
    let done =
        run(&transactions[0], &Request { body, parameters }, &find, &mut Unreachable, &mut lines);
    (done, lines.0)
}

#[test]
fn a_field_hides_what_is_called_the_same_within_its_repeat_only() {
    let text = "[parameters]\nplant = \"1000\"\n\
        [[action]]\nrepeat = \"/A/B\"\nassign = { plant = \"P\" }\n\
        [[action.do]]\nrepeat = \"/A/C\"\nassign = { plant = \"P\" }\n\
        [[action.do.do]]\nlog = \"inner ${plant}\"\n\
        [[action.do]]\nlog = \"outer ${plant}\"\n\
        [[action]]\nlog = \"around ${plant}\"\n";
    let transaction = Transaction::parse("t", text).unwrap();
    let message = "<A><B><P>1</P></B><C><P>8</P></C><B><P>2</P></B></A>";
    for (message, expected) in [
        (message, &["inner 8", "outer 1", "inner 8", "outer 2", "around 1000"][..]),
        ("<A/>", &["around 1000"]),
    ] {
        let (done, lines) =
            asked(std::slice::from_ref(&transaction), Body::Xml(message.as_bytes()), &[]);
        assert!(done.is_ok(), "{done:?}");
        let logged =
            lines.iter().filter_map(|line| line.split_once(": log ").map(|(_, text)| text));
        assert_eq!(logged.collect::<Vec<_>>(), expected);
    }
}

/// Has time for so many actions and rows.
struct Impatient(u32);

impl Trace for Impatient {
    fn traced(&mut self, _: usize, _: &str, _: Traced<'_>) {}

    fn interrupted(&mut self) -> Option<String> {
        self.0 = self.0.saturating_sub(1);
        (self.0 == 0).then(|| "out of time".into())
    }
}

#[test]
fn an_execution_ends_where_its_time_does() {
    let order = Transaction::parse("order", ORDER).unwrap();
    let parameters = BTreeMap::from([("shift".to_string(), "early".to_string())]);
    let request = Request { body: Body::Xml(MESSAGE.as_bytes()), parameters };
    let ended = |steps| {
        let mut trace = Impatient(steps);
        run(&order, &request, &|_| None, &mut Unreachable, &mut trace).unwrap_err()
    };
    let (first, row) = (ended(1), ended(2));
    assert_eq!((first.kind, first.to_string()), (FailureKind::TimeLimit, "out of time".into()));
    assert_eq!(row.to_string(), "components: out of time");
    assert!(row.kind.is_worth_retrying() && !FailureKind::Refused.is_worth_retrying());
}

fn refused(text: &str) -> String {
    Transaction::parse("t", text).unwrap_err().to_string()
}

/// What is answered with the parameter `data`, by an action with these keys.
fn encoded(keys: &str, data: &str) -> Result<Completed, Failed> {
    let text = format!(
        "[parameters]\ndata = \"\"\n[[action]]\nrespond = \"${{data}}\"\n\
         encoding = \"base64\"\n{keys}"
    );
    let transaction = Transaction::parse("picture", &text).unwrap();
    asked(&[transaction], Body::Xml(b"<A/>"), &[("data", data)]).0
}

#[test]
fn an_answer_may_be_bytes_that_its_text_stands_for() {
    let completed = encoded("", "iVBO\nRw==").unwrap();
    assert_eq!(completed.bytes.as_deref(), Some(&b"\x89PNG"[..]));
    assert_eq!(completed.media_type, "application/octet-stream");
    // nothing is escaped for the type, which is that of the bytes
    let completed = encoded("type = \"image/svg+xml\"", "PGEv\nPg==").unwrap();
    assert_eq!((completed.bytes, &*completed.media_type), (Some(b"<a/>".into()), "image/svg+xml"));
    let failed = encoded("", "\\x89").unwrap_err().to_string();
    assert!(failed.contains("respond in line 4: the answer is no base64 ("), "{failed}");
}

#[test]
fn a_message_goes_through_action_by_action() {
    let order = Transaction::parse("order", ORDER).unwrap();
    assert_eq!((order.mode, order.persist), (Mode::Async, Persist::Always));
    assert_eq!(order.parameters().collect::<Vec<_>>(), [("plant", false), ("shift", true)]);
    let (done, lines) =
        asked(std::slice::from_ref(&order), Body::Xml(MESSAGE.as_bytes()), &[("shift", "early")]);
    let done = done.unwrap();
    assert_eq!((done.status, &*done.text), (201, "{\"rows\": 2}"));
    assert_eq!(done.media_type, "application/json");
    let expected = [
        "0 components: [(\"order\", Some(\"7\")), (\"part\", Some(\"a\")), (\"amount\", Some(\"5\"))]",
        "1 if in line 16: None",
        "0 components: [(\"order\", Some(\"7\")), (\"part\", Some(\"b\")), (\"amount\", Some(\"50\"))]",
        "1 if in line 16: Some(1)",
        "2 log in line 18: log 7: much of b in 1000, early",
        "0 components: 2 rows",
    ];
    assert_eq!(lines[..6], expected);
    let json = br#"{"ORDER": {"NO": 7, "ITEM": {"PART": "c", "QTY": 11}}}"#;
    let (done, lines) = asked(&[order], Body::Json(json), &[("shift", "late"), ("plant", "2")]);
    assert_eq!(done.unwrap().text, "{\"rows\": 1}");
    assert!(lines[2].ends_with("much of c in 2, late"), "{lines:?}");
}

#[test]
fn a_failure_names_its_actions_the_place_and_the_cause() {
    let order = [Transaction::parse("order", ORDER).unwrap()];
    let failed = |body: &str, parameters| {
        asked(&order, Body::Xml(body.as_bytes()), parameters).0.unwrap_err().to_string()
    };
    let shift = &[("shift", "early")][..];
    assert_eq!(failed("<ORDER/>", shift), "choose in line 21, nothing: no components");
    let wrong = MESSAGE.replace("50", "many");
    assert_eq!(
        failed(&wrong, shift),
        "components, if in line 16: `many` is no number; in the row that ends at line 2, column 36"
    );
    assert!(
        failed("<ORDER><NO>", shift).starts_with("components: line 1, column 12: the document")
    );
    assert_eq!(failed(MESSAGE, &[]), "order needs the parameter `shift`");
    let unknown = &[("shift", "early"), ("colour", "red")][..];
    assert_eq!(failed(MESSAGE, unknown), "order has no parameter `colour`");
}

#[test]
fn transactions_call_each_other_and_come_to_an_end() {
    let caller = "[[action]]\nrepeat = \"/A/B\"\nassign = { x = \".\" }\n\
        [[action.do]]\ntransaction = \"other\"\nwith = { of = \"<${x}>\" }\n";
    let other = "[parameters]\nof = {}\n[[action]]\nlog = \"other ${of}\"\n";
    let endless = "[[action]]\ntransaction = \"endless\"\n";
    let parse = |name, text| Transaction::parse(name, text).unwrap();
    let both = [parse("caller", caller), parse("other", other)];
    assert_eq!(both[0].calls(), [("other", vec!["of"])]);
    let body = Body::Xml(b"<A><B>1</B><B>2</B></A>");
    let (done, lines) = asked(&both, body, &[]);
    done.unwrap();
    let logs: Vec<_> = lines.iter().filter(|line| line.contains(": log other")).collect();
    assert_eq!(logs, ["2 log in line 4: log other <1>", "2 log in line 4: log other <2>"]);
    let (done, _) = asked(&both[..1], body, &[]);
    assert!(done.unwrap_err().problem.starts_with("there is no transaction `other`"));
    let (done, _) = asked(&[parse("endless", endless)], body, &[]);
    assert!(done.unwrap_err().problem.starts_with("more than 16 transactions call each other"));
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_place() {
    for (text, expected) in [
        ("", "one [[action]] at least"),
        ("[[action]]\nname = \"x\"", "line 1, column 1: an action does one of: repeat, if"),
        ("[[action]]\nlog = \"a\"\nfail = \"b\"", "line 3, column 8: an action does one thing"),
        (
            "[[action]]\nlog = \"a\"\nassign = { a = \"b\" }",
            "`assign` belongs to repeat, not to log",
        ),
        ("[[action]]\nlogs = \"a\"", "did you mean `log`?"),
        ("[[action]]\nlog = \"${plnt}\"\n[parameters]\nplant = \"1\"", "did you mean `plant`?"),
        (
            "[[action]]\nrepeat = \"A\"\nassign = { a = \"b\" }",
            "line 2, column 10: `A`: a path of rows",
        ),
        ("[[action]]\nrepeat = \"/A\"\nassign = { a = \"/b\" }", "line 3, column 16: `/b`"),
        ("[[action]]\nrepeat = \"/A\"\nassign = { a = \"../../b\" }", "leads above the root"),
        ("[[action]]\nrepeat = \"/A\"", "repeat needs `assign`"),
        (
            "[[action]]\nrespond = \"\"\nencoding = \"base64\"\nappend = \"\"",
            "line 4, column 10: an answer with an `encoding` is given at once",
        ),
        (
            "[[action]]\nlog = \"\"\nencoding = \"base64\"",
            "line 3, column 12: `encoding` belongs to respond, not to log",
        ),
        ("[[action]]\nrespond = \"\"\nstatus = 99", "line 3, column 10: a status is 200 to 599"),
        ("[[action]]\nchoose = [{ do = [] }, { if = \"a\", do = [] }]", "put it last"),
        ("mode = \"later\"\n[[action]]\nlog = \"\"", "line 1, column 8"),
    ] {
        let error = refused(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
    // a field is known within its repeat only
    let outside = "[[action]]\nrepeat = \"/A\"\nassign = { a = \"b\" }\n[[action]]\nlog = \"${a}\"";
    assert!(refused(outside).contains("line 5, column 7: nothing gives `a` a value"));
    // a count is known where the branch that counts is taken for sure
    let counts = "name = \"n\", repeat = \"/A/B\", assign = { b = \"C\" }";
    let logs = "[[action]]\nlog = \"${n.rows}\"";
    for unsure in [
        format!("[[action]]\nif = \"false\"\ndo = [{{ {counts} }}]\n{logs}"),
        format!(
            "[[action]]\nchoose = [{{ if = \"false\", do = [{{ {counts} }}] }}, {{ do = [] }}]\n{logs}"
        ),
        format!("[[action]]\nchoose = [{{ if = \"false\", do = [{{ {counts} }}] }}]\n{logs}"),
    ] {
        assert!(refused(&unsure).contains("nothing gives `n.rows` a value"), "{unsure}");
    }
    let sure = format!(
        "[[action]]\nchoose = [{{ if = \"false\", do = [{{ {counts} }}] }}, {{ do = [{{ {counts} }}] }}]\n{logs}"
    );
    assert!(Transaction::parse("t", &sure).is_ok(), "{:?}", Transaction::parse("t", &sure));
    let nested: String = (0..33)
        .map(|depth| format!("[[action{}]]\nif = \"true\"\n", ".do".repeat(depth)))
        .collect();
    assert!(
        refused(&nested).contains("line 65, column 1: more than 32 actions"),
        "{}",
        refused(&nested)
    );
}

proptest! {
    #[test]
    fn what_is_nearly_right_is_done_or_refused_with_its_place(
        text in plumb_mutation::mutated(&[ORDER, ALL]),
    ) {
        match Transaction::parse("t", &text) {
            Ok(transaction) => {
                let given = [("shift", "early")];
                let _ = asked(&[transaction], Body::Xml(MESSAGE.as_bytes()), &given);
            }
            Err(wrong) => {
                prop_assert!((1..=text.lines().count() + 1).contains(&wrong.line), "{wrong}");
                prop_assert!(!wrong.problem.is_empty());
            }
        }
    }
}
