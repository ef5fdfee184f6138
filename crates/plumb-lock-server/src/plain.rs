//! What others say, as it may be shown.

/// What a server said, without anything that a terminal would obey.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
