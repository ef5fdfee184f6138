//! What an action did, in words.

use std::fmt;

use super::Traced;

impl fmt::Display for Traced<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(values) => {
                for (number, (name, value)) in values.iter().enumerate() {
                    let separator = if number == 0 { "" } else { ", " };
                    match value {
                        Some(value) => write!(f, "{separator}{name} = {value}")?,
                        None => write!(f, "{separator}{name} is not there")?,
                    }
                }
                Ok(())
            }
            Self::Rows(1) => f.write_str("1 row"),
            Self::Rows(rows) => write!(f, "{rows} rows"),
            Self::Branch(Some(branch)) => write!(f, "takes branch {branch}"),
            Self::Branch(None) => f.write_str("takes no branch"),
            Self::Log(text) => write!(f, "logs {text}"),
            Self::Response(response) => {
                write!(f, "responds {} {}", response.status, response.media_type)
            }
            Self::Called(name) => write!(f, "calls {name}"),
            Self::Transformed(bytes) => write!(f, "makes a document of {bytes} bytes"),
        }
    }
}
