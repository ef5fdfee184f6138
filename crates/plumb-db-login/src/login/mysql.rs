//! Where, as whom and with which password for MariaDB and MySQL: the URL first, then the environment,
//! then `[client]` of `~/.my.cnf`, as their own clients look for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::LoginError;
use crate::product::Product;
use crate::ssl_mode::SslMode;
use crate::url::Url;

use super::{Environment, Login, Secret, private};

/// The port of a server when none is named.
const PORT: u16 = 3306;
/// What is read of an option file.
const READ: [&str; 5] = ["host", "password", "port", "socket", "user"];

impl Login {
    /// What `url` and the environment say together of a server of MariaDB or MySQL.
    ///
    /// # Errors
    /// [`LoginError`] names the variable, file or parameter that contradicts.
    pub(super) fn of_mysql(url: &Url, env: Environment<'_>) -> Result<Self, LoginError> {
        let wrong = |complaint: String| LoginError::Url { complaint };
        let (kept, ignored) = match env("HOME").map(|home| PathBuf::from(home).join(".my.cnf")) {
            Some(file) => match read(&file) {
                Ok(kept) => (kept, None),
                Err(reason) => (BTreeMap::new(), Some(reason)),
            },
            None => (BTreeMap::new(), None),
        };
        let parameter = |name: &str| url.parameters.get(name).cloned();
        let or_kept =
            |name: &str, variable: &str| env(variable).or_else(|| kept.get(name).cloned());
        // a host in the URL is meant, whatever socket the environment names
        let socket = parameter("socket").or_else(|| match url.host {
            None => or_kept("socket", "MYSQL_UNIX_PORT"),
            Some(_) => None,
        });
        let host = match (socket, &url.host) {
            (Some(file), _) if file.starts_with('/') => file,
            (Some(_), _) => return Err(wrong("socket is no path that begins with /".into())),
            (None, Some(host)) => host.clone(),
            (None, None) => or_kept("host", "MYSQL_HOST").unwrap_or_else(|| "localhost".into()),
        };
        let port = match url.port {
            Some(port) => port,
            None => match or_kept("port", "MYSQL_TCP_PORT") {
                Some(text) => text.parse().map_err(|_| {
                    wrong("MYSQL_TCP_PORT, or port in ~/.my.cnf, is no port".into())
                })?,
                None => PORT,
            },
        };
        let user = (url.user.clone())
            .or_else(|| kept.get("user").cloned())
            .or_else(|| env("USER"))
            .or_else(|| env("LOGNAME"))
            .ok_or_else(|| wrong("no user is named, in the URL, ~/.my.cnf or USER".into()))?;
        let client_cert = match (parameter("ssl-cert"), parameter("ssl-key")) {
            (Some(cert), Some(key)) => Some((cert.into(), key.into())),
            (None, None) => None,
            _ => {
                return Err(wrong(
                    "ssl-cert and ssl-key belong together, and one is missing".into(),
                ));
            }
        };
        let ssl = SslMode::of_mysql(parameter("ssl-mode").as_deref())?;
        let authorities = parameter("ssl-ca").unwrap_or_else(|| "system".into());
        let mut login = Self {
            database: url.database.clone().unwrap_or_default(),
            password: env("MYSQL_PWD").or_else(|| kept.get("password").cloned()).map(Secret),
            ssl,
            root_cert: Some(authorities.into()),
            client_cert,
            ignored,
            ..Self::at(Product::Mysql, host, port, user)
        };
        if login.unix() {
            login.ssl = SslMode::Disable; // nothing to hide
        }
        Ok(login)
    }
}

/// What stands under `[client]` in an option file; a file that is not there says nothing.
///
/// # Errors
/// Why the file is not used, in words: others can read it, or we cannot.
fn read(file: &Path) -> Result<BTreeMap<String, String>, String> {
    let found = private::read(file)?.map(|text| client_options(&text)).unwrap_or_default();
    match found.iter().find(|(_, value)| !private::is_text(value)) {
        Some((name, _)) => Err(format!("the {name} in {} is not UTF-8", file.display())),
        None => Ok(found),
    }
}

/// Options under `[client]`, of those that are read.
fn client_options(text: &str) -> BTreeMap<String, String> {
    let mut is_ours = false;
    let mut found = BTreeMap::new();
    for line in text.lines().map(|line| without_comment(line).trim()) {
        if let Some(section) = line.strip_prefix('[') {
            is_ours = section.split(']').next().is_some_and(|name| name.trim_end() == "client");
        } else if is_ours && !line.starts_with(';') {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            let name = name.trim();
            if READ.contains(&name) {
                found.insert(name.to_owned(), value_of(value.trim()));
            }
        }
    }
    found
}

/// `line` up to the first `#` outside of quotes. Only within quotes a backslash keeps a quote from ending them.
///
/// # Source
/// MariaDB's server, `mysys/my_default.c`: `remove_end_comment`.
fn without_comment(line: &str) -> &str {
    let (mut inside, mut escaped) = (None, false);
    for (at, next) in line.char_indices() {
        match (inside, next) {
            (None, '#') => return &line[..at],
            (None, '"' | '\'') => inside = Some(next),
            (Some(quote), _) if quote == next && !escaped => inside = None,
            _ => {}
        }
        escaped = inside.is_some() && next == '\\' && !escaped;
    }
    line
}

/// A value without the quotes around it and its escapes.
///
/// # Source
/// MariaDB's documentation, "Configuring MariaDB with Option Files": option file syntax.
fn value_of(text: &str) -> String {
    let quoted = ['"', '\'']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote).and_then(|rest| rest.strip_suffix(*quote)));
    let mut value = String::new();
    let mut chars = quoted.unwrap_or(text).chars();
    while let Some(next) = chars.next() {
        match next {
            '\\' => value.push(match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('s') => ' ',
                Some('b') => '\u{8}',
                Some(plain) => plain,
                None => '\\',
            }),
            plain => value.push(plain),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::super::login;
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_url_comes_before_the_environment() {
        let env = [("MYSQL_HOST", "far"), ("MYSQL_TCP_PORT", "7"), ("USER", "me")];
        let of_env = login("mysql:///erp", &env).unwrap();
        assert_eq!((of_env.host.as_str(), of_env.port), ("far", 7));
        assert_eq!((of_env.user.as_str(), of_env.database.as_str()), ("me", "erp"));
        let of_url = login("mariadb://you@near/x", &[("MYSQL_UNIX_PORT", "/s")]).unwrap();
        assert_eq!((of_url.server().as_str(), of_url.user.as_str()), ("near:3306", "you"));
    }

    #[test]
    fn a_socket_file_is_not_encrypted() {
        let login = login("mysql://me@/x?socket=/run/m.sock&ssl-mode=REQUIRED", &[]).unwrap();
        assert_eq!(login.server(), "unix:/run/m.sock");
        assert_eq!(login.ssl, SslMode::Disable);
    }

    #[test]
    fn an_option_file_has_the_password_unless_others_can_read_it() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".my.cnf");
        let text = "[mysqld]\nuser=no\n[client]\n# x\nuser = \"erp\"\npassword='a\\\\b=c'\n";
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let folder = home.path().display().to_string();
        let env = [("HOME", folder.as_str()), ("USER", "me")];
        let found = login("mysql://db1", &env).unwrap();
        assert_eq!(found.password.as_ref().unwrap().reveal(), "a\\b=c");
        assert_eq!(found.user, "erp");
        assert!(!format!("{found:?}").contains("b=c"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let found = login("mysql://db1", &env).unwrap();
        assert!(found.password.is_none());
        assert!(found.ignored.unwrap().contains("chmod 600"));
    }

    #[test]
    fn a_comment_behind_a_value_is_no_part_of_it() {
        for (line, value) in [
            ("user = erp   # reporting", "erp"),
            ("user=abc#d", "abc"),
            ("user = \"d#b\" # x", "d#b"),
            ("user=\"a\\\"#b\" # c", "a\"#b"),
            ("user='a'b#c'", "'a'b"),
            ("user=\"a#b", "\"a#b"),
            ("user=a\\#b", "a\\"),
            ("user=#x", ""),
        ] {
            let found = client_options(&format!("[client] # ours\n{line}\n"));
            assert_eq!(found.get("user").map(String::as_str), Some(value), "{line}");
        }
    }

    #[test]
    fn a_parameter_of_another_database_is_refused_with_those_that_are_understood() {
        let error = login("mysql://me@h/?sslmode=require", &[]).unwrap_err().to_string();
        assert!(error.contains("ssl-mode") && error.contains("`sslmode`"), "{error}");
        let error = login("mysql://me@h/?ssl-key=a", &[]).unwrap_err().to_string();
        assert!(error.contains("belong together"), "{error}");
        let error = login("mysql://me@h/?ssl-mode=on", &[]).unwrap_err().to_string();
        assert!(error.contains("VERIFY_IDENTITY"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_option_file_brings_it_down(text in "[-\\[\\]clientpaswrd=\"'\\\\# \n]{0,80}") {
            let _ = client_options(&format!("[client]\n{text}"));
        }
    }
}
