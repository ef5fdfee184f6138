//! What actions ask for outside, and what they make of the answers.

use std::collections::BTreeMap;

use super::{
    BackEndAnswer, BackEndRequest, Body, Completed, Failed, FailureKind, Outside, OutsideError,
    Reached, Request, SqlAnswer, SqlRequest, Trace, Traced, Transaction, XsltRequest, run,
};

/// Writes down what it is asked, and gives the same answer to each.
struct Notebook {
    asked: Vec<String>,
    sql: SqlAnswer,
    back_end: BackEndAnswer,
}

impl Default for Notebook {
    fn default() -> Self {
        let back_end = BackEndAnswer { status: 200, ..BackEndAnswer::default() };
        Self { asked: Vec::new(), sql: SqlAnswer::default(), back_end }
    }
}

impl Notebook {
    fn note(&mut self, how: &str, request: &SqlRequest<'_>) {
        let SqlRequest { server, text, values } = request;
        self.asked.push(format!("{how} {server}: {text} {values:?}"));
    }
}

impl Outside for Notebook {
    fn sql(&mut self, request: &SqlRequest<'_>) -> Result<SqlAnswer, OutsideError> {
        self.note("now", request);
        Ok(self.sql.clone())
    }

    fn sql_later(&mut self, request: &SqlRequest<'_>) -> Result<(), OutsideError> {
        self.note("later", request);
        Ok(())
    }

    fn call(&mut self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        let BackEndRequest { server, method, target, headers, media_type, body, .. } = request;
        let body = String::from_utf8_lossy(body);
        let lines: String = headers.iter().map(|(name, it)| format!("; {name}: {it}")).collect();
        self.asked.push(format!("{server}: {method} {target} {media_type} {body}{lines}"));
        Ok(self.back_end.clone())
    }

    fn transform(&mut self, _: &XsltRequest<'_>) -> Result<Vec<u8>, OutsideError> {
        Err(OutsideError::Refused("no stylesheets here".into()))
    }
}

#[derive(Default)]
struct Lines(Vec<String>);

impl Trace for Lines {
    fn traced(&mut self, _: usize, action: &str, what: Traced<'_>) {
        self.0.push(format!("{action}: {what}"));
    }
}

fn done(text: &str, outside: &mut Notebook) -> (Result<Completed, Failed>, Vec<String>) {
    let transaction = Transaction::parse("t", text).unwrap();
    let body = Body::Xml(b"<A><B n='1'>x &amp; \"y\"</B><B>z</B></A>");
    let request = Request { body, parameters: BTreeMap::new() };
    let mut lines = Lines::default();
    (run(&transaction, &request, &|_| None, outside, &mut lines), lines.0)
}

fn refused(text: &str) -> String {
    Transaction::parse("t", text).unwrap_err().to_string()
}

const ROWS: &str = "[[action]]\nrepeat = \"/A/B\"\nassign = { n = \"@n\", text = \".\" }\n";

#[test]
fn values_of_rows_are_bound_and_what_is_absent_is_null() {
    let text = format!(
        "{ROWS}[[action.do]]\nsql = \"INSERT INTO t VALUES (${{n}}, ${{text}})\"\nserver = \"plant\"\n"
    );
    let mut outside = Notebook::default();
    let (completed, lines) = done(&text, &mut outside);
    completed.unwrap();
    let expected = [
        r#"later plant: INSERT INTO t VALUES ($1, $2) [Some("1"), Some("x & \"y\"")]"#,
        r#"later plant: INSERT INTO t VALUES ($1, $2) [None, Some("z")]"#,
    ];
    assert_eq!(outside.asked, expected);
    let shown = "sql in line 5: INSERT INTO t VALUES ($1, $2) with n is NULL, text = z";
    assert!(lines.iter().any(|line| line == shown), "{lines:?}");
    let transaction = Transaction::parse("t", &text).unwrap();
    let text = "INSERT INTO t VALUES ($1, $2)";
    let reached = Reached::Statement { server: "plant", text, values: 2 };
    assert_eq!(transaction.reached(), [("sql in line 5", reached)]);
}

#[test]
fn columns_of_an_answer_are_variables_and_only_then_it_is_waited_for() {
    let text = "[[action]]\nname = \"order\"\nsql = \"SELECT plant, quantity FROM orders\"\n\
        [[action]]\nrespond = \"${order.changed} ${order.plant}/${order.quantity}\"\n\
        [[action]]\nsql = \"UPDATE t SET q = ${order.quantity}\"\n";
    let first = vec![("plant".into(), Some("1000".into())), ("quantity".into(), None)];
    let mut outside =
        Notebook { sql: SqlAnswer { changed: 1, first: first.clone() }, ..Notebook::default() };
    let (completed, lines) = done(text, &mut outside);
    assert_eq!(completed.unwrap().text, "1 1000/");
    assert_eq!(outside.asked[0], "now : SELECT plant, quantity FROM orders []");
    assert_eq!(outside.asked[1], "later : UPDATE t SET q = $1 [None]");
    assert_eq!(lines[1], "order: brings 1 row: plant = 1000, quantity is NULL");
    let missing = text.replace("order.plant", "order.place");
    let (failed, _) = done(&missing, &mut outside);
    let failed = failed.unwrap_err();
    assert!(failed.problem.contains("no column `place`; it brings plant, quantity"), "{failed}");
    assert_eq!(failed.kind, FailureKind::Refused);
    assert!(
        refused(&text.replace("name = \"order\"", "name = \"ordr\"")).contains("order.changed")
    );
}

#[test]
fn secrets_are_not_shown() {
    for name in ["api-token", "pwd", "kennwort", "passphrase", "api_key", "credential"] {
        let text = format!(
            "[parameters]\n{name} = \"abc123\"\n[[action]]\nsql = \"SELECT ${{{name}}}\"\n\
             [[action]]\ncall = \"erp\"\ntarget = \"/orders?{name}=${{{name}:url}}&n=1\"\n"
        );
        let (_, lines) = done(&text, &mut Notebook::default());
        assert_eq!(lines[0], format!("sql in line 4: SELECT $1 with {name} = (not shown)"));
        assert!(lines[1].contains(&format!("asks for /orders?{name}=")), "{lines:?}");
        assert!(lines[1].contains("&n=1") && !lines[1].contains("abc123"), "{lines:?}");
    }
}

#[test]
fn a_call_sends_the_document_or_a_text_and_its_answer_is_used() {
    let text = "[[action]]\nname = \"erp\"\ncall = \"sap\"\ntarget = \"/orders\"\nas = \"document\"\n\
        [[action]]\nrepeat = \"/R/N\"\nassign = { n = \".\" }\n[[action.do]]\nlog = \"n ${n}\"\n\
        [[action]]\ncall = \"sap\"\nmethod = \"PUT\"\ntarget = \"/x\"\nbody = \"${erp.status}\"\n\
        type = \"text/csv\"\n";
    let back_end = BackEndAnswer {
        status: 200,
        media_type: "application/json".into(),
        body: b"{\"R\": {\"N\": [1, 2]}}".to_vec(),
        ..BackEndAnswer::default()
    };
    let mut outside = Notebook { back_end, ..Notebook::default() };
    let (completed, lines) = done(text, &mut outside);
    completed.unwrap();
    assert!(outside.asked[0].starts_with("sap: POST /orders application/xml <A><B n="));
    assert_eq!(outside.asked[1], "sap: PUT /x text/csv 200");
    let logs: Vec<_> = lines.iter().filter(|line| line.contains("logs")).collect();
    assert_eq!(logs, ["log in line 10: logs n 1", "log in line 10: logs n 2"]);
}

#[test]
fn a_call_has_headers_of_its_own_and_no_value_makes_another_one() {
    let call = |n: &str| {
        format!(
            "[parameters]\nn = \"{n}\"\n[[action]]\ncall = \"sap\"\ntarget = \"/\"\nbody = \"x\"\n\
             headers = {{ SOAPAction = '\"urn:confirm\"', X-Number = \"no. ${{n}}\" }}\n"
        )
    };
    let mut outside = Notebook::default();
    done(&call("7"), &mut outside).0.unwrap();
    let expected = "sap: POST / text/plain x; SOAPAction: \"urn:confirm\"; X-Number: no. 7";
    assert_eq!(outside.asked, [expected]);
    for other in ["7\\r\\nX-Admin: yes", "7\\n", "7\\u0000", "M\\u00fcller"] {
        let failed = done(&call(other), &mut outside).0.unwrap_err();
        assert_eq!(failed.kind, FailureKind::Refused);
        assert!(failed.problem.contains("the header X-Number cannot be sent"), "{failed}");
        assert!(!failed.problem.contains('7') && !failed.problem.contains("ller"), "{failed}");
    }
    assert_eq!(outside.asked.len(), 1, "nothing of it was sent");
}

#[test]
fn an_answer_that_is_none_of_success_ends_the_transaction_unless_it_looks_at_it() {
    let call = "[[action]]\nname = \"erp\"\ncall = \"sap\"\nmethod = \"GET\"\ntarget = \"/\"\n";
    for (status, kind) in [
        (404, FailureKind::Refused),
        (400, FailureKind::Refused),
        (429, FailureKind::Lost),
        (503, FailureKind::Lost),
    ] {
        let back_end = BackEndAnswer { status, body: b"no <b>".to_vec(), ..Default::default() };
        let mut outside = Notebook { back_end, ..Notebook::default() };
        let failed = done(call, &mut outside).0.unwrap_err();
        assert_eq!(failed.kind, kind);
        let problem = format!("the back end sap answers GET {status}: no <b>");
        assert_eq!(failed.problem, problem);
        let looks = format!("{call}[[action]]\nrespond = \"${{erp.status}} ${{erp.body}}\"\n");
        let completed = done(&looks, &mut outside).0.unwrap();
        assert_eq!(completed.text, format!("{status} no <b>"));
    }
}

#[test]
fn a_back_end_that_sends_elsewhere_has_done_nothing() {
    let call = "[[action]]\nname = \"erp\"\ncall = \"sap\"\ntarget = \"/\"\nas = \"document\"\n";
    let rows = "[[action]]\nname = \"rows\"\nrepeat = \"/A/B\"\nassign = { t = \".\" }\n[[action.do]]\nlog = \"one\"\n\
                [[action]]\nrespond = \"${erp.status}: ${rows.rows}\"\n";
    let location = Some("/log-on?token=abc123".to_owned());
    for status in [301, 302, 303, 304, 307] {
        let back_end = BackEndAnswer { status, location: location.clone(), ..Default::default() };
        let mut outside = Notebook { back_end, ..Notebook::default() };
        let failed = done(call, &mut outside).0.unwrap_err();
        assert_eq!(failed.kind, FailureKind::Refused);
        let problem = format!("answers POST {status}, which is not followed, to /log-on?token=");
        assert!(failed.problem.contains(&problem) && !failed.problem.contains("abc"), "{failed}");
        let far = Some(format!("/{}", "x".repeat(60_000)));
        let back_end = BackEndAnswer { status, location: far, ..Default::default() };
        let failed = done(call, &mut Notebook { back_end, ..Notebook::default() }).0.unwrap_err();
        assert!(failed.problem.len() < 400, "its beginning is kept: {}", failed.problem.len());
        // a transaction that looks at it goes on with the document that there was
        let completed = done(&format!("{call}{rows}"), &mut outside).0.unwrap();
        assert_eq!(completed.text, format!("{status}: 2"));
    }
}

#[test]
fn an_answer_grows_with_the_rows_and_its_values_are_escaped() {
    let text = format!(
        "[[action]]\nrespond = '['\ntype = \"application/json\"\nstatus = 201\n\
         {ROWS}[[action.do]]\nrespond = '{{\"n\": \"${{n}}\", \"text\": \"${{text}}\"}}'\n\
         append = \", \"\n[[action]]\nrespond = ']'\nappend = \"\"\n"
    );
    let completed = done(&text, &mut Notebook::default()).0.unwrap();
    assert_eq!((completed.status, completed.media_type.as_str()), (201, "application/json"));
    let expected = r#"[{"n": "1", "text": "x & \"y\""}, {"n": "", "text": "z"}]"#;
    assert_eq!(completed.text, expected);
    let text = format!(
        "[[action]]\nrespond = '<R>'\ntype = \"text/xml\"\n{ROWS}[[action.do]]\n\
         respond = '<T>${{text}}</T>'\nappend = \"\"\n[[action]]\nrespond = '</R>'\nappend = \"\"\n"
    );
    let completed = done(&text, &mut Notebook::default()).0.unwrap();
    assert_eq!(completed.text, "<R><T>x &amp; &quot;y&quot;</T><T>z</T></R>");
}

struct Nobody;

impl Trace for Nobody {
    fn traced(&mut self, _: usize, _: &str, _: Traced<'_>) {}
}

/// Were all of it gone through for each of its rows, this would not end today.
#[test]
fn an_answer_grows_to_its_bound_row_by_row() {
    let text = format!(
        "[[action]]\nrespond = ''\ntype = \"text/plain\"\n{ROWS}\
         [[action.do]]\nrespond = '{}'\nappend = \",\"\n",
        "x".repeat(79)
    );
    let transaction = Transaction::parse("t", &text).unwrap();
    let document = format!("<A>{}</A>", "<B/>".repeat(200_000));
    let request = Request { body: Body::Xml(document.as_bytes()), parameters: BTreeMap::new() };
    let mut outside = Notebook::default();
    let completed = run(&transaction, &request, &|_| None, &mut outside, &mut Nobody).unwrap();
    assert_eq!(completed.text.len(), 200_000 * 80 - 1);
}

#[test]
fn an_answer_is_bounded() {
    let text = "[parameters]\nx = \"0123456789\"\n[[action]]\nrespond = \"${x}\"\n".to_owned()
        + &format!("[[action]]\nrespond = \"{}\"\nappend = \"\"\n", "${x}".repeat(100_000))
            .repeat(17);
    let failed = done(&text, &mut Notebook::default()).0.unwrap_err();
    assert!(failed.problem.contains("more than 16777216 bytes"), "{failed}");
}

#[test]
fn what_is_wrong_in_an_action_is_told_with_its_place() {
    for (text, expected) in [
        ("sql = \"SELECT '${x}'\"", "line 2, column 16: a variable in quotes"),
        ("sql = \"SELECT ${x}\"", "line 2, column 15: nothing gives `x` a value"),
        ("sql = \"COMMIT\"", "line 2, column 8: COMMIT is no statement of a transaction"),
        ("sql = \"SELECT 1\"\nserver = \"\"", "a data server has a name"),
        ("log = \"a\"\nserver = \"b\"", "`server` belongs to sql, not to log"),
        ("call = \"erp\"", "a call needs `target`"),
        ("call = \"erp\"\ntarget = \"orders\"", "a target begins with `/`"),
        ("call = \"erp\"\ntarget = \"/\"\nmethod = \"FETCH\"", "write one of GET, HEAD"),
        ("call = \"erp\"\ntarget = \"/\"\nmethod = \"GET\"\nbody = \"x\"", "GET sends no body"),
        ("call = \"erp\"\ntarget = \"/\"\nas = \"file\"", "line 4"),
        (
            "call = \"e\"\ntarget = \"/\"\nheaders = { Host = \"x\" }",
            "line 4, column 13: `Host` is not set",
        ),
        (
            "call = \"e\"\ntarget = \"/\"\nheaders = { content-LENGTH = \"1\" }",
            "is not set by a call",
        ),
        (
            "call = \"e\"\ntarget = \"/\"\nheaders = { Authorization = \"x\" }",
            "back-ends.toml: `user`",
        ),
        (
            "call = \"e\"\ntarget = \"/\"\nheaders = { \"A: b\\r\\nC\" = \"x\" }",
            "is no name of a header",
        ),
        ("call = \"e\"\ntarget = \"/\"\nheaders = { A = \"x\\r\\nB: y\" }", "is one line of ASCII"),
        ("call = \"e\"\ntarget = \"/\"\nheaders = { A = \"x\", a = \"y\" }", "`a` is there twice"),
        ("call = \"e\"\ntarget = \"/\"\nheaders = { A = \"${x}\" }", "nothing gives `x` a value"),
        ("log = \"a\"\nheaders = { A = \"x\" }", "`headers` belongs to call, not to log"),
        ("sql = \"SELECT 1\"\nappend = \",\"", "`append` belongs to respond, not to sql"),
    ] {
        let error = refused(&format!("[[action]]\n{text}\n"));
        assert!(error.contains(expected), "{text}: {error}");
    }
}
