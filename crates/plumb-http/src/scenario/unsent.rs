//! Why a request cannot be made.

use plumb_scenario::template::Missing;
use plumb_scenario::variables::Names;
use plumb_wire::http::Url;

/// Why a request cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unsent {
    /// A variable has no text.
    Missing(Missing),
    /// The path is no address.
    NoUrl(String),
    /// The path leads to another server.
    Elsewhere(String),
    /// The value of a header would end its line.
    Header(Box<str>),
}

impl Unsent {
    /// The reason in words.
    pub(crate) fn words(&self, names: &Names) -> String {
        match self {
            Self::Missing(missing) => missing.words(names),
            Self::NoUrl(problem) => problem.clone(),
            Self::Elsewhere(url) => format!("{url} is on another server: {}", name_it(url)),
            Self::Header(name) => format!("the value of {name} holds the end of a line"),
        }
    }
}

/// How a scenario allows for the server of `url`.
pub(crate) fn name_it(url: &str) -> String {
    let origin = Url::parse(url).ok().and_then(|url| url.join("/").ok());
    let origin = origin.map_or(String::new(), |it| it.to_string());
    format!("where it may go there, write hosts = [\"{}\"]", origin.trim_end_matches('/'))
}
