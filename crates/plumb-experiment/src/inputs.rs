//! The files that the commands of an experiment name. While it lasts they stay as they are: blocks
//! that were measured with different scenarios, scripts or settings do not belong together.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use plumb_lab::InputRecord;
use ring::digest::{Context, SHA256};
use toml::Value;

/// The largest file whose content is looked at; of a larger one the time of its last change is.
const CONTENT_MAX: u64 = 16 << 20;
/// The largest TOML file in which further files are looked for.
const NAMING_MAX: u64 = 1 << 20;
/// The permissions of everybody but the owner.
const OTHERS: u32 = 0o077;
/// The permissions to run a file.
const RUNNING: u32 = 0o111;
/// How programs in text are called.
const PROGRAMS: [&str; 9] = ["sh", "bash", "py", "pl", "rb", "js", "lua", "awk", "sql"];

/// The files that `words`, those of a command of ours, name, and those that are named in TOML files
/// among them, such as the data of a scenario.
pub fn of_command(words: &[String]) -> BTreeSet<PathBuf> {
    let mut files: BTreeSet<PathBuf> = named(words.iter().map(String::as_str)).collect();
    let inner: Vec<PathBuf> = files.iter().flat_map(|file| named_in(file)).collect();
    files.extend(inner);
    files
}

/// The files that `words`, those of a server of ours, name.
pub fn of_server(words: &[String]) -> BTreeSet<PathBuf> {
    named(words.iter().map(String::as_str)).collect()
}

/// The programs that a shell command names. Other files among its words may be what it writes.
pub fn of_shell(command: &str) -> BTreeSet<PathBuf> {
    let bare = |word: &str| word.trim_matches(|c: char| "();&|<>\"'`".contains(c)).to_owned();
    let words: Vec<String> = command.split_whitespace().map(bare).collect();
    named(words.iter().map(String::as_str)).filter(|path| is_program(path)).collect()
}

/// The words that name files, and the values of options that do.
fn named<'a>(words: impl Iterator<Item = &'a str>) -> impl Iterator<Item = PathBuf> {
    let values = words.flat_map(|word| {
        let value = word.split_once('=').map(|(_, value)| value);
        [Some(word), value].into_iter().flatten()
    });
    values.map(PathBuf::from).filter(|path| path.is_file())
}

/// The files that a TOML file names, relative to its folder.
fn named_in(file: &Path) -> Vec<PathBuf> {
    let is_toml = file.extension().is_some_and(|end| end == "toml");
    let small = fs::metadata(file).is_ok_and(|found| found.size() <= NAMING_MAX);
    let text = if is_toml && small { fs::read_to_string(file).ok() } else { None };
    let Some(table) = text.and_then(|text| text.parse::<toml::Table>().ok()) else {
        return Vec::new(); // whoever reads it says what is wrong with it
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut texts = Vec::new();
    texts_in(&Value::Table(table), &mut texts);
    texts.into_iter().map(|text| folder.join(text)).filter(|path| path.is_file()).collect()
}

fn texts_in(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts_in(value, texts)),
        Value::Table(table) => table.values().for_each(|value| texts_in(value, texts)),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

/// True for what can be run, or is called like what an interpreter runs.
fn is_program(path: &Path) -> bool {
    let runs = fs::metadata(path).is_ok_and(|found| found.mode() & RUNNING != 0);
    runs || path.extension().is_some_and(|end| PROGRAMS.iter().any(|known| end == *known))
}

/// Files, and what each was when the experiment began.
#[derive(Debug, Default)]
pub struct Inputs {
    files: Vec<Input>,
}

#[derive(Debug)]
struct Input {
    record: InputRecord,
    /// When it was looked at last.
    stamp: Stamp,
}

/// What changes with the content of a file: its size, and when it was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Inputs {
    /// Looks at `files`; one that is gone by now is left out.
    pub fn at(files: &BTreeSet<PathBuf>) -> Self {
        let input = |path: &PathBuf| {
            let (stamp, state) = look(path).ok()?;
            let path = path.display().to_string();
            Some(Input { record: InputRecord { path, state }, stamp })
        };
        Self { files: files.iter().filter_map(input).collect() }
    }

    /// What is written down of them.
    pub fn records(&self) -> Vec<InputRecord> {
        self.files.iter().map(|file| file.record.clone()).collect()
    }

    /// The files that are no longer what they were, which are forgotten.
    pub fn take_changed(&mut self) -> Vec<String> {
        let changed = self.files.extract_if(.., |file| file.has_changed());
        changed.map(|file| file.record.path).collect()
    }
}

impl Input {
    fn has_changed(&mut self) -> bool {
        let path = Path::new(&self.record.path);
        if fs::metadata(path).is_ok_and(|found| Stamp::of(&found) == self.stamp) {
            return false;
        }
        match look(path) {
            Ok((stamp, state)) if state == self.record.state => {
                self.stamp = stamp; // written anew, as it was
                false
            }
            Ok(_) | Err(_) => true,
        }
    }
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self { bytes: found.size(), seconds: found.mtime(), nanoseconds: found.mtime_nsec() }
    }
}

/// What became of files since an experiment began, in words; nothing of those that are as they were.
pub fn changes(begun: &[InputRecord]) -> Vec<String> {
    let change = |input: &InputRecord| match look(Path::new(&input.path)) {
        Ok((_, state)) if state == input.state => None,
        Ok(_) => Some(format!("{} was changed", input.path)),
        Err(error) => Some(format!("{} cannot be read ({error})", input.path)),
    };
    begun.iter().filter_map(change).collect()
}

/// The state of a file. The digest of a short secret could be guessed, so the content of what only
/// its owner may read is no part of it.
fn look(path: &Path) -> io::Result<(Stamp, String)> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    let stamp = Stamp::of(&found);
    if found.size() > CONTENT_MAX || found.mode() & OTHERS == 0 {
        return Ok((stamp, format!("modified {}.{:09}", stamp.seconds, stamp.nanoseconds)));
    }
    let mut content = Vec::new();
    file.take(CONTENT_MAX + 1).read_to_end(&mut content)?;
    let mut digest = Context::new(&SHA256);
    digest.update(&content);
    Ok((stamp, format!("sha256 {}", hexadecimal(digest.finish().as_ref()))))
}

/// Bytes as two hexadecimal digits each.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // writing into a text cannot fail
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn write(at: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = at.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_command_of_ours_names_its_files_and_those_that_they_name() {
        let at = tempfile::tempdir().unwrap();
        let scenario =
            "body-file = \"body.json\"\n[[data]]\nfile = \"users.csv\"\nname = \"none\"\n";
        let scenario = write(at.path(), "s.toml", scenario, 0o644);
        let body = write(at.path(), "body.json", "{}", 0o644);
        let users = write(at.path(), "users.csv", "a\n", 0o644);
        let words = ["http", "load", "--x=y", &format!("--scenario={}", scenario.display())];
        let words = words.map(String::from);
        assert_eq!(of_command(&words), BTreeSet::from([scenario.clone(), body, users]));
        assert_eq!(of_server(&words), BTreeSet::from([scenario]));
    }

    #[test]
    fn a_shell_command_names_its_programs_and_not_what_it_writes() {
        let at = tempfile::tempdir().unwrap();
        let run = write(at.path(), "run", "#!/bin/sh\n", 0o755);
        let script = write(at.path(), "x.sh", "true\n", 0o644);
        let out = write(at.path(), "out", "1\n", 0o644);
        let [run_it, source, into] = [&run, &script, &out].map(|path| path.display().to_string());
        let command = format!("({run_it}; sh \"{source}\") >> {into}");
        assert_eq!(of_shell(&command), BTreeSet::from([run, script]));
    }

    #[test]
    fn a_file_has_changed_when_its_content_has() {
        let at = tempfile::tempdir().unwrap();
        let path = write(at.path(), "s.toml", "a = 1\n", 0o644);
        let mut inputs = Inputs::at(&BTreeSet::from([path.clone(), at.path().join("none")]));
        let begun = inputs.records();
        assert_eq!(begun.len(), 1);
        let none = (Vec::new(), Vec::new());
        assert_eq!((inputs.take_changed(), changes(&begun)), none);
        fs::write(&path, "a = 1\n").unwrap();
        assert_eq!((inputs.take_changed(), changes(&begun)), none, "it says the same");
        fs::write(&path, "a = 20\n").unwrap();
        let shown = path.display().to_string();
        assert_eq!(inputs.take_changed(), [shown.as_str()]);
        assert_eq!((inputs.take_changed(), inputs.records()), (Vec::new(), Vec::new()));
        assert_eq!(changes(&begun), [format!("{shown} was changed")]);
        fs::remove_file(&path).unwrap();
        assert!(changes(&begun)[0].contains("cannot be read"), "{:?}", changes(&begun));
    }

    #[test]
    fn of_a_secret_nothing_is_written_down_but_when_it_changed() {
        let at = tempfile::tempdir().unwrap();
        let path = write(at.path(), "password", "sesame\n", 0o600);
        let state = look(&path).unwrap().1;
        assert!(state.starts_with("modified "), "{state}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let digest = "sha256 ";
        assert!(look(&path).unwrap().1.starts_with(digest));
    }
}
