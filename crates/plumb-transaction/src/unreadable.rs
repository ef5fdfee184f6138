//! Documents that a transaction can never read, found before its first action.

use std::convert::Infallible;

use crate::document::Body;
use crate::rows::{StreamError, VALUE_MAX, rows_of_json, rows_of_xml};
use crate::{Action, Transaction, Verb};

impl Transaction {
    /// Why no execution of it with this document comes to its end: the first action that reads the document
    /// in every one cannot read it. That is none that stands behind a condition, or behind an action that
    /// may put another document in its place. The document is known to be well-formed, or is empty.
    #[must_use]
    pub fn cannot_read(&self, document: Body<'_>) -> Option<String> {
        let reader = first_reader(&self.actions)?;
        let (name, bytes) = (&reader.name, document.bytes());
        if bytes.is_empty() {
            return Some(format!("there is no document, and {} reads one: {name}", self.name));
        }
        let Verb::Repeat(repeat) = &reader.verb else { return None };
        if bytes.len() <= VALUE_MAX {
            return None; // so is every value in it
        }
        let (plan, late) = (&repeat.rows, repeat.late);
        let read = match document {
            Body::Xml(bytes) => rows_of_xml(bytes, plan, late, |_| Ok::<(), Infallible>(())),
            Body::Json(bytes) => rows_of_json(bytes, plan, late, |_| Ok::<(), Infallible>(())),
        };
        match read {
            Err(error @ StreamError::ValueTooLong { .. }) => Some(format!("{name}: {error}")),
            _ => None,
        }
    }
}

fn first_reader(actions: &[Action]) -> Option<&Action> {
    let is_reader = |action: &&Action| matches!(action.verb, Verb::Repeat(_) | Verb::Xslt(_));
    let surely = |action: &&Action| is_reader(action) || !is_turn(action);
    actions.iter().take_while(surely).find(is_reader)
}

/// Whether an execution may end with it, or goes on with another document.
fn is_turn(action: &Action) -> bool {
    match &action.verb {
        Verb::Fail(_) | Verb::Xslt(_) => true,
        Verb::Back(call) => call.replaces,
        Verb::Repeat(repeat) => repeat.inner.iter().any(is_turn),
        Verb::Choose(branches) => branches.iter().any(|branch| branch.inner.iter().any(is_turn)),
        Verb::Log(_) | Verb::Respond(_) | Verb::Sql(_) | Verb::Transaction(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPEAT: &str = "[[action]]\nrepeat = \"/A/B\"\nassign = { x = \"X\" }\n\
        [[action.do]]\nlog = \"${x}\"\n";

    fn problem(actions: &str, document: Body<'_>) -> Option<String> {
        let parameters = "[parameters]\np = \"\"\n";
        let transaction = Transaction::parse("t", &format!("{parameters}{actions}")).unwrap();
        transaction.cannot_read(document)
    }

    #[test]
    fn a_document_is_missed_where_every_execution_reads_one() {
        let log = "[[action]]\nlog = \"${p}\"\n";
        let choose =
            |inner: &str| format!("[[action]]\nif = \"${{p}} == 1\"\n[[action.do]]\n{inner}\n");
        let call = "[[action]]\ncall = \"erp\"\ntarget = \"/\"\nbody = \"x\"\n";
        let none = Body::Xml(b"");
        for before in ["", log, &choose("log = \"a\""), call] {
            let told = problem(&format!("{before}{REPEAT}"), none).unwrap_or_default();
            assert!(told.starts_with("there is no document, and t reads one: repeat in"), "{told}");
            assert_eq!(problem(&format!("{before}{REPEAT}"), Body::Xml(b"<A/>")), None);
        }
        for before in [choose("fail = \"a\""), format!("{call}as = \"document\"\n")] {
            assert_eq!(problem(&format!("{before}{REPEAT}"), none), None, "{before}");
        }
        assert_eq!(problem(log, none), None);
    }

    #[test]
    fn a_value_that_is_too_long_is_told_where_it_is_read() {
        let long = "v".repeat(VALUE_MAX + 1);
        let read = format!("<A><B><X>{long}</X></B></A>");
        let unread = format!("<A><B><Y>{long}</Y></B></A>");
        let json = format!("{{\"A\": {{\"B\": {{\"X\": \"{long}\"}}}}}}");
        for document in [Body::Xml(read.as_bytes()), Body::Json(json.as_bytes())] {
            let told = problem(REPEAT, document).unwrap_or_default();
            assert!(told.ends_with("a value of more than 1048576 bytes"), "{told}");
        }
        assert_eq!(problem(REPEAT, Body::Xml(unread.as_bytes())), None);
    }
}
