//! All transactions of a folder, checked together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumb_measure::Span;
use plumb_wire::document::{Wrong, nearest};
use ring::digest::{Context, SHA256};

use crate::FlowError;
use plumb_data::{BACK_ENDS_FILE, DATA_SERVERS_FILE};
use plumb_transaction::Transaction;
use plumb_transaction::xslt::{Stylesheet, Stylesheets};

/// Bytes of the file of a transaction at most.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Transactions by name.
#[derive(Clone, Debug, Default)]
pub struct Transactions {
    by_name: BTreeMap<String, Transaction>,
    /// Files that hold none, and transactions that cannot work.
    problems: Vec<Problem>,
    /// Where its files are.
    folder: PathBuf,
    /// Of the names and texts of all files, in their order.
    digest: [u8; 32],
}

/// What is wrong with a transaction.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Its file.
    pub path: PathBuf,
    /// What, and where in the file if that is known.
    pub problem: ProblemKind,
}

/// See [`Problem`].
#[derive(Clone, Debug)]
pub enum ProblemKind {
    /// The file is no transaction.
    File(Wrong),
    /// It calls what is not there, or not as that wants to be called.
    Call(String),
    /// A stylesheet that it names cannot be read or compiled.
    Stylesheet(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.problem {
            ProblemKind::File(wrong) => write!(f, "{path}, {wrong}"),
            ProblemKind::Call(problem) | ProblemKind::Stylesheet(problem) => {
                write!(f, "{path}: {problem}")
            }
        }
    }
}

impl Transactions {
    /// Reads one file, or each `*.toml` of a folder.
    ///
    /// # Errors
    /// [`FlowError`] when there is nothing to read. What is wrong within a file is among the
    /// [`Self::problems`].
    pub fn read(path: &Path) -> Result<Self, FlowError> {
        let unreadable = |error| FlowError::unreadable(path, error);
        if fs::metadata(path).map_err(unreadable)?.is_file() {
            let folder = path.parent().unwrap_or(Path::new("")).into();
            let mut one = Self { folder, ..Self::default() };
            one.add(path)?;
            one.check_circles();
            return Ok(one);
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(unreadable)? {
            let file = entry.map_err(unreadable)?.path();
            if file.extension().is_some_and(|it| it == "toml") {
                files.push(file);
            }
        }
        files.sort();
        let described: Vec<PathBuf> =
            files.extract_if(.., |file| describes_servers(file)).collect();
        if files.is_empty() {
            return Err(FlowError::Empty { path: path.into() });
        }
        let mut all = Self { folder: path.into(), ..Self::default() };
        for file in &files {
            all.add(file)?;
        }
        for file in described {
            // what is wrong with it is said by whoever reads what it describes
            let bytes = fs::read(&file).unwrap_or_default();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            all.digest = chained(&all.digest, &name, &bytes);
        }
        all.check_calls(path);
        all.check_circles();
        Ok(all)
    }

    /// Those that can be done, by name.
    pub fn all(&self) -> impl Iterator<Item = &Transaction> {
        self.by_name.values()
    }

    /// The transaction of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Transaction> {
        self.by_name.get(name)
    }

    /// The name most like `name`.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<String> {
        nearest(name, self.by_name.keys()).cloned()
    }

    /// What is wrong, file by file.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What tells these transactions from others: 16 hexadecimal digits of a digest of their files.
    #[must_use]
    pub fn digest(&self) -> String {
        self.digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    fn add(&mut self, path: &Path) -> Result<(), FlowError> {
        let text = text(path, FILE_BYTES_MAX)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.digest = chained(&self.digest, &name, text.as_bytes());
        match Transaction::parse(&name, &text) {
            Ok(transaction) => self.add_transaction(path, transaction),
            Err(wrong) => {
                self.problems.push(Problem { path: path.into(), problem: ProblemKind::File(wrong) })
            }
        }
        Ok(())
    }

    /// Reads its stylesheets, too.
    fn add_transaction(&mut self, path: &Path, mut transaction: Transaction) {
        let here = self.folder.as_os_str().is_empty();
        let folder = if here { Path::new(".") } else { &self.folder };
        if let Err(error) = transaction.read_stylesheets(folder) {
            let problem = ProblemKind::Stylesheet(error.to_string());
            self.problems.push(Problem { path: path.into(), problem });
            return;
        }
        for stylesheet in transaction.stylesheets() {
            let name = stylesheet.path().to_string_lossy();
            self.digest = chained(&self.digest, &name, stylesheet.text());
        }
        self.by_name.insert(transaction.name.to_string(), transaction);
    }

    /// Compiles every stylesheet, each within `patience`; what is wrong is among the
    /// [`Self::problems`] afterwards.
    pub fn check_stylesheets(&mut self, stylesheets: &Stylesheets, patience: Span) {
        for transaction in self.by_name.values() {
            for stylesheet in transaction.stylesheets() {
                if let Err(error) = stylesheets.check(&stylesheet, patience) {
                    let path = self.folder.join(format!("{}.toml", transaction.name));
                    let problem = ProblemKind::Stylesheet(error.to_string());
                    self.problems.push(Problem { path, problem });
                }
            }
        }
    }

    /// All stylesheets that actions name, each once.
    #[must_use]
    pub fn stylesheets(&self) -> Vec<Arc<Stylesheet>> {
        let mut all: Vec<Arc<Stylesheet>> = Vec::new();
        for stylesheet in self.all().flat_map(Transaction::stylesheets) {
            if !all.contains(&stylesheet) {
                all.push(stylesheet);
            }
        }
        all
    }

    /// Calls of transactions that are not there, lack a parameter or have none of the name.
    fn check_calls(&mut self, folder: &Path) {
        let mut problems = Vec::new();
        for transaction in self.by_name.values() {
            for (called, given) in transaction.calls() {
                if let Some(problem) = self.problem_of(called, &given) {
                    let path = folder.join(format!("{}.toml", transaction.name));
                    problems.push(Problem { path, problem: ProblemKind::Call(problem) });
                }
            }
        }
        self.problems.extend(problems);
    }

    /// Transactions that call themselves in each execution, which would never end.
    fn check_circles(&mut self) {
        let mut problems = Vec::new();
        for name in self.by_name.keys() {
            let Some(circle) = self.circle(name) else { continue };
            let problem = ProblemKind::Call(format!(
                "each execution calls {} again ({}) and would never end: put a call behind an `if`",
                if circle.len() > 2 { "this one" } else { "itself" },
                circle.join(" -> ")
            ));
            problems.push(Problem { path: self.folder.join(format!("{name}.toml")), problem });
        }
        self.problems.extend(problems);
    }

    /// The calls from `name` back to it, if all of them are made in each execution. One in which
    /// several have a part is found at the first of their names only.
    fn circle(&self, name: &str) -> Option<Vec<&str>> {
        let first = self.find(name)?;
        let (mut seen, mut paths) = (BTreeSet::new(), vec![vec![&*first.name]]);
        while let Some(path) = paths.pop() {
            let last = path.last().and_then(|last| self.find(last));
            for called in last.into_iter().flat_map(Transaction::certain_calls) {
                let longer = [&*path, &[called]].concat();
                if called == name {
                    return Some(longer);
                }
                if called > name && seen.insert(called) {
                    paths.push(longer);
                }
            }
        }
        None
    }

    fn problem_of(&self, called: &str, given: &[&str]) -> Option<String> {
        let Some(other) = self.find(called) else {
            let meant = self.nearest(called);
            let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            return Some(format!("it calls `{called}`, which is not here{meant}"));
        };
        let known: Vec<(&str, bool)> = other.parameters().collect();
        if let Some(unknown) = given.iter().find(|name| known.iter().all(|(it, _)| it != *name)) {
            return Some(format!(
                "it gives `{called}` the parameter `{unknown}`, which that has not"
            ));
        }
        let missing = known.iter().find(|(name, required)| *required && !given.contains(name));
        missing.map(|(name, _)| format!("it calls `{called}` without its parameter `{name}`"))
    }
}

/// Whether a file says what transactions reach, not what they do.
fn describes_servers(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    [DATA_SERVERS_FILE, BACK_ENDS_FILE].iter().any(|known| name == *known)
}

/// The digest of what `before` stands for and one more file (SHA-256).
fn chained(before: &[u8; 32], name: &str, text: &[u8]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(before);
    // a length before each part: two parts are not taken for two others
    for part in [name.as_bytes(), text] {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut digest = [0; 32];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

/// The text of a file of `most` bytes.
fn text(path: &Path, most: u64) -> Result<String, FlowError> {
    let unreadable = |error| FlowError::unreadable(path, error);
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(most + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > most {
        return Err(FlowError::TooLarge { path: path.into(), most });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a folder of these files.
    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
        }
        let prefix = format!("{}/", folder.path().display());
        let read = Transactions::read(folder.path()).unwrap();
        read.problems().iter().map(|it| it.to_string().replace(&prefix, "")).collect()
    }

    fn calls(name: &str) -> String {
        format!("[[action]]\ntransaction = \"{name}\"\n")
    }

    #[test]
    fn transactions_that_would_call_themselves_without_end_are_told_once() {
        let (a, b, c) = (calls("a"), calls("b"), calls("c"));
        let found = problems(&[("a", &a)]);
        assert_eq!(
            found,
            ["a.toml: each execution calls itself again (a -> a) and would never end: put a call \
              behind an `if`"]
        );
        let found = problems(&[("a", &b), ("b", &c), ("c", &a), ("d", &a)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("a.toml: each execution calls this one again (a -> b -> c -> a)")
        );
    }

    #[test]
    fn transactions_that_may_come_to_an_end_may_call_themselves() {
        let within = |around: &str| {
            format!(
                "[parameters]\nx = \"\"\n[[action]]\n{around}\n{}",
                calls("a").replace("[[action]]", "[[action.do]]")
            )
        };
        for text in [
            within("if = \"${x} != ''\""),
            within("repeat = \"/A\"\nassign = { y = \"B\" }"),
            format!("[[action]]\nfail = \"no\"\n{}", calls("a")),
        ] {
            assert_eq!(problems(&[("a", &text)]), Vec::<String>::new(), "{text}");
        }
    }
}
