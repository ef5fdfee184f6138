//! What a record of a log holds.

/// A statement that was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The line of the file that it begins in, from one.
    pub line: u64,
    /// When it began, microseconds since some moment that is the same for the whole file.
    pub at_us: i64,
    /// When it was logged.
    pub logged_us: i64,
    /// Whose it is: statements of one session follow each other.
    pub session: String,
    /// The statement.
    pub text: String,
    /// Values of `$1`, `$2` and so on; `None` for each that is null.
    pub parameters: Vec<Option<String>>,
}

/// What a record of a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A statement.
    Statement(Logged),
    /// Something else that a server logs.
    Other,
    /// A line in another language than English, in which no statement is looked for.
    Translated,
}
