//! What the libraries say while they work, which they print to streams of C.

use std::ffi::{c_char, c_void};
use std::{ptr, slice};

use super::declared as c;
use super::said::is_place;

/// Bytes of errors that are kept, and of a message; the rest is dropped.
const SAID_BYTES_MAX: usize = 4096;

/// Listens to both libraries until it is ended.
pub(super) struct Heard {
    /// Of libxml2 and of libxslt.
    streams: [*mut libc::FILE; 2],
    /// The streams know its address.
    told: Box<Told>,
}

impl Heard {
    #[expect(unsafe_code, reason = "the libraries print to streams of C")]
    pub(super) fn listen() -> Self {
        let mut told = Box::new(Told::new());
        let cookie: *mut c_void = (&raw mut *told).cast();
        // SAFETY: the streams hand the address to the functions until `close` ends them, before the
        // box goes, and nothing else touches what is there meanwhile. A handler that is null means
        // that the library prints to the stream; a stream that is null means standard error.
        let streams = unsafe {
            let [parser, stylesheets] =
                [error_told as c::StreamWrite, anything_told].map(|write| stream(cookie, write));
            c::xmlSetGenericErrorFunc(parser.cast(), ptr::null_mut());
            c::xsltSetGenericErrorFunc(stylesheets.cast(), ptr::null_mut());
            [parser, stylesheets]
        };
        Self { streams, told }
    }

    /// The errors; without any, the last message.
    pub(super) fn end(mut self) -> String {
        self.close();
        let Told { errors, message, .. } = &*self.told;
        String::from_utf8_lossy(if errors.is_empty() { message } else { errors }).into_owned()
    }

    #[expect(unsafe_code, reason = "the libraries print to streams of C")]
    fn close(&mut self) {
        let streams = std::mem::replace(&mut self.streams, [ptr::null_mut(); 2]);
        // SAFETY: the libraries forget the streams before they are closed, which happens once: they
        // are null afterwards.
        unsafe {
            let none: *mut c_void = ptr::null_mut();
            c::xmlSetGenericErrorFunc(none, ptr::null_mut());
            c::xsltSetGenericErrorFunc(none, ptr::null_mut());
            for stream in streams.into_iter().filter(|stream| !stream.is_null()) {
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

/// A stream that hands each thing that is printed to `write` as it is printed.
///
/// # Safety
/// `write` takes `cookie`, which is there as long as the stream.
#[expect(unsafe_code, reason = "the libraries print to streams of C")]
unsafe fn stream(cookie: *mut c_void, write: c::StreamWrite) -> *mut libc::FILE {
    let (read, seek, close) = (ptr::null(), ptr::null(), ptr::null());
    let functions = c::StreamFunctions { read, write: Some(write), seek, close };
    // SAFETY: as above; the mode ends with a zero, and the stream is one or null.
    unsafe {
        let stream = c::fopencookie(cookie, c"w".as_ptr(), functions);
        if !stream.is_null() {
            libc::setvbuf(stream, ptr::null_mut(), libc::_IONBF, 0);
        }
        stream
    }
}

#[expect(unsafe_code, reason = "the libraries print to streams of C")]
unsafe extern "C" fn error_told(told: *mut c_void, piece: *const c_char, length: usize) -> isize {
    // SAFETY: as the stream calls it.
    unsafe { heard(told, piece, length, Told::error) }
}

#[expect(unsafe_code, reason = "the libraries print to streams of C")]
unsafe extern "C" fn anything_told(
    told: *mut c_void,
    piece: *const c_char,
    length: usize,
) -> isize {
    // SAFETY: as the stream calls it.
    unsafe { heard(told, piece, length, Told::anything) }
}

/// Takes a piece, of that length, for the value at `told`; as many bytes as were taken: all.
///
/// # Safety
/// Both addresses are those of a stream that [`Heard`] has opened and not closed.
#[expect(unsafe_code, reason = "the libraries print to streams of C")]
unsafe fn heard(
    told: *mut c_void,
    piece: *const c_char,
    length: usize,
    take: impl FnOnce(&mut Told, &[u8]),
) -> isize {
    if !told.is_null() && !piece.is_null() {
        // SAFETY: as above; the stream has that many bytes there, and waits.
        let (told, piece) = unsafe {
            (&mut *told.cast::<Told>(), slice::from_raw_parts(piece.cast::<u8>(), length))
        };
        take(told, piece);
    }
    isize::try_from(length).unwrap_or(isize::MAX)
}

/// What was printed. Messages of the stylesheet come as errors do, but without a place in front.
#[derive(Debug)]
struct Told {
    errors: Vec<u8>,
    /// The last one.
    message: Vec<u8>,
    /// What the last piece of libxslt was part of.
    part: Part,
    /// That piece did not end its line, so that the next one goes on with it.
    is_open: bool,
}

/// What a piece is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Where something happened; what did comes next.
    Place,
    Error,
    Message,
}

impl Told {
    /// With room for all that is kept: memory may be short when something is said.
    fn new() -> Self {
        let [errors, message] = [(); 2].map(|()| Vec::with_capacity(SAID_BYTES_MAX));
        Self { errors, message, part: Part::Message, is_open: false }
    }

    /// Takes a piece of libxml2, which says nothing else.
    fn error(&mut self, piece: &[u8]) {
        keep(&mut self.errors, piece);
    }

    /// Takes a piece of libxslt.
    fn anything(&mut self, piece: &[u8]) {
        if !self.is_open {
            self.part = match self.part {
                _ if is_place(&String::from_utf8_lossy(piece)) => Part::Place,
                Part::Place => Part::Error,
                Part::Error | Part::Message => {
                    self.message.clear();
                    Part::Message
                }
            };
        }
        self.is_open = !piece.ends_with(b"\n");
        let kept = if self.part == Part::Message { &mut self.message } else { &mut self.errors };
        keep(kept, piece);
    }
}

fn keep(kept: &mut Vec<u8>, piece: &[u8]) {
    let room = SAID_BYTES_MAX - kept.len();
    kept.extend_from_slice(&piece[..piece.len().min(room)]);
}

#[cfg(test)]
mod tests {
    use super::Told;

    fn told(pieces: &[&str]) -> (String, String) {
        let mut told = Told::new();
        pieces.iter().for_each(|piece| told.anything(piece.as_bytes()));
        let [errors, message] = [told.errors, told.message].map(String::from_utf8);
        (errors.unwrap(), message.unwrap())
    }

    #[test]
    fn what_has_a_place_is_an_error_and_anything_else_a_message() {
        let place = "runtime error: file stylesheet line 7 element copy-of\n";
        let (errors, message) =
            told(&["item 1", "\n", "item 2\n", place, "first\nof it\n", place, "next\n", "last"]);
        assert_eq!(errors, format!("{place}first\nof it\n{place}next\n"));
        assert_eq!(message, "last");
        let (errors, message) = told(&["item 1\n", "two\nlines", "\n"]);
        assert_eq!((&*errors, &*message), ("", "two\nlines\n"));
        assert_eq!(told(&["error: none\n"]).0, "");
        assert_eq!(told(&["error\n", "what\n"]).0, "error\nwhat\n");
    }

    #[test]
    fn so_much_is_kept_and_no_more() {
        let long = "x".repeat(5_000);
        let (errors, message) = told(&["error\n", &long, "\n", &long, &long]);
        assert_eq!((errors.len(), message.len()), (4_096, 4_096));
        assert_eq!(told(&[&long, "\n", "short\n"]).1, "short\n");
    }
}
