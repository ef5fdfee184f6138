//! What a controller and its remotes say to each other: one JSON document a line.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use plumb_engine::{IntervalRecords, LoadResult};
use plumb_measure::{ResultRecord, RunRecord, Transport};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::FILES_MAX;
use crate::files::{FileWord, PlanFile, is_below};

/// Name and version of what is said; both sides must say the same.
pub const SCHEMA: &str = "plumb.remote/1";
/// The longest message, bytes.
pub const MESSAGE_MAX: usize = 64 << 20;
/// Most words of a command line, and the most bytes of all of them.
const WORDS_MAX: usize = 1_000;
const WORD_BYTES_MAX: usize = 1 << 20;

/// What a controller asks of a remote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// What its wall clock shows.
    Clock {
        /// When it was asked, by the controller's clock: it comes back as it is.
        sent_ns: u64,
    },
    /// To carry out its part of a measurement.
    Run(RunOrder),
    /// To keep a file that was lacking.
    File {
        /// SHA-256 of what is in it, hexadecimal.
        digest: String,
        /// What is in it, in base64.
        content: String,
    },
    /// To connect for a load, and to wait then.
    Connect {
        /// The run.
        run: u64,
        /// Which of its loads, from 1.
        load: u32,
    },
    /// To begin a load at a moment.
    Open {
        /// The run.
        run: u64,
        /// Which of its loads, from 1.
        load: u32,
        /// When, by the remote's own wall clock, nanoseconds since 1970-01-01T00:00:00Z.
        at_wall_ns: u64,
    },
    /// To end the run, with what there is.
    Stop {
        /// The run.
        run: u64,
    },
    /// Nothing: the controller is still there.
    Alive,
}

/// A measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunOrder {
    /// Its number, which everything said of it names.
    pub run: u64,
    /// The words behind `plumb`.
    pub words: Vec<String>,
    /// Which part of it is the remote's.
    pub part: Part,
    /// The files that its words name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PlanFile>,
    /// Which words those are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_words: Vec<FileWord>,
    /// It has no other parts: it is measured without waiting for anybody, or is a server.
    #[serde(default)]
    pub alone: bool,
    /// Where the remote has laid them out; nobody else says so.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
}

impl RunOrder {
    /// True when it is no longer than anybody would write.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        let bytes: usize = self.words.iter().map(String::len).sum();
        self.words.len() <= WORDS_MAX
            && bytes <= WORD_BYTES_MAX
            && self.files.len() <= FILES_MAX
            && self.file_words.len() <= WORDS_MAX
    }

    /// True when `path` is that of a file, or a folder of files, that came with it.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        let folder = self.folder.as_ref();
        folder.and_then(|folder| path.strip_prefix(folder).ok()).is_some_and(is_below)
    }
}

/// One of several equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Part {
    /// Its number, from 1.
    pub number: NonZeroU32,
    /// How many there are.
    pub of: NonZeroU32,
}

/// What a remote says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Report {
    /// Who it is; the first that it says.
    Hello(Hello),
    /// What its wall clock shows.
    Clock {
        /// As it was asked.
        sent_ns: u64,
        /// Nanoseconds since 1970-01-01T00:00:00Z.
        here_ns: u64,
    },
    /// It lacks files of a run, and waits for them.
    Lacks {
        /// The run.
        run: u64,
        /// Their digests.
        digests: Vec<String>,
    },
    /// All connections of a load stand, and wait for its beginning.
    Ready {
        /// The run.
        run: u64,
        /// Which of its loads, from 1.
        load: u32,
    },
    /// A load has begun.
    Began {
        /// The run.
        run: u64,
        /// Which of its loads, from 1.
        load: u32,
        /// What its first connection really uses.
        transport: Option<Transport>,
    },
    /// An interval of a load is complete; moments are those of the remote's wall clock.
    Interval {
        /// The run.
        run: u64,
        /// Which of its loads, from 1.
        load: u32,
        /// What was recorded in it.
        records: Box<IntervalRecords>,
    },
    /// A load is over; moments are those of the remote's wall clock.
    Loaded {
        /// The run.
        run: u64,
        /// Which of its loads, from 1.
        load: u32,
        /// When the last of its threads began.
        started_ns: Option<u64>,
        /// What came of it.
        outcome: Box<LoadResult<()>>,
    },
    /// What the remote makes of its last load: its own verdict, its own machine.
    Result {
        /// The run.
        run: u64,
        /// Which of its loads, from 1.
        load: u32,
        /// The record of its own part.
        #[serde(deserialize_with = "result")]
        result: Box<ResultRecord>,
    },
    /// A server that it has started says this, or the remote itself of its files.
    Said {
        /// The run.
        run: u64,
        /// Without its end.
        line: String,
    },
    /// A piece of a file that belongs to the record of the remote's own part: what its machine did. One
    /// that is named like the last follows it.
    Kept {
        /// The run.
        run: u64,
        /// The name of the file.
        name: String,
        /// What is in the piece, in base64.
        content: String,
    },
    /// The run is over.
    Done {
        /// The run.
        run: u64,
        /// The record of the remote's own part, none of a server; or why there is none, or not every
        /// file of a recorder.
        #[serde(deserialize_with = "outcome")]
        outcome: Result<Option<Box<RunRecord>>, String>,
    },
    /// Nothing: the remote is still there.
    Alive,
}

impl Report {
    /// The run that it is of; `None`: of none.
    #[must_use]
    pub fn run(&self) -> Option<u64> {
        match self {
            Self::Hello(_) | Self::Clock { .. } | Self::Alive => None,
            Self::Ready { run, .. }
            | Self::Began { run, .. }
            | Self::Lacks { run, .. }
            | Self::Kept { run, .. }
            | Self::Said { run, .. }
            | Self::Interval { run, .. }
            | Self::Loaded { run, .. }
            | Self::Result { run, .. }
            | Self::Done { run, .. } => Some(*run),
        }
    }
}

/// Reads a result, by the reader that is compiled once for all.
fn result<'de, D: Deserializer<'de>>(from: D) -> Result<Box<ResultRecord>, D::Error> {
    let text = <&RawValue>::deserialize(from)?.get();
    ResultRecord::from_json(text).map(Box::new).map_err(D::Error::custom)
}

/// Reads the outcome of a run, its record likewise.
fn outcome<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Result<Option<Box<RunRecord>>, String>, D::Error> {
    match Result::<Option<&RawValue>, String>::deserialize(from)? {
        Ok(Some(text)) => {
            let record = RunRecord::from_json(text.get()).map_err(D::Error::custom)?;
            Ok(Ok(Some(Box::new(record))))
        }
        Ok(None) => Ok(Ok(None)),
        Err(why) => Ok(Err(why)),
    }
}

/// Who a remote is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Hello {
    /// [`SCHEMA`].
    pub schema: String,
    /// Its name among the remotes.
    pub name: String,
    /// The version of plumb.
    pub version: String,
    /// The name of its machine.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// Its processors.
    pub cpus: u64,
    /// What it can be chosen by.
    pub labels: BTreeMap<String, String>,
}

/// Why a line is no message.
#[derive(Debug, thiserror::Error)]
pub enum NoMessage {
    /// It is longer than any message.
    #[error("a message of more than {MESSAGE_MAX} bytes")]
    TooLong,
    /// It is none of this version.
    #[error("not a message of {SCHEMA}: {0}")]
    Json(#[from] serde_json::Error),
}

/// A message as one line.
///
/// # Errors
/// When a histogram has more values than can be written.
pub fn written(message: &impl Serialize) -> Result<String, NoMessage> {
    let mut line = serde_json::to_string(message)?;
    line.push('\n');
    if line.len() > MESSAGE_MAX { Err(NoMessage::TooLong) } else { Ok(line) }
}

/// Reads a line.
///
/// # Errors
/// [`NoMessage`] says what is wrong with it.
pub fn read<'a, M: Deserialize<'a>>(line: &'a str) -> Result<M, NoMessage> {
    if line.len() > MESSAGE_MAX {
        return Err(NoMessage::TooLong);
    }
    Ok(serde_json::from_str(line)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order(part: Part) -> RunOrder {
        RunOrder {
            run: 1,
            words: Vec::new(),
            part,
            files: Vec::new(),
            file_words: Vec::new(),
            alone: false,
            folder: None,
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for line in ["", "{}", "[]", "\"alive\"x", "{\"stop\":{}}", "{\"stop\":{\"run\":-1}}"] {
            assert!(read::<Order>(line).is_err(), "{line}");
        }
        let zero = "{\"run\":{\"run\":1,\"words\":[],\"part\":{\"number\":0,\"of\":1}}}";
        assert!(read::<Order>(zero).is_err());
        let word = "x".repeat(WORD_BYTES_MAX + 1);
        let part = Part { number: NonZeroU32::MIN, of: NonZeroU32::MIN };
        assert!(!RunOrder { words: vec![word], ..order(part) }.is_bounded());
    }

    #[test]
    fn only_what_came_with_an_order_is_held() {
        let part = Part { number: NonZeroU32::MIN, of: NonZeroU32::MIN };
        assert!(!order(part).holds(Path::new("0/x")), "nothing came");
        let order = RunOrder { folder: Some("/tmp/a/command-1".into()), ..order(part) };
        assert!(order.holds(Path::new("/tmp/a/command-1/0/x")));
        let own = ["0/x", "/tmp/a/command-1/../../../etc/x", "/etc/x", "/tmp/a/command-1", ""];
        assert!(own.iter().all(|path| !order.holds(Path::new(path))));
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line: String, words in prop::collection::vec(".*", 0..3)) {
            let _ = (read::<Order>(&line), read::<Report>(&line));
            let near = format!("{{\"interval\":{{\"run\":1,\"load\":1,\"records\":{words:?}}}}}");
            prop_assert!(read::<Report>(&near).is_err());
        }
    }
}
