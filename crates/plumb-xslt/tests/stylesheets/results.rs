//! Results, beside those of xsltproc.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plumb_transaction::sample::production_order;
use plumb_transaction::xslt::{Stylesheet, Stylesheets, XsltLimits};
use plumb_wire::stylesheet::{FrameHead, FrameKind, HEAD_BYTES};

use crate::fixture::{PATIENCE, program, raw, sheet, stylesheets, transformed};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flow/xslt")
}

/// What xsltproc makes of it.
fn theirs(stylesheet: &Stylesheet, document: &[u8]) -> Vec<u8> {
    theirs_in(None, stylesheet, document)
}

/// The same, where a file says which time zone that is.
fn theirs_in(zone: Option<&Path>, stylesheet: &Stylesheet, document: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (sheet, input) = (folder.path().join("sheet.xsl"), folder.path().join("input.xml"));
    fs::write(&sheet, &**stylesheet.text()).unwrap();
    fs::write(&input, document).unwrap();
    let mut command = Command::new("xsltproc");
    command.args(["--nonet", "--nowrite"]).arg(sheet).arg(input);
    let done = command.envs(zone.map(|zone| ("TZ", zone))).output();
    let done = done.expect("xsltproc of the package xsltproc");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

#[test]
fn orders_of_every_size_become_what_xsltproc_makes_of_them() {
    let rowsets = Stylesheet::read(&example(), "rowsets.xsl").unwrap();
    let limits = XsltLimits { document_bytes: 16 << 20, processes: 1 };
    let ours = Stylesheets::of_program(program(), limits);
    for bytes in [0, 10_000, 1 << 20, 10 << 20] {
        let (order, components) = production_order(42, bytes);
        let result = ours.transform(&rowsets, order.as_bytes(), PATIENCE).unwrap();
        assert!(result == theirs(&rowsets, order.as_bytes()), "{bytes} bytes differ");
        let rows = String::from_utf8(result).unwrap().matches("<Row>").count();
        assert_eq!(rows, components as usize);
    }
    let figures = ours.figures();
    assert_eq!((figures.running, figures.started, figures.replaced), (1, 1, 0));
}

#[test]
fn forms_of_results_are_those_of_xsltproc() {
    let ours = stylesheets();
    let document = "<?xml version='1.0' encoding='ISO-8859-1'?>\n<a x='1'>\n <b>gr\u{e4}\u{df}e</b>\
                    <c><![CDATA[<&>]]></c> <?p q?><!-- r --></a>";
    // the document is in Latin 1, as it says
    let document: Vec<u8> = document.chars().map(|char| char as u8).collect();
    let copy = "<xsl:template match='@*|node()'><xsl:copy><xsl:apply-templates select='@*|node()'/>\
                </xsl:copy></xsl:template>";
    for body in [
        copy.to_string(),
        format!("<xsl:output indent='yes' omit-xml-declaration='yes'/><xsl:strip-space elements='*'/>{copy}"),
        format!("<xsl:output cdata-section-elements='c' doctype-system='a.dtd'/>{copy}"),
        "<xsl:output method='text'/>".into(),
        "<xsl:output method='html'/><xsl:template match='/'><html><head/><br/></html></xsl:template>"
            .into(),
        "<xsl:template match='/'/>".into(),
        "<xsl:variable name='t'><i>1</i><i>2</i></xsl:variable><xsl:template match='/'><s>\
         <xsl:value-of select=\"sum(exsl:node-set($t)/i)\"/><xsl:copy-of select=\"str:tokenize('a b')\"/>\
         <xsl:value-of select=\"date:year('2011-03-20')\"/></s></xsl:template>"
            .into(),
        "<xsl:template match='/'><xsl:message>only said</xsl:message><a/></xsl:template>".into(),
    ] {
        let stylesheet = sheet(&body);
        let result = ours.transform(&stylesheet, &document, PATIENCE).unwrap();
        let (result, theirs) = (String::from_utf8(result), theirs(&stylesheet, &document));
        assert_eq!(result.unwrap(), String::from_utf8_lossy(&theirs), "{body}");
    }
    // a literal result element is a stylesheet, too
    let simple = raw(b"<r xsl:version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'>\
        <xsl:value-of select='/a/@x'/></r>");
    let result = ours.transform(&simple, &document, PATIENCE).unwrap();
    assert_eq!(result, theirs(&simple, &document));
}

/// A file of a time zone nine hours and a half ahead of UTC, all year, in version 1 of TZif.
fn ahead_of_utc() -> tempfile::NamedTempFile {
    let head = [&b"TZif\0"[..], &[0; 15]].concat();
    // one kind of time, four bytes of names, and no changes
    let counts: Vec<u8> = [0_u32, 0, 0, 0, 1, 4].into_iter().flat_map(u32::to_be_bytes).collect();
    let kind = [&(9 * 3_600 + 1_800_i32).to_be_bytes()[..], &[0, 0]].concat();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), [&head[..], &counts, &kind, b"OWN\0"].concat()).unwrap();
    file
}

#[test]
fn the_time_is_that_of_the_zone_as_xsltproc_has_it() {
    let zone = ahead_of_utc();
    let now = sheet(
        "<xsl:output method='text'/>\
         <xsl:template match='/'><xsl:value-of select='date:date-time()'/></xsl:template>",
    );
    let limits = XsltLimits { document_bytes: 1 << 20, processes: 1 };
    let mut child = Command::new(program())
        .args([limits.document_bytes.to_string(), limits.memory_bytes().to_string()])
        .env("TZ", zone.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for (kind, body) in [(FrameKind::Stylesheet, &**now.text()), (FrameKind::Document, b"<a/>")] {
        let length = body.len().try_into().unwrap();
        input.write_all(&FrameHead { kind, number: 120, length }.encode()).unwrap();
        input.write_all(body).unwrap();
    }
    drop(input);
    let answers = child.wait_with_output().unwrap().stdout;
    // the first is empty
    let ours = &answers[2 * HEAD_BYTES..];
    for moment in [ours, &theirs_in(Some(zone.path()), &now, b"<a/>")] {
        let moment = String::from_utf8_lossy(moment);
        assert!(moment.ends_with("+09:30"), "{moment}");
    }
}

#[test]
fn one_document_leaves_nothing_for_the_next() {
    let (ours, keyed) = (
        stylesheets(),
        sheet(
            "<xsl:key name='k' match='i' use='@n'/><xsl:template match='/'>\
             <r><xsl:value-of select=\"count(key('k', '1'))\"/></r></xsl:template>",
        ),
    );
    for (document, count) in
        [("<a><i n='1'/><i n='1'/></a>", "2"), ("<a/>", "0"), ("<i n='1'/>", "1")]
    {
        let result = ours.transform(&keyed, document.as_bytes(), PATIENCE).unwrap();
        let expected = format!("<?xml version=\"1.0\"?>\n<r>{count}</r>\n");
        assert_eq!(String::from_utf8(result).unwrap(), expected);
    }
    assert_eq!(ours.figures().started, 1);
}

#[test]
fn entities_that_xml_itself_has_are_the_only_ones() {
    let text = "<xsl:output method='text'/>";
    assert_eq!(transformed(text, "<a>&lt;&#228;&amp;</a>").unwrap(), "<\u{e4}&");
    let error = transformed(text, "<a>\n&auml;</a>").unwrap_err().to_string();
    assert_eq!(error, "sheet.xsl: document, line 2, column 7: Entity 'auml' not defined");
}
