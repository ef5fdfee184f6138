//! What a stylesheet or document may not do: each is tried, refused with a clear error, and does no
//! harm to the next one.

use std::fs;
use std::net::TcpListener;

use plumb_measure::Span;
use plumb_transaction::xslt::{Stylesheets, XsltError};

use crate::fixture::{PATIENCE, raw, sheet, stylesheets};

/// What is said of a document that has to be refused; the next document of the same stylesheet, and
/// another stylesheet, are done.
fn refused(ours: &Stylesheets, body: &str, document: &str) -> String {
    let error = ours.transform(&sheet(body), document.as_bytes(), PATIENCE).unwrap_err();
    let harmless = sheet("<xsl:output method='text'/>");
    assert_eq!(ours.transform(&harmless, b"<a>alive</a>", PATIENCE).unwrap(), b"alive");
    error.to_string()
}

#[test]
fn files_are_neither_read_nor_written() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.xml");
    fs::write(&secret, "<secret>geheim</secret>").unwrap();
    let (secret, out) = (secret.to_str().unwrap(), folder.path().join("out.xml"));
    let write = out.to_str().unwrap();
    let ours = stylesheets();
    let reading = [
        format!(
            "<xsl:template match='/'><xsl:copy-of select=\"document('file://{secret}')\"/></xsl:template>"
        ),
        format!(
            "<xsl:template match='/'><xsl:copy-of select=\"document('{secret}')\"/></xsl:template>"
        ),
        format!("<xsl:include href='{secret}'/>"),
        format!("<xsl:import href='file://{secret}'/>"),
        "<xsl:template match='/'><xsl:copy-of select=\"document('')\"/></xsl:template>".to_string(),
    ];
    for body in &reading {
        let error = refused(&ours, body, "<a/>");
        assert!(error.contains("denied") && error.contains("no other file"), "{body}: {error}");
        assert!(!error.contains("geheim"), "{error}");
    }
    let element = |name: &str, attribute: &str| {
        format!(
            "<xsl:template match='/'><{name} {attribute}='{write}'><x/></{name}></xsl:template>"
        )
    };
    for body in [element("exsl:document", "href"), element("xsl:document", "href")] {
        let error = refused(&ours, &body, "<a/>");
        assert!(error.contains("denied"), "{body}: {error}");
    }
    assert!(!out.exists());
}

#[test]
fn no_connection_is_made() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let ours = stylesheets();
    for scheme in ["http", "ftp"] {
        let body = format!(
            "<xsl:template match='/'><xsl:copy-of select=\"document('{scheme}://{address}/a')\"/>\
             </xsl:template>"
        );
        let error = refused(&ours, &body, "<a/>");
        assert!(error.contains("denied"), "{error}");
    }
    let include = format!("<xsl:include href='http://{address}/a.xsl'/>");
    assert!(refused(&ours, &include, "<a/>").contains("denied"));
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn document_types_are_refused_whatever_is_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.txt");
    fs::write(&secret, "geheim").unwrap();
    let ours = stylesheets();
    let text = "<xsl:output method='text'/>";
    let lol: String = (1..10)
        .map(|n| format!("<!ENTITY l{n} '{}'>", format!("&l{};", n - 1).repeat(10)))
        .collect();
    for document in [
        format!("<!DOCTYPE a [<!ENTITY s SYSTEM 'file://{}'>]><a>&s;</a>", secret.display()),
        format!("<!DOCTYPE a [<!ENTITY l0 'lol'>{lol}]><a>&l9;</a>"),
        "<!DOCTYPE a SYSTEM 'http://127.0.0.1/a.dtd'><a/>".into(),
        "<!DOCTYPE a><a/>".into(),
    ] {
        let error = refused(&ours, text, &document);
        assert!(error.contains("document, line 1: a DOCTYPE is refused"), "{error}");
    }
    // not to be seen before it is read
    let hidden: Vec<u8> =
        "\u{feff}<!DOCTYPE a><a/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let error = ours.transform(&sheet(text), &hidden, PATIENCE).unwrap_err().to_string();
    assert!(error.contains("a DOCTYPE is refused"), "{error}");
    let error = ours.check(&raw(b"<!DOCTYPE a []><a/>"), PATIENCE).unwrap_err().to_string();
    assert!(error.starts_with("sheet.xsl: stylesheet, line 1: a DOCTYPE is refused"), "{error}");
}

#[test]
fn depth_and_length_have_limits() {
    let ours = stylesheets();
    let text = "<xsl:output method='text'/>";
    let deep = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    let fine = ours.transform(&sheet(text), deep(256).as_bytes(), PATIENCE);
    assert_eq!(fine.unwrap(), b"");
    let error = refused(&ours, text, &deep(3000));
    assert!(error.contains("line 1") && error.contains("depth"), "{error}");
    let huge = vec![b'x'; 5 << 20];
    let error = ours.transform(&sheet(text), &huge, PATIENCE).unwrap_err();
    assert!(matches!(error, XsltError::DocumentTooLarge { found: 5_242_880, most: 4_194_304 }));
    let roomy = plumb_transaction::xslt::XsltLimits { document_bytes: 32 << 20, processes: 1 };
    let roomy = Stylesheets::of_program(crate::fixture::program(), roomy);
    let error = refused(&roomy, text, &format!("<a b='{}'/>", "x".repeat(20_000_000)));
    assert!(error.contains("document, line 1"), "{error}");
    assert!(!error.contains("XML_PARSE_HUGE"), "{error}");
}

#[test]
fn what_never_ends_is_ended() {
    let ours = stylesheets();
    // the library ends a recursion
    let recursion = "<xsl:template match='/' name='r'><xsl:call-template name='r'/></xsl:template>";
    let error = refused(&ours, recursion, "<a/>");
    assert!(error.contains("recursion"), "{error}");
    // the limit on memory ends strings that grow
    let doubling = "<xsl:template match='/'><xsl:call-template name='d'>\
        <xsl:with-param name='s' select=\"'0123456789'\"/></xsl:call-template></xsl:template>\
        <xsl:template name='d'><xsl:param name='s'/><xsl:call-template name='d'>\
        <xsl:with-param name='s' select='concat($s, $s)'/></xsl:call-template></xsl:template>";
    let error = refused(&ours, doubling, "<a/>");
    assert!(error.contains("memory") || error.contains("Memory"), "{error}");
    // the deadline ends what computes: loops in loops over nodes
    let loops = (0..8).fold("<x/>".to_string(), |inner, _| {
        format!("<xsl:for-each select='//b'>{inner}</xsl:for-each>")
    });
    let body = format!("<xsl:template match='/'>{loops}</xsl:template>");
    let document = format!("<a>{}</a>", "<b/>".repeat(1000));
    let before = ours.figures();
    let error = ours.transform(&sheet(&body), document.as_bytes(), Span::from_ms(300)).unwrap_err();
    assert!(matches!(error, XsltError::Late { .. } | XsltError::Ended { .. }), "{error}");
    assert_eq!(error.to_string(), "sheet.xsl: it was not done in time, and was stopped");
    let after = ours.figures();
    assert_eq!((after.killed, after.replaced), (before.killed + 1, before.replaced + 1));
}

#[test]
fn stylesheets_that_are_wrong_are_refused_with_their_line() {
    let ours = stylesheets();
    for (body, expected) in [
        ("<xsl:template match='/'>\n<xsl:value-of/></xsl:template>", "line 6"),
        ("<xsl:template match='['/>", "line 5"),
        ("<xsl:template name='a'/>\n<xsl:template name='a'/>", "line 6"),
    ] {
        let error = ours.check(&sheet(body), PATIENCE).unwrap_err().to_string();
        assert!(error.starts_with("sheet.xsl: ") && error.contains(expected), "{body}: {error}");
    }
    for (text, expected) in [
        (&b"<a>\n<b>"[..], "sheet.xsl: stylesheet, line 2, column"),
        (b" ", "sheet.xsl: the stylesheet is empty"),
        (b"<a/>", "sheet.xsl: "),
        (b"\xff\xfe\x00\x00", "sheet.xsl: stylesheet"),
    ] {
        let error = ours.check(&raw(text), PATIENCE).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
    assert_eq!(ours.figures().running, 0);
}

#[test]
fn an_error_of_the_document_is_one_and_no_part_of_it_passes() {
    let ours = stylesheets();
    let text = "<xsl:output method='text'/>";
    for (document, expected) in [
        ("<a>1</a", "document, line 1"),
        ("<a>\n<b>1</a>", "document, line 2, column 9: Opening and ending tag mismatch"),
        ("<a>1</a><b/>", "document, line 1, column"),
        ("", "the document is empty"),
        ("<a><p:b/></a>", "Namespace prefix p"),
        ("<a b='1' b='2'/>", "Attribute b redefined"),
    ] {
        let error = refused(&ours, text, document);
        assert!(
            error.starts_with("sheet.xsl: ") && error.contains(expected),
            "{document}: {error}"
        );
    }
    let ended = "<xsl:template match='/'><a><xsl:message terminate='yes'>no order</xsl:message></a>\
        </xsl:template>";
    let error = refused(&ours, ended, "<a/>");
    assert!(error.contains("no order"), "{error}");
    let called = "<xsl:template match='/'>\n<xsl:call-template name='none'/></xsl:template>";
    let error = refused(&ours, called, "<a/>");
    assert!(error.contains("line 6") && error.contains("none"), "{error}");
}

#[test]
fn messages_stand_in_no_error_and_hide_none() {
    let ours = stylesheets();
    let looking = "<xsl:for-each select='//item'><xsl:message>item <xsl:value-of select='@id'/> of \
        the order is looked at</xsl:message></xsl:for-each>\n";
    let order = |items: usize| {
        let items: String = (0..items).map(|id| format!("<item id='{id}'/>")).collect();
        format!("<order>{items}</order>")
    };
    let template = |end: &str| format!("<xsl:template match='/'>{looking}{end}</xsl:template>");
    for items in [1, 3_000] {
        let file = template("<xsl:copy-of select=\"document('/x')\"/>");
        let error = refused(&ours, &file, &order(items));
        assert!(error.starts_with("sheet.xsl: line 6, copy-of: "), "{error}");
        assert!(error.contains("denied") && !error.contains("looked at"), "{error}");
        let unknown = template("<xsl:value-of select='str:none()'/>");
        let error = refused(&ours, &unknown, &order(items));
        assert!(error.contains("line 6, value-of") && error.contains("none"), "{error}");
        assert!(!error.contains("looked at"), "{error}");
        let ended =
            template("<xsl:message terminate='yes'>\n  order 7 has\n  no customer\n</xsl:message>");
        let error = refused(&ours, &ended, &order(items));
        assert_eq!(error, "sheet.xsl: order 7 has; no customer");
    }
}
