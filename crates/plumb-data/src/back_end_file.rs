//! `back-ends.toml`: the HTTP servers that calls of transactions name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plumb_engine::tls::TrustOptions;
use plumb_measure::{ByteSize, Span};
use plumb_serve::accounts::authorization;
use plumb_serve::link::Encryption;
use plumb_wire::document::{self, Wrong};
use plumb_wire::http::{Scheme, Url};
use serde::Deserialize;
use toml::Spanned;

use super::described::{Description, described};
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
    ca: Option<Spanned<PathBuf>>,
    cert: Option<Spanned<PathBuf>>,
    key: Option<Spanned<PathBuf>>,
    server_name: Option<Spanned<String>>,
    user: Option<Spanned<String>>,
    password_file: Option<Spanned<PathBuf>>,
    #[serde(default)]
    keep: Keep,
    #[serde(default)]
    keys: Keys,
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

/// Whether calls carry `Idempotency-Key`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// Those of messages of the queue do.
    #[default]
    Send,
    /// For back ends that refuse it.
    Omit,
}

/// A back end, checked.
#[derive(Clone)]
pub struct BackEndPlan {
    /// What transactions call it.
    pub name: String,
    /// `HOST:PORT`.
    pub host: String,
    /// `None`: nothing is encrypted.
    pub(super) encryption: Option<Encryption>,
    pub(super) description: Description,
    /// What goes before each target; without a `/` at its end.
    pub base: String,
    /// The value of the header line `Authorization`.
    pub(super) authorization: Option<String>,
    /// What becomes of a connection after its answer.
    pub keep: Keep,
    /// Whether calls carry keys.
    pub keys: Keys,
    /// Connections at most.
    pub connections: usize,
    /// For a request from the first attempt to connect to the end of its answer.
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
    // before the files are read: one that changes meanwhile is another one the next time
    let description = description(folder, file);
    Ok(BackEndPlan {
        encryption: encryption(text, folder, file, &url)?,
        description,
        name: name.get_ref().clone(),
        host: url.host_and_port(),
        base: url.target().trim_end_matches('/').to_owned(),
        authorization: authorized(text, folder, file)?,
        keep: file.keep,
        keys: file.keys,
        connections,
        timeout: file.timeout.unwrap_or(Span::from_ms(30_000)),
        retries: file.retries.unwrap_or(0),
        retry_interval: file.retry_interval.unwrap_or(Span::from_ms(1_000)),
        answer_size: usize::try_from(size).unwrap_or(usize::MAX),
    })
}

/// What tells the back end from others: all that is written of it but the places, and its files.
fn description(folder: &Path, file: &BackEndFile) -> Description {
    let BackEndFile { user, password_file, ca, cert, key, server_name, .. } = file;
    let BackEndFile { keep, keys, connections, timeout, retries, .. } = file;
    let BackEndFile { retry_interval, answer_size, .. } = file;
    let connections = connections.as_ref().map(|it| *it.get_ref());
    let settings = (
        (file.url.get_ref(), keep, connections, timeout, retries, retry_interval, answer_size),
        (user.as_ref().map(Spanned::get_ref), server_name.as_ref().map(Spanned::get_ref), keys),
        // which file is which
        [password_file, ca, cert, key].map(|file| file.as_ref().map(Spanned::get_ref)),
    );
    let files = [password_file, ca, cert, key].into_iter().flatten();
    Description::of(&settings, files.map(|file| folder.join(file.get_ref())).collect())
}

/// Whom the back end is believed to be, and who we say we are.
fn encryption(
    text: &str,
    folder: &Path,
    file: &BackEndFile,
    url: &Url,
) -> Result<Option<Encryption>, Wrong> {
    let BackEndFile { ca, cert, key, server_name, .. } = file;
    let name = server_name.as_ref().map(Spanned::span);
    let mut given = [ca, cert, key].into_iter().flatten().map(Spanned::span).chain(name);
    if url.scheme() == Scheme::Http {
        let problem = "it means nothing without TLS: write https:// in `url`";
        return given.next().map_or(Ok(None), |at| Err(Wrong::at(text, &at, problem)));
    }
    let below = |file: &Option<Spanned<PathBuf>>| Some(folder.join(file.as_ref()?.get_ref()));
    let trust = TrustOptions {
        ca: below(ca),
        cert: below(cert),
        key: below(key),
        server_name: server_name.as_ref().map(|name| name.get_ref().clone()),
        tls_resume: true,
    };
    let at = given.next().unwrap_or(file.url.span());
    Encryption::new(&trust, url.host())
        .map(Some)
        .map_err(|error| Wrong::at(text, &at, error.to_string()))
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
    use proptest::prelude::*;

    use super::*;
    use plumb_mutation::mutated;

    const ALL: &[&str] = &[
        "[back-end.erp]\nurl = \"http://erp.example:8000/sap\"\nabout = \"ours\"\n\
         keep = \"sessions\"\nconnections = 16\ntimeout = \"30s\"\nretries = 0\n\
         retry-interval = \"1s\"\nanswer-size = \"1MiB\"\n",
        "[back-end]\n[back-end.\"a b\"]\nurl = 'https://[::1]/'\nca = \"ca.pem\"\nserver-name = \"b\"\n",
    ];

    proptest! {
        #[test]
        fn what_is_nearly_right_is_read_or_refused_with_its_place(text in mutated(ALL)) {
            match parse(&text, Path::new("/nowhere")) {
                Ok(plans) => prop_assert!(plans.iter().all(|it| (1..=1000).contains(&it.connections))),
                Err(wrong) => {
                    prop_assert!((1..=text.lines().count() + 1).contains(&wrong.line), "{wrong}");
                    prop_assert!(!wrong.problem.is_empty());
                }
            }
        }
    }

    #[test]
    fn the_settings_of_a_back_end_are_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("erp.password"), "secret\n").unwrap();
        let text = "[back-end.erp]\nurl = \"http://erp:8000/sap/\"\nuser = \"mii\"\n\
            password-file = \"erp.password\"\nkeep = \"nothing\"\nkeys = \"omit\"\nconnections = 4\n\
            timeout = \"5s\"\nretries = 2\nretry-interval = \"10ms\"\nanswer-size = \"2MiB\"\n";
        let plans = parse(text, folder.path()).unwrap();
        let erp = &plans[0];
        assert_eq!((erp.host.as_str(), erp.base.as_str()), ("erp:8000", "/sap"));
        assert_eq!((erp.keep, erp.connections, erp.retries), (Keep::Nothing, 4, 2));
        assert_eq!(erp.keys, Keys::Omit);
        assert_eq!(erp.answer_size, 2 << 20);
        assert_eq!(erp.authorization.as_deref(), Some("Basic bWlpOnNlY3JldA=="));
        assert!(!format!("{erp:?}").contains("bWlp"), "{erp:?}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_without_passwords() {
        for (text, expected) in [
            ("[back-end.a]\nurl = \"http://u:secret@h/\"", "line 2, column 7: a name stands"),
            ("[back-end.a]\nurl = \"ftp://h/\"", "line 2, column 7"),
            ("[back-end.a]\nurl = \"http://h/\"\nca = \"a\"", "line 3, column 6: it means nothing"),
            ("[back-end.a]\nurl = \"https://h/\"\nca = \"none\"", "cannot read /flows/none"),
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
