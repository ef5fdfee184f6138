//! What the library says while it works, which it prints to a stream of C.

use std::ffi::{CStr, c_void};
use std::ptr;

use super::declared as c;

/// Bytes of it that are kept; the rest is dropped.
const SAID_BYTES_MAX: usize = 4096;

/// Listens to the library until it is ended.
pub(super) struct Heard {
    stream: *mut libc::FILE,
    /// What the stream writes to; it may not move or grow.
    said: Box<[u8; SAID_BYTES_MAX]>,
}

impl Heard {
    #[expect(unsafe_code, reason = "the library prints to a stream of C")]
    pub(super) fn listen() -> Self {
        let mut said = Box::new([0; SAID_BYTES_MAX]);
        // SAFETY: the buffer has that length and lives as long as the stream, which `drop` closes
        // before it. A handler that is null means that the library prints to the stream; a stream
        // that is null means standard error.
        let stream = unsafe {
            let stream =
                libc::fmemopen(said.as_mut_ptr().cast(), SAID_BYTES_MAX - 1, c"w".as_ptr());
            c::xmlSetGenericErrorFunc(stream.cast(), ptr::null_mut());
            c::xsltSetGenericErrorFunc(stream.cast(), ptr::null_mut());
            stream
        };
        Self { stream, said }
    }

    /// All that was said.
    pub(super) fn end(mut self) -> String {
        self.close();
        CStr::from_bytes_until_nul(&*self.said)
            .map_or(String::new(), |said| said.to_string_lossy().into_owned())
    }

    #[expect(unsafe_code, reason = "the library prints to a stream of C")]
    fn close(&mut self) {
        let stream = std::mem::replace(&mut self.stream, ptr::null_mut());
        // SAFETY: the library forgets the stream before it is closed, which happens once: it is null
        // afterwards.
        unsafe {
            let none: *mut c_void = ptr::null_mut();
            c::xmlSetGenericErrorFunc(none, ptr::null_mut());
            c::xsltSetGenericErrorFunc(none, ptr::null_mut());
            if !stream.is_null() {
                libc::fclose(stream);
            }
        }
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.close();
    }
}
