//! The servers of an experiment: started when they are needed, ended when they are not.

use plumb_command::exit;
use plumb_experiment::{
    ExperimentFile, Fault, Guard, ServerSection, Start, Template, VariantSection, inputs,
    names::{FOLDER, Scope},
    shell,
};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind, PipeReader, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context as _, bail};
use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::words;

/// Servers that are alive at once at most.
pub(crate) const SERVERS_MAX: usize = 16;
/// How long a server may take to be ready, and to end.
const TIMEOUT: Span = Span::from_ms(30_000);
/// What our servers say when they are ready.
const READY: &str = "listening on ${address}";
/// The place of the address in what a server says.
const ADDRESS: &str = "${address}";
/// Bytes that a server may say before it is ready.
const SAID_MAX: usize = 1 << 20;

/// A server, checked.
#[derive(Clone, Debug)]
pub(crate) struct ServerPlan {
    pub(crate) name: String,
    pub(crate) start: Start,
    kind: ServerCommand,
    ready: Ready,
    timeout: Span,
}

#[derive(Clone, Copy, Debug)]
enum ServerCommand {
    Plumb,
    Shell,
}

/// How a server says that it is ready.
#[derive(Clone, Debug)]
struct Ready {
    /// What stands before its address, or all that it says.
    before: String,
    /// What stands behind it.
    behind: String,
    /// Its address, when it does not say it.
    address: Option<String>,
}

impl ServerPlan {
    /// Every server of `file`.
    pub(crate) fn all(file: &ExperimentFile) -> Result<Vec<Self>, Fault> {
        file.server.iter().map(Self::of).collect()
    }

    fn of(section: &ServerSection) -> Result<Self, Fault> {
        let kind = match (&section.run, &section.exec) {
            (Some(_), None) => ServerCommand::Plumb,
            (None, Some(_)) => ServerCommand::Shell,
            _ => {
                let problem = "a server has either `run` (words behind plumb) or `exec` (a shell \
                               command)";
                return Err(Fault::at(&section.name, problem));
            }
        };
        let said = section.ready.as_ref().map_or(READY, |ready| ready.get_ref());
        let ready = match (said.split_once(ADDRESS), &section.address) {
            (Some((before, behind)), None) => {
                Ready { before: before.into(), behind: behind.into(), address: None }
            }
            (None, Some(address)) => {
                Ready { before: said.into(), behind: String::new(), address: Some(address.clone()) }
            }
            (Some(_), Some(_)) if section.ready.is_none() => {
                let problem = "say in `ready` what it says when it is ready";
                return Err(Fault::at(&section.name, problem));
            }
            (Some(_), Some(_)) => {
                let problem = "its address stands in `ready` and in `address`: give one of them";
                return Err(Fault::at(&section.name, problem));
            }
            (None, None) => {
                let problem = "its address is not known: put ${address} into `ready` where it \
                               stands, or give `address`";
                return Err(Fault::at(&section.name, problem));
            }
        };
        Ok(Self {
            name: section.name.get_ref().clone(),
            start: section.start,
            kind,
            ready,
            timeout: section.timeout.unwrap_or(TIMEOUT),
        })
    }

    /// The command of this server, the one with `number`, under `variant`.
    pub(crate) fn template(
        &self,
        file: &ExperimentFile,
        number: usize,
        variant: &VariantSection,
        scope: &Scope<'_>,
    ) -> Result<Template, Fault> {
        let section = &file.server[number];
        let Some(command) = section.run.as_ref().or(section.exec.as_ref()) else {
            return Err(Fault::at(&section.name, "a server needs a command"));
        };
        let mut template = scope.template(command, number)?;
        if let Some(words) = variant.servers.get(&self.name) {
            template = template.and(scope.template(words, number)?);
        }
        let lasting = |name: &str| {
            let other = file.server.iter().find(|other| other.name.get_ref() == name);
            other.is_some_and(|other| other.start == Start::Block)
        };
        if self.start == Start::Once
            && let Some(fleeting) = template.names().find(|name| lasting(name))
        {
            let problem = format!(
                "it uses `{fleeting}`, which is started for each block: give it start = \"block\" \
                 too"
            );
            return Err(Fault::at(&section.name, problem));
        }
        if self.start == Start::Once && template.names().any(|name| name == FOLDER) {
            let problem = format!(
                "`${{{FOLDER}}}` is that of a block, and it lives longer than one: give it start = \
                 \"block\""
            );
            return Err(Fault::at(&section.name, problem));
        }
        if matches!(self.kind, ServerCommand::Plumb) {
            words::is_command(&template.text())
                .map_err(|error| Fault::at(command, exit::said(&error)))?;
        }
        Ok(template)
    }

    /// True for a command of the shell.
    pub(crate) fn is_shell(&self) -> bool {
        matches!(self.kind, ServerCommand::Shell)
    }

    /// The files that its `command` names.
    pub(crate) fn inputs(&self, command: &str) -> BTreeSet<PathBuf> {
        match self.kind {
            ServerCommand::Shell => inputs::of_shell(command),
            // a command that cannot be taken apart was refused
            ServerCommand::Plumb => inputs::of_server(&words::split(command).unwrap_or_default()),
        }
    }

    fn command(&self, command: &str) -> anyhow::Result<Command> {
        Ok(match self.kind {
            ServerCommand::Shell => shell::of(command)?,
            ServerCommand::Plumb => {
                let own = std::env::current_exe().context("the program does not find itself")?;
                let mut plumb = Command::new(own);
                plumb.args(words::split(command)?);
                plumb
            }
        })
    }
}

impl Ready {
    /// The address of a server that said `line`, when that means it is ready.
    fn address(&self, line: &str) -> Option<String> {
        let (_, rest) = line.split_once(self.before.as_str())?;
        if let Some(address) = &self.address {
            return Some(address.clone());
        }
        let address = match self.behind.as_str() {
            "" => rest.split_whitespace().next()?,
            behind => rest.split_once(behind)?.0,
        };
        let address = address.trim();
        (!address.is_empty()).then(|| address.to_owned())
    }
}

/// The servers that are alive.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    alive: Vec<Alive>,
}

/// A server that is ready. It is ended with this value.
#[derive(Debug)]
struct Alive {
    /// Its number in the plan.
    number: usize,
    /// With all addresses in it.
    command: String,
    address: String,
    start: Start,
    timeout: Span,
    child: Child,
    /// Ends it when this process can no longer do so itself.
    guard: Guard,
}

impl Servers {
    /// Starts what is not alive of `plans` under `commands`; the address of each.
    ///
    /// # Errors
    /// When one is not ready in time, or has ended meanwhile.
    pub(crate) fn ready(
        &mut self,
        plans: &[ServerPlan],
        commands: &[Template],
        stop: &Stop,
    ) -> anyhow::Result<Vec<String>> {
        let mut addresses: Vec<String> = Vec::new();
        for (number, (plan, command)) in plans.iter().zip(commands).enumerate() {
            let address = |name: &str| {
                let known = plans.iter().zip(&addresses).find(|(plan, _)| plan.name == name);
                known.map(|(_, address)| address.clone())
            };
            let command = command.fill(address).text();
            let found =
                self.alive.iter().position(|it| it.number == number && it.command == command);
            let alive = match found {
                Some(at) => {
                    if self.alive[at].has_ended()? {
                        self.alive.remove(at);
                        bail!("the server `{}` ended meanwhile", plan.name);
                    }
                    &self.alive[at]
                }
                None => {
                    let started = Alive::start(plan, number, command, stop)
                        .with_context(|| format!("the server `{}`", plan.name))?;
                    self.alive.push(started);
                    &self.alive[self.alive.len() - 1]
                }
            };
            addresses.push(alive.address.clone());
        }
        Ok(addresses)
    }

    /// A block is over: ends what lives no longer than that, the last that was started first.
    pub(crate) fn end_of_block(&mut self) {
        for at in (0..self.alive.len()).rev() {
            if self.alive[at].start == Start::Block {
                self.alive.remove(at);
            }
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // the last first: it may use those before it
        while self.alive.pop().is_some() {}
    }
}

impl Alive {
    fn start(
        plan: &ServerPlan,
        number: usize,
        command: String,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let (said, out) = io::pipe()?;
        let mut child = plan
            .command(&command)?
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0) // Ctrl-C is for us alone, and it can be ended with all it starts
            .spawn()
            .with_context(|| format!("cannot start `{command}`"))?;
        let address = String::new();
        let (start, timeout) = (plan.start, plan.timeout);
        let guarded = Guard::ready().and_then(|mut guard| guard.over(&child).map(|()| guard));
        let guard = match guarded {
            Ok(guard) => guard,
            Err(error) => {
                shell::end_group(&mut child, timeout);
                return Err(error).context("it cannot be guarded");
            }
        };
        let mut alive = Self { number, command, address, start, timeout, child, guard };
        alive.address = wait_until_ready(plan, &alive.command, said, stop)?;
        Ok(alive)
    }

    /// True when it is no longer there. Its number stays taken, so that all it started can still
    /// be ended by it.
    fn has_ended(&self) -> io::Result<bool> {
        let looking = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), looking)?.is_some())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.guard.dismiss();
        shell::end_group(&mut self.child, self.timeout);
    }
}

/// Waits for the line that says that a server is ready; what it says later is not kept.
fn wait_until_ready(
    plan: &ServerPlan,
    command: &str,
    mut said: PipeReader,
    stop: &Stop,
) -> anyhow::Result<String> {
    let deadline_ns = MonotonicClock.now_ns() + plan.timeout.ns();
    let mut text = Vec::new();
    ioctl_fionbio(&said, true)?; // waiting is bounded, and ends when we are stopped
    loop {
        let left_ns = deadline_ns.saturating_sub(MonotonicClock.now_ns());
        if stop.asked() {
            bail!("interrupted");
        }
        let heard = String::from_utf8_lossy(&text);
        let last = heard.trim_end().lines().next_back().unwrap_or("it said nothing").to_owned();
        if left_ns == 0 || text.len() > SAID_MAX {
            bail!(
                "`{command}` did not say within {} that it is ready: {last}; see `ready` and \
                 `timeout`",
                plan.timeout
            );
        }
        stop.wait_for(said.as_fd(), Span::from_ns(left_ns))?;
        let mut some = [0; 4096];
        match said.read(&mut some) {
            Ok(0) => bail!("`{command}` ended before it was ready: {last}"),
            Ok(read) => text.extend_from_slice(&some[..read]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error.into()),
        }
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = String::from_utf8_lossy(&text[..whole]).into_owned();
        if let Some(address) = lines.lines().find_map(|line| plan.ready.address(line)) {
            ioctl_fionbio(&said, false)?;
            // a server that nobody listens to would wait for somebody
            thread::spawn(move || io::copy(&mut said, &mut io::sink()));
            return Ok(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(exec: &str, ready: &str) -> ServerPlan {
        let text = format!("name = \"x\"\nexec = {exec:?}\nready = {ready:?}\ntimeout = \"20s\"");
        ServerPlan::of(&toml::from_str(&text).unwrap()).unwrap()
    }

    fn ready(plan: &ServerPlan, command: &str) -> anyhow::Result<Vec<String>> {
        let mut servers = Servers::default();
        let command = Template::parse(command).unwrap();
        let plans = std::slice::from_ref(plan);
        servers.ready(plans, &[command], &Stop::new().unwrap())
    }

    #[test]
    fn the_address_is_what_stands_in_its_place() {
        let plan = plan("x", "port: ${address};");
        assert_eq!(plan.ready.address("12 port: 80; ok").as_deref(), Some("80"));
        assert_eq!(plan.ready.address("12 port: ; ok"), None);
        let own = Ready { before: "listening on ".into(), behind: String::new(), address: None };
        assert_eq!(own.address("listening on 127.0.0.1:80 now").as_deref(), Some("127.0.0.1:80"));
        let known = Ready { before: "up".into(), behind: String::new(), address: Some("a".into()) };
        assert_eq!(known.address("it is up").as_deref(), Some("a"));
    }

    #[test]
    fn a_server_is_ready_when_it_says_so_and_ended_with_its_owner() {
        let plan = plan("x", "at ${address}");
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("ended");
        let command = format!(
            "trap 'touch {}; exit 0' TERM; echo starting; echo at here >&2; sleep 600 & wait",
            mark.display()
        );
        assert_eq!(ready(&plan, &command).unwrap(), ["here"]);
        assert!(mark.exists(), "it was asked to end");
    }

    #[test]
    fn a_server_that_ends_says_why_it_is_not_ready() {
        let error = ready(&plan("x", "at ${address}"), "echo no such disk >&2; exit 1");
        let error = format!("{:#}", error.unwrap_err());
        assert!(error.contains("`x`") && error.contains("no such disk"), "{error}");
    }

    #[test]
    fn a_server_whose_address_nobody_knows_is_refused() {
        let text = "name = \"x\"\nexec = \"y\"\nready = \"up\"";
        let fault = ServerPlan::of(&toml::from_str(text).unwrap()).unwrap_err();
        assert!(fault.to_string().contains("${address}"), "{fault}");
    }
}
