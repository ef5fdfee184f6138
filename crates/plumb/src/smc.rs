//! `plumb smc`: whether connections from here can use SMC, and what to do where they cannot.

use std::io;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plumb_command::{Exit, exit};
use plumb_host::smc::{LackKind, Readiness, Ueid, add_ueid};
use plumb_procfs::Root;
use serde::Serialize;

/// The name of the JSON form.
const SCHEMA: &str = "plumb.smc-status/1";

/// The command line of `plumb smc`.
pub(crate) fn command() -> Command {
    let json = Arg::new("json")
        .long("json")
        .help("Print one JSON document, and nothing else")
        .action(ArgAction::SetTrue);
    Command::new("smc")
        .about("Say whether connections can use shared memory communications (SMC)")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("status")
                .about("Say what this machine has of SMC, what is missing, and what to do")
                .after_help("Exit codes: 0 nothing is missing; 1 something is.")
                .arg(json),
        )
        .subcommand(
            Command::new("setup")
                .about("Print what brings SMC into use here, or do what is safe of it")
                .long_about(
                    "Print what brings SMC into use here, or do what is safe of it: loading modules and \
                     adding a user-defined EID (gone at the next start). Devices, interfaces and PNET \
                     ids are left to you.",
                )
                .after_help(
                    "Exit codes: 0 nothing is missing any more; 1 something is left to do; 2 the \
                     kernel refuses.",
                )
                .arg(
                    Arg::new("apply")
                        .long("apply")
                        .help("Do what is safe, instead of printing it")
                        .action(ArgAction::SetTrue),
                )
                .arg(
                    Arg::new("ueid")
                        .long("ueid")
                        .value_name("NAME")
                        .help("The user-defined EID, the same on every machine")
                        .default_value("PLUMB")
                        .value_parser(value_parser!(Ueid)),
                ),
        )
}

/// Runs the verb that `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    match words.subcommand() {
        Some(("status", words)) => status(words.get_flag("json")),
        Some(("setup", words)) => setup(words),
        _ => Ok(Exit::DidNotRun),
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    ready: bool,
    #[serde(flatten)]
    readiness: &'a Readiness,
}

fn status(json: bool) -> anyhow::Result<Exit> {
    let readiness = Readiness::read(&Root::of_this_machine());
    let ready = readiness.lacks.is_empty();
    if json {
        let document = Document { schema: SCHEMA, ready, readiness: &readiness };
        exit::print(&format!("{}\n", serde_json::to_string_pretty(&document)?))?;
    } else {
        exit::unless_closed(show(&mut io::stdout().lock(), &readiness))?;
    }
    Ok(ended(&readiness))
}

fn show(out: &mut impl io::Write, readiness: &Readiness) -> io::Result<()> {
    writeln!(out, "kernel {}", readiness.kernel)?;
    for line in readiness.facts.iter().flat_map(plumb_host::smc::SmcFacts::lines) {
        writeln!(out, "{line}")?;
    }
    for lack in &readiness.lacks {
        writeln!(out, "missing: {}\n  {}", lack.text, lack.remedy)?;
    }
    for remark in &readiness.remarks {
        writeln!(out, "remark: {remark}")?;
    }
    match readiness.lacks.is_empty() {
        true => writeln!(
            out,
            "nothing is missing here; what a connection uses is decided with its peer, and every run \
             says it"
        ),
        false => Ok(()),
    }
}

fn setup(words: &ArgMatches) -> anyhow::Result<Exit> {
    let root = Root::of_this_machine();
    let Some(ueid) = words.get_one::<Ueid>("ueid") else { return Ok(Exit::DidNotRun) };
    let mut readiness = Readiness::read(&root);
    if words.get_flag("apply") {
        // the kernel loads a module when it is asked for what the module has; without the module the
        // next look says so
        let _ = plumb_netlink::smc::available();
        let _ = plumb_netlink::smc::diagnosis();
        readiness = Readiness::read(&root);
        if readiness.lacks.iter().any(|lack| lack.kind == LackKind::Ueid) {
            add_ueid(ueid)?;
            exit::print(&format!(
                "added the user-defined EID {ueid}: add the same on the other machine\n"
            ))?;
            readiness = Readiness::read(&root);
        }
    }
    for lack in &readiness.lacks {
        let remedy = match lack.kind {
            LackKind::Ueid => format!("plumb smc setup --ueid {ueid} --apply"),
            _ => lack.remedy.clone(),
        };
        exit::print(&format!("# {}\n{remedy}\n", lack.text))?;
    }
    if readiness.lacks.is_empty() {
        exit::print("nothing is missing here\n")?;
    }
    Ok(ended(&readiness))
}

fn ended(readiness: &Readiness) -> Exit {
    if readiness.lacks.is_empty() { Exit::Ran } else { Exit::Finding }
}
