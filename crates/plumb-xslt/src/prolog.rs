//! What stands before the outermost element of a document.

/// The line of a document type, which could name files and define entities; `None`: there is none.
///
/// Only what is written in ASCII is seen here; a document in another encoding is looked at again once
/// it has been read.
pub(crate) fn doctype_line(document: &[u8]) -> Option<u32> {
    let mut rest = document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document);
    loop {
        rest = rest.trim_ascii_start();
        rest = if rest.starts_with(b"<?") {
            behind(rest, b"?>")?
        } else if rest.starts_with(b"<!--") {
            behind(&rest[4..], b"-->")?
        } else {
            break;
        };
    }
    rest.starts_with(b"<!DOCTYPE").then(|| line_of(document, document.len() - rest.len()))
}

fn behind<'a>(text: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(end.len()).position(|window| window == end)?;
    Some(&text[at + end.len()..])
}

fn line_of(document: &[u8], at: usize) -> u32 {
    let breaks = document[..at].iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(breaks).map_or(u32::MAX, |breaks| breaks.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::doctype_line;

    #[test]
    fn a_document_type_is_found_wherever_it_may_stand() {
        for (document, line) in [
            ("<!DOCTYPE a><a/>", Some(1)),
            ("\u{feff}<?xml version='1.0'?>\n<!-- <a> -->\n <!DOCTYPE a []><a/>", Some(3)),
            ("<?p <a> ?><!DOCTYPE a><a/>", Some(1)),
            ("<a><!DOCTYPE a></a>", None),
            ("<!-- <!DOCTYPE a> --><a/>", None),
            ("<?xml version='1.0'?><a/>", None),
            ("<!-- never ends", None),
            ("", None),
        ] {
            assert_eq!(doctype_line(document.as_bytes()), line, "{document}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_through(document: Vec<u8>) {
            let _ = doctype_line(&document);
        }
    }
}
