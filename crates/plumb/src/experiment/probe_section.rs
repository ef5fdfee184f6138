//! What the section of a probe in the file of an experiment says.

use plumb_experiment::names::Scope;
use plumb_experiment::{Fault, ProbeSection, Scalar, Template, VariantSection};
use plumb_wire::document::nearest;
use toml::Spanned;

/// The name of a probe of several.
pub(super) fn name(section: &ProbeSection) -> Result<&str, Fault> {
    let place = section.run.as_ref().or(section.exec.as_ref());
    match (&section.name, place) {
        (Some(name), _) => Ok(name.get_ref()),
        (None, Some(place)) => Err(Fault::at(place, "one of several probes needs a `name`")),
        (None, None) => Err(Fault::of_all("a [[probe]] needs a `name`, and `run` or `exec`")),
    }
}

/// The command of a probe under `variant`, with factors and servers left open.
pub(super) fn template(
    hosts: Option<&Spanned<String>>,
    section: &ProbeSection,
    variant: &VariantSection,
    scope: &Scope<'_>,
) -> Result<Template, Fault> {
    let command = match (&section.run, &section.exec) {
        (Some(run), None) => run,
        (None, Some(exec)) => return scope.template(exec, scope.servers()),
        (Some(_), Some(exec)) => {
            return Err(Fault::at(exec, "a probe has either `run` or `exec`, not both"));
        }
        (None, None) => {
            let problem = "a probe has either `run` (words behind plumb) or `exec` (a shell \
                           command)";
            return Err(match &section.name {
                Some(name) => Fault::at(name, problem),
                None => Fault::of_all(problem),
            });
        }
    };
    let mut template = scope.template(command, scope.servers())?;
    if let Some(words) = &variant.words {
        template = template.and(scope.template(words, scope.servers())?);
    }
    for (name, value) in &variant.options {
        let option = match value.get_ref() {
            Scalar::Flag(false) => continue,
            Scalar::Flag(true) => format!("--{name}"),
            value => {
                let value = value.to_string();
                let quoted = shlex::try_quote(&value)
                    .map_err(|error| Fault::at(&variant.name, format!("`{name}`: {error}")))?;
                format!("--{name}={quoted}")
            }
        };
        let option = Spanned::new(value.span(), option);
        template = template.and(scope.template(&option, scope.servers())?);
    }
    if let Some(hosts) = hosts {
        let option = Spanned::new(hosts.span(), format!("--remotes={}", hosts.get_ref()));
        template = template.and(scope.template(&option, scope.servers())?);
    }
    Ok(template)
}

/// The key of the figure that decides for a probe.
pub(super) fn figure(section: &ProbeSection) -> Result<Option<String>, Fault> {
    if let Some(higher) = section.higher_is_better.as_ref().filter(|_| section.exec.is_none()) {
        return Err(Fault::at(higher, "which way a figure of ours is good is known: leave it out"));
    }
    let Some(figure) = &section.figure else { return Ok(None) };
    let key = figure.get_ref().as_str();
    let fits = |known: &&str| plumb_lab::is_of_command(known) == section.exec.is_some();
    let known: Vec<&str> = plumb_lab::deciding().filter(fits).collect();
    if known.contains(&key) {
        return Ok(Some(key.to_owned()));
    }
    let meant = nearest(key, known.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    let problem = format!(
        "`{key}` can decide nothing here; one of {} can{}",
        known.join(", "),
        meant.unwrap_or_default()
    );
    Err(Fault::at(figure, problem))
}
