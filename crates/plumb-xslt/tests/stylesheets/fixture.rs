//! Stylesheets and the program under test.

use std::path::PathBuf;

use plumb_measure::Span;
use plumb_transaction::xslt::{Stylesheet, Stylesheets, XsltError, XsltLimits};

/// Far more than anything here takes; what is to be late has its own.
pub(crate) const PATIENCE: Span = Span::from_ms(120_000);

/// The built program.
pub(crate) fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_plumb-xslt").into()
}

/// One process for each stylesheet, and documents of 4 MiB.
pub(crate) fn stylesheets() -> Stylesheets {
    let limits = XsltLimits { document_bytes: 4 << 20, processes: 1 };
    Stylesheets::of_program(program(), limits)
}

/// A stylesheet around `body`, which has the prefixes `xsl`, `exsl`, `str` and `date`.
pub(crate) fn sheet(body: &str) -> Stylesheet {
    let text = format!(
        "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'\n \
         xmlns:exsl='http://exslt.org/common' xmlns:str='http://exslt.org/strings'\n \
         xmlns:date='http://exslt.org/dates-and-times'\n \
         extension-element-prefixes='exsl str date'>\n{body}\n</xsl:stylesheet>"
    );
    raw(text.as_bytes())
}

/// A stylesheet of these bytes.
pub(crate) fn raw(text: &[u8]) -> Stylesheet {
    Stylesheet::new("sheet.xsl".into(), text.to_vec())
}

/// What becomes of a document.
pub(crate) fn transformed(body: &str, document: &str) -> Result<String, XsltError> {
    let result = stylesheets().transform(&sheet(body), document.as_bytes(), PATIENCE)?;
    Ok(String::from_utf8(result).expect("a result in UTF-8"))
}
