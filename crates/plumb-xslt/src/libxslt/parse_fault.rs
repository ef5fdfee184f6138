//! The first error of the parser; those that follow are mostly its consequences.

use std::ffi::{CStr, c_void};
use std::ptr;

use super::Fault;
use super::declared as c;

/// What the parser adds to a depth or size that only that option would allow.
const LIFTING: &str = "use XML_PARSE_HUGE option";

/// An error of the parser.
pub(super) struct ParseFault {
    line: u32,
    column: i32,
    message: String,
}

impl ParseFault {
    /// In words, with what was parsed.
    pub(super) fn of(self, called: &str) -> Fault {
        let message = self.message.replace(LIFTING, "");
        let (line, message) = (self.line, message.trim());
        let text = match self.column {
            0 => format!("{called}, line {line}: {message}"),
            column => format!("{called}, line {line}, column {column}: {message}"),
        };
        Fault { line, text }
    }
}

/// Listens to the parser until it is ended.
pub(super) struct FirstFault {
    /// The parser knows its address.
    found: Box<Option<ParseFault>>,
}

impl FirstFault {
    #[expect(unsafe_code, reason = "libxml2 is written in C")]
    pub(super) fn listen() -> Self {
        let mut listening = Self { found: Box::new(None) };
        let found: *mut Option<ParseFault> = &raw mut *listening.found;
        // SAFETY: the library hands the address to the function until `drop` takes both away, and
        // nothing else touches what is there meanwhile.
        unsafe { c::xmlSetStructuredErrorFunc(found.cast(), Some(heard)) };
        listening
    }

    /// The first error, if there was one.
    pub(super) fn end(mut self) -> Option<ParseFault> {
        self.found.take()
    }
}

impl Drop for FirstFault {
    #[expect(unsafe_code, reason = "libxml2 is written in C")]
    fn drop(&mut self) {
        // SAFETY: without a function the library has nothing to call.
        unsafe { c::xmlSetStructuredErrorFunc(ptr::null_mut(), None) };
    }
}

#[expect(unsafe_code, reason = "libxml2 is written in C")]
extern "C" fn heard(found: *mut c_void, error: *const c::ParseError) {
    // SAFETY: the address is the one of `listen`, which the library calls back with while a
    // `FirstFault` is there; the error is null or whole, its message null or ended with a zero.
    let (found, error) = unsafe { (found.cast::<Option<ParseFault>>().as_mut(), error.as_ref()) };
    let (Some(found @ None), Some(error)) = (found, error) else { return };
    if error.level < c::LEVEL_ERROR {
        return;
    }
    let message = if error.message.is_null() {
        String::new()
    } else {
        // SAFETY: see above.
        unsafe { CStr::from_ptr(error.message) }.to_string_lossy().into_owned()
    };
    let line = u32::try_from(error.line).unwrap_or(0);
    *found = Some(ParseFault { line, column: error.column, message });
}
