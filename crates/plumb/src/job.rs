//! The words of a command line of ours as a measurement, for commands that are made of others.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use anyhow::{anyhow, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use plumb_command::plain;
use plumb_engine::layer::{Job, Measure};
use plumb_engine::options::HostOptions;
use plumb_engine::{take_dead_addresses, take_slow_names};

use crate::metrics::Receivers;
use crate::{commands, layers};

/// The measurement that `words`, those behind `plumb`, ask for.
///
/// # Errors
/// When they ask for something else, or contradict each other.
pub(crate) fn measurement(words: &[String]) -> anyhow::Result<Box<dyn Measure>> {
    let (name, matches) = parse(words)?;
    let layer = layers::find(&name).ok_or_else(|| anyhow!("there is no layer `{name}`"))?;
    take_dead_addresses();
    take_slow_names(); // what another measurement looked up is none of this one's
    match layer.job(&matches).map_err(plain)? {
        Job::Measure(job) => Ok(job),
        Job::Verb(_) => {
            bail!(
                "this command measures nothing: name one that does, such as `net ping`; start servers yourself"
            )
        }
    }
}

/// `words` with the options of the file that they name, which is read only now: what is in it
/// later changes nothing.
pub(crate) fn with_options(words: &[String]) -> anyhow::Result<Vec<String>> {
    let line: Vec<OsString> =
        std::iter::once("plumb").chain(words.iter().map(String::as_str)).map(Into::into).collect();
    let line = plumb_options::expand(&commands::all(), &line)?;
    let words = line.into_iter().skip(1).map(OsString::into_string);
    words.collect::<Result<_, _>>().map_err(|word| anyhow!("{} is not UTF-8", word.display()))
}

/// Who is told the figures of the measurement that `words`, those behind `plumb`, ask for.
///
/// # Errors
/// When they are no command of a layer, or a receiver cannot be used.
pub(crate) fn receivers(words: &[String]) -> anyhow::Result<Receivers> {
    Receivers::of(&parse(words)?.1)
}

/// The layer and the options that `words`, those behind `plumb`, name.
///
/// # Errors
/// When they are no command of a layer.
pub(crate) fn parse(words: &[String]) -> anyhow::Result<(String, ArgMatches)> {
    let line = std::iter::once("plumb").chain(words.iter().map(String::as_str));
    let matches = commands::all().try_get_matches_from(line);
    let matches = matches.map_err(|error| match error.use_stderr() {
        true => told(&error),
        false => error.into(), // help, which is printed as it is
    })?;
    match matches.subcommand() {
        Some((layer, matches)) if layers::find(layer).is_some() => {
            Ok((layer.to_owned(), matches.clone()))
        }
        _ => bail!("only commands that measure can be used here, for example `net ping HOST`"),
    }
}

/// Refuses an option of `words` that means nothing to a command of another, by the name in its
/// definition.
///
/// # Errors
/// When one is given.
pub(crate) fn refuse(words: &[String], options: &[&str]) -> anyhow::Result<()> {
    let (layer, given) = parse(words)?;
    let (known, given) = (known(&layer, &given), leaf(&given));
    let is_given = |id: &&&str| {
        known.contains(**id) && given.value_source(id) == Some(ValueSource::CommandLine)
    };
    match options.iter().find(is_given) {
        Some(id) => bail!("--{} means nothing here: leave it out", id.replace('_', "-")),
        None => Ok(()),
    }
}

/// The options of the innermost command.
pub(crate) fn leaf(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| leaf(inner))
}

/// The innermost command below `command` that `matches` are of.
pub(crate) fn innermost<'a>(command: &'a Command, matches: &ArgMatches) -> Option<&'a Command> {
    match matches.subcommand() {
        Some((name, inner)) => innermost(command.find_subcommand(name)?, inner),
        None => Some(command),
    }
}

/// The options that the innermost command of `layer` takes, by their names in its definition: what
/// was given says nothing of those that were not.
pub(crate) fn known(layer: &str, of_layer: &ArgMatches) -> BTreeSet<String> {
    let all = commands::all();
    let command = all.find_subcommand(layer).and_then(|command| innermost(command, of_layer));
    command.map_or_else(BTreeSet::new, |command| {
        command.get_arguments().map(|option| option.get_id().to_string()).collect()
    })
}

/// What is wrong with a command line, on one line: the usage of a command inside others helps
/// nobody.
pub(crate) fn told(error: &clap::Error) -> anyhow::Error {
    let text = error.to_string();
    let about = ["Usage:", "For more information"];
    let parts: Vec<String> = text
        .trim_start_matches("error: ")
        .split("\n\n")
        .filter(|part| !about.iter().any(|about| part.trim_start().starts_with(about)))
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !part.is_empty())
        .collect();
    anyhow!("{}", parts.join("; "))
}

/// `words`, those behind `plumb`, with `further` options. They stand before a `--`, behind which nothing is
/// an option: what an options file says of arguments stands there.
pub(crate) fn with_further(words: &[String], further: &[String]) -> Vec<String> {
    let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (options, arguments) = words.split_at(at);
    [options, further, arguments].concat()
}

/// The word that has a measurement leave its run in `folder`.
///
/// # Errors
/// When the path is not UTF-8: words are, and one with something else in its place is another folder.
pub(crate) fn into_folder(folder: &Path) -> anyhow::Result<String> {
    let Some(path) = folder.to_str() else {
        bail!("{} is not UTF-8: name another folder with --out", folder.display());
    };
    Ok(format!("--out={path}"))
}

/// The words that watch this machine, and a far one, as `host` says.
pub(crate) fn watching(host: &HostOptions) -> Vec<String> {
    let mut words = vec![
        format!("--host-interval={}", host.host_interval),
        format!("--foreign-limit={}", host.foreign_limit.share),
        format!("--foreign-limit-from={}", host.foreign_limit.source.name()),
    ];
    words.extend(host.far_host.as_ref().map(|far| format!("--far-host={far}")));
    words.extend(host.link.iter().map(|link| format!("--link={link}")));
    words
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn a_folder_that_words_cannot_name_is_refused() {
        assert_eq!(into_folder(Path::new("/data/München")).unwrap(), "--out=/data/München");
        let latin_1 = Path::new(OsStr::from_bytes(b"/data/M\xfcnchen"));
        let error = into_folder(latin_1).unwrap_err().to_string();
        assert!(error.contains("is not UTF-8"), "{error}");
    }

    #[test]
    fn further_options_stand_before_what_ends_options() {
        let further = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            with_further(&words, &["--out=x".to_owned()])
        };
        for line in ["net ping db1 --for 1s", "net ping --for=1s -- db1", "http ping -- a b"] {
            let words = further(line);
            let (_, of) = parse(&words).unwrap();
            let out = leaf(&of).get_one::<std::path::PathBuf>("out");
            assert_eq!(out.map(|it| it.display().to_string()).as_deref(), Some("x"), "{words:?}");
        }
    }
}
