//! The whole command line, from which parsing, help, manual pages and completions are made.

use clap::Command;

use crate::layers::LAYERS;
use crate::{
    ab, baseline, check, checkup, compare, host_idle, lab, manual, metrics, net_check, pipeline,
    remote, report, show, smc, watch,
};

/// `plumb` with every subcommand.
pub(crate) fn all() -> Command {
    Command::new("plumb")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Finds which layer of a business system is slow")
        .long_about(
            "Finds which layer of a business system is slow, proves whether a change helped, and \
             sizes the next box.\n\nStart with `plumb checkup`. Called as `niping` (a symlink), it \
             takes niping's options and prints its output; called as `enqt`, it takes the opcodes of \
             that tool against a lock server of ours.",
        )
        .after_help(
            "Exit codes: 0 it ran; 1 it ran, but the figures are not valid, or a threshold was missed; \
             2 it did not run; 3 it ran, and what can take the figures away could not be checked; 130 \
             interrupted.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100)
        .subcommand(checkup::command())
        .subcommands(LAYERS.iter().map(|layer| layer.command()))
        .mut_subcommand("net", |net| net.subcommand(net_check::command()))
        .mut_subcommand("host", |host| host.subcommand(show::command()).subcommand(host_idle::command()))
        .subcommand(ab::command())
        .subcommand(compare::command())
        .subcommand(baseline::command())
        .subcommand(lab::command())
        .subcommand(report::command())
        .subcommand(check::command())
        .subcommand(plumb_capacity::command())
        .subcommand(plumb_ui::command())
        .subcommand(smc::command())
        .subcommand(remote::command())
        .subcommand(remote::on_command())
        .subcommand(remote::paths_command())
        .subcommand(watch::command())
        .mut_subcommands(metrics::offer)
        .mut_subcommands(pipeline::offer)
        .mut_subcommands(plumb_options::offer)
        .subcommands(manual::commands()) // what writes itself takes no options from files
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::OsString;
    use std::fs;

    use super::*;

    #[test]
    fn options_stand_under_the_heading_that_is_theirs() {
        const TLS: [&str; 8] =
            ["tls", "ca", "cert", "key", "client_ca", "server_name", "tls_resume", "tls-resume"];
        fn look(command: &Command) {
            for arg in command.get_arguments() {
                let id = arg.get_id().as_str();
                let strange = arg.get_help_heading() == Some("TLS") && !TLS.contains(&id);
                assert!(!strange, "{}: --{id} under TLS", command.get_name());
            }
            command.get_subcommands().for_each(look);
        }
        look(&all());
    }

    #[test]
    fn every_option_of_every_command_has_a_key_of_its_own() {
        fn look(command: &Command) {
            let keys: Vec<String> = plumb_options::keys(command).collect();
            let distinct: BTreeSet<&String> = keys.iter().collect();
            assert_eq!(distinct.len(), keys.len(), "{}: {keys:?}", command.get_name());
            let bare = |key: &String| {
                key.chars()
                    .all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-')
            };
            assert!(keys.iter().all(bare), "{}: {keys:?}", command.get_name());
            command.get_subcommands().for_each(look);
        }
        let mut all = all();
        all.build();
        look(&all);
    }

    #[test]
    fn the_files_of_the_chapter_on_options_are_what_their_commands_take() {
        let chapter = include_str!("../../../docs/options-file.md");
        let mut files =
            chapter.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let (plain, sections) = (files.next().expect("a file"), files.next().expect("another"));
        assert_eq!(files.next(), None);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("x.toml");
        for (text, line, words) in [
            (plain, "net ping", "--for=5s --tls -- db1:3298"),
            (sections, "net serve", "--listen=10.1.2.3:3298"),
            (sections, "net ping", "--count=1000 -- 10.1.2.3"),
            (sections, "ab a b", "--pairs=12 --margin=2%"),
        ] {
            fs::write(&file, text).expect("a temporary folder can be written");
            let line = format!("plumb {line} --options");
            let line: Vec<OsString> =
                line.split(' ').map(Into::into).chain([file.clone().into()]).collect();
            let expanded = plumb_options::expand(&all(), &line).expect("options");
            let theirs =
                expanded.iter().filter(|word| *word != "--options" && *word != file.as_os_str());
            let shown: Vec<_> = theirs.map(|word| word.to_string_lossy()).collect();
            assert!(shown.join(" ").contains(words), "{words}: {shown:?}");
        }
    }
}
