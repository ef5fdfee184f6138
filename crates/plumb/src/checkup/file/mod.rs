//! The file that names a landscape: servers that somebody else has started.

mod error;
mod keys;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use plumb_checkup::{CheckupLayer, CheckupPart, LeftOutLayer};
use plumb_command::exit;
use plumb_engine::Address;
use plumb_measure::RemoteSelector;
use plumb_wire::document::{self, Position};
use plumb_wire::http::Url;
use toml::Spanned;

use error::{BYTES_MAX, LandscapeError};
use keys::{Database, Flow, Http, Landscape, Lock, LockServerKind};

use super::advice::for_a_file;
use super::ask::{self, LOCKERS, MESSENGERS, Page, PageRequests, SENDERS, Sent, USERS};
use super::scale::Scale;
use crate::job::measurement;

/// A landscape file whose values were looked at.
#[derive(Debug)]
pub(super) struct LandscapeFile {
    path: PathBuf,
    text: String,
    landscape: Landscape,
}

impl LandscapeFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// When it names no landscape, with line and column where there are some.
    pub(super) fn read(path: &Path) -> Result<Self, LandscapeError> {
        let mut text = String::new();
        let read = File::open(path)
            .and_then(|file| file.take(BYTES_MAX + 1).read_to_string(&mut text))
            .map_err(|cause| LandscapeError::Read { path: path.into(), cause })?;
        if read as u64 > BYTES_MAX {
            return Err(LandscapeError::TooLarge { path: path.into() });
        }
        let landscape: Landscape = document::read(&text)
            .map_err(|wrong| LandscapeError::Wrong { path: path.into(), wrong })?;
        let file = Self { path: path.into(), text, landscape };
        file.check()?;
        Ok(file)
    }

    /// The file, as reports name it.
    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// The far machine that is to be recorded.
    pub(super) fn recorder(&self) -> Option<String> {
        self.landscape.host.as_ref().map(|host| host.recorder.get_ref().clone())
    }

    /// The remote that measures, where it is not this machine.
    ///
    /// # Errors
    /// When the file names it otherwise than `--remotes` does.
    pub(super) fn remote(&self) -> Result<Option<RemoteSelector>, LandscapeError> {
        let Some(hosts) = &self.landscape.hosts else { return Ok(None) };
        match hosts.get_ref().parse() {
            Ok(remote @ RemoteSelector::Nats { .. }) => Ok(Some(remote)),
            Ok(RemoteSelector::Local(_)) => {
                Err(self.value(hosts, "leave it out to measure from this machine".into()))
            }
            Err(problem) => Err(self.value(hosts, problem)),
        }
    }

    /// True when the file names a server of `layer`.
    fn names(&self, layer: CheckupLayer) -> bool {
        let Landscape { net, lock, http, flow, database, .. } = &self.landscape;
        match layer {
            CheckupLayer::Network => net.as_ref().is_some_and(|net| !net.servers.is_empty()),
            CheckupLayer::Locks => lock.is_some(),
            CheckupLayer::Pages => http.as_ref().is_some_and(|http| !http.pages.is_empty()),
            CheckupLayer::Messages => flow.is_some(),
            CheckupLayer::Database => database.is_some(),
        }
    }

    /// The layers that the file does not name.
    pub(super) fn left_out(&self) -> Vec<LeftOutLayer> {
        let all = CheckupLayer::ALL.into_iter().filter(|layer| !self.names(*layer));
        all.map(|layer| {
            let (what, key) = match layer {
                CheckupLayer::Network => ("the network: no echo server", "[net] servers"),
                CheckupLayer::Locks => ("locks: no lock server", "[lock] server"),
                CheckupLayer::Pages => ("pages: no page", "[http] pages"),
                CheckupLayer::Messages => ("messages: no integration runtime", "[flow] server"),
                CheckupLayer::Database => ("the database: no database", "[database] url"),
            };
            LeftOutLayer { layer, why: format!("{what} is named ({key})") }
        })
        .collect()
    }

    /// What is measured of the servers.
    ///
    /// # Errors
    /// When there is too little time for that, or a value names no server.
    pub(super) fn parts(&self, scale: &Scale) -> anyhow::Result<Vec<CheckupPart>> {
        let Landscape { net, lock, http, flow, database, .. } = &self.landscape;
        let mut parts = Vec::new();
        for (net, server) in net.iter().flat_map(|net| net.servers.iter().map(move |it| (net, it)))
        {
            let server = server.get_ref();
            let asks = ask::network(
                server,
                &format!("a round trip to {server}"),
                net.connections.unwrap_or(MESSENGERS),
            );
            parts.extend(scale.parts(
                CheckupLayer::Network,
                &format!("network to {server}"),
                asks,
            )?);
        }
        if let Some(lock) = lock {
            let asks = ask::locks(
                lock.server.get_ref(),
                &self.lock_words(lock),
                lock.connections.unwrap_or(LOCKERS),
            );
            let kind = if lock.kind == LockServerKind::Redis { "Redis" } else { "lock server" };
            let name = format!("{kind} {}", lock.server.get_ref());
            parts.extend(scale.parts(CheckupLayer::Locks, &name, asks)?);
        }
        if let Some(http) = http {
            parts.extend(self.sites(http, scale)?);
        }
        if let Some(flow) = flow {
            let (name, sent) = self.runtime(flow)?;
            let many = flow.connections.unwrap_or(SENDERS);
            let asks = ask::messages(flow.server.get_ref(), &[sent], many);
            parts.extend(scale.parts(CheckupLayer::Messages, &name, asks)?);
        }
        if let Some(database) = database {
            let (name, own, patience) = self.database(database)?;
            let asks = ask::statements(database.url.get_ref(), &own, &patience);
            parts.extend(scale.parts(CheckupLayer::Database, &name, asks)?);
        }
        Ok(parts)
    }

    fn lock_words(&self, lock: &Lock) -> Vec<String> {
        let kind = (lock.kind == LockServerKind::Redis).then(|| "--target-kind=redis".to_owned());
        let password = lock.password_file.as_ref().map(|file| self.beside(file));
        kind.into_iter().chain(ask::naming("password-file", password.as_deref())).collect()
    }

    /// The pages, each server with those that it serves.
    fn sites(&self, http: &Http, scale: &Scale) -> anyhow::Result<Vec<CheckupPart>> {
        let urls = http.pages.iter().map(|page| self.url(page)).collect::<Result<Vec<_>, _>>()?;
        let ready = http.ready.as_ref().map(|ready| self.url(ready)).transpose()?;
        let (credentials, ca) = (&http.credentials, &http.ca);
        let file = |file: &Option<PathBuf>| file.as_ref().map(|file| self.beside(file));
        let words: Vec<String> = ask::naming("credentials", file(credentials).as_deref())
            .into_iter()
            .chain(ask::naming("ca", file(ca).as_deref()))
            .collect();
        let mut parts = Vec::new();
        for (at, first) in urls.iter().enumerate() {
            if urls[..at].iter().any(|earlier| earlier.same_origin(first)) {
                continue; // measured with that one
            }
            let page = |url: &Url| Page { name: url.target().to_owned(), url: url.to_string() };
            let pages: Vec<Page> =
                urls.iter().filter(|url| url.same_origin(first)).map(page).collect();
            let here = ready.as_ref().filter(|ready| ready.same_origin(first));
            let here = here.map(Url::to_string);
            let site = PageRequests {
                pages: &pages,
                pair: pages.first().zip(here.as_deref()),
                users: http.connections.unwrap_or(USERS),
                words: words.clone(),
            };
            let name = format!("HTTP server {}", first.host_and_port());
            parts.extend(scale.parts(CheckupLayer::Pages, &name, site.asks())?);
        }
        Ok(parts)
    }

    /// The name of an integration runtime, and the message that it is sent.
    fn runtime(&self, flow: &Flow) -> Result<(String, Sent), LandscapeError> {
        let file = |path: &Option<PathBuf>| path.as_ref().map(|file| self.beside(file));
        let named = |option: &str, text: &Option<String>| {
            text.as_ref().map(|text| format!("--{option}={text}"))
        };
        let words: Vec<String> = [
            named("transaction", &flow.transaction),
            ask::naming("message", file(&flow.message).as_deref()),
            named("user", &flow.user),
            ask::naming("password-file", file(&flow.password_file).as_deref()),
            ask::naming("ca", file(&flow.ca).as_deref()),
        ]
        .into_iter()
        .flatten()
        .collect();
        let server = &flow.server;
        let url = self.url(server)?;
        let load = ["flow".to_owned(), "load".into(), server.get_ref().clone()];
        measurement(&[&load[..], &words].concat())
            .map_err(|error| self.value(server, for_a_file(&exit::said(&error))))?;
        let operation = match &flow.transaction {
            Some(name) => format!("a message for {name}"),
            None => "a message".into(),
        };
        let name = format!("integration runtime {}", url.host_and_port());
        Ok((name, Sent { operation, words }))
    }

    /// The name of a database, the words of the statement that is asked, and those of how long that
    /// may take.
    fn database(
        &self,
        database: &Database,
    ) -> Result<(String, Vec<String>, Vec<String>), LandscapeError> {
        let statement = database.statement.iter().map(|text| format!("--statement={text}"));
        let file = database.file.iter();
        let file = file.map(|file| format!("--file={}", self.beside(file).display()));
        let own: Vec<String> = statement.chain(file).collect();
        let url = &database.url;
        let words = ["db".to_owned(), "ping".into(), url.get_ref().clone()];
        let words = [&words[..], &own].concat();
        let job = measurement(&words)
            .map_err(|error| self.value(url, for_a_file(&exit::said(&error))))?;
        let target = job.outline().target;
        let server = target.rsplit_once('/').map_or(target.as_str(), |(server, _)| server);
        let timeout = database.timeout.iter();
        let patience = timeout.map(|time| format!("--timeout={}", time.get_ref())).collect();
        Ok((format!("database {server}"), own, patience))
    }

    /// Looks at every value before anything is measured.
    fn check(&self) -> Result<(), LandscapeError> {
        let Landscape { net, lock, http, flow, database, host, .. } = &self.landscape;
        self.remote()?;
        if !CheckupLayer::ALL.into_iter().any(|layer| self.names(layer)) {
            return Err(LandscapeError::Nothing { path: self.path.clone() });
        }
        let echoes = net.iter().flat_map(|net| &net.servers);
        let locks = lock.iter().map(|lock| &lock.server);
        let recorders = host.iter().map(|host| &host.recorder);
        for server in echoes.chain(locks).chain(recorders) {
            Address::parse(server.get_ref(), 1)
                .map_err(|error| self.value(server, error.to_string()))?;
        }
        if let Some(http) = http {
            for page in &http.pages {
                self.url(page)?;
            }
            if let Some(ready) = &http.ready {
                let url = self.url(ready)?;
                let shared = http.pages.iter().filter_map(|page| Url::parse(page.get_ref()).ok());
                if !shared.into_iter().any(|page| page.same_origin(&url)) {
                    let problem =
                        "no page lies on that server: name a file of the server of a page";
                    return Err(self.value(ready, problem.into()));
                }
            }
        }
        if let Some(flow) = flow {
            self.runtime(flow)?;
        }
        if let Some(database) = database {
            self.database(database)?;
        }
        Ok(())
    }

    fn url(&self, text: &Spanned<String>) -> Result<Url, LandscapeError> {
        const WHO: &str = "say who asks by `credentials` of [http], by `user` of [flow]";
        Url::parse(text.get_ref()).map_err(|it| self.value(text, it.with_credentials(WHO)))
    }

    /// `value` cannot be used, because of `problem`.
    fn value(&self, value: &Spanned<String>, problem: String) -> LandscapeError {
        let Position { line, column, .. } = Position::of(&self.text, &value.span());
        LandscapeError::Value { path: self.path.clone(), line, column, problem }
    }

    /// A path in the file counts from the folder of the file.
    fn beside(&self, path: &Path) -> PathBuf {
        self.path.parent().map_or_else(|| path.into(), |folder| folder.join(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_checkup::PartRole;
    use plumb_engine::options::HostOptions;
    use plumb_measure::Span;
    use tempfile::TempDir;

    fn read(text: &str) -> (TempDir, Result<LandscapeFile, LandscapeError>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("landscape.toml");
        std::fs::write(&path, text).unwrap();
        let read = LandscapeFile::read(&path);
        (folder, read)
    }

    fn refused(text: &str) -> String {
        read(text).1.unwrap_err().to_string()
    }

    fn parts(text: &str) -> Vec<CheckupPart> {
        let scale = Scale::new(Span::from_ms(6_000), &HostOptions::default()).unwrap();
        let (_folder, file) = read(text);
        file.unwrap().parts(&scale).unwrap()
    }

    #[test]
    fn every_part_of_a_landscape_is_a_command_that_measures() {
        let parts = parts(
            "[net]\nservers = [\"127.0.0.1:7\", \"127.0.0.1:8\"]\n\
             [lock]\nserver = \"127.0.0.1:9\"\nkind = \"redis\"\n\
             [http]\npages = [\"http://127.0.0.1:10/a\", \"http://127.0.0.1:11/b\"]\n\
             static = \"http://127.0.0.1:11/c\"\nconnections = 3\n\
             [database]\nurl = \"postgres://me@127.0.0.1:12/x\"\nstatement = \"SELECT 2\"\n",
        );
        for part in &parts {
            measurement(&part.words).unwrap();
        }
        let mut servers: Vec<&str> = parts.iter().map(|part| part.server.as_str()).collect();
        servers.dedup();
        assert_eq!(
            servers,
            [
                "network to 127.0.0.1:7",
                "network to 127.0.0.1:8",
                "Redis 127.0.0.1:9",
                "HTTP server 127.0.0.1:10",
                "HTTP server 127.0.0.1:11",
                "database 127.0.0.1:12"
            ]
        );
        let pairs = parts.iter().filter(|part| part.words.contains(&"--pair".into()));
        assert_eq!(pairs.count(), 1, "the static file belongs to one of the servers");
        let of_one = |server: &str| {
            let parts = parts.iter().filter(|part| part.server == server);
            parts.map(|part| part.expected_ns).sum::<u64>()
        };
        assert_eq!(of_one("HTTP server 127.0.0.1:10"), 6_000_000_000 + 3 * 600_000_000);
        assert!(parts.iter().any(|part| part.role == PartRole::WhereOffered));
    }

    #[test]
    fn the_example_is_a_landscape_of_every_layer() {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/landscape.toml");
        let file = LandscapeFile::read(&example).unwrap();
        let scale = Scale::new(Span::from_ms(6_000), &HostOptions::default()).unwrap();
        let mut layers: Vec<CheckupLayer> =
            file.parts(&scale).unwrap().iter().map(|part| part.layer).collect();
        layers.dedup();
        assert_eq!(layers, CheckupLayer::ALL);
        assert_eq!(file.recorder().as_deref(), Some("web1:3299"));
        assert!(file.left_out().is_empty());
    }
    #[test]
    fn one_connection_is_no_crowd() {
        let parts = parts("[lock]\nserver = \"h\"\nconnections = 1\n");
        assert_eq!(parts.len(), 1, "{parts:?}");
    }

    #[test]
    fn a_statement_may_take_as_long_as_the_file_says() {
        let text = "[database]\nurl = \"postgres://me@127.0.0.1:12/x\"\ntimeout = \"12s\"\n";
        for (more, which) in [("", "--ask=sized"), ("statement = \"SELECT 2\"\n", "--ask=own")] {
            for part in parts(&format!("{text}{more}")) {
                measurement(&part.words).unwrap();
                let has = |word: &str| part.words.iter().any(|it| it == word);
                assert!(has("--timeout=12s") && has(which), "{:?}", part.words);
            }
        }
        let said = refused(&text.replace("12s", "12 apples"));
        assert!(said.contains("line 3, column 11"), "{said}");
    }

    #[test]
    fn a_user_without_a_password_is_told_the_key_of_the_file() {
        let said = refused("[flow]\nserver = \"http://127.0.0.1:9\"\nuser = \"me\"\n");
        assert!(said.contains("name that with password-file"), "{said}");
    }

    #[test]
    fn what_is_not_named_is_said() {
        let (_folder, file) = read("[lock]\nserver = \"h\"\n");
        let left: Vec<CheckupLayer> =
            file.unwrap().left_out().iter().map(|left| left.layer).collect();
        let expected = CheckupLayer::ALL.into_iter().filter(|it| *it != CheckupLayer::Locks);
        assert_eq!(left, expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_wrong_key_is_refused_with_its_place_and_what_was_meant() {
        let said = refused("[net]\nserver = [\"h\"]\n");
        assert!(said.contains("landscape.toml, line 2, column 1"), "{said}");
        assert!(said.contains("did you mean `servers`?"), "{said}");
        let said = refused("[lokc]\nserver = \"h\"\n");
        assert!(said.contains("did you mean `lock`?"), "{said}");
        for text in
            ["[host]\nrecorder = \"h:1\"\n", "[net]\nservers = []\n", "[http]\npages = []\n"]
        {
            assert!(refused(text).contains("names nothing to measure"), "{text}");
        }
    }

    #[test]
    fn a_wrong_value_is_refused_with_its_place_and_never_shown() {
        for (text, place) in [
            ("[net]\nservers = [\"a\", \"http://b\"]\n", "line 2, column 17"),
            ("[http]\npages = [\"http://me:sesame@h/x\"]\n", "line 2, column 10"),
            ("[database]\nurl = \"postgres://me:sesame@h/x\"\n", "line 2, column 7"),
            (
                "[http]\npages = [\"http://h/x\"]\nstatic = \"http://other/y\"\n",
                "line 3, column 10",
            ),
        ] {
            let said = refused(text);
            assert!(said.contains(place) && !said.contains("sesame"), "{said}");
        }
    }

    #[test]
    fn paths_count_from_the_folder_of_the_file() {
        let text = "[lock]\nserver = \"h\"\npassword-file = \"secret\"\n";
        let scale = Scale::new(Span::from_ms(6_000), &HostOptions::default()).unwrap();
        let (folder, file) = read(text);
        let word = format!("--password-file={}", folder.path().join("secret").display());
        let parts = file.unwrap().parts(&scale).unwrap();
        assert!(parts.iter().all(|part| part.words.contains(&word)), "{parts:?}");
    }
}
