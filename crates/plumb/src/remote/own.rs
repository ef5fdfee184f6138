//! What is a remote's own: options that no controller on another machine decides, and files that have not
//! come with the order.

use std::path::Path;

use anyhow::bail;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, ValueHint};
use plumb_engine::layer::NamedFile;
use plumb_remote::RunOrder;

/// Options that are refused, by their names in the definition: they name what is on this machine, or go where
/// nobody looks whether this machine may.
const REFUSED: [&str; 25] = [
    "audit_log",
    "cert",
    "credentials",
    "files_from",
    "journal",
    "jtl",
    "junit",
    "key",
    "metrics",
    "netns",
    "options_file",
    "otlp",
    "password_file",
    "print_options",
    "queue",
    "remote_write",
    "remotes",
    "replica_password_file",
    "resume",
    "root",
    "sarif",
    "sink",
    "sink_password_file",
    "spans",
    "summary",
];
/// Refused where it names a file; of a load it is how many users there are.
const USERS: &str = "users";
/// The folder of a run or of a recording: this remote says where it lies.
const OUT: &str = "out";
/// The URL of a database, and parameters of it that are refused: they name files of this machine, or a section
/// of one, which may hold a password.
const URL: &str = "url";
const REFUSED_IN_URL: [&str; 6] =
    ["passfile", "service", "ssl-cert", "ssl-key", "sslcert", "sslkey"];
/// Parameters of it that name a file of authorities, which is refused, too, or the authorities of this machine.
const AUTHORITIES: [&str; 4] = ["servercertificate", "ssl-ca", "sslrootcert", "ssltruststore"];
const MACHINE: &str = "system";
/// What may be a file, or a URL.
const FILE_OR_URL: [&str; 1] = ["database"];
/// Where a server listens, and what makes a file of that.
const LISTEN: &str = "listen";
const UNIX: &str = "unix:";
/// What the value of an option that names a file is called.
const FILE_NAMES: [&str; 4] = ["FILE", "FOLDER", "DIR", "PATH"];

/// Refuses options of `command` that are this machine's own, and files that have not come with `order`, by
/// what was `given`. No file has to be opened for that.
///
/// # Errors
/// When there is one.
pub(super) fn check_words(
    command: &Command,
    given: &ArgMatches,
    order: &RunOrder,
) -> anyhow::Result<()> {
    for option in command.get_arguments() {
        let id = option.get_id().as_str();
        if id == OUT || given.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        if is_refused(option) {
            bail!("--{} is not for a controller to say", option.get_long().unwrap_or(id));
        }
        for value in given.get_raw(id).into_iter().flatten() {
            let text = value.to_string_lossy();
            let is_url = FILE_OR_URL.contains(&id) && text.contains("://");
            if is_url || (id == URL && !text.starts_with("http")) {
                check_url(&text)?;
            }
            if id == LISTEN && text.starts_with(UNIX) {
                bail!("--{LISTEN} {text} is not for a controller to say: it makes a file here");
            }
            if names_file(option) && !is_url {
                came_along(Path::new(value), order)?;
            }
        }
    }
    Ok(())
}

/// Refuses the URL of a database that names what is on this machine.
fn check_url(text: &str) -> anyhow::Result<()> {
    let query = text.split_once('?').map_or("", |(_, query)| query);
    for parameter in query.split('&') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if REFUSED_IN_URL.contains(&name) {
            bail!("`{name}` in the URL of a database is not for a controller to say");
        }
        if AUTHORITIES.contains(&name) && value != MACHINE {
            bail!(
                "`{name}` in the URL of a database is not for a controller to say: install the authority \
                 on that machine, and write `{name}={MACHINE}`"
            );
        }
    }
    Ok(())
}

/// Refuses files of a measurement that have not come with `order`.
///
/// # Errors
/// When there is one.
pub(super) fn check_files(files: &[NamedFile], order: &RunOrder) -> anyhow::Result<()> {
    for file in files {
        came_along(&file.path, order)?;
        let folder = file.path.parent().unwrap_or(Path::new(""));
        file.beside.iter().try_for_each(|beside| came_along(&folder.join(beside), order))?;
    }
    Ok(())
}

fn came_along(path: &Path, order: &RunOrder) -> anyhow::Result<()> {
    if order.holds(path) {
        return Ok(());
    }
    bail!("{} is not for a controller to name: it lies here", path.display())
}

fn is_refused(option: &Arg) -> bool {
    let id = option.get_id().as_str();
    REFUSED.contains(&id) || (id == USERS && names_file(option))
}

/// True for an option whose value is the path of a file or of a folder.
fn names_file(option: &Arg) -> bool {
    use ValueHint::{AnyPath, DirPath, ExecutablePath, FilePath};
    let hinted = matches!(option.get_value_hint(), AnyPath | DirPath | ExecutablePath | FilePath);
    let mut names = option.get_value_names().unwrap_or_default().iter();
    hinted
        || names.any(|name| FILE_NAMES.contains(&name.as_str()))
        || FILE_OR_URL.contains(&option.get_id().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::servers;
    use crate::{commands, layers, pipeline};

    /// Options that name a file which comes with the order, by their names in the definition.
    const SENT: [&str; 10] = [
        "body",
        "ca",
        "client_ca",
        "database",
        "file",
        "message",
        "replica_ca",
        "scenario",
        "settings",
        "transactions",
    ];

    /// Every command that a remote carries out, with its words.
    fn carried_out(each: &mut impl FnMut(&str, &Command)) {
        fn look(command: &Command, words: &str, each: &mut impl FnMut(&str, &Command)) {
            for inner in command.get_subcommands() {
                look(inner, &format!("{words} {}", inner.get_name()), each);
            }
            let measures = !command.has_subcommands() && pipeline::is_measurement(command);
            if measures || servers::is_one(words) {
                each(words, command);
            }
        }
        let all = all();
        let layers = all.get_subcommands().filter(|it| layers::find(it.get_name()).is_some());
        layers.for_each(|layer| look(layer, layer.get_name(), each));
    }

    fn all() -> Command {
        let mut all = commands::all();
        all.build();
        all
    }

    #[test]
    fn every_option_that_names_a_file_is_refused_or_its_file_comes_along() {
        let (mut commands, mut seen, mut strange) = (Vec::new(), Vec::new(), Vec::new());
        carried_out(&mut |words, command| {
            commands.push(words.to_owned());
            for option in command.get_arguments().filter(|option| names_file(option)) {
                let id = option.get_id().as_str();
                let lists = [is_refused(option), SENT.contains(&id), id == OUT];
                if lists.iter().filter(|it| **it).count() != 1 {
                    strange.push(format!("plumb {words}: `{id}`"));
                }
                seen.push(id.to_owned());
            }
        });
        assert!(strange.is_empty(), "not in one of the lists: {strange:?}");
        for some in ["net ping", "lock load pairs", "db replay", "flow serve", "host record"] {
            assert!(commands.iter().any(|known| known == some), "{some}: {commands:?}");
        }
        let unused: Vec<_> = SENT.iter().filter(|id| seen.iter().all(|it| it != *id)).collect();
        assert!(unused.is_empty(), "no command has {unused:?}");
    }

    /// What is said to an order of `words`, whose files lie in a folder of its own.
    fn said(words: &[&str]) -> anyhow::Result<()> {
        let order = serde_json::json!({"run": 1, "words": [], "part": {"number": 1, "of": 1}});
        let order: RunOrder = serde_json::from_value(order).expect("an order");
        let order = RunOrder { folder: Some("/tmp/order".into()), ..order };
        let mut all = all();
        let words = [&["plumb"], words].concat();
        let given = all.try_get_matches_from_mut(&words).expect("a command");
        let command = crate::job::innermost(&all, &given).expect("a command");
        check_words(command, crate::job::leaf(&given), &order)
    }

    #[test]
    fn every_option_that_is_refused_is_one_of_a_command() {
        let mut met = Vec::new();
        carried_out(&mut |_, command| {
            met.extend(command.get_arguments().map(|option| option.get_id().to_string()));
        });
        let refused = REFUSED.iter().chain([&USERS]);
        let unknown: Vec<_> = refused.filter(|id| met.iter().all(|it| it != *id)).collect();
        assert!(unknown.is_empty(), "no command has {unknown:?}");
    }

    #[test]
    fn what_is_of_this_machine_is_refused_of_measurements_and_of_servers() {
        let refused = |line: &str, why: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let said = said(&words).expect_err(line).to_string();
            assert!(said.contains(why), "{line}: {said}");
        };
        refused("net ping h --options o.toml", "--options is not for a controller to say");
        refused("net serve --options o.toml", "--options is not");
        refused("net ping h -c 2 --netns=x", "--netns is not");
        refused("lock load pairs h --password-file /tmp/order/0/x", "--password-file is not");
        refused("lock serve --audit-log x", "--audit-log is not");
        refused("lock serve --users x", "--users is not");
        refused("flow load http://h --sink a.db --table t", "--sink is not");
        for (url, parameter) in [
            ("postgres://h/d?sslmode=require&sslkey=/k", "sslkey"),
            ("postgres://h/d?sslrootcert=/dev/zero", "sslrootcert"),
            ("postgres://h/d?sslrootcert=system&sslrootcert=/dev/zero", "sslrootcert"),
            ("postgres://h/d?service=other", "service"),
            ("mysql://h/d?ssl-ca=ca.pem", "ssl-ca"),
            ("mssql://h/d?servercertificate=/c", "servercertificate"),
            ("hana://h/d?encrypt=true&ssltruststore=/c", "ssltruststore"),
        ] {
            refused(&format!("db ping {url}"), &format!("`{parameter}` in the URL"));
        }
        refused("app serve --database postgres://h/d?sslrootcert=/c", "`sslrootcert` in the URL");
        refused("net serve --listen h:1 --listen unix:/run/x", "--listen unix:/run/x is not");
        for line in [
            "http ping --pair http://h/a http://h/b --body /etc/passwd",
            "http ping http://h/ --traceparent --body /etc/passwd",
            "http ping http://h/ --body=/tmp/order/../../etc/passwd",
            "http ping https://h/ --ca /etc/passwd",
            "http load /etc/passwd",
            "flow load http://h --traceparent --message /etc",
            "db replay /var/log/x postgres://h/d",
            "db ping postgres://h/d --file x.sql",
            "app serve app.toml",
            "app serve --database here.db",
            "flow serve /etc",
            "lock load sd h --tls --ca ca.pem",
        ] {
            refused(line, "is not for a controller to name: it lies here");
        }
        for line in [
            "http ping --pair http://h/a http://h/b --body /tmp/order/0/body",
            "db replay /tmp/order/0/day.csv postgres://h/d",
            "http load /tmp/order/0/mix.toml --users 20",
            "app serve /tmp/order/0/app.toml --database postgres://h/d",
            "net ping unix:/run/x.sock --out elsewhere",
            "net serve --listen 127.0.0.1:0 --listen smc:h:0",
            "db ping postgres://h/d?sslmode=verify-full&sslrootcert=system",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            said(&words).expect(line);
        }
    }

    #[test]
    fn what_a_file_names_has_come_with_it() {
        let order = serde_json::json!({"run": 1, "words": [], "part": {"number": 1, "of": 1}});
        let order: RunOrder = serde_json::from_value(order).expect("an order");
        let order = RunOrder { folder: Some("/tmp/order".into()), ..order };
        let named = |beside: &str| NamedFile {
            beside: vec![beside.into()],
            ..NamedFile::lone(Path::new("/tmp/order/0/s.toml"))
        };
        assert!(check_files(&[named("data/x.csv")], &order).is_ok());
        for away in ["../../../etc/passwd", "/etc/passwd"] {
            assert!(check_files(&[named(away)], &order).is_err(), "{away}");
        }
    }
}
