//! What an experiment is going to do: an experiment file, checked.

use plumb_experiment::{ExperimentFile, Fault, Start, Template, VariantSection, inputs, names};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use plumb_engine::clock;
use plumb_engine::options::HostOptions;
use plumb_lab::{Extent, Faults, pairs_needed};
use plumb_measure::{Share, Span};
use plumb_wire::document::nearest;

use super::block_plan::{Cell, Variant, command_timeout};
use super::cells::{cells, described};
use super::servers::{SERVERS_MAX, ServerPlan};
use crate::job::into_folder;

/// Variants of one experiment at most.
const VARIANTS_MAX: usize = 8;
/// Rounds of one experiment at most.
pub(crate) const ROUNDS_MAX: u64 = 1_000;
/// Rounds when the file says nothing, unless a difference in all of its cells needs more.
pub(super) const ROUNDS: u64 = 10;

/// What is compared, how often, under which rules.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The first is the baseline.
    pub(crate) variants: Vec<Variant>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) servers: Vec<ServerPlan>,
    pub(crate) extent: Extent,
    /// True where neither file nor options say how many rounds there are: as many as are enough.
    pub(crate) own_extent: bool,
    pub(crate) seed: u64,
    pub(crate) margin: Option<f64>,
    /// A pause before each block, where blocks have something switched before them.
    pub(crate) settle: Span,
    pub(crate) command_timeout: Span,
    pub(crate) faults: Faults,
    /// How the machine is watched in a block whose command does not say so itself.
    pub(crate) host: HostOptions,
}

/// What is asked for beside the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// So many rounds instead of what the file says.
    pub(crate) rounds: Option<u64>,
    /// The seed of an experiment that goes on.
    pub(crate) seed: Option<u64>,
    pub(crate) faults: Faults,
    /// How the machine is watched in each block whose command does not say so itself.
    pub(crate) host: HostOptions,
}

impl Plan {
    /// The plan of `file`. Every command is looked at before anything is measured.
    pub(crate) fn of(file: &ExperimentFile, overrides: Overrides) -> Result<Self, Fault> {
        names::check(file)?;
        let variants = in_order(file)?;
        let servers = ServerPlan::all(file)?;
        let cells = cells(file, &variants, &servers)?;
        names::no_idle_value(file)?;
        let extent = extent(file, overrides.rounds)?;
        let mut plan = Self {
            variants: variants
                .iter()
                .enumerate()
                .map(|(number, variant)| described(file, number, variant, &cells))
                .collect(),
            cells: cells.into_iter().map(|draft| draft.cell).collect(),
            servers,
            extent: extent.unwrap_or(Extent::Pairs(ROUNDS)),
            own_extent: extent.is_none(),
            seed: overrides.seed.or(file.seed).unwrap_or_else(clock::seed),
            margin: file.margin.map(Share::of_one),
            settle: file.settle.as_ref().map_or(Span::from_ms(0), |it| *it.get_ref()),
            command_timeout: command_timeout(file),
            faults: overrides.faults,
            host: overrides.host,
        };
        plan.few_servers(file)?;
        plan.no_idle_key(file)?;
        plan.no_idle_far_host(file)?;
        if plan.own_extent {
            plan.extent = Extent::Pairs(ROUNDS.max(plan.rounds_needed()));
        }
        Ok(plan)
    }

    /// Primary figures that are tested together: one a cell, a point of its plan and a candidate.
    pub(crate) fn tests(&self) -> u64 {
        let points = self.cells.iter().filter_map(|cell| cell.blocks.first());
        let points: u64 = points.map(|block| block.probe.points).sum();
        points * (self.variants.len() as u64).saturating_sub(1)
    }

    /// The fewest complete rounds with which a difference can be shown in each of them.
    pub(crate) fn rounds_needed(&self) -> u64 {
        pairs_needed(usize::try_from(self.tests()).unwrap_or(usize::MAX))
    }

    /// Refuses what is asked for and changes nothing.
    fn no_idle_key(&self, file: &ExperimentFile) -> Result<(), Fault> {
        let settle = file.settle.as_ref().filter(|_| !self.switches());
        let timeout = file.command_timeout.as_ref().filter(|_| !self.runs_shell());
        let block = file.block.as_ref().filter(|_| file.probe.iter().all(|it| it.run.is_none()));
        let idle = [
            (
                settle,
                "nothing is switched before a block: leave `settle` out, or give a variant `before`",
            ),
            (timeout, "there is no shell command: leave `command-timeout` out"),
            (block, "a shell command ends by itself: leave `block` out"),
        ];
        match idle.into_iter().find_map(|(value, problem)| Some((value?, problem))) {
            Some((value, problem)) => Err(Fault::at(value, problem)),
            None => Ok(()),
        }
    }

    /// Refuses a far machine that nobody would record.
    fn no_idle_far_host(&self, file: &ExperimentFile) -> Result<(), Fault> {
        let shell = file.probe.iter().find_map(|probe| probe.exec.as_ref());
        match shell.filter(|_| self.host.far_host.is_some()) {
            Some(exec) => Err(Fault::at(
                exec,
                "it is not known which machine a shell command measures: leave --far-host out",
            )),
            None => Ok(()),
        }
    }

    /// True when something is switched before blocks.
    pub(crate) fn switches(&self) -> bool {
        let blocks = || self.cells.iter().flat_map(|cell| &cell.blocks);
        blocks().any(|block| block.before.is_some() || block.after.is_some())
            || self.servers.iter().any(|server| server.start == Start::Block)
    }

    /// True when commands of the shell are run: they may do anything.
    pub(crate) fn runs_shell(&self) -> bool {
        !self.shell_commands().is_empty()
    }

    /// Looks before anything is made whether its blocks can be told a folder within `out`.
    ///
    /// # Errors
    /// When one of our measurements cannot: [`into_folder`].
    pub(crate) fn can_fill(&self, out: Option<&Path>) -> anyhow::Result<()> {
        let mut blocks = self.cells.iter().flat_map(|cell| &cell.blocks);
        match out.filter(|_| blocks.any(|block| block.probe.shell_command().is_none())) {
            Some(out) => into_folder(out).map(drop),
            None => Ok(()),
        }
    }

    /// Every command of the shell, servers included; what a block knows only when it begins is open.
    pub(super) fn shell_commands(&self) -> BTreeSet<String> {
        let mut commands = BTreeSet::new();
        for block in self.cells.iter().flat_map(|cell| &cell.blocks) {
            commands.extend(block.before.iter().chain(&block.after).map(Template::text));
            commands.extend(block.probe.shell_command());
            let servers = self.servers.iter().zip(&block.servers);
            let of_shell = servers.filter(|(server, _)| server.is_shell());
            commands.extend(of_shell.map(|(_, command)| command.text()));
        }
        commands
    }

    /// The files that its commands name.
    pub(crate) fn inputs(&self) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        let mut seen = BTreeSet::new(); // many blocks share their commands
        for block in self.cells.iter().flat_map(|cell| &cell.blocks) {
            files.extend(block.probe.inputs.iter().cloned());
            for switch in block.before.iter().chain(&block.after).map(Template::text) {
                if seen.insert(switch.clone()) {
                    files.extend(inputs::of_shell(&switch));
                }
            }
            for (server, command) in self.servers.iter().zip(&block.servers) {
                let command = command.text();
                if seen.insert(command.clone()) {
                    files.extend(server.inputs(&command));
                }
            }
        }
        files
    }

    /// Servers that live as long as the experiment are alive together.
    fn few_servers(&self, file: &ExperimentFile) -> Result<(), Fault> {
        let mut alive = BTreeSet::new();
        for block in self.cells.iter().flat_map(|cell| &cell.blocks) {
            for (number, command) in block.servers.iter().enumerate() {
                if self.servers[number].start == Start::Once {
                    alive.insert((number, command.text()));
                }
            }
        }
        match alive.last() {
            Some((number, _)) if alive.len() > SERVERS_MAX => Err(Fault::at(
                &file.server[*number].name,
                format!(
                    "{} servers would be alive at once, at most {SERVERS_MAX} may be: give one of \
                     them start = \"block\"",
                    alive.len()
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// The variants, the baseline first.
fn in_order(file: &ExperimentFile) -> Result<Vec<&VariantSection>, Fault> {
    let mut variants: Vec<&VariantSection> = file.variant.iter().collect();
    match variants[..] {
        [] => return Err(Fault::of_all("there is no [[variant]]: two or more are compared")),
        [only] => {
            return Err(Fault::at(
                &only.name,
                "there is nothing to compare it with: add a [[variant]]",
            ));
        }
        _ => {}
    }
    if let Some(beyond) = variants.get(VARIANTS_MAX) {
        let problem = format!("{} variants are too many: at most {VARIANTS_MAX}", variants.len());
        return Err(Fault::at(&beyond.name, problem));
    }
    if let Some(baseline) = &file.baseline {
        let names = || variants.iter().map(|variant| variant.name.get_ref().as_str());
        let found = names().position(|name| name == baseline.get_ref());
        let at = found.ok_or_else(|| {
            let meant = nearest(baseline.get_ref(), names())
                .map(|name| format!("; did you mean `{name}`?"))
                .unwrap_or_default();
            let all = names().collect::<Vec<_>>().join(", ");
            Fault::at(
                baseline,
                format!("there is no variant `{}`; there are {all}{meant}", baseline.get_ref()),
            )
        })?;
        variants[..=at].rotate_right(1);
    }
    Ok(variants)
}

/// When the experiment is over, as it was asked for; `None` when nothing was.
fn extent(file: &ExperimentFile, rounds: Option<u64>) -> Result<Option<Extent>, Fault> {
    let within = |pairs: u64| (1..=ROUNDS_MAX).contains(&pairs);
    if let Some(pairs) = rounds {
        return match within(pairs) {
            true => Ok(Some(Extent::Pairs(pairs))),
            false => Err(Fault::of_all(format!("--rounds {pairs}: expected 1 to {ROUNDS_MAX}"))),
        };
    }
    let once = "give one of rounds, time and precision";
    match (&file.rounds, &file.time, &file.precision) {
        (None, None, None) => Ok(None),
        (Some(pairs), None, None) if within(*pairs.get_ref()) => {
            Ok(Some(Extent::Pairs(*pairs.get_ref())))
        }
        (Some(pairs), None, None) => {
            Err(Fault::at(pairs, format!("expected 1 to {ROUNDS_MAX} rounds")))
        }
        (None, Some(time), None) => Ok(Some(Extent::Time(time.get_ref().ns()))),
        (None, None, Some(share)) => Ok(Some(Extent::Precision(share.get_ref().of_one()))),
        (_, Some(time), _) => Err(Fault::at(time, once)),
        (_, None, Some(share)) => Err(Fault::at(share, once)),
    }
}

/// Two variants, for experiment files of tests.
#[cfg(test)]
pub(crate) const TWO_VARIANTS: &str = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";

/// The plan of the experiment file `text`, with nothing asked for beside it.
#[cfg(test)]
pub(crate) fn plan_of(text: &str) -> Result<Plan, Fault> {
    let file = plumb_wire::document::read(text).expect("a test writes files of the right form");
    Plan::of(&file, Overrides::default())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::plan_of as plan;
    use super::*;

    const FILE: &str = r#"
        seed = 3
        baseline = "plain"
        [[server]]
        name = "echo"
        run = "net serve --listen 127.0.0.1:0 --service-time ${time}"
        [[server]]
        name = "line"
        run = "net delay ${echo} --delay 1ms"
        [[variant]]
        name = "nagle"
        words = "--depth 2"
        options = { nagle = true, spin = false, connections = 4 }
        set = { time = "1ms" }
        [[variant]]
        name = "plain"
        set = { time = "2ms" }
        [[factor]]
        name = "size"
        levels = ["1B", "2B", "3B"]
        [[factor]]
        name = "users"
        levels = [1, 10]
        [[probe]]
        name = "trip"
        run = "net ping ${line} --size ${size} --clients ${users}"
        [[probe]]
        name = "shell"
        exec = "echo ${users} $${HOME} ${echo}"
        figure = "figure"
    "#;

    fn refused(from: &str, to: &str) -> String {
        plan(&FILE.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn a_cell_is_a_probe_at_levels_of_the_factors_that_it_depends_on() {
        let plan = plan(FILE).unwrap();
        let names: Vec<String> = plan.cells.iter().map(|cell| cell.record.name()).collect();
        assert_eq!(
            names,
            [
                "probe trip, size 1B, users 1",
                "probe trip, size 1B, users 10",
                "probe trip, size 2B, users 1",
                "probe trip, size 2B, users 10",
                "probe trip, size 3B, users 1",
                "probe trip, size 3B, users 10",
                "probe shell, users 1",
                "probe shell, users 10",
            ]
        );
        assert_eq!(plan.cells[6].record.figure.as_deref(), Some("figure"));
        assert_eq!((plan.seed, plan.extent), (3, Extent::Pairs(ROUNDS)));
    }

    #[test]
    fn the_baseline_comes_first_and_a_variant_is_told_by_all_its_commands() {
        let plan = plan(FILE).unwrap();
        let names: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["plain", "nagle"]);
        assert_eq!(
            plan.variants[1].command,
            "net ping ${line} --size ${size} --clients ${users} --depth 2 --connections=4 --nagle; \
             echo ${users} ${HOME} ${echo}; echo: net serve --listen 127.0.0.1:0 --service-time 1ms"
        );
        assert!(!plan.switches(), "its servers live as long as the experiment");
        let servers = &plan.cells[0].blocks[0].servers;
        assert_eq!(servers[0].text(), "net serve --listen 127.0.0.1:0 --service-time 2ms");
        assert_eq!(servers[1].text(), "net delay ${echo} --delay 1ms");
    }

    #[test]
    fn a_server_lives_no_longer_than_what_it_uses() {
        let fleeting = "--service-time ${time}\"\nstart = \"block\"";
        let told = refused("--service-time ${time}\"", fleeting);
        assert!(told.contains("`echo`, which is started for each block"), "{told}");
        let told = refused("net serve --listen 127.0.0.1:0", "net serve --listen ${line}");
        assert!(told.contains("`${line}` is no factor"), "{told}");
        let told = refused("--delay 1ms", "--delay 1ms ${folder}");
        assert!(told.contains("`${folder}` is that of a block"), "{told}");
    }

    #[test]
    fn every_command_may_name_the_folder_of_its_block() {
        assert!(!plan(FILE).unwrap().cells.iter().any(|cell| cell.blocks[0].names_folder()));
        for (from, to) in [
            ("words = \"--depth 2\"", "before = \"date > ${folder}/then\""),
            ("exec = \"echo", "exec = \"date > ${folder}/then; echo"),
        ] {
            let plan = plan(&FILE.replacen(from, to, 1)).unwrap();
            let last = &plan.cells[plan.cells.len() - 1].blocks;
            assert!(last[1].names_folder(), "{to}");
        }
    }

    #[test]
    fn only_commands_of_the_shell_fill_a_folder_that_words_cannot_name() {
        let latin_1 = Path::new(OsStr::from_bytes(b"/data/M\xfcnchen"));
        let ours = plan(FILE).unwrap();
        let error = ours.can_fill(Some(latin_1)).unwrap_err().to_string();
        assert!(error.contains("is not UTF-8"), "{error}");
        assert!(ours.can_fill(None).is_ok() && ours.can_fill(Some(Path::new("x"))).is_ok());
        let shell = plan(&format!("{TWO_VARIANTS}[[probe]]\nexec = \"echo 1\"\n")).unwrap();
        assert!(shell.can_fill(Some(latin_1)).is_ok());
    }

    #[test]
    fn only_so_many_servers_are_alive_at_once() {
        let many: Vec<String> = (1..=9).map(|level| level.to_string()).collect();
        let many = format!("levels = [{}]", many.join(", "));
        let text = FILE.replacen("levels = [1, 10]", &many, 1).replacen(
            "--service-time ${time}",
            "--service-time ${time} --max-clients 1${users}",
            1,
        );
        let told = plan(&text).unwrap_err().to_string();
        assert!(told.contains("19 servers would be alive at once"), "{told}");
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (from, to, told) in [
            ("time = \"1ms\"", "size = \"1ms\"", "a server or a factor already"),
            ("set = { time = \"1ms\" }", "", "`${time}` is no factor"),
            ("name = \"shell\"", "", "needs a `name`"),
            ("nagle = true", "nagel = true", "--nagle"),
            ("seed = 3", "rounds = 5000", "1 to 1000"),
            ("nagle = true", "rate = \"5/s\"", "and nagle is net ping under open load"),
            ("name = \"size\"", "name = \"folder\"", "a meaning of its own"),
        ] {
            let said = refused(from, to);
            assert!(said.contains(told), "{to}: {said}");
        }
    }
}
