//! Who may do what: a file of users in the form of an ACL file of Redis.
//!
//! Each line is `user NAME on #SHA256 ~PATTERN +@right ...`. A password stands there as its
//! SHA-256 in hexadecimal digits, as Redis keeps it: it should be long and drawn by chance.
//!
//! # Source
//! Redis, "ACL": the ACL file, `#<hash>`, `~<pattern>` and `+@<category>`.

use std::collections::BTreeMap;
use std::path::Path;

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};

use crate::error::{NoUsers, ServerError};

/// One thing that a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Take, check, renew and release locks in the name spaces of its patterns.
    Lock,
    /// See what others have locked.
    List,
    /// Remove the locks of others.
    Remove,
    /// Promote a server, and follow one as a replica.
    Admin,
}

impl Right {
    const ALL: [(&'static str, Self); 4] = [
        ("lock", Self::Lock),
        ("list", Self::List),
        ("remove", Self::Remove),
        ("admin", Self::Admin),
    ];

    /// The right, in a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, right)| *right == self).map_or("", |(name, _)| name)
    }

    fn bit(self) -> u8 {
        match self {
            Self::Lock => 1,
            Self::List => 2,
            Self::Remove => 4,
            Self::Admin => 8,
        }
    }
}

/// What one user may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    bits: u8,
    /// Beginnings of names, each of which may go on or not.
    patterns: Vec<(Vec<u8>, bool)>,
}

impl Rights {
    /// Everything, everywhere.
    #[must_use]
    pub fn all() -> Self {
        let bits = Right::ALL.iter().fold(0, |bits, (_, right)| bits | right.bit());
        Self { bits, patterns: vec![(Vec::new(), true)] }
    }

    /// True when the user may do this at all.
    #[must_use]
    pub fn may(&self, right: Right) -> bool {
        self.bits & right.bit() != 0
    }

    /// True when locks of this name, or this key of a client of Redis, are within its patterns.
    #[must_use]
    pub fn covers(&self, name: &[u8]) -> bool {
        self.patterns.iter().any(|(start, open)| {
            if *open { name.starts_with(start) } else { name == start.as_slice() }
        })
    }

    /// True when every name is.
    #[must_use]
    pub fn covers_everything(&self) -> bool {
        self.patterns.iter().any(|(start, open)| *open && start.is_empty())
    }
}

#[derive(Clone, Debug)]
struct User {
    on: bool,
    hashes: Vec<[u8; SHA256_OUTPUT_LEN]>,
    rights: Rights,
}

/// All users.
#[derive(Clone, Default)]
pub struct Users(BTreeMap<Vec<u8>, User>);

impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.0.keys().map(|name| String::from_utf8_lossy(name));
        f.debug_set().entries(names).finish() // and no hash
    }
}

/// The most of a file that is read, bytes.
const FILE_BYTES_MAX: usize = 1 << 20;

impl Users {
    /// Only these: each user with its password, as its file would have it; for tests and tools.
    ///
    /// # Errors
    /// [`NoUsers`] says where and why.
    pub fn parse(text: &str) -> Result<Self, NoUsers> {
        if text.len() > FILE_BYTES_MAX {
            let problem = "the file has more than 1 MiB".into();
            return Err(NoUsers { line: 1, column: 1, problem });
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text); // editors of Windows write it
        let mut users = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let trimmed = line.trim_start();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            let wrong = |word: &str, problem: String| {
                // a word is a part of its line
                let column = 1 + (word.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
                NoUsers { line: at + 1, column, problem }
            };
            let mut words = line.split_ascii_whitespace();
            let first = words.next().unwrap_or_default();
            if first != "user" {
                let problem = format!("'{first}' was not expected: write user NAME on #SHA256 ...");
                return Err(wrong(first, problem));
            }
            let Some(name) = words.next() else {
                return Err(wrong(first, "a name is missing behind 'user'".into()));
            };
            let mut user = User { on: false, hashes: Vec::new(), rights: Rights::default() };
            for word in words {
                user.take(word).map_err(|problem| wrong(word, problem))?;
            }
            if users.insert(name.as_bytes().to_vec(), user).is_some() {
                return Err(wrong(name, format!("the user '{name}' stands here twice")));
            }
        }
        Ok(Self(users))
    }

    /// Reads a file of users.
    ///
    /// # Errors
    /// [`ServerError::Users`] or [`ServerError::UsersFile`].
    pub(crate) fn read(path: &Path) -> Result<Self, ServerError> {
        let text = std::fs::read_to_string(path)
            .map_err(|cause| ServerError::UsersFile { path: path.display().to_string(), cause })?;
        let users = Self::parse(&text)
            .map_err(|cause| ServerError::Users { path: path.display().to_string(), cause })?;
        if users.0.values().any(|user| user.on && !user.hashes.is_empty()) {
            return Ok(users);
        }
        let problem = "nobody may log in: write user NAME on #SHA256 ~* +@all".into();
        let cause = NoUsers { line: 1, column: 1, problem };
        Err(ServerError::Users { path: path.display().to_string(), cause })
    }

    /// What the user may do, if that is its password.
    #[must_use]
    pub fn prove(&self, name: &[u8], password: &[u8]) -> Option<Rights> {
        let given = digest(&SHA256, password);
        let user = self.0.get(name).filter(|user| user.on)?;
        let mut right = false;
        for hash in &user.hashes {
            let differing = hash.iter().zip(given.as_ref()).fold(0, |bits, (a, b)| bits | (a ^ b));
            right |= std::hint::black_box(differing) == 0;
        }
        right.then(|| user.rights.clone())
    }
}

impl User {
    fn take(&mut self, word: &str) -> Result<(), String> {
        match word.split_at_checked(1) {
            _ if word == "on" => self.on = true,
            _ if word == "off" => self.on = false,
            _ if word == "allkeys" => self.rights.patterns.push((Vec::new(), true)),
            Some(("#", digits)) => self.hashes.push(hash(digits).ok_or(
                "a password is the 64 hexadecimal digits of its SHA-256: \
                 printf %s PASSWORD | sha256sum",
            )?),
            Some((">", _)) => {
                return Err("a password stands here as # and its SHA-256, never as it is: \
                            printf %s PASSWORD | sha256sum"
                    .into());
            }
            Some(("~", pattern)) => {
                let (start, open) =
                    pattern.strip_suffix('*').map_or((pattern, false), |start| (start, true));
                if start.contains(['*', '?', '[', '\\']) {
                    return Err(format!(
                        "'{word}': a pattern is a name, or the beginning of names with * behind it"
                    ));
                }
                self.rights.patterns.push((start.as_bytes().to_vec(), open));
            }
            Some(("+" | "-", category)) => {
                let category = category.strip_prefix('@');
                let known = Right::ALL.iter().find(|(name, _)| Some(*name) == category);
                let bits = match known {
                    Some((_, right)) => right.bit(),
                    None if category == Some("all") => Rights::all().bits,
                    None => {
                        return Err(format!(
                            "'{word}' is no right: there are @lock, @list, @remove, @admin and @all"
                        ));
                    }
                };
                if word.starts_with('+') {
                    self.rights.bits |= bits;
                } else {
                    self.rights.bits &= !bits;
                }
            }
            _ => {
                return Err(format!(
                    "'{word}' was not expected: on, off, #SHA256, ~PATTERN, allkeys, +@RIGHT and \
                     -@RIGHT are known"
                ));
            }
        }
        Ok(())
    }
}

fn hash(digits: &str) -> Option<[u8; SHA256_OUTPUT_LEN]> {
    let mut bytes = [0; SHA256_OUTPUT_LEN];
    if digits.len() != 2 * SHA256_OUTPUT_LEN || !digits.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of `foobared`.
    const HASH: &str = "1b58ee375b42e41f0e48ef2ff27d10a5b1f6924a9acdcdba7cae868e7adce6bf";

    #[test]
    fn only_the_right_password_proves_a_user_and_what_it_may_do() {
        let text = format!(
            "# who may\nuser anna on #{HASH} ~SALES* ~ONE +@lock +@list\n\nuser off off #{HASH} ~* +@all\n"
        );
        let users = Users::parse(&text).unwrap();
        let marked = Users::parse(&format!("\u{feff}user anna on #{HASH} +@lock")).unwrap();
        assert!(marked.prove(b"anna", b"foobared").is_some());
        let rights = users.prove(b"anna", b"foobared").unwrap();
        assert!(rights.may(Right::Lock) && rights.may(Right::List));
        assert!(!rights.may(Right::Remove) && !rights.may(Right::Admin));
        assert!(rights.covers(b"SALES") && rights.covers(b"SALES_A") && rights.covers(b"ONE"));
        assert!(!rights.covers(b"ONE1") && !rights.covers(b"SALE") && !rights.covers_everything());
        for (name, password) in [("anna", "foobare"), ("anna", ""), ("off", "foobared"), ("", "")] {
            assert_eq!(users.prove(name.as_bytes(), password.as_bytes()), None, "{name}");
        }
        assert!(!format!("{users:?}").contains("1b58"));
    }

    #[test]
    fn a_file_by_which_nobody_could_log_in_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        for (text, sound) in [
            (format!("user a on #{HASH} +@lock"), true),
            ("user a on +@lock".to_owned(), false),
            (format!("user a on +@lock\nuser b off #{HASH}"), false),
        ] {
            std::fs::write(&path, &text).unwrap();
            match Users::read(&path) {
                Ok(_) => assert!(sound, "{text}"),
                Err(no) => assert!(!sound && no.to_string().contains("nobody may log in"), "{no}"),
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let of = |text: &str| Users::parse(text).unwrap_err().to_string();
        assert!(of("usr x").starts_with("line 1, column 1: 'usr' was not expected"));
        assert!(of("\nuser x on >secret").starts_with("line 2, column 11: a password stands here"));
        assert!(!of("user x >secret").contains("secret"), "it is not shown");
        assert!(of("user x #12").contains("sha256sum"));
        assert!(of("user x +@writ").contains("'+@writ' is no right"));
        assert!(of("user x ~a?b").contains("a pattern is"));
        assert!(
            of("user x\nuser x").starts_with("line 2, column 6: the user 'x' stands here twice")
        );
        assert!(of("user").contains("a name is missing"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_file_of_users_or_is_not(text in "(user |on |#[0-9a-f]{64}|~\\*|\\+@all|[ -~\n])*") {
            if let Err(no) = Users::parse(&text) {
                prop_assert!(no.line >= 1 && no.column >= 1);
            }
        }
    }
}
