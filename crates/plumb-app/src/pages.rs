//! The page application: text pages from templates, images from the repository.

use crate::answer::{Answer, Failure, HTML};
use crate::program::Scene;
use crate::session::{CLIENT, Context, LANGUAGE};
use crate::step::Step;
use crate::url::Segment;

/// The values of a page.
struct Page<'a> {
    user: &'a str,
    language: &'a str,
    client: &'a str,
}

impl Scene for Page<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "user" => Some(self.user),
            "language" => Some(self.language),
            "client" => Some(self.client),
            _ => None,
        }
    }
}

/// The page called `name`, in the language and for the client of `segment`.
///
/// # Errors
/// [`Failure`] when there is none, or the database fails.
pub(crate) fn text(
    step: &mut Step<'_>,
    context: &Context,
    segment: &Segment,
    name: &str,
) -> Result<Answer, Failure> {
    let program = step.program(name)?;
    let page = Page {
        user: &context.user,
        language: segment.language.as_deref().unwrap_or(LANGUAGE),
        client: segment.client.as_deref().unwrap_or(CLIENT),
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
