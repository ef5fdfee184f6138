//! A sample as a line of JSON.

use serde::Serialize;

use super::{SCHEMA, Sample};

/// A sample with the name of its form and of its host.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Line<'a> {
    schema: &'static str,
    host: &'a str,
    #[serde(flatten)]
    sample: &'a Sample,
}

impl<'a> Line<'a> {
    /// A `sample` of the host of this name.
    #[must_use]
    pub fn of(host: &'a str, sample: &'a Sample) -> Self {
        Self { schema: SCHEMA, host, sample }
    }

    /// Puts the line with its end into `text`, in place of what was there.
    pub fn write(&self, text: &mut Vec<u8>) {
        text.clear();
        if let Err(error) = serde_json::to_writer(&mut *text, self) {
            unreachable!("a sample is made of plain values: {error}");
        }
        text.push(b'\n');
    }
}
