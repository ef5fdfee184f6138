//! The names in an experiment file: which are allowed, and what each stands for.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use crate::fault::Fault;
use crate::file::{ExperimentFile, FactorSection, Scalar, VariantSection};
use crate::template::Template;

/// Levels of a factor at most.
const LEVELS_MAX: usize = 100;
/// The name of a folder that each block has of its own, for what its commands leave.
pub const FOLDER: &str = "folder";
/// Names that mean something else: the label of the probe, the place of an address, and a folder.
const RESERVED: [&str; 3] = ["probe", "address", FOLDER];

/// Values by name.
pub type Values = BTreeMap<String, String>;

/// Refuses names that are none, that mean two things, or that are missing.
///
/// # Errors
/// The first such name, with its place.
pub fn check(file: &ExperimentFile) -> Result<(), Fault> {
    let servers = file.server.iter().map(|server| &server.name);
    let factors = file.factor.iter().map(|factor| &factor.name);
    let mut taken = BTreeSet::new();
    for name in servers.chain(factors) {
        is_name(name)?;
        if !taken.insert(name.get_ref().as_str()) {
            let problem = format!(
                "`{}` names two things: servers and factors share their names",
                name.get_ref()
            );
            return Err(Fault::at(name, problem));
        }
    }
    file.factor.iter().try_for_each(levels)?;
    distinct("variant", file.variant.iter().map(|variant| &variant.name))?;
    distinct("probe", file.probe.iter().filter_map(|probe| probe.name.as_ref()))?;
    file.variant.iter().try_for_each(|variant| values(file, variant, &taken))
}

/// A name that can stand in `${...}`.
fn is_name(name: &Spanned<String>) -> Result<(), Fault> {
    let text = name.get_ref();
    if RESERVED.contains(&text.as_str()) {
        return Err(Fault::at(
            name,
            format!("`{text}` has a meaning of its own: take another name"),
        ));
    }
    if is_plain(text) {
        return Ok(());
    }
    Err(Fault::at(name, "a name is made of letters, digits, `-` and `_`"))
}

fn is_plain(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !text.is_empty() && text.chars().all(allowed)
}

fn levels(factor: &FactorSection) -> Result<(), Fault> {
    let levels = factor.levels.get_ref();
    if levels.is_empty() {
        return Err(Fault::at(&factor.levels, "a factor has at least one level"));
    }
    if levels.len() > LEVELS_MAX {
        let problem = format!("{} levels are too many: at most {LEVELS_MAX}", levels.len());
        return Err(Fault::at(&factor.levels, problem));
    }
    let mut seen = BTreeSet::new();
    match levels.iter().map(Scalar::to_string).find(|level| !seen.insert(level.clone())) {
        Some(twice) => Err(Fault::at(&factor.levels, format!("`{twice}` stands there twice"))),
        None => Ok(()),
    }
}

fn distinct<'a>(what: &str, names: impl Iterator<Item = &'a Spanned<String>>) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    for name in names {
        if name.get_ref().trim().is_empty() {
            return Err(Fault::at(name, format!("a {what} needs a name")));
        }
        if !seen.insert(name.get_ref().as_str()) {
            let problem =
                format!("two are called `{}`: the names of each {what} differ", name.get_ref());
            return Err(Fault::at(name, problem));
        }
    }
    Ok(())
}

/// The values of a variant have names of their own, and its words belong to somebody.
fn values(
    file: &ExperimentFile,
    variant: &VariantSection,
    taken: &BTreeSet<&str>,
) -> Result<(), Fault> {
    for (name, value) in &variant.set {
        let problem = if !is_plain(name) || RESERVED.contains(&name.as_str()) {
            format!("`{name}` can be no name of a value: letters, digits, `-` and `_`")
        } else if taken.contains(name.as_str()) {
            format!("`{name}` is a server or a factor already: call the value something else")
        } else {
            continue;
        };
        return Err(Fault::at(value, problem));
    }
    let shell_only = file.probe.iter().all(|probe| probe.run.is_none());
    if let Some(words) = variant.words.as_ref().filter(|_| shell_only) {
        return Err(Fault::at(words, "words belong to a probe with `run`, and there is none"));
    }
    if let Some(option) = variant.options.values().next().filter(|_| shell_only) {
        return Err(Fault::at(option, "options belong to a probe with `run`, and there is none"));
    }
    let known = || file.server.iter().map(|server| server.name.get_ref().as_str());
    match variant.servers.iter().find(|(name, _)| !known().any(|server| server == *name)) {
        Some((name, words)) => {
            let meant = plumb_wire::document::nearest(name, known());
            let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            Err(Fault::at(words, format!("there is no server `{name}`{meant}")))
        }
        None => Ok(()),
    }
}

/// Refuses a value of a variant that none of its commands has in it.
///
/// # Errors
/// The first such value, with its place and what may have been meant.
pub fn no_idle_value(file: &ExperimentFile) -> Result<(), Fault> {
    file.variant.iter().try_for_each(|variant| {
        let used = used_by(file, variant);
        let Some((name, value)) = variant.set.iter().find(|(name, _)| !used.contains(*name)) else {
            return Ok(());
        };
        let known = used.iter().map(String::as_str).filter(|it| !variant.set.contains_key(*it));
        let meant = plumb_wire::document::nearest(name, known);
        let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        Err(Fault::at(
            value,
            format!(
                "no command of `{}` has ${{{name}}} in it: the value changes nothing{meant}; write \
                 ${{{name}}} where it belongs, or leave it out",
                variant.name.get_ref()
            ),
        ))
    })
}

/// The names in all commands that are run for a variant.
fn used_by(file: &ExperimentFile, variant: &VariantSection) -> BTreeSet<String> {
    let probes = file.probe.iter().flat_map(|probe| [&probe.run, &probe.exec]);
    let servers = file.server.iter().flat_map(|server| [&server.run, &server.exec]);
    let own = [&variant.words, &variant.before, &variant.after];
    let commands = probes.chain(servers).chain(own).flatten().chain(variant.servers.values());
    let options = variant.options.values().map(|value| value.get_ref().to_string());
    let texts = commands.map(|command| command.get_ref().clone()).chain(options);
    // what is no template is told where it is read
    let templates: Vec<Template> = texts.filter_map(|text| Template::parse(&text).ok()).collect();
    templates.iter().flat_map(Template::names).map(str::to_owned).collect()
}

/// Every combination of the levels of `factors`; the last of them changes first.
pub fn crossing(file: &ExperimentFile, factors: &[&str]) -> Vec<Values> {
    let mut all = vec![Values::new()];
    let is_used = |factor: &&FactorSection| factors.contains(&factor.name.get_ref().as_str());
    for factor in file.factor.iter().filter(is_used) {
        let name = factor.name.get_ref();
        all = all
            .iter()
            .flat_map(|values| {
                factor.levels.get_ref().iter().map(move |level| {
                    let mut values = values.clone();
                    values.insert(name.clone(), level.to_string());
                    values
                })
            })
            .collect();
    }
    all
}

/// What names stand for in the templates of one variant.
#[derive(Debug)]
pub struct Scope<'a> {
    factors: Vec<&'a str>,
    servers: Vec<&'a str>,
    set: &'a BTreeMap<String, Spanned<Scalar>>,
}

impl<'a> Scope<'a> {
    /// The scope of `variant`.
    pub fn of(file: &'a ExperimentFile, variant: &'a VariantSection) -> Self {
        Self {
            factors: file.factor.iter().map(|factor| factor.name.get_ref().as_str()).collect(),
            servers: file.server.iter().map(|server| server.name.get_ref().as_str()).collect(),
            set: &variant.set,
        }
    }

    /// All servers.
    pub fn servers(&self) -> usize {
        self.servers.len()
    }

    /// `text` with the values of the variant in it. Factors, the first `servers` servers and the
    /// folder of the block are left open, anything else is refused.
    ///
    /// # Errors
    /// The first name that stands for nothing, or a `${` without an end.
    ///
    /// # Panics
    /// When there are fewer than `servers` servers.
    pub fn template(&self, text: &Spanned<String>, servers: usize) -> Result<Template, Fault> {
        let open = |name: &str| {
            name == FOLDER
                || self.factors.contains(&name)
                || self.servers[..servers].contains(&name)
        };
        let known = || {
            let set = self.set.keys().map(String::as_str);
            let names = self.factors.iter().chain(&self.servers[..servers]).copied().chain(set);
            names.chain([FOLDER]).map(str::to_owned)
        };
        let template =
            Template::parse(text.get_ref()).map_err(|it| Fault::unclear(text, &it, known()))?;
        let filled =
            template.fill(|name| self.set.get(name).map(|value| value.get_ref().to_string()));
        match filled.unclear(open) {
            Some(unclear) => Err(Fault::unclear(text, &unclear, known())),
            None => Ok(filled),
        }
    }
}
