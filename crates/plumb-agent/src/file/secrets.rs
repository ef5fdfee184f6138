//! Passwords and tokens, which stand in a file of their own or in the environment.

use std::path::PathBuf;

use plumb_wire::document::Wrong;
use plumb_wire::secret::first_line;
use toml::Spanned;

use super::Place;

/// The secret that a file or a variable holds; `None` where neither is named.
pub(super) fn secret(
    place: &Place<'_>,
    file: Option<&Spanned<PathBuf>>,
    variable: Option<&Spanned<String>>,
) -> Result<Option<String>, Wrong> {
    match (file, variable) {
        (None, None) => Ok(None),
        (Some(file), None) => {
            let path = place.folder.join(file.get_ref());
            let text = std::fs::read_to_string(&path).map_err(|error| {
                let problem = format!("cannot read {}: {error}", path.display());
                place.wrong(&file.span(), problem)
            })?;
            let line = first_line(&text).to_owned();
            if line.is_empty() {
                let problem = format!("the first line of {} is empty", path.display());
                return Err(place.wrong(&file.span(), problem));
            }
            Ok(Some(line))
        }
        (None, Some(variable)) => match std::env::var(variable.get_ref()) {
            Ok(value) if !value.is_empty() => Ok(Some(value)),
            _ => {
                let name = variable.get_ref();
                let problem = format!("the environment has no variable {name} with a text");
                Err(place.wrong(&variable.span(), problem))
            }
        },
        (Some(_), Some(variable)) => {
            Err(place.wrong(&variable.span(), "name a file or a variable, not both"))
        }
    }
}
