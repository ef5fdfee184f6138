//! What an action did, in words.

use std::fmt;

use plumb_wire::secret;

use super::Traced;

/// Names and values, but none of what is called a secret.
fn named(f: &mut fmt::Formatter<'_>, values: &[(&str, Option<&str>)], absent: &str) -> fmt::Result {
    for (number, (name, value)) in values.iter().enumerate() {
        let separator = if number == 0 { "" } else { ", " };
        match value {
            Some(_) if secret::is_of_log_on(name) => write!(f, "{separator}{name} = (not shown)")?,
            Some(value) => write!(f, "{separator}{name} = {value}")?,
            None => write!(f, "{separator}{name} {absent}")?,
        }
    }
    Ok(())
}

impl fmt::Display for Traced<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(values) => named(f, values, "is not there"),
            Self::Rows(1) => f.write_str("1 row"),
            Self::Rows(rows) => write!(f, "{rows} rows"),
            Self::Branch(Some(branch)) => write!(f, "takes branch {branch}"),
            Self::Branch(None) => f.write_str("takes no branch"),
            Self::Log(text) => write!(f, "logs {text}"),
            Self::Response(response) => {
                write!(f, "responds {} {}", response.status, response.media_type)
            }
            Self::Statement { text, values } => {
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                f.write_str(&text)?;
                if !values.is_empty() {
                    f.write_str(" with ")?;
                }
                named(f, values, "is NULL")
            }
            Self::Answer(answer) if answer.first.is_empty() => {
                let rows = if answer.changed == 1 { "row" } else { "rows" };
                write!(f, "changes {} {rows}", answer.changed)
            }
            Self::Answer(answer) => {
                let rows = if answer.changed == 1 { "row" } else { "rows" };
                write!(f, "brings {} {rows}", answer.changed)?;
                if answer.changed > 0 {
                    let first: Vec<_> =
                        answer.first.iter().map(|(name, it)| (&**name, it.as_deref())).collect();
                    f.write_str(": ")?;
                    named(f, &first, "is NULL")?;
                }
                Ok(())
            }
            Self::BackEnd { target, answer } => {
                let (status, bytes) = (answer.status, answer.body.len());
                let target = secret::masked_url(target);
                write!(f, "asks for {target}: {status}, {bytes} bytes")
            }
            Self::Called(name) => write!(f, "calls {name}"),
            Self::Transformed(bytes) => write!(f, "makes a document of {bytes} bytes"),
        }
    }
}
