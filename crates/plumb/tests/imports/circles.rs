//! No file of a crate needs another that needs it, at one remove or several. Files that are parent and child as
//! modules may, as one is a part of the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{crates, inside, name, text};

/// What is needed in a circle all the same: crate, module, and why. Whoever needs the module is not counted.
const ALLOWED: [(&str, &str, &str); 2] = [
    (
        "plumb",
        "commands",
        "commands that carry out others read the words of the whole command line",
    ),
    ("plumb-measure", "round_trip", "a row keeps round trips, whose parts are the times of a row"),
];

/// A module of a crate, from its root.
type Module = Vec<String>;

#[test]
fn no_file_needs_one_that_needs_it() {
    for folder in crates() {
        let own = name(&folder);
        let allowed: Vec<&str> =
            ALLOWED.iter().filter(|(of, ..)| *of == own).map(|(_, module, _)| *module).collect();
        let circles = circles(&needs(&read(&folder.join("src"))), &allowed);
        assert!(
            circles.is_empty(),
            "{own}: these files need each other: {circles:#?}; move what both need into a file below them"
        );
    }
}

#[test]
fn what_is_allowed_is_a_circle_still() {
    for (of, module, _) in ALLOWED {
        let folder = crates().into_iter().find(|folder| name(folder) == of).expect("it is there");
        let needs = needs(&read(&folder.join("src")));
        let others: Vec<&str> =
            ALLOWED.iter().map(|(_, other, _)| *other).filter(|other| *other != module).collect();
        assert!(!circles(&needs, &others).is_empty(), "{of} needs no exception for {module}");
    }
}

#[test]
fn a_circle_would_be_seen() {
    let of = |files: &[(&str, &str)]| {
        let files =
            files.iter().map(|(module, text)| (module_of(module), (*text).to_owned())).collect();
        circles(&needs(&files), &[])
    };
    let root = ("", "mod a; mod b; mod c; pub use c::Own;");
    let b = ("b", "use super::c; fn b() { c::of(\"crate::a\"); } // crate::a");
    // over a name that the root hands on, and a path within the code
    let c = ("c", "mod d; pub struct Own; fn of() { crate::a::begin() }");
    let d = ("c::d", "use super::Own;");
    assert!(
        of(&[root, ("a", "use std::fmt; use crate::{b::{self, B}};"), b, ("c", "")]).is_empty()
    );
    let found = of(&[root, ("a", "use crate::b;"), b, c, d]);
    assert_eq!(found, BTreeSet::from([["a", "b", "c"].map(module_of).into()]));
    assert_eq!(of(&[root, ("a", "use crate::Own;"), c, d]).len(), 1);
    // what only tests need is not counted, nor what a child needs of its parent
    let tested = ("a", "#[cfg(test)] mod tests { use crate::c; } #[cfg(test)] use crate::c;");
    assert!(of(&[root, tested, c, d]).is_empty());
}

fn module_of(path: &str) -> Module {
    path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The text of every file below `src` by its module, without those of tests.
fn read(src: &Path) -> BTreeMap<Module, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![(src.to_owned(), Module::new())];
    while let Some((folder, module)) = folders.pop() {
        for path in inside(&folder) {
            let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
            if ["tests", "testing", "bin"].contains(&stem.as_str()) || stem.ends_with("_tests") {
                continue;
            }
            let mut module = module.clone();
            if !["lib", "main", "mod"].contains(&stem.as_str()) {
                module.push(stem);
            }
            if path.is_dir() {
                folders.push((path, module));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.insert(module, text(&path));
            }
        }
    }
    files
}

/// Which modules each of `files` needs, but those above and below it.
fn needs(files: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let read: BTreeMap<&Module, Names> = files
        .iter()
        .map(|(module, text)| (module, Names::of(module, &tokens(text), files)))
        .collect();
    let found = |path: &[String]| {
        let mut path = path.to_vec();
        // a name may be handed on several times
        for _ in 0..8 {
            let length = (0..=path.len()).rev().find(|length| files.contains_key(&path[..*length]));
            let module = path[..length?].to_vec();
            let known = path.get(module.len()).and_then(|name| read[&module].known.get(name));
            match known {
                Some(known) if *known != path[..=module.len()] => {
                    path = known.iter().chain(&path[module.len() + 1..]).cloned().collect();
                }
                _ => return Some(module),
            }
        }
        None
    };
    let of = |module: &Module, names: &Names| {
        let needed = names.used.iter().filter_map(|path| found(path));
        needed.filter(|it| !it.starts_with(module) && !module.starts_with(it)).collect()
    };
    read.iter().map(|(module, names)| ((*module).clone(), of(module, names))).collect()
}

/// Groups of modules that reach each other, without what leads to the `allowed`.
fn circles(
    needs: &BTreeMap<Module, BTreeSet<Module>>,
    allowed: &[&str],
) -> BTreeSet<BTreeSet<Module>> {
    let reached = |from: &Module| {
        let (mut reached, mut left) = (BTreeSet::new(), vec![from]);
        while let Some(module) = left.pop() {
            for next in needs.get(module).into_iter().flatten() {
                if !allowed.contains(&next.join("::").as_str()) && reached.insert(next.clone()) {
                    left.push(next);
                }
            }
        }
        reached
    };
    let all: BTreeMap<&Module, BTreeSet<Module>> =
        needs.keys().map(|module| (module, reached(module))).collect();
    let circle = |(module, reached): (&&Module, &BTreeSet<Module>)| {
        let back = |other: &&Module| all.get(other).is_some_and(|it| it.contains(*module));
        let circle: BTreeSet<Module> = reached.iter().filter(back).cloned().collect();
        (!circle.is_empty()).then_some(circle)
    };
    all.iter().filter_map(circle).collect()
}

/// The paths within its crate that a file names, and what its own names stand for.
#[derive(Default)]
struct Names {
    used: Vec<Module>,
    known: BTreeMap<String, Module>,
}

impl Names {
    fn of(module: &Module, tokens: &[&str], files: &BTreeMap<Module, String>) -> Self {
        let mut names = Self::default();
        let mut paths = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at..].starts_with(&["#", "[", "cfg", "(", "test", ")", "]"]) {
                at = behind_item(tokens, at + 7);
            } else if tokens[at] == "use" && tokens.get(at + 1).is_some_and(|it| *it != "<") {
                at = names.take_use(module, tokens, at + 1, files);
            } else {
                let from = at;
                at += 1;
                while tokens.get(at).is_some_and(|it| *it == "::") && is_name(tokens.get(at + 1)) {
                    at += 2;
                }
                if at > from + 1 && (from == 0 || tokens[from - 1] != "::") {
                    paths.push(
                        tokens[from..at]
                            .iter()
                            .step_by(2)
                            .map(|name| (*name).to_owned())
                            .collect::<Module>(),
                    );
                }
            }
        }
        for path in paths {
            let known = names.known.get(&path[0]);
            let known = known.map(|known| known.iter().chain(&path[1..]).cloned().collect());
            names.used.extend(known.or_else(|| absolute(module, &path, files)));
        }
        names
    }

    /// Reads the declaration behind `use`; where it ends.
    fn take_use(
        &mut self,
        module: &Module,
        tokens: &[&str],
        at: usize,
        files: &BTreeMap<Module, String>,
    ) -> usize {
        let mut paths = Vec::new();
        let end = take_tree(tokens, at, &[], &mut paths);
        for (mut path, renamed) in paths {
            path.retain(|name| name != "self");
            let Some(own) = renamed.or_else(|| path.last().cloned()) else { continue };
            if let Some(path) = absolute(module, &path, files) {
                self.known.insert(own, path.clone());
                self.used.push(path);
            }
        }
        end
    }
}

/// Reads a path of a declaration, or several in braces, each with the name that it gets; where it ends.
fn take_tree(
    tokens: &[&str],
    mut at: usize,
    before: &[String],
    paths: &mut Vec<(Module, Option<String>)>,
) -> usize {
    let mut path = before.to_vec();
    while let Some(word) = tokens.get(at) {
        match *word {
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|it| !["}", ";"].contains(it)) {
                    at = take_tree(tokens, at, &path, paths);
                    at += usize::from(tokens.get(at).is_some_and(|it| *it == ","));
                }
                return at + 1;
            }
            "as" => {
                paths.push((path, tokens.get(at + 1).map(|name| (*name).to_owned())));
                return at + 2;
            }
            "," | "}" | ";" => {
                paths.push((path, None));
                return at;
            }
            "::" => {}
            word => path.push(word.to_owned()),
        }
        at += 1;
    }
    at
}

/// `path` as `module` writes it, from the root of its crate; `None` where it leads into another crate.
fn absolute(module: &Module, path: &[String], files: &BTreeMap<Module, String>) -> Option<Module> {
    let up = path.iter().take_while(|name| *name == "super").count();
    let (base, rest) = match path.first()?.as_str() {
        "crate" => (&module[..0], &path[1..]),
        "super" => (&module[..module.len().checked_sub(up)?], &path[up..]),
        first => {
            let child: Module = module.iter().cloned().chain([first.to_owned()]).collect();
            files.get(&child)?;
            (&module[..], path)
        }
    };
    Some(base.iter().chain(rest).cloned().collect())
}

/// Where the item behind an attribute ends: with its block, or with its semicolon.
fn behind_item(tokens: &[&str], mut at: usize) -> usize {
    let mut depth = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match *token {
            "{" => depth += 1,
            "}" => depth -= 1,
            ";" if depth == 0 => return at,
            _ => {}
        }
        if *token == "}" && depth == 0 && tokens.get(at).is_none_or(|it| *it != ";") {
            return at;
        }
    }
    at
}

fn is_name(token: Option<&&str>) -> bool {
    token.is_some_and(|it| it.starts_with(|first: char| first == '_' || first.is_alphabetic()))
}

/// The names and signs of `text`, without comments, texts and lifetimes.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '"' => quoted(rest, '"'),
            '\'' if rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\'') => {
                quoted(rest, '\'')
            }
            '_' | 'a'..='z' | 'A'..='Z' => {
                let is_part = |it: char| it == '_' || it.is_alphanumeric();
                let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
                match raw(&rest[length..]).filter(|_| ["r", "br", "cr"].contains(&&rest[..length]))
                {
                    Some(raw) => length + raw,
                    None => {
                        tokens.push(&rest[..length]);
                        length
                    }
                }
            }
            ':' if rest.starts_with("::") => {
                tokens.push("::");
                2
            }
            sign => {
                if !sign.is_whitespace() && sign != '\'' {
                    tokens.push(&rest[..sign.len_utf8()]);
                }
                sign.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    tokens
}

/// How long a text between two `mark`s is.
fn quoted(text: &str, mark: char) -> usize {
    let mut is_escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        if char == mark && !is_escaped {
            return at + 1;
        }
        is_escaped = char == '\\' && !is_escaped;
    }
    text.len()
}

/// How long a raw text behind its `r` is; `None` of anything else.
fn raw(text: &str) -> Option<usize> {
    let hashes = text.bytes().take_while(|byte| *byte == b'#').count();
    let inner = text[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(hashes + 1 + inner.find(&end)? + end.len())
}
