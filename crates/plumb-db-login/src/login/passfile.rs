//! The password file: lines of `HOST:PORT:DATABASE:USER:PASSWORD`.

use std::path::Path;

use super::private;

/// For what a password is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

/// The password that `file` has for `entry`; a file that is not there has none.
///
/// # Errors
/// Why the file is not used, in words: others can read it, or we cannot.
pub(super) fn find(file: &Path, entry: &Entry<'_>) -> Result<Option<String>, String> {
    let Some(text) = private::read(file)? else { return Ok(None) };
    match text.lines().find_map(|line| password(line, entry)) {
        Some(password) if !private::is_text(&password) => {
            Err(format!("the password for {} in {} is not UTF-8", entry.user, file.display()))
        }
        found => Ok(found),
    }
}

/// The password of a line, if the line is about `entry`.
fn password(line: &str, entry: &Entry<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let [host, port, database, user, password] = fields(line);
    let fits = |field: &str, wanted: &str| field == "*" || field == wanted;
    let all = fits(&host, entry.host)
        && fits(&port, &entry.port.to_string())
        && fits(&database, entry.database)
        && fits(&user, entry.user);
    (all && !password.is_empty()).then_some(password)
}

/// The five fields of a line. A backslash makes the next character a plain one; the last field
/// may hold colons.
fn fields(line: &str) -> [String; 5] {
    let mut fields: [String; 5] = Default::default();
    let mut at = 0;
    let mut chars = line.chars();
    while let Some(next) = chars.next() {
        match next {
            '\\' => fields[at].extend(chars.next()),
            ':' if at < 4 => at += 1,
            plain => fields[at].push(plain),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    const ENTRY: Entry<'_> = Entry { host: "db1", port: 5432, database: "sales", user: "me" };

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        assert_eq!(password("db1:5432:sales:me:se:same", &ENTRY).as_deref(), Some("se:same"));
        assert_eq!(password(r"*:*:*:me:a\:b\\c", &ENTRY).as_deref(), Some(r"a:b\c"));
        assert_eq!(password("db2:5432:sales:me:x", &ENTRY), None);
        assert_eq!(password("#db1:5432:sales:me:x", &ENTRY), None);
        assert_eq!(password("db1:5432:sales:me", &ENTRY), None);
    }

    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pgpass");
        assert_eq!(find(&file, &ENTRY), Ok(None));
        fs::write(&file, "other:1:a:b:c\n*:*:*:*:sesame\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let reason = find(&file, &ENTRY).unwrap_err();
        assert!(reason.contains("chmod 600") && !reason.contains("sesame"), "{reason}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(find(&file, &ENTRY), Ok(Some("sesame".into())));
        fs::write(&file, b"# f\xfcr db1\n*:*:*:*:sesame\n").unwrap();
        assert_eq!(find(&file, &ENTRY), Ok(Some("sesame".into())), "a comment of any encoding");
        fs::write(&file, b"*:*:*:*:ses\xe4me\n").unwrap();
        let reason = find(&file, &ENTRY).unwrap_err();
        assert!(reason.contains("is not UTF-8") && !reason.contains("ses"), "{reason}");
    }
}
