//! Documents to try transactions with: production orders of any size.
//!
//! # Source
//! The shape is that of the IDoc LOIPRO01 as its public readers take it apart: an order (`E1AFKOL`)
//! has a sequence (`E1AFFLL`) of operations (`E1AFVOL`), each with components (`E1RESBL`).

use std::fmt::Write as _;

/// Components of each operation.
const COMPONENTS: u32 = 8;

/// The order `number` as a document of `bytes` or a little more, with one operation at least, and the
/// number of its components.
///
/// The same words give the same document.
#[must_use]
pub fn production_order(number: u64, bytes: usize) -> (String, u32) {
    let mut text = String::with_capacity(bytes + 4096);
    let mut components = 0;
    begin(&mut text, number);
    for operation in 1.. {
        begin_operation(&mut text, operation);
        for _ in 0..COMPONENTS {
            components += 1;
            component(&mut text, components);
        }
        text.push_str("</E1AFVOL>\n");
        if text.len() >= bytes {
            break;
        }
    }
    text.push_str("</E1AFFLL></E1AFKOL></IDOC></LOIPRO01>\n");
    (text, components)
}

fn begin(text: &mut String, number: u64) {
    text.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<LOIPRO01><IDOC BEGIN=\"1\">\n");
    text.push_str("<EDI_DC40 SEGMENT=\"1\"><TABNAM>EDI_DC40</TABNAM><MANDT>100</MANDT>");
    field(text, "DOCNUM", format_args!("{number:016}"));
    text.push_str("<IDOCTYP>LOIPRO01</IDOCTYP><MESTYP>LOIPRO</MESTYP><SNDPRT>LS</SNDPRT>");
    text.push_str(
        "<SNDPRN>ERP100</SNDPRN><CREDAT>20110320</CREDAT><CRETIM>151333</CRETIM></EDI_DC40>\n",
    );
    text.push_str("<E1AFKOL SEGMENT=\"1\">");
    field(text, "AUFNR", format_args!("{number:012}"));
    text.push_str("<AUART>PP01</AUART><WERKS>1000</WERKS><MATNR>PUMP-7</MATNR>");
    text.push_str(
        "<MAKTX>Pump &amp; frame, gr\u{fc}n</MAKTX><GAMNG>40.000</GAMNG><GMEIN>PCE</GMEIN>",
    );
    text.push_str("<GSTRS>20110321</GSTRS><GLTRS>20110325</GLTRS>\n<E1AFFLL SEGMENT=\"1\"><APLZL>00000001</APLZL>\n");
}

fn begin_operation(text: &mut String, operation: u32) {
    text.push_str("<E1AFVOL SEGMENT=\"1\">");
    field(text, "VORNR", format_args!("{:04}", operation * 10));
    field(text, "ARBPL", format_args!("LINE-{:02}", operation % 12));
    field(text, "LTXA1", format_args!("Step {operation}, join &amp; test"));
    text.push('\n');
}

fn component(text: &mut String, item: u32) {
    text.push_str("<E1RESBL SEGMENT=\"1\"><RSNUM>0000700012</RSNUM>");
    field(text, "RSPOS", format_args!("{item:04}"));
    field(text, "MATNR", format_args!("PART-{:05}", item % 1_499));
    text.push_str("<WERKS>1000</WERKS><LGORT>0001</LGORT>");
    field(text, "CHARG", format_args!("L{item:09}"));
    text.push_str("<BDTER>20110322</BDTER>");
    field(text, "BDMNG", format_args!("{}.500", item % 250));
    field(text, "MEINS", format_args!("{}", if item.is_multiple_of(3) { "KG" } else { "PCE" }));
    field(text, "POSNR", format_args!("{item:04}"));
    text.push_str("<BDART>AR</BDART></E1RESBL>\n");
}

fn field(text: &mut String, name: &str, value: std::fmt::Arguments<'_>) {
    // writing to a string does not fail
    let _ = write!(text, "<{name}>{value}</{name}>");
}

#[cfg(test)]
mod tests {
    use super::production_order;

    #[test]
    fn an_order_is_as_large_as_asked_and_always_the_same() {
        let (small, components) = production_order(42, 0);
        assert_eq!(components, 8);
        assert!(small.contains("<AUFNR>000000000042</AUFNR>"), "{small}");
        let (large, components) = production_order(42, 1_000_000);
        assert!((1_000_000..1_010_000).contains(&large.len()), "{}", large.len());
        let tree = roxmltree::Document::parse(&large).unwrap();
        let found = tree.descendants().filter(|it| it.has_tag_name("E1RESBL")).count();
        assert_eq!(found, components as usize);
        assert_eq!(production_order(42, 1_000_000).0, large);
    }
}
