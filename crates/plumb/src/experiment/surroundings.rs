//! What shell commands find around them: the folder in which they run, and the variables of the
//! environment that they name. Blocks that were measured with others do not belong together.

use plumb_experiment::inputs::hexadecimal;
use std::collections::BTreeSet;
use std::env;

use plumb_lab::Surroundings;
use ring::digest::{SHA256, digest};

use super::plan::Plan;

/// A variable that is not there.
const UNSET: &str = "unset";

/// The surroundings of the shell commands of `plan`; `None` when it has none.
pub(super) fn of(plan: &Plan) -> Option<Surroundings> {
    let commands = plan.shell_commands();
    let mut names: BTreeSet<String> = BTreeSet::new();
    commands.iter().for_each(|command| names.extend(variables(command)));
    (!commands.is_empty()).then(|| Surroundings {
        folder: env::current_dir().map_or_else(|_| "?".into(), |path| path.display().to_string()),
        variables: names.into_iter().map(|name| (name.clone(), state(&name, plan.seed))).collect(),
    })
}

/// In what the surroundings differ from those in which the experiment was begun, in words.
pub(crate) fn changes(plan: &Plan, begun: Option<&Surroundings>) -> Vec<String> {
    let (Some(begun), Some(now)) = (begun, of(plan)) else {
        return Vec::new(); // where that was not written down nobody can tell
    };
    let mut changes = Vec::new();
    if begun.folder != now.folder {
        changes.push(format!(
            "its commands ran in the folder {}, and this one is {}",
            begun.folder, now.folder
        ));
    }
    let is_gone = |state: &str| state == UNSET;
    for (name, state) in &now.variables {
        let before = begun.variables.get(name).map_or(UNSET, String::as_str);
        if before == state {
            continue;
        }
        changes.push(match (is_gone(before), is_gone(state)) {
            (true, _) => format!("the variable {name} of the environment was not set, and is"),
            (_, true) => format!("the variable {name} of the environment was set, and is not"),
            _ => format!("the variable {name} of the environment has another value"),
        });
    }
    changes
}

/// The value of a variable may be a secret: a digest with the seed before it is written down.
fn state(name: &str, seed: u64) -> String {
    match env::var_os(name) {
        Some(value) => {
            let salted = [&seed.to_be_bytes(), value.as_encoded_bytes()].concat();
            format!("sha256 {}", hexadecimal(digest(&SHA256, &salted).as_ref()))
        }
        None => UNSET.into(),
    }
}

/// The variables that a shell command names, set by itself or by whoever started it.
fn variables(command: &str) -> BTreeSet<String> {
    let names = command.split('$').skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let name = &rest[..end.unwrap_or(rest.len())];
        // every shell sets `_` anew
        let is_name = name != "_" && name.chars().next().is_some_and(|it| !it.is_ascii_digit());
        is_name.then(|| name.to_owned())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_command_are_those_that_it_names() {
        let named: Vec<String> =
            variables("x=$HOME/${RATE:-5}; echo $1 $$ $? $((2*$N)) \"$x\"").into_iter().collect();
        assert_eq!(named, ["HOME", "N", "RATE", "x"]);
        assert!(variables("echo 5").is_empty());
    }

    #[test]
    fn of_a_value_only_a_digest_is_written_down() {
        assert_eq!(state("PLUMB_NOBODY_SETS_THIS", 1), UNSET);
        let path = state("PATH", 1);
        assert!(path.starts_with("sha256 ") && path.len() == 71, "{path}");
        assert_ne!(path, state("PATH", 2), "the same secret in two experiments looks different");
    }
}
