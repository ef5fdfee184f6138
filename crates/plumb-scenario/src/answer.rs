//! What came back, as checks and extractions see it.

/// An answer that is complete.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The status code.
    pub status: u16,
    /// The address that answered, behind all redirects and without its query: a path of the base, or
    /// an address of another server. Empty when nobody needs it.
    pub address: &'a str,
    /// Bytes of content that came, whether they were kept or not.
    pub length: u64,
    /// From the moment the request was due until the last byte, in nanoseconds.
    pub took_ns: u64,
    /// The head as it came; empty when nobody needs it.
    pub head: &'a [u8],
    /// The content; empty when nobody needs it.
    pub content: &'a [u8],
}
