//! The output of commands and files that a recorder puts in front of its figures (BBB lines).

use crate::cell::{Line, cut, text};

/// Most text that is kept of all documents of a recording, bytes.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Name of the document in which [`Writer`](crate::Writer) tells of devices that came later.
pub(crate) const CAME_LATER: &str = "appeared later, without columns";

/// One document: `BBBP,nnn,name,"line"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The section: BBBP, BBBC, BBBB and others.
    pub section: String,
    /// The command or file.
    pub name: String,
    /// Its lines.
    pub lines: Vec<String>,
}

/// The documents of one recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Documents {
    pub(crate) list: Vec<Document>,
    bytes: usize,
}

impl Documents {
    /// The device that a line of [`CAME_LATER`] tells of.
    pub(crate) fn late_device(line: &Line<'_>) -> Option<String> {
        let (name, content) = cut(line.first().1?, line.separator);
        // a comma in its name, as any, is an underscore there
        let content = content.filter(|_| text(name).replace('_', ",") == CAME_LATER)?;
        Some(unquoted(content))
    }

    /// Books a line; false when too much text came already.
    pub(crate) fn add(&mut self, line: &Line<'_>) -> bool {
        self.bytes += line.rest.len() + 32;
        if self.bytes > KEPT_BYTES_MAX {
            return false;
        }
        let section = text(line.section);
        let (_, rest) = line.first();
        let (name, content) = cut(rest.unwrap_or_default(), line.separator);
        let name = text(name);
        let known =
            self.list.last_mut().filter(|last| last.section == section && last.name == name);
        let document = match known {
            Some(document) => document,
            None => {
                self.list.push(Document { section, name, lines: Vec::new() });
                let Some(document) = self.list.last_mut() else { return false };
                document
            }
        };
        if let Some(content) = content {
            document.lines.push(unquoted(content));
        }
        true
    }
}

fn unquoted(content: &[u8]) -> String {
    let content = content.strip_prefix(b"\"").unwrap_or(content);
    text(content.strip_suffix(b"\"").unwrap_or(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_command_are_one_document() {
        let mut documents = Documents::default();
        for line in [
            "BBBP,000,lparstat -i",
            "BBBP,001,lparstat -i,\"Type : Shared-SMT-4, capped\"",
            "BBBP,002,oslevel",
        ] {
            assert!(documents.add(&Line::split(line.as_bytes()).unwrap()));
        }
        assert_eq!(documents.list.len(), 2);
        assert_eq!(documents.list[0].lines, ["Type : Shared-SMT-4, capped"]);
        assert!(documents.list[1].lines.is_empty());
    }
}
