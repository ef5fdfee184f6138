//! The words of its command line.

/// What it was started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Print this and end.
    Say(String),
    /// Transform documents.
    Serve(Limits),
}

/// What it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Of a stylesheet or document, bytes.
    pub(crate) document_bytes: u32,
    /// Of address space, bytes.
    pub(crate) memory_bytes: u64,
}

const HELP: &str = "\
Applies one XSLT stylesheet to documents, for the action `xslt` of `plumb flow`, which starts it.

Usage: plumb-xslt DOCUMENT-BYTES MEMORY-BYTES

  DOCUMENT-BYTES  the largest document or stylesheet
  MEMORY-BYTES    address space, about 30 times that

The stylesheet comes first, then documents, as frames on standard input; answers are frames on
standard output. It reads and writes no files and reaches no network.
";

/// Reads the words behind the program's name.
pub(crate) fn task(words: &[String]) -> Result<Task, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        ["--help" | "-h"] => Ok(Task::Say(HELP.into())),
        ["--version" | "-V"] => Ok(Task::Say(version())),
        [document, memory] => Ok(Task::Serve(Limits {
            document_bytes: bytes(document)?,
            memory_bytes: bytes(memory)?,
        })),
        _ => Err("expected DOCUMENT-BYTES and MEMORY-BYTES; see --help".into()),
    }
}

fn bytes<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{word}` is no number of bytes; see --help"))
}

fn version() -> String {
    let with = if cfg!(libxslt) { "with libxslt" } else { "without libxslt" };
    format!("plumb-xslt {} ({with})\n", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::{Limits, Task, task};

    fn read(words: &[&str]) -> Result<Task, String> {
        task(&words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn limits_are_numbers_and_anything_else_is_refused() {
        let limits = Limits { document_bytes: 1024, memory_bytes: 1 << 33 };
        assert_eq!(read(&["1024", "8589934592"]), Ok(Task::Serve(limits)));
        assert!(matches!(read(&["--help"]), Ok(Task::Say(text)) if text.contains("Usage")));
        for words in [&["1k", "1"][..], &["5000000000", "1"], &[], &["1"], &["1", "2", "3"]] {
            assert!(read(words).unwrap_err().contains("see --help"), "{words:?}");
        }
    }
}
