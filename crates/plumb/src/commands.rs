//! The whole command line, from which parsing, help, manual pages and completions are made.

use clap::Command;

use crate::layers::LAYERS;
use crate::{
    ab, check, checkup, compare, host_idle, lab, manual, net_check, options_file, remote, report,
    show, size, smc,
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
        .subcommand(lab::command())
        .subcommand(report::command())
        .subcommand(check::command())
        .subcommand(size::command())
        .subcommand(smc::command())
        .subcommand(remote::command())
        .subcommands(manual::commands())
        .mut_subcommands(options_file::offer)
}
