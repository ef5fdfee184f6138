//! `data-servers.toml`: the databases that statements of transactions name.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use plumb_measure::Span;
use plumb_serve::database::{
    DatabaseLimits, DatabaseTarget, LimitSettings, Secret, authorities_of, holds_password,
};
use plumb_wire::document::{self, Wrong};
use plumb_wire::secret;
use serde::Deserialize;
use toml::Spanned;

use super::described::{Description, described};

/// The name of the file, in the folder of the transactions.
pub const FILE: &str = "data-servers.toml";
/// What an error of a limit names.
const LIMIT_SETTINGS: LimitSettings = LimitSettings {
    connect: "connect-timeout of data-servers.toml",
    statement: "timeout of data-servers.toml",
};
/// Bytes of a file with a password that are looked at.
const PASSWORD_BYTES_MAX: u64 = 4 << 10;
/// Sessions of a pool at most.
const SESSIONS_MAX: usize = 1_000;

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ServersFile {
    #[serde(default)]
    server: BTreeMap<Spanned<String>, ServerFile>,
}

/// A data server as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ServerFile {
    url: Spanned<String>,
    password_file: Option<Spanned<PathBuf>>,
    #[serde(rename = "about")]
    _about: Option<String>,
    enabled: Option<bool>,
    #[serde(default)]
    pool: PoolFile,
    connect_timeout: Option<Span>,
    timeout: Option<Span>,
    retries: Option<u32>,
    retry_interval: Option<Span>,
    use_count: Option<u64>,
    validation_query: Option<String>,
    init_command: Option<String>,
    date_form: Option<Spanned<DateForm>>,
    retention: Option<Span>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PoolFile {
    initial: Option<Spanned<usize>>,
    maximum: Option<Spanned<usize>>,
    wait: Option<Span>,
}

/// The order in which a date is read that does not begin with its year, and in which dates are
/// written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateForm {
    /// `2025-12-31`.
    #[default]
    YearMonthDay,
    /// `31.12.2025`.
    DayMonthYear,
    /// `12/31/2025`.
    MonthDayYear,
}

/// A data server, checked.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    /// What transactions call it.
    pub name: String,
    /// Where it is.
    pub target: DatabaseTarget,
    /// False: statements for it are refused.
    pub enabled: bool,
    /// Sessions that are opened at the start.
    pub initial: usize,
    /// Sessions at most.
    pub maximum: usize,
    /// How long a message waits for a session.
    pub wait: Span,
    /// How many times more a log-on is tried.
    pub retries: u32,
    /// Between two of those.
    pub retry_interval: Span,
    /// A session is replaced after so many uses; 0: never.
    pub use_count: u64,
    /// Asked before each use of a session.
    pub validation_query: Option<String>,
    /// Done after each log-on.
    pub init_command: Option<String>,
    /// How long the ids of messages that are done are kept in the database.
    pub retention: Span,
    pub(super) description: Description,
}

impl ServerPlan {
    /// A server with the settings that it has when nothing is said.
    #[must_use]
    pub fn new(name: &str, target: DatabaseTarget) -> Self {
        Self {
            name: name.into(),
            target,
            enabled: true,
            initial: 0,
            maximum: 16,
            wait: Span::from_ms(30_000),
            retries: 0,
            retry_interval: Span::from_ms(1_000),
            use_count: 0,
            validation_query: None,
            init_command: None,
            retention: Span::from_ms(7 * 24 * 3_600_000),
            description: Description::default(),
        }
    }
}

/// The data servers of `folder`; none when it has no such file.
///
/// # Errors
/// What is wrong in the file, with its place.
pub(super) fn read(folder: &Path) -> Result<Vec<ServerPlan>, String> {
    described(&folder.join(FILE), |text| parse(text, folder))
}

/// The data servers that `text` describes; files that it names are looked for in `folder`.
///
/// # Errors
/// [`Wrong`] with the place.
pub(super) fn parse(text: &str, folder: &Path) -> Result<Vec<ServerPlan>, Wrong> {
    let file: ServersFile = document::read(text)?;
    file.server.iter().map(|(name, server)| plan(text, folder, name, server)).collect()
}

fn plan(
    text: &str,
    folder: &Path,
    name: &Spanned<String>,
    file: &ServerFile,
) -> Result<ServerPlan, Wrong> {
    // before the files are read: one that changes meanwhile is another one the next time
    let description = description(folder, file);
    let target = target(text, folder, file)?;
    let default = ServerPlan::new(name.get_ref(), target);
    let maximum = file.pool.maximum.as_ref().map_or(default.maximum, |it| *it.get_ref());
    if let Some(written) = &file.pool.maximum
        && !(1..=SESSIONS_MAX).contains(&maximum)
    {
        return Err(Wrong::at(text, &written.span(), "a pool has 1 to 1000 sessions"));
    }
    let initial = file.pool.initial.as_ref().map_or(0, |it| *it.get_ref());
    if let Some(written) = &file.pool.initial
        && initial > maximum
    {
        let problem = format!("initial is at most maximum, which is {maximum}");
        return Err(Wrong::at(text, &written.span(), problem));
    }
    Ok(ServerPlan {
        enabled: file.enabled.unwrap_or(true),
        initial,
        maximum,
        wait: file.pool.wait.unwrap_or(default.wait),
        retries: file.retries.unwrap_or(default.retries),
        retry_interval: file.retry_interval.unwrap_or(default.retry_interval),
        use_count: file.use_count.unwrap_or(default.use_count),
        validation_query: file.validation_query.clone(),
        init_command: init_command(text, file)?,
        retention: file.retention.unwrap_or(default.retention),
        description,
        ..default
    })
}

/// What tells the server from others: all that is written of it but the places, and its files.
fn description(folder: &Path, file: &ServerFile) -> Description {
    let ServerFile { enabled, connect_timeout, timeout, retries, retry_interval, .. } = file;
    let ServerFile { use_count, validation_query, init_command, retention, .. } = file;
    let pool = &file.pool;
    let number = |it: &Option<Spanned<usize>>| it.as_ref().map(|it| *it.get_ref());
    let settings = (
        (file.url.get_ref(), enabled, number(&pool.initial), number(&pool.maximum), pool.wait),
        (connect_timeout, timeout, retries, retry_interval, use_count),
        (validation_query, init_command, file.date_form.as_ref().map(Spanned::get_ref), retention),
    );
    let password = file.password_file.as_ref().map(|path| folder.join(path.get_ref()));
    // the driver takes this one from where the program runs
    let authorities = authorities_of(file.url.get_ref()).map(PathBuf::from);
    Description::of(&settings, password.into_iter().chain(authorities).collect())
}

fn target(text: &str, folder: &Path, file: &ServerFile) -> Result<DatabaseTarget, Wrong> {
    let url = file.url.get_ref();
    let at = file.url.span();
    if holds_password(url) {
        let problem = "a password stands in the URL: write it alone into a file, and the name of \
            that file as `password-file`";
        // the excerpt of the line would show it
        let mut wrong = Wrong::at(text, &at, problem);
        wrong.excerpt = String::new();
        return Err(wrong);
    }
    let password = match &file.password_file {
        Some(path) => {
            let line = first_line(&folder.join(path.get_ref()));
            let line = line.map_err(|problem| Wrong::at(text, &path.span(), problem))?;
            Some(Secret::from(line))
        }
        None => None,
    };
    let default = DatabaseLimits::default();
    let limits = DatabaseLimits {
        connect: file.connect_timeout.unwrap_or(default.connect),
        statement: file.timeout.unwrap_or(default.statement),
        settings: Some(LIMIT_SETTINGS),
    };
    let url =
        if url.contains("://") { url.clone() } else { folder.join(url).display().to_string() };
    DatabaseTarget::parse(&url, password.as_ref(), limits)
        .map_err(|error| Wrong::at(text, &at, error.to_string()))
}

/// The first line of a file that holds a password.
pub(super) fn first_line(path: &Path) -> Result<String, String> {
    let unreadable = |error| format!("cannot read {}: {error}", path.display());
    let mut text = String::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    file.take(PASSWORD_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    match secret::first_line(&text) {
        "" => Err(format!("{} is empty: its first line is the password", path.display())),
        password => Ok(password.to_owned()),
    }
}

/// What is said to each new session: how dates are read, then the command of the file.
fn init_command(text: &str, file: &ServerFile) -> Result<Option<String>, Wrong> {
    let own = file.init_command.clone();
    let Some(form) = &file.date_form else { return Ok(own) };
    let style = match form.get_ref() {
        DateForm::YearMonthDay => "ISO, YMD",
        DateForm::DayMonthYear => "ISO, DMY",
        DateForm::MonthDayYear => "ISO, MDY",
    };
    if !file.url.get_ref().contains("://") {
        let problem = "SQLite keeps dates as the texts that they are: leave date-form out";
        return Err(Wrong::at(text, &form.span(), problem));
    }
    let set = format!("SET datestyle = '{style}'");
    Ok(Some(own.map_or(set.clone(), |own| format!("{set}; {own}"))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use plumb_mutation::mutated;

    const ALL: &[&str] = &[
        "[server.plant]\nurl = \"postgres://mii@db.example/plant?sslmode=require\"\nabout = \"ours\"\n\
         enabled = true\npool = { initial = 1, maximum = 16, wait = \"30s\" }\n\
         connect-timeout = \"5s\"\ntimeout = \"30s\"\nretries = 0\nretry-interval = \"1s\"\n\
         use-count = 0\nvalidation-query = \"SELECT 1\"\ninit-command = \"SET search_path = mii\"\n\
         date-form = \"day-month-year\"\nretention = \"168h\"\n",
        "[server]\n[server.\"a b\"]\nurl = 'data.db'\n[server.c]\nurl = \"c.db\"\npool.maximum = 2\n",
    ];

    proptest! {
        #[test]
        fn what_is_nearly_right_is_read_or_refused_with_its_place(text in mutated(ALL)) {
            match parse(&text, Path::new("/nowhere")) {
                Ok(plans) => prop_assert!(plans.iter().all(|it| it.initial <= it.maximum)),
                Err(wrong) => {
                    prop_assert!((1..=text.lines().count() + 1).contains(&wrong.line), "{wrong}");
                    prop_assert!(!wrong.problem.is_empty());
                }
            }
        }
    }

    fn read(text: &str) -> Result<Vec<ServerPlan>, String> {
        parse(text, Path::new("/flows")).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn the_settings_of_a_data_server_are_read() {
        let text = "[server.plant]\nurl = \"postgres://mii@db/plant\"\nenabled = false\n\
            pool = { initial = 10, maximum = 50, wait = \"5s\" }\ntimeout = \"60s\"\nretries = 5\n\
            retry-interval = \"60s\"\nuse-count = 1000\nvalidation-query = \"SELECT 1\"\n\
            init-command = \"SET work_mem = '8MB'\"\ndate-form = \"day-month-year\"\n\
            retention = \"168h\"\n[server.local]\nurl = \"local.db\"\n";
        let servers = read(text).unwrap();
        let (local, plant) = (&servers[0], &servers[1]);
        assert_eq!(local.target.to_string(), "SQLite, /flows/local.db");
        assert_eq!((local.initial, local.maximum, local.enabled), (0, 16, true));
        assert_eq!((plant.initial, plant.maximum, plant.retries), (10, 50, 5));
        assert_eq!((plant.use_count, plant.enabled), (1000, false));
        let command = plant.init_command.as_deref().unwrap();
        assert_eq!(command, "SET datestyle = 'ISO, DMY'; SET work_mem = '8MB'");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_without_passwords() {
        for (text, expected) in [
            ("[server.a]\nurl = \"postgres://a:secret@db/x\"", "line 2, column 7: a password"),
            ("[server.a]\nurl = \"mysql://db/x\"", "postgres://USER@HOST"),
            ("[server.a]\nurl = \"x.db\"\nuse-cuont = 1", "did you mean `use-count`?"),
            ("[server.a]\nurl = \"x\"\npool = { maximum = 0 }", "1 to 1000 sessions"),
            ("[server.a]\nurl = \"x\"\npool = { initial = 20 }", "at most maximum, which is 16"),
            ("[server.a]\nurl = \"x\"\npassword-file = \"none\"", "cannot read /flows/none"),
            ("[server.a]\nurl = \"x\"\ndate-form = \"day-month-year\"", "leave date-form out"),
            ("[server.a]\nurl = \"x\"\nretries = -1", "line 3"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected) && !error.contains("secret"), "{text}: {error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        fs::write(&file, "\n").unwrap();
        assert!(first_line(&file).unwrap_err().contains("is empty"));
        fs::write(&file, "\u{feff}secret \r\nmore\n").unwrap();
        assert_eq!(first_line(&file).unwrap(), "secret ", "blanks are of the password");
    }
}
