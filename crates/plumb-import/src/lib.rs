//! `plumb http import`: recordings and test plans of others become scenarios.
//!
//! A file (`source.rs`) is read into a [`Draft`] by the importer of its
//! format, and `written.rs` makes the text of it. What was not carried over is a
//! note of the draft: none of it is lost without a word.

mod access_log;
mod error;
mod grinder;
mod har;
mod options;
mod output;
mod path_part;
mod source;
mod written;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args as _, Command};
use output::{Output, seen_from};
use plumb_draft::note::Weight;
use plumb_draft::{Draft, Source};
use plumb_scenario::file::{ScenarioFile, Step};

pub use error::ImportError;
pub use options::{Format, ImportOptions};

/// The verb, with its words for people.
#[must_use]
pub fn command() -> Command {
    ImportOptions::augment_args(Command::new("import"))
        .about("Make a scenario of a HAR, a JMeter plan, a grinder.properties or an access log")
        .long_about(
            "Makes a scenario of a HAR, of a test plan of JMeter, of the properties of The \
             Grinder, or of an access log, for plumb http load.\n\nPasswords and tokens are left out and become \
             variables. What is not carried over is named with its place, on standard error \
             and at the beginning of the scenario.",
        )
}

/// The making of one scenario.
#[derive(Debug)]
pub struct Import {
    options: ImportOptions,
    /// What was not carried over and changes the load.
    lost: usize,
}

impl Import {
    /// What `options` ask for.
    #[must_use]
    pub fn new(options: ImportOptions) -> Self {
        Self { options, lost: 0 }
    }

    /// Reads the file, writes the scenario, and says on `log` what was not carried over.
    ///
    /// # Errors
    /// When the file is none that can be read, or an output cannot be written.
    pub fn run(&mut self, out: &mut dyn Write, log: &mut dyn Write) -> Result<(), ImportError> {
        let (source, format) = source::open(&self.options.file, self.options.from)?;
        let (draft, text) = self.make(&source, format)?;
        self.lost = draft.notes.changes();
        self.write(&draft, &text, out)?;
        self.tell(&source, &draft, log)?;
        Ok(())
    }

    /// True when something that changes the load was not carried over, and that is not accepted.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        self.options.strict && self.lost > 0
    }

    /// Makes the draft and the text of the scenario.
    fn make(&self, source: &Source, format: Format) -> Result<(Draft, String), ImportError> {
        let mut draft = match format {
            Format::Har => har::import(source, &self.options)?,
            Format::Jmx => plumb_jmx::import(source, self.options.wanted_servers())?,
            Format::Grinder => grinder::import(source, &self.options)?,
            Format::AccessLog => access_log::import(source, &self.options)?,
        };
        self.name_data(&mut draft);
        self.name_credentials(source, &mut draft)?;
        if draft.data.is_none()
            && let Some(folder) = self.folder_left(source)
            && from_folder(&folder, &mut draft.file)
        {
            draft.head.push(format!(
                "It names files in {}: play it with --files-from and this folder.",
                folder.display()
            ));
        }
        let text = written::text(&draft.file, &head(source, format, &draft), &draft.remarks)?;
        Ok((draft, text))
    }

    /// Names the data file that is written beside the scenario.
    fn name_data(&self, draft: &mut Draft) {
        if let (Some(_), Some(path)) = (&draft.data, self.data_out())
            && let Some(name) = path.file_name()
        {
            for data in draft.file.scenario.iter_mut().flat_map(|scenario| &mut scenario.data) {
                *data.file.get_mut() = PathBuf::from(name);
            }
        }
    }

    /// Where a data file goes: beside the scenario, under its name.
    fn data_out(&self) -> Option<PathBuf> {
        self.options.out.as_ref().map(|out| out.with_extension("csv"))
    }

    /// Names the file that holds the login; the login itself stands nowhere in the scenario.
    fn name_credentials(&self, source: &Source, draft: &mut Draft) -> Result<(), ImportError> {
        let out = self.options.credentials_out.as_ref();
        let is_hidden = match &draft.login {
            None if out.is_none() => return Ok(()),
            Some(login) if out.is_none() || !login.is_hidden() => login.is_hidden(),
            None | Some(_) => return Err(ImportError::NoLogin),
        };
        let file = match out {
            Some(path) => seen_from(self.options.out.as_deref(), path),
            None => PathBuf::from(format!("{}.credentials", source.stem())),
        };
        let hint = match is_hidden {
            true => {
                "the file masks a user and a password: write the line USER:PASSWORD into this file \
                 and make it yours alone (chmod 600)"
            }
            false => {
                "the file held a user and a password; they were left out: write the line \
                 USER:PASSWORD into this file and make it yours alone (chmod 600), or import again \
                 with --credentials-out FILE"
            }
        };
        let mut places = Vec::new();
        for number in &draft.login_of {
            if let Some(scenario) = draft.file.scenario.get_mut(*number) {
                scenario.credentials = Some(file.clone());
                places.push(format!("scenario.{number}.credentials"));
            }
        }
        if places.is_empty() {
            draft.file.credentials = Some(file);
            places.push("credentials".into());
        }
        for place in places.into_iter().filter(|_| out.is_none()) {
            draft.remark(place, hint);
        }
        Ok(())
    }

    /// The folder of the file, where the scenario goes to another one: files beside it are then
    /// named with their whole paths.
    fn folder_left(&self, source: &Source) -> Option<PathBuf> {
        let folder = |path: &Path| Some(std::path::absolute(path).ok()?.parent()?.to_path_buf());
        let from = folder(&source.path)?;
        (folder(self.options.out.as_deref()?)? != from).then_some(from)
    }

    /// A file that would be written over what was read or written just before.
    fn named_twice(&self) -> Option<PathBuf> {
        let real = |path: &Path| {
            std::fs::canonicalize(path)
                .or_else(|_| std::path::absolute(path))
                .unwrap_or(path.into())
        };
        let ImportOptions { file, out, credentials_out, .. } = &self.options;
        let named: Vec<&PathBuf> =
            [Some(file), out.as_ref(), credentials_out.as_ref()].into_iter().flatten().collect();
        let twice = |at: usize| named[..at].iter().any(|other| real(other) == real(named[at]));
        (1..named.len()).find(|at| twice(*at)).map(|at| named[at].clone())
    }

    fn output<'a>(&self, path: &'a PathBuf) -> Output<'a> {
        Output { path, force: self.options.force }
    }

    fn write(&self, draft: &Draft, text: &str, out: &mut dyn Write) -> Result<(), ImportError> {
        let files = [self.options.credentials_out.as_ref(), self.options.out.as_ref()];
        for path in files.into_iter().flatten() {
            self.output(path).check()?;
        }
        let data_out = self.data_out();
        if let Some(data) = &draft.data {
            let path = data_out.as_ref().ok_or(ImportError::NoOut)?;
            if self.options.out.as_ref() == Some(path) || path == &self.options.file {
                return Err(ImportError::Twice { path: path.clone() });
            }
            self.output(path).check()?;
            self.output(path).write(&data.text)?;
        }
        if let Some(path) = self.named_twice() {
            return Err(ImportError::Twice { path });
        }
        if let (Some(path), Some(login)) = (&self.options.credentials_out, &draft.login) {
            self.output(path).write_login(login)?;
        }
        match &self.options.out {
            Some(path) => self.output(path).write(text)?,
            None => out.write_all(text.as_bytes())?,
        }
        Ok(())
    }

    /// What the scenario needs and does not hold: secrets, and what nothing gives.
    fn left_open(&self, draft: &Draft) -> Vec<String> {
        let variables = draft.file.variables.iter();
        let empty = variables.filter(|(name, value)| {
            value.is_empty() && draft.remarks.contains_key(&format!("variables.{name}"))
        });
        let mut open: Vec<String> = empty.map(|(name, _)| format!("variables.{name}")).collect();
        if draft.login.is_some() && self.options.credentials_out.is_none() {
            open.push("the file of `credentials`".into());
        }
        open
    }

    /// Says what was made and what was not carried over.
    fn tell(&self, source: &Source, draft: &Draft, log: &mut dyn Write) -> std::io::Result<()> {
        for note in draft.notes.sorted() {
            writeln!(log, "{}: {note}", source.path.display())?;
        }
        let left_open = self.left_open(draft);
        if !left_open.is_empty() {
            let list = left_open.join(", ");
            writeln!(log, "{}: fill in before the load: {list}", source.path.display())?;
        }
        let scenarios = &draft.file.scenario;
        let steps = scenarios.iter().map(|scenario| requests(&scenario.step)).sum::<usize>()
            + scenarios.iter().map(|scenario| requests(&scenario.login)).sum::<usize>()
            + requests(&draft.file.prepare)
            + requests(&draft.file.finish);
        let made =
            format!("{}, {}", counted(scenarios.len(), "scenario"), counted(steps, "request"));
        let lost = match self.lost {
            0 => "everything that makes the load was carried over".to_owned(),
            1 => "1 thing that changes the load was not carried over".to_owned(),
            more => format!("{more} things that change the load were not carried over"),
        };
        writeln!(log, "{}: {made}; {lost}", source.path.display())
    }
}

/// The comment at the beginning: whence it came, and what is missing.
fn head(source: &Source, format: Format, draft: &Draft) -> Vec<String> {
    let kind = match format {
        Format::Har => "a HAR",
        Format::Jmx => "a test plan of JMeter",
        Format::Grinder => "properties of The Grinder",
        Format::AccessLog => "an access log",
    };
    let mut head = vec![format!("Made by plumb http import from {}, {kind}.", source.name())];
    head.extend(draft.head.iter().cloned());
    if draft.file.base.is_none() {
        head.push("It names no server: give one as `base`, or with the load.".into());
    }
    let notes = draft.notes.sorted();
    for (title, weight) in [
        ("Not carried over, and the load differs by it:", Weight::Changes),
        ("Not carried over, without a part in the load:", Weight::NoPart),
    ] {
        let chosen: Vec<_> = notes.iter().filter(|note| note.weight == weight).collect();
        if !chosen.is_empty() {
            head.extend([String::new(), title.to_owned()]);
            head.extend(chosen.iter().map(|note| format!("  {note}")));
        }
    }
    head
}

/// Names data and bodies by their paths from `folder`; false when there are none.
fn from_folder(folder: &Path, file: &mut ScenarioFile) -> bool {
    let mut any = false;
    let mut open: Vec<&mut Step> = file.prepare.iter_mut().chain(&mut file.finish).collect();
    for scenario in &mut file.scenario {
        for data in &mut scenario.data {
            let path = data.file.get_mut();
            *path = folder.join(&*path);
            any = true;
        }
        open.extend(scenario.login.iter_mut().chain(&mut scenario.step));
    }
    while let Some(step) = open.pop() {
        let of_parts = step.parts.iter_mut().filter_map(|part| part.get_mut().file.as_mut());
        for path in step.body_file.as_mut().into_iter().chain(of_parts) {
            let path = path.get_mut();
            *path = folder.join(&*path);
            any = true;
        }
        open.extend(&mut step.step);
    }
    any
}

fn requests(steps: &[Step]) -> usize {
    let own = steps.iter().filter(|step| step.get.is_some() || step.path.is_some()).count();
    own + steps.iter().map(|step| requests(&step.step)).sum::<usize>()
}

/// `1 request`, `2 requests`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    plumb_measure::counted(number as u64, noun)
}

#[cfg(test)]
mod tests {
    use plumb_wire::document;
    use proptest::prelude::*;

    use super::*;

    const FILES: [(&str, Format, &str); 5] = [
        ("shop.har", Format::Har, include_str!("../tests/files/shop.har")),
        ("flights.jmx", Format::Jmx, include_str!("../../plumb-jmx/tests/files/flights.jmx")),
        ("script.properties", Format::Grinder, include_str!("../tests/files/script.properties")),
        ("urls.properties", Format::Grinder, include_str!("../tests/files/urls.properties")),
        ("access.log", Format::AccessLog, include_str!("../tests/files/access.log")),
    ];

    #[test]
    fn what_is_written_is_the_scenario_and_always_the_same() {
        for (path, format, text) in FILES {
            let source = Source { path: path.into(), text: text.into() };
            let import = Import::new(ImportOptions::of(path));
            let (draft, written) = import.make(&source, format).unwrap();
            let again: ScenarioFile =
                document::read(&written).unwrap_or_else(|wrong| panic!("{path}: {wrong}"));
            assert_eq!(again, draft.file, "{path}");
            assert_eq!(import.make(&source, format).unwrap().1, written, "{path}");
            for note in draft.notes.sorted() {
                assert!(
                    written
                        .contains(&note.what.split_whitespace().next().unwrap_or("?").to_owned())
                );
            }
        }
    }

    /// What is made of a changed file, if anything, is a scenario that is read again.
    fn is_sound(path: &str, format: Format, text: String) {
        let source = Source { path: path.into(), text };
        if let Ok((draft, written)) = Import::new(ImportOptions::of(path)).make(&source, format) {
            let again: ScenarioFile = document::read(&written)
                .unwrap_or_else(|wrong| panic!("{wrong}\n{}\n{written}", source.text));
            assert_eq!(again, draft.file, "{written}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        #[test]
        fn files_without_some_of_their_lines_are_sound_or_refused(
            which in 0..FILES.len(),
            lost in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
        ) {
            let (path, format, text) = FILES[which];
            let lines: Vec<&str> = text.lines().collect();
            let lost: Vec<usize> = lost.iter().map(|at| at.index(lines.len())).collect();
            let kept = lines.iter().enumerate().filter(|(at, _)| !lost.contains(at));
            is_sound(path, format, kept.map(|(_, line)| format!("{line}\n")).collect());
        }

        #[test]
        fn files_with_other_values_are_sound_or_refused(
            which in 0..FILES.len(),
            at in any::<prop::sample::Index>(),
            with in prop::sample::select(vec![
                "", "-1", "0", "99999999999999999999", "1e400", "${x}", "${__time()}", "$${", "\\",
                "%", "a b", "\u{7f}", "http://other.example/", "://", "\u{1F600}", "true", "{", "]",
            ]),
        ) {
            let (path, format, text) = FILES[which];
            // what stands between two signs that enclose values
            let ends: Vec<usize> = text
                .char_indices()
                .filter(|(_, c)| matches!(c, '"' | '>' | '<' | '=' | '\n'))
                .map(|(at, _)| at)
                .collect();
            let first = at.index(ends.len() - 1);
            let changed = format!("{}{with}{}", &text[..=ends[first]], &text[ends[first + 1]..]);
            is_sound(path, format, changed);
        }
    }

    #[test]
    fn files_beside_the_plan_are_found_from_another_folder() {
        let (path, format, text) = FILES[1];
        let source = Source { path: path.into(), text: text.into() };
        let data = |out: Option<&str>| {
            let options = ImportOptions { out: out.map(Into::into), ..ImportOptions::of(path) };
            let (draft, _) = Import::new(options).make(&source, format).unwrap();
            draft.file.scenario[0].data[0].file.get_ref().clone()
        };
        assert_eq!(data(None), Path::new("customers.csv"));
        assert_eq!(data(Some("s.toml")), Path::new("customers.csv"));
        let elsewhere = data(Some("/elsewhere/s.toml"));
        assert_eq!(elsewhere, std::path::absolute("customers.csv").unwrap());
    }

    #[test]
    fn every_remark_stands_in_the_text() {
        for (path, format, text) in FILES {
            let source = Source { path: path.into(), text: text.into() };
            let (draft, written) =
                Import::new(ImportOptions::of(path)).make(&source, format).unwrap();
            let said = written.lines().filter(|line| line.starts_with("# ")).count();
            let remarks: usize = draft.remarks.values().map(Vec::len).sum();
            assert!(said >= remarks, "{path}: {remarks} remarks, {said} lines");
            for line in draft.remarks.values().flatten() {
                let start: String = line.chars().take(30).collect();
                assert!(written.contains(start.trim_end()), "{path}: {line}");
            }
        }
    }
}
