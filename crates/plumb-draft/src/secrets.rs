//! What must not stand in a scenario, passwords and tokens, becomes variables.

use crate::draft::Draft;
use crate::template::{variable, variable_name};

/// The secrets that were found, and the variables that stand for them.
#[derive(Default)]
pub struct Secrets {
    found: Vec<Secret>,
    /// Variables that are something else.
    taken: Vec<String>,
}

struct Secret {
    variable: String,
    value: String,
    /// How it must be written where it goes.
    how: &'static str,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.found.len())
    }
}

impl Secrets {
    /// Leaves the variable `name` to somebody else.
    pub fn leave(&mut self, name: &str) {
        self.taken.push(name.to_owned());
    }

    /// The template that stands for `value` of the field `name`; the same field with the same
    /// value is one variable. `how` says how it must be written.
    pub fn template(&mut self, name: &str, value: &str, how: &'static str) -> String {
        let plain = variable_name(name).to_ascii_lowercase();
        let numbered = (2_u64..).map(|number| format!("{plain}_{number}"));
        let candidates = std::iter::once(plain.clone()).chain(numbered);
        for candidate in candidates.filter(|name| !self.taken.contains(name)) {
            match self.found.iter().find(|secret| secret.variable == candidate) {
                Some(secret) if secret.value == value => return variable(&candidate),
                Some(_) => {}
                None => {
                    let secret = Secret { variable: candidate.clone(), value: value.into(), how };
                    self.found.push(secret);
                    return variable(&candidate);
                }
            }
        }
        variable(&plain)
    }

    /// The variables, each with what it stands for.
    pub fn found(&self) -> impl Iterator<Item = (String, String)> {
        self.found.iter().map(|secret| (secret.variable.clone(), secret.value.clone()))
    }

    /// Declares the variables, empty, and says what belongs there.
    pub fn declare(self, draft: &mut Draft) {
        for Secret { variable, how, .. } in self.found {
            draft.remark(
                format!("variables.{variable}"),
                format!(
                    "a secret of the file, left out: fill it in{how}, or give a column `{variable}` \
                     of a data file; what the server gives anew each time belongs into an `extract`"
                ),
            );
            draft.file.variables.insert(variable, String::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_is_one_variable_and_none_is_shown() {
        let mut secrets = Secrets::default();
        assert_eq!(secrets.template("sap-password", "a", ""), "${sap_password}");
        assert_eq!(secrets.template("sap-password", "a", ""), "${sap_password}");
        assert_eq!(secrets.template("SAP-PASSWORD", "b", ""), "${sap_password_2}");
        assert_eq!(format!("{secrets:?}"), "Secrets(2)");
        let mut draft = Draft::default();
        secrets.declare(&mut draft);
        assert_eq!(draft.file.variables.values().collect::<Vec<_>>(), ["", ""]);
    }
}
