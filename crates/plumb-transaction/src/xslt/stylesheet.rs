//! A stylesheet as it was read from the folder of transactions.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use quick_xml::events::Event;
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

use super::XsltError;

/// Bytes of a stylesheet at most.
pub(super) const STYLESHEET_BYTES_MAX: u32 = 1 << 20;
const XSLT: &str = "http://www.w3.org/1999/XSL/Transform";

/// A stylesheet with its text, so that a message in flight keeps the version that it began with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stylesheet {
    /// Below the folder of transactions.
    path: PathBuf,
    text: Arc<[u8]>,
}

impl Stylesheet {
    /// Reads the stylesheet at `path` below `folder`.
    ///
    /// # Errors
    /// [`XsltError`] for a path that leads elsewhere, also by a link, and for a file that cannot be
    /// read, is larger than 1 MiB, or writes another encoding than UTF-8.
    pub fn read(folder: &Path, path: &str) -> Result<Self, XsltError> {
        let elsewhere = || XsltError::Elsewhere { path: path.into(), folder: folder.into() };
        if !is_below(path) {
            return Err(elsewhere());
        }
        let file = folder.join(path);
        let unreadable = |error| XsltError::Unreadable { path: file.clone(), error };
        let (real, inside) = (file.canonicalize(), folder.canonicalize());
        if !real.map_err(unreadable)?.starts_with(inside.map_err(unreadable)?) {
            return Err(elsewhere());
        }
        let mut text = Vec::new();
        let opened = File::open(&file).map_err(unreadable)?;
        let most = u64::from(STYLESHEET_BYTES_MAX);
        opened.take(most + 1).read_to_end(&mut text).map_err(unreadable)?;
        if text.len() as u64 > most {
            return Err(XsltError::StylesheetTooLarge { path: file, most });
        }
        match foreign_encoding(&text) {
            Some(encoding) => Err(XsltError::Encoding { path: file, encoding }),
            None => Ok(Self::new(path.into(), text)),
        }
    }

    /// A stylesheet that is no file.
    #[must_use]
    pub fn new(path: PathBuf, text: Vec<u8>) -> Self {
        Self { path, text: text.into() }
    }

    /// Below the folder of transactions.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &Arc<[u8]> {
        &self.text
    }
}

/// Whether a path is made of names alone.
pub(crate) fn is_below(path: &str) -> bool {
    let mut components = Path::new(path).components();
    !path.is_empty() && components.all(|it| matches!(it, Component::Normal(_)))
}

/// The encoding of the result, where it is not UTF-8. What cannot be read is left to the compiler,
/// which says what is wrong.
fn foreign_encoding(text: &[u8]) -> Option<String> {
    let mut reader = NsReader::from_reader(text);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let element = match reader.read_event_into(&mut buffer).ok()? {
            Event::Start(element) | Event::Empty(element) => element,
            Event::Eof => return None,
            _ => continue,
        };
        let (namespace, name) = reader.resolver().resolve_element(element.name());
        let of_xslt = matches!(namespace, ResolveResult::Bound(it) if it.into_inner() == XSLT);
        if !of_xslt || name.into_inner() != "output" {
            continue;
        }
        let written = element.try_get_attribute("encoding").ok()??;
        let encoding = written.value.to_string();
        if !["utf-8", "utf8", "us-ascii"].contains(&&*encoding.to_ascii_lowercase()) {
            return Some(encoding);
        }
    }
}
