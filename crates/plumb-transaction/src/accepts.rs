//! Which messages without the name of a transaction are taken by one.

use serde::Deserialize;

/// What a message has to be; all that is said has to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Accepts {
    /// The local name of its outermost element, or of the first member of a JSON document.
    pub element: Option<String>,
    /// The basic type of an IDoc (`IDOCTYP` of its control record).
    pub idoc: Option<String>,
    /// The message type of an IDoc (`MESTYP` of its control record).
    pub message: Option<String>,
    /// A header of the request, `NAME: VALUE`, or `NAME` for any value.
    pub header: Option<String>,
}

/// What is known of a message that names no transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFacts {
    /// The local name of its outermost element, or of the first member of a JSON document.
    pub element: String,
    /// The basic type of an IDoc; `None`: it is none.
    pub idoc: Option<String>,
    /// The message type of an IDoc.
    pub message: Option<String>,
}

impl Accepts {
    /// True when a message of these `facts` is meant; `header` gives the value of a header by its
    /// name.
    #[must_use]
    pub fn fits(&self, facts: &MessageFacts, header: &dyn Fn(&str) -> Option<String>) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        is(&self.element, Some(&facts.element))
            && is(&self.idoc, facts.idoc.as_deref())
            && is(&self.message, facts.message.as_deref())
            && self.header.as_deref().is_none_or(|wanted| match wanted.split_once(':') {
                Some((name, value)) => {
                    header(name.trim()).is_some_and(|found| found.trim() == value.trim())
                }
                None => header(wanted.trim()).is_some(),
            })
    }

    /// What is wrong with it, and what to write.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let said = [&self.element, &self.idoc, &self.message, &self.header];
        if said.iter().all(|it| it.is_none()) {
            return Some("it says nothing: write element, idoc, message or header".into());
        }
        let blank = said.iter().any(|it| it.as_deref().is_some_and(|text| text.trim().is_empty()));
        blank.then(|| "an empty text fits no message: write what it has to be".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_said_has_to_hold() {
        let facts = MessageFacts {
            element: "LOIPRO01".into(),
            idoc: Some("LOIPRO01".into()),
            message: Some("LOIPRO".into()),
        };
        let header = |name: &str| name.eq_ignore_ascii_case("x-plant").then(|| "1000".to_owned());
        let fits = |accepts: &Accepts| accepts.fits(&facts, &header);
        let some = |text: &str| Some(text.to_owned());
        assert!(fits(&Accepts { element: some("LOIPRO01"), ..Accepts::default() }));
        assert!(fits(&Accepts {
            idoc: some("LOIPRO01"),
            message: some("LOIPRO"),
            header: some("X-Plant: 1000"),
            ..Accepts::default()
        }));
        assert!(fits(&Accepts { header: some("X-Plant"), ..Accepts::default() }));
        for wrong in [
            Accepts { element: some("ORDERS"), ..Accepts::default() },
            Accepts { idoc: some("LOIPRO01"), message: some("ORDERS"), ..Accepts::default() },
            Accepts { header: some("X-Plant: 2000"), ..Accepts::default() },
            Accepts { header: some("X-Line"), ..Accepts::default() },
        ] {
            assert!(!fits(&wrong), "{wrong:?}");
        }
        assert!(Accepts::default().problem().is_some());
    }
}
