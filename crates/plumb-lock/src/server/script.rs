//! The Lua scripts of lock libraries, known by their text. A script is never run.

use std::collections::HashMap;

/// What a known script does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// Deletes the key if its value is the argument.
    Release,
    /// The same, and tells a key that is not there (-1) from one of another value (0).
    ReleaseTold,
    /// Sets the time to live to the argument behind the value.
    Renew,
    /// Adds to the time to live, or sets it when a third argument says `0`.
    Extend,
}

/// Known scripts without their white space, with double quotes, in small letters.
const KNOWN: [(&str, Script); 7] = [
    (
        r#"ifredis.call("get",keys[1])==argv[1]thenreturnredis.call("del",keys[1])elsereturn0end"#,
        Script::Release,
    ),
    (
        r#"localtoken=redis.call("get",keys[1])ifnottokenortoken~=argv[1]thenreturn0endredis.call("del",keys[1])return1"#,
        Script::Release,
    ),
    (
        r#"localval=redis.call("get",keys[1])ifval==argv[1]thenreturnredis.call("del",keys[1])elseifval==falsethenreturn-1elsereturn0end"#,
        Script::ReleaseTold,
    ),
    (
        r#"ifredis.call("get",keys[1])==argv[1]thenreturnredis.call("pexpire",keys[1],argv[2])elsereturn0end"#,
        Script::Renew,
    ),
    (
        r#"localtoken=redis.call("get",keys[1])ifnottokenortoken~=argv[1]thenreturn0endredis.call("pexpire",keys[1],argv[2])return1"#,
        Script::Renew,
    ),
    (
        r#"localtoken=redis.call("get",keys[1])ifnottokenortoken~=argv[1]thenreturn0endlocalexpiration=redis.call("pttl",keys[1])ifnotexpirationthenexpiration=0endifexpiration<0thenreturn0endlocalnewttl=argv[2]ifargv[3]=="0"thennewttl=argv[2]+expirationendredis.call("pexpire",keys[1],newttl)return1"#,
        Script::Extend,
    ),
    (
        r#"ifredis.call("get",keys[1])==argv[1]thenreturnredis.call("unlink",keys[1])elsereturn0end"#,
        Script::Release,
    ),
];

/// The longest script that is looked at, bytes.
const SCRIPT_BYTES_MAX: usize = 2048;

/// The scripts that clients have loaded, by their SHA-1.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    by_digest: HashMap<[u8; 40], Script>,
}

impl Scripts {
    /// The script of this text, which is known by its digest from now on.
    pub(super) fn load(&mut self, text: &[u8]) -> Option<(Script, [u8; 40])> {
        let script = known(text)?;
        let digest = digest(text);
        const KEPT_MAX: usize = 1024; // texts differ in white space only
        if self.by_digest.len() < KEPT_MAX {
            self.by_digest.insert(digest, script);
        }
        Some((script, digest))
    }

    pub(super) fn find(&self, digest: &[u8]) -> Option<Script> {
        let digest: [u8; 40] = digest.try_into().ok()?;
        self.by_digest.get(&digest.map(|byte| byte.to_ascii_lowercase())).copied()
    }
}

/// The SHA-1 of a text in hexadecimal digits.
pub(super) fn digest(text: &[u8]) -> [u8; 40] {
    let mut digits = [b'0'; 40];
    let text = sha1_smol::Sha1::from(text).digest().to_string();
    digits.copy_from_slice(text.as_bytes());
    digits
}

fn known(text: &[u8]) -> Option<Script> {
    if text.len() > SCRIPT_BYTES_MAX {
        return None;
    }
    let plain: Vec<u8> = text
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace() && **byte != b';')
        .map(|byte| if *byte == b'\'' { b'"' } else { byte.to_ascii_lowercase() })
        .collect();
    KNOWN.iter().find(|(known, _)| known.as_bytes() == plain).map(|(_, script)| *script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_script_is_known_however_it_is_written() {
        let text = b"if redis.call('GET', KEYS[1]) == ARGV[1]\n  then return redis.call('DEL', \
                     KEYS[1])\n  else return 0 end;";
        let mut scripts = Scripts::default();
        let (script, digest) = scripts.load(text).unwrap();
        assert_eq!(script, Script::Release);
        assert_eq!(scripts.find(&digest.to_ascii_uppercase()), Some(Script::Release));
        assert!(scripts.load(b"return redis.call('del', KEYS[1])").is_none());
    }

    #[test]
    fn a_digest_is_the_sha1_of_the_text() {
        // FIPS 180-4, example of one block
        assert_eq!(&digest(b"abc"), b"a9993e364706816aba3e25717850c26c9cd0d89d");
    }
}
