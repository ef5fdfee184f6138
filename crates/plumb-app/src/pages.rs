//! The page application: text pages from templates, images from the repository.

use crate::answer::{Answer, Failure, HTML};
use crate::program::Scene;
use crate::session::{CLIENT, Context, LANGUAGE};
use crate::step::Step;
use crate::url::SapPath;

/// The values of a page.
struct Page<'a> {
    user: &'a str,
    language: String,
    client: String,
}

impl Scene for Page<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "user" => Some(self.user),
            "language" => Some(&self.language),
            "client" => Some(&self.client),
            _ => None,
        }
    }
}

/// The page at `below` the root of pages.
///
/// # Errors
/// [`Failure`] when there is none, or the database fails.
pub(crate) fn text(
    step: &mut Step<'_>,
    context: &Context,
    path: SapPath<'_>,
    below: &str,
) -> Result<Answer, Failure> {
    let program = step.program(&name(below))?;
    let page = Page {
        user: &context.user,
        language: path.value("l").unwrap_or_else(|| LANGUAGE.into()),
        client: path.value("c").unwrap_or_else(|| CLIENT.into()),
    };
    Ok(Answer::new(HTML, program.render(&page, step.database)?))
}

/// The image called `name`.
///
/// # Errors
/// [`Failure`] when there is none, or the database fails.
pub(crate) fn image(step: &mut Step<'_>, name: &str) -> Result<Answer, Failure> {
    let row = step.database.row("SELECT content FROM mime WHERE name = $1", &[name.into()])?;
    let mut row = row.ok_or_else(|| Failure::not_found(format!("there is no image `{name}`")))?;
    let mut answer = Answer::new("image/gif", row.take_bytes(0));
    answer.keep = true;
    Ok(answer)
}

/// The name in the repository of an image at `below`, if that is one.
pub(crate) fn image_name(below: &str) -> Option<String> {
    let name = name(below);
    name.ends_with(".gif").then_some(name)
}

/// The name of what lies at `below`: its application and its file, in small letters. Paths with
/// and without a name space (`sap/it03/...`) are the same.
fn name(below: &str) -> String {
    let below = below.to_ascii_lowercase();
    let below = below.strip_prefix("sap/").unwrap_or(&below);
    if below.contains('/') { below.into() } else { format!("it03/{below}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_in_use_lead_to_the_same_page() {
        for path in ["sap/it03/text1KB.htm", "it03/text1kb.htm", "sap/text1kb.htm"] {
            assert_eq!(name(path), "it03/text1kb.htm");
        }
        assert_eq!(image_name("sap/it03/image4KB.gif").as_deref(), Some("it03/image4kb.gif"));
        assert_eq!(image_name("it03/text1kb.htm"), None);
    }
}
