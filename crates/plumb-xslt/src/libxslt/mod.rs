//! libxslt and libxml2 of the system, as much as is needed: a stylesheet is compiled and applied.
//!
//! All `unsafe` of the program is in here. The library is used by one thread.

mod declared;
mod heard;
mod parse_fault;
mod said;

use std::ffi::{CStr, c_char, c_int};
use std::ptr::{self, NonNull};

use declared as c;
use heard::Heard;
use parse_fault::FirstFault;
use said::in_short;

use crate::prolog::doctype_line;

/// As errors name the document and the stylesheet, which are no files to the library.
const DOCUMENT: &CStr = c"document";
const STYLESHEET: &CStr = c"stylesheet";
/// Errors are told of; entities are kept as they are, nothing is fetched, and no limit is lifted.
/// CDATA becomes text, as stylesheets expect.
const PARSE_OPTIONS: c_int =
    c::PARSE_NOERROR | c::PARSE_NOWARNING | c::PARSE_NONET | c::PARSE_NOCDATA;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The line, of what the text names; 0 where it is not known.
    pub(crate) line: u32,
    /// What.
    pub(crate) text: String,
}

/// Prepares the library: the functions of EXSLT are known, and no file or network is for anybody.
/// Once, before anything else here, and before files are out of reach: the time zone is one.
#[expect(unsafe_code, reason = "libxslt is written in C")]
pub(crate) fn start() {
    // SAFETY: each takes no argument, or a function and preferences that live as long as the
    // process; no other thread exists.
    unsafe {
        // the C library keeps it, and would take what it cannot read later for UTC
        c::tzset();
        c::xmlSetExternalEntityLoader(Some(nothing_is_loaded));
        c::exsltCommonRegister();
        c::exsltMathRegister();
        c::exsltSetsRegister();
        c::exsltFuncRegister();
        c::exsltStrRegister();
        c::exsltDateRegister();
        c::xsltSetDefaultSecurityPrefs(forbidding());
    }
}

/// Preferences that forbid all five: to read and write files and network, and to make folders.
#[expect(unsafe_code, reason = "libxslt is written in C")]
fn forbidding() -> *mut c::SecurityPrefs {
    // SAFETY: the preferences were made one line above or are null, which the library takes; it
    // keeps the function, which lives as long as the process.
    unsafe {
        let preferences = c::xsltNewSecurityPrefs();
        for option in c::SECURITY_OPTIONS {
            c::xsltSetSecurityPrefs(preferences, option, Some(c::xsltSecurityForbid));
        }
        preferences
    }
}

extern "C" fn nothing_is_loaded(
    _: *const c_char,
    _: *const c_char,
    _: *mut c::ParserContext,
) -> *mut c::ParserInput {
    ptr::null_mut()
}

/// A document as a tree.
struct Tree(NonNull<c::Document>);

impl Tree {
    #[expect(unsafe_code, reason = "libxml2 is written in C")]
    fn read(text: &[u8], name: &CStr) -> Result<Self, Fault> {
        let called = name.to_string_lossy();
        if text.trim_ascii().is_empty() {
            return Err(Fault { line: 0, text: format!("the {called} is empty") });
        }
        if let Some(line) = doctype_line(text) {
            return Err(refused_doctype(&called, line));
        }
        let Ok(length) = c_int::try_from(text.len()) else {
            return Err(Fault { line: 0, text: format!("the {called} is larger than 2 GiB") });
        };
        let faults = FirstFault::listen();
        // SAFETY: the text has that length and is only read while the call lasts, the name ends with
        // a zero, and the encoding may be null: the document names it.
        let tree = unsafe {
            let text = text.as_ptr().cast();
            c::xmlReadMemory(text, length, name.as_ptr(), ptr::null(), PARSE_OPTIONS)
        };
        let tree = NonNull::new(tree).map(Self);
        // a prefix without a namespace leaves a tree, and is an error all the same
        let fault = faults.end().map(|fault| fault.of(&called));
        let Some(tree) = tree else {
            let unknown = || Fault { line: 0, text: format!("the {called} cannot be read") };
            return Err(fault.unwrap_or_else(unknown));
        };
        // SAFETY: the tree was made above and is not freed before `tree` is dropped.
        if !unsafe { c::xmlGetIntSubset(tree.0.as_ptr()) }.is_null() {
            return Err(refused_doctype(&called, 0));
        }
        fault.map_or(Ok(tree), Err)
    }

    /// Leaves the freeing to somebody else.
    fn release(self) {
        let _ = std::mem::ManuallyDrop::new(self);
    }
}

impl Drop for Tree {
    #[expect(unsafe_code, reason = "libxml2 is written in C")]
    fn drop(&mut self) {
        // SAFETY: the tree was made by the library, belongs to this value alone, and is freed once.
        unsafe { c::xmlFreeDoc(self.0.as_ptr()) }
    }
}

fn refused_doctype(called: &str, line: u32) -> Fault {
    let place = if line > 0 { format!(", line {line}") } else { String::new() };
    let text = format!(
        "{called}{place}: a DOCTYPE is refused: it can name files and hide what is large; \
         leave it out"
    );
    Fault { line, text }
}

/// A stylesheet, compiled.
pub(crate) struct Stylesheet(NonNull<c::Style>);

impl Stylesheet {
    /// Compiles it.
    #[expect(unsafe_code, reason = "libxslt is written in C")]
    pub(crate) fn compile(text: &[u8]) -> Result<Self, Fault> {
        let tree = Tree::read(text, STYLESHEET)?;
        let heard = Heard::listen();
        // SAFETY: the tree is whole. A stylesheet takes it over and frees it with itself; without one
        // it is still ours, which is why it is released only then.
        let style = NonNull::new(unsafe { c::xsltParseStylesheetDoc(tree.0.as_ptr()) });
        let said = heard.end();
        match style {
            Some(style) => {
                tree.release();
                Ok(Self(style))
            }
            None => Err(fault(&said, "it is no stylesheet")),
        }
    }

    /// What it makes of a document.
    #[expect(unsafe_code, reason = "libxslt is written in C")]
    pub(crate) fn apply(&self, document: &[u8]) -> Result<Vec<u8>, Fault> {
        let tree = Tree::read(document, DOCUMENT)?;
        let heard = Heard::listen();
        let style = self.0.as_ptr();
        // SAFETY: stylesheet and tree live until the end of this function, and the context is freed
        // here, after its last use. Parameters, output and profile may be null.
        let (result, state) = unsafe {
            let context = c::xsltNewTransformContext(style, tree.0.as_ptr());
            let Some(transform) = context.as_ref() else {
                return Err(fault(&heard.end(), "no memory is left"));
            };
            let none = ptr::null_mut();
            let result = c::xsltApplyStylesheetUser(
                style,
                tree.0.as_ptr(),
                ptr::null_mut(),
                ptr::null(),
                none,
                context,
            );
            let state = transform.state;
            c::xsltFreeTransformContext(context);
            (NonNull::new(result).map(Tree), state)
        };
        let said = heard.end();
        match result {
            Some(result) if state == c::STATE_OK => self.written(&result),
            _ => Err(fault(&said, "it ended with an error that has no text")),
        }
    }

    /// A result as the stylesheet wants it written.
    #[expect(unsafe_code, reason = "libxslt is written in C")]
    fn written(&self, result: &Tree) -> Result<Vec<u8>, Fault> {
        let (mut text, mut length) = (ptr::null_mut(), 0);
        // SAFETY: stylesheet and result are whole; the library makes the text, of that length, which
        // is copied and then freed as the library does, with `free`.
        unsafe {
            let style = self.0.as_ptr();
            let done =
                c::xsltSaveResultToString(&raw mut text, &raw mut length, result.0.as_ptr(), style);
            let Ok(length) = usize::try_from(length) else {
                return Err(Fault { line: 0, text: "the result is larger than 2 GiB".into() });
            };
            if done < 0 {
                libc::free(text.cast());
                return Err(Fault { line: 0, text: "the result cannot be written".into() });
            }
            if text.is_null() {
                return Ok(Vec::new());
            }
            let written = std::slice::from_raw_parts(text, length).to_vec();
            libc::free(text.cast());
            Ok(written)
        }
    }
}

impl Drop for Stylesheet {
    #[expect(unsafe_code, reason = "libxslt is written in C")]
    fn drop(&mut self) {
        // SAFETY: it was made by the library, belongs to this value alone, and is freed once.
        unsafe { c::xsltFreeStylesheet(self.0.as_ptr()) }
    }
}

/// What the library said of an error, or else `otherwise`.
fn fault(said: &str, otherwise: &str) -> Fault {
    let (line, text) = in_short(said);
    Fault { line, text: if text.is_empty() { otherwise.into() } else { text } }
}
