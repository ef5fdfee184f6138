//! Parameters of shell commands: the values of each, and every choice of them.

use std::collections::BTreeMap;
use std::str::FromStr;

use anyhow::ensure;

/// Choices at most.
const CHOICES_MAX: usize = 100;

/// A name and its values, as `threads=1,2,4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    name: String,
    values: Vec<String>,
}

impl FromStr for Parameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: expected NAME=VALUE,VALUE,... as in threads=1,2,4");
        let (name, values) = text.split_once('=').ok_or_else(wrong)?;
        let sound = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let values: Vec<String> = values.split(',').map(|it| it.trim().to_owned()).collect();
        if name.is_empty() || !name.chars().all(sound) || values.iter().any(String::is_empty) {
            return Err(wrong());
        }
        Ok(Self { name: name.into(), values })
    }
}

/// One value of each parameter; of none where there are no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice(Vec<(String, String)>);

impl Choice {
    /// In tables and reports, for example `threads 4, size 1k`; empty without parameters.
    pub(super) fn name(&self) -> String {
        let words: Vec<String> = self.0.iter().map(|(k, v)| format!("{k} {v}")).collect();
        words.join(", ")
    }

    /// The values by their names.
    pub(super) fn values(&self) -> BTreeMap<String, String> {
        self.0.iter().cloned().collect()
    }

    /// `command` with the values in the place of their names. What else stands as `${...}` is the
    /// shell's.
    pub(super) fn fill(&self, command: &str) -> String {
        let named = self.0.iter();
        named.fold(command.to_owned(), |text, (k, v)| text.replace(&format!("${{{k}}}"), v))
    }
}

/// Every choice of `parameters`, in order; a single one without values where there are none.
pub(super) fn choices(parameters: &[Parameter]) -> anyhow::Result<Vec<Choice>> {
    let count: usize = parameters.iter().map(|it| it.values.len()).product();
    ensure!(count <= CHOICES_MAX, "{count} choices of parameters: at most {CHOICES_MAX}");
    let mut names: Vec<&str> = parameters.iter().map(|it| it.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    ensure!(names.len() == parameters.len(), "--parameter names one parameter twice");
    let mut all = vec![Choice::default()];
    for parameter in parameters {
        let with = |choice: &Choice, value: &String| {
            let mut more = choice.0.clone();
            more.push((parameter.name.clone(), value.clone()));
            Choice(more)
        };
        all = all
            .iter()
            .flat_map(|choice| parameter.values.iter().map(|value| with(choice, value)))
            .collect();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_all_parameters_is_taken_once() {
        let of = |text: &str| text.parse::<Parameter>().unwrap();
        let all = choices(&[of("n=1,2"), of("how=a,b")]).unwrap();
        let names: Vec<String> = all.iter().map(Choice::name).collect();
        assert_eq!(names, ["n 1, how a", "n 1, how b", "n 2, how a", "n 2, how b"]);
        assert_eq!(all[3].fill("x ${n} ${how} ${HOME}"), "x 2 b ${HOME}");
        assert_eq!(choices(&[]).unwrap(), [Choice::default()]);
        assert!(choices(&[of("n=1"), of("n=2")]).is_err());
        for bad in ["n", "=1", "n=1,,2", "a b=1"] {
            assert!(bad.parse::<Parameter>().is_err(), "{bad}");
        }
    }
}
