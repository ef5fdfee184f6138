//! How machines are watched while they are measured.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use plumb_measure::{ForeignLimit, LimitSource, LinkSpeed, Share, Span};

/// How this machine, and one at the other end, are watched while it is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct HostOptions {
    /// Time between two samples of this machine; zero: none are taken.
    pub host_interval: Span,
    /// Processor time that others or the hypervisor may take, and who said so.
    pub foreign_limit: ForeignLimit,
    /// The address of a machine at the other end that is recorded too.
    pub far_host: Option<String>,
    /// Speeds of links of this machine that their drivers do not tell, or not truly.
    pub link: Vec<LinkSpeed>,
}

/// What others may have of a machine while it is measured.
#[derive(Args, Clone, Copy, Debug)]
pub struct ForeignShare {
    /// Processor time, of all processors, that others or the hypervisor may take before the
    /// figures are not valid; 100%: whatever they take
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "5%",
        env = super::variable("PLUMB_FOREIGN_LIMIT"),
        hide_env_values = true
    )]
    pub foreign_limit: Share,
}

/// [`HostOptions`] as they stand on the command line.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Host")]
struct HostArguments {
    /// Time between two samples of this machine while it measures; 0s: no samples, and what other
    /// programs took is then not known
    #[arg(long, value_name = "TIME", default_value = "250ms")]
    host_interval: Span,

    #[command(flatten)]
    foreign: ForeignShare,

    /// Who set that limit, where the command line was made of another one
    #[arg(long, value_name = "SOURCE", hide = true)]
    foreign_limit_from: Option<LimitSource>,

    /// Record the machine at the other end too: HOST:PORT or unix:PATH of its `plumb host serve`
    #[arg(long, value_name = "ADDRESS")]
    far_host: Option<String>,

    /// The speed of a link of this machine that its driver does not tell, or not truly, for example
    /// eth0=1Gbit; repeatable
    #[arg(long, value_name = "IFACE=RATE")]
    link: Vec<LinkSpeed>,
}

impl Args for HostOptions {
    fn augment_args(command: Command) -> Command {
        HostArguments::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        HostArguments::augment_args_for_update(command)
    }
}

impl FromArgMatches for HostOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let arguments = HostArguments::from_arg_matches(matches)?;
        let source = match matches.value_source("foreign_limit") {
            Some(ValueSource::CommandLine) => LimitSource::Option,
            Some(ValueSource::EnvVariable) => LimitSource::Environment,
            _ => LimitSource::Default,
        };
        Ok(Self {
            host_interval: arguments.host_interval,
            foreign_limit: ForeignLimit {
                share: arguments.foreign.foreign_limit,
                source: arguments.foreign_limit_from.unwrap_or(source),
            },
            far_host: arguments.far_host,
            link: arguments.link,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            host_interval: Span::from_ms(250),
            foreign_limit: ForeignLimit::default(),
            far_host: None,
            link: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(words: &[&str]) -> ForeignLimit {
        // whatever the environment of the tests says
        let command = HostOptions::augment_args(Command::new("x"))
            .mut_arg("foreign_limit", |argument| argument.env(None::<&str>));
        let words = [&["x"], words].concat();
        let matches = command.try_get_matches_from(words).unwrap();
        HostOptions::from_arg_matches(&matches).unwrap().foreign_limit
    }

    #[test]
    fn a_limit_knows_who_set_it() {
        assert_eq!(limit(&[]), ForeignLimit::default());
        assert_eq!(limit(&["--foreign-limit", "5%"]).source, LimitSource::Option);
        let words = ["--foreign-limit=100%", "--foreign-limit-from=environment"];
        assert_eq!(limit(&words).source, LimitSource::Environment);
        assert!(limit(&words).accepts_all());
    }
}
