//! `back-ends.toml`: the HTTP servers that calls of transactions name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plumb_measure::{ByteSize, Span};
use plumb_serve::accounts::authorization;
use plumb_wire::document::{self, Wrong};
use plumb_wire::http::{Scheme, Url};
use serde::Deserialize;
use toml::Spanned;

use super::described::described;
use super::file::first_line;

/// The name of the file, in the folder of the transactions.
pub const FILE: &str = "back-ends.toml";
/// Connections to one back end at most.
const CONNECTIONS_MAX: usize = 1_000;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BackEndsFile {
    #[serde(default)]
    back_end: BTreeMap<Spanned<String>, BackEndFile>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BackEndFile {
    url: Spanned<String>,
    #[serde(rename = "about")]
    _about: Option<String>,
    user: Option<Spanned<String>>,
    password_file: Option<Spanned<PathBuf>>,
    #[serde(default)]
    keep: Keep,
    connections: Option<Spanned<usize>>,
    timeout: Option<Span>,
    retries: Option<u32>,
    retry_interval: Option<Span>,
    answer_size: Option<ByteSize>,
}

/// What becomes of a connection after its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// It waits for the next request.
    #[default]
    Sessions,
    /// It is closed: each request connects anew.
    Nothing,
}

/// A back end, checked.
#[derive(Clone)]
pub struct BackEndPlan {
    /// What transactions call it.
    pub name: String,
    /// `HOST:PORT`.
    pub host: String,
    /// What goes before each target; without a `/` at its end.
    pub base: String,
    /// The value of the header line `Authorization`.
    pub(super) authorization: Option<String>,
    /// What becomes of a connection after its answer.
    pub keep: Keep,
    /// Connections at most.
    pub connections: usize,
    /// Until connected, and until the next bytes.
    pub timeout: Span,
    /// How many times more it is tried when nobody answers.
    pub retries: u32,
    /// Between two of those.
    pub retry_interval: Span,
    /// Bytes of an answer at most.
    pub answer_size: usize,
}

// derived, it would show the password
impl std::fmt::Debug for BackEndPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackEndPlan")
            .field("name", &self.name)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// The back ends of `folder`; none when it has no such file.
///
/// # Errors
/// What is wrong in the file, with its place.
pub(super) fn read(folder: &Path) -> Result<Vec<BackEndPlan>, String> {
    described(&folder.join(FILE), |text| parse(text, folder))
}

/// The back ends that `text` describes; files that it names are looked for in `folder`.
pub(super) fn parse(text: &str, folder: &Path) -> Result<Vec<BackEndPlan>, Wrong> {
    let file: BackEndsFile = document::read(text)?;
    file.back_end.iter().map(|(name, it)| plan(text, folder, name, it)).collect()
}

fn plan(
    text: &str,
    folder: &Path,
    name: &Spanned<String>,
    file: &BackEndFile,
) -> Result<BackEndPlan, Wrong> {
    let wrong = |problem: String| Wrong::at(text, &file.url.span(), problem);
    let url = file.url.get_ref();
    if url.contains('@') {
        let mut wrong = wrong("a name stands in the URL: write `user` and `password-file`".into());
        wrong.excerpt = String::new(); // it may show a password
        return Err(wrong);
    }
    let url = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
    if url.scheme() != Scheme::Http {
        return Err(wrong("write http://HOST:PORT: a back end is not reached over TLS".into()));
    }
    if url.target().contains('?') {
        return Err(wrong("a query belongs to the `target` of a call".into()));
    }
    let connections = file.connections.as_ref().map_or(16, |it| *it.get_ref());
    if let Some(written) = &file.connections
        && !(1..=CONNECTIONS_MAX).contains(&connections)
    {
        return Err(Wrong::at(text, &written.span(), "a back end has 1 to 1000 connections"));
    }
    let size = file.answer_size.map_or(1 << 20, ByteSize::bytes);
    Ok(BackEndPlan {
        name: name.get_ref().clone(),
        host: url.host_and_port(),
        base: url.target().trim_end_matches('/').to_owned(),
        authorization: authorized(text, folder, file)?,
        keep: file.keep,
        connections,
        timeout: file.timeout.unwrap_or(Span::from_ms(30_000)),
        retries: file.retries.unwrap_or(0),
        retry_interval: file.retry_interval.unwrap_or(Span::from_ms(1_000)),
        answer_size: usize::try_from(size).unwrap_or(usize::MAX),
    })
}

fn authorized(text: &str, folder: &Path, file: &BackEndFile) -> Result<Option<String>, Wrong> {
    match (&file.user, &file.password_file) {
        (None, None) => Ok(None),
        (Some(user), Some(path)) => {
            let password = first_line(&folder.join(path.get_ref()));
            let password = password.map_err(|error| Wrong::at(text, &path.span(), error))?;
            Ok(Some(authorization(user.get_ref(), &password)))
        }
        (Some(user), None) => Err(Wrong::at(text, &user.span(), "`user` needs `password-file`")),
        (None, Some(path)) => Err(Wrong::at(text, &path.span(), "`password-file` needs `user`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_a_back_end_are_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("erp.password"), "secret\n").unwrap();
        let text = "[back-end.erp]\nurl = \"http://erp:8000/sap/\"\nuser = \"mii\"\n\
            password-file = \"erp.password\"\nkeep = \"nothing\"\nconnections = 4\n\
            timeout = \"5s\"\nretries = 2\nretry-interval = \"10ms\"\nanswer-size = \"2MiB\"\n";
        let plans = parse(text, folder.path()).unwrap();
        let erp = &plans[0];
        assert_eq!((erp.host.as_str(), erp.base.as_str()), ("erp:8000", "/sap"));
        assert_eq!((erp.keep, erp.connections, erp.retries), (Keep::Nothing, 4, 2));
        assert_eq!(erp.answer_size, 2 << 20);
        assert_eq!(erp.authorization.as_deref(), Some("Basic bWlpOnNlY3JldA=="));
        assert!(!format!("{erp:?}").contains("bWlp"), "{erp:?}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_without_passwords() {
        for (text, expected) in [
            ("[back-end.a]\nurl = \"http://u:secret@h/\"", "line 2, column 7: a name stands"),
            ("[back-end.a]\nurl = \"https://h/\"", "not reached over TLS"),
            ("[back-end.a]\nurl = \"http://h/?a=b\"", "belongs to the `target`"),
            ("[back-end.a]\nurl = \"http://h\"\nuser = \"u\"", "`user` needs `password-file`"),
            ("[back-end.a]\nurl = \"http://h\"\nconnections = 0", "1 to 1000 connections"),
            ("[back-end.a]\nurl = \"http://h\"\ntimeuot = \"1s\"", "did you mean `timeout`?"),
        ] {
            let error = parse(text, Path::new("/flows")).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("secret"), "{text}: {error}");
        }
    }
}
