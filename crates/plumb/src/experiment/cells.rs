//! The cells of an experiment: every probe at every combination of levels, with the commands of all
//! variants.

use plumb_command::exit;
use plumb_experiment::{
    ExperimentFile, Fault, ProbeSection, Template, VariantSection,
    names::{self, FOLDER, Values},
};
use std::collections::BTreeSet;

use plumb_comparison::Better;
use plumb_lab::CellRecord;
use toml::Spanned;

use super::block_plan::{BLOCK, BLOCKS_MAX, BlockPlan, Cell, Variant, command_timeout};
use super::probe::Probe;
use super::probe_section;
use super::servers::ServerPlan;

/// A cell, and how the commands of its variants read with the names of their factors.
pub(super) struct Draft {
    pub(super) cell: Cell,
    /// One a variant.
    shown: Vec<String>,
    /// The commands of all servers, one list a variant.
    servers: Vec<Vec<String>>,
}

/// Every probe at every combination of the levels of the factors that it depends on.
pub(super) fn cells(
    file: &ExperimentFile,
    variants: &[&VariantSection],
    servers: &[ServerPlan],
) -> Result<Vec<Draft>, Fault> {
    if file.probe.is_empty() {
        return Err(Fault::of_all("there is no [[probe]]: name at least one"));
    }
    let mut drafts = Vec::new();
    let mut used = BTreeSet::new();
    for section in &file.probe {
        let drafted: Vec<Drafted> = variants
            .iter()
            .map(|variant| Drafted::of(file, section, variant, servers))
            .collect::<Result<_, _>>()?;
        let depends = |name: &str| drafted.iter().any(|it| it.names().any(|own| own == name));
        let factors: Vec<&str> = file
            .factor
            .iter()
            .map(|factor| factor.name.get_ref().as_str())
            .filter(|name| depends(name))
            .collect();
        used.extend(factors.iter().copied());
        for levels in names::crossing(file, &factors) {
            drafts.push(draft(file, section, &drafted, &levels)?);
            if drafts.len() * variants.len() > BLOCKS_MAX {
                let place = file.factor.last().map(|factor| &factor.name);
                let problem = format!(
                    "a round would have more than {BLOCKS_MAX} blocks: take fewer levels, probes \
                     or variants"
                );
                return Err(place
                    .map_or_else(|| Fault::of_all(&problem), |place| Fault::at(place, &problem)));
            }
        }
    }
    match file.factor.iter().find(|factor| !used.contains(factor.name.get_ref().as_str())) {
        Some(idle) => Err(Fault::at(
            &idle.name,
            format!(
                "no command has ${{{}}} in it: the factor changes nothing",
                idle.name.get_ref()
            ),
        )),
        None => Ok(drafts),
    }
}

fn draft(
    file: &ExperimentFile,
    section: &ProbeSection,
    drafted: &[Drafted],
    levels: &Values,
) -> Result<Draft, Fault> {
    let mut labels = levels.clone();
    if file.probe.len() > 1 {
        labels.insert("probe".into(), probe_section::name(section)?.to_owned());
    }
    let better = section.higher_is_better.as_ref().map(|higher| match higher.get_ref() {
        true => Better::Higher,
        false => Better::Lower,
    });
    let figure = probe_section::figure(section)?;
    let blocks: Vec<BlockPlan> = drafted
        .iter()
        .map(|drafted| drafted.block(file, section, levels))
        .collect::<Result<_, _>>()?;
    let other = blocks.iter().position(|block| block.probe.what != blocks[0].probe.what);
    if let (Some(at), Some(place)) = (other, section.run.as_ref()) {
        let named = |at: usize| format!("{} is {}", drafted[at].variant, blocks[at].probe.what);
        return Err(Fault::at(
            place,
            format!("{}, and {}: only what is of one kind can be compared", named(0), named(at)),
        ));
    }
    Ok(Draft {
        cell: Cell { record: CellRecord { labels, figure, better }, blocks },
        shown: drafted.iter().map(|drafted| drafted.probe.text()).collect(),
        servers: drafted
            .iter()
            .map(|drafted| drafted.servers.iter().map(Template::text).collect())
            .collect(),
    })
}

/// The commands of a variant for one probe, factors left open.
struct Drafted {
    /// The name of the variant.
    variant: String,
    probe: Template,
    before: Option<Template>,
    after: Option<Template>,
    servers: Vec<Template>,
}

impl Drafted {
    fn of(
        file: &ExperimentFile,
        section: &ProbeSection,
        variant: &VariantSection,
        servers: &[ServerPlan],
    ) -> Result<Self, Fault> {
        let scope = names::Scope::of(file, variant);
        let switch = |command: &Option<Spanned<String>>| -> Result<Option<Template>, Fault> {
            command.as_ref().map(|command| scope.template(command, 0)).transpose()
        };
        Ok(Self {
            variant: variant.name.get_ref().clone(),
            probe: probe_section::template(file.hosts.as_ref(), section, variant, &scope)?,
            before: switch(&variant.before)?,
            after: switch(&variant.after)?,
            servers: servers
                .iter()
                .enumerate()
                .map(|(number, server)| server.template(file, number, variant, &scope))
                .collect::<Result<_, _>>()?,
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let switches = self.before.iter().chain(&self.after);
        let all = std::iter::once(&self.probe).chain(switches).chain(&self.servers);
        all.flat_map(Template::names)
    }

    /// How the variant is measured at these levels.
    fn block(
        &self,
        file: &ExperimentFile,
        section: &ProbeSection,
        levels: &Values,
    ) -> Result<BlockPlan, Fault> {
        let fill = |template: &Template| template.fill(|name| levels.get(name).cloned());
        let block = file.block.as_ref().map_or(BLOCK, |it| *it.get_ref());
        let timeout = command_timeout(file);
        let command = fill(&self.probe);
        let servers = file.server.iter().map(|server| server.name.get_ref().as_str());
        let open: Vec<&str> = servers.chain([FOLDER]).collect();
        let probe = match (&section.run, &section.exec) {
            (Some(run), _) => Probe::plumb(&command, &open, block)
                .map_err(|error| Fault::at(run, exit::said(&error)))?,
            (None, _) => {
                let figure = section.figure.as_ref().map(|key| key.get_ref().as_str());
                Probe::shell(command, timeout, figure)
            }
        };
        Ok(BlockPlan {
            before: self.before.as_ref().map(fill),
            after: self.after.as_ref().map(fill),
            servers: self.servers.iter().map(fill).collect(),
            probe: probe.or_takes(section.takes),
        })
    }
}

/// A variant as the record and the report have it: its probes, and the servers that are another's
/// for another variant.
pub(super) fn described(
    file: &ExperimentFile,
    number: usize,
    variant: &VariantSection,
    drafts: &[Draft],
) -> Variant {
    let mut commands: Vec<String> = Vec::new();
    let probes = drafts.iter().map(|draft| draft.shown[number].clone());
    let servers = drafts.iter().flat_map(|draft| {
        let named = file.server.iter().enumerate();
        named.filter_map(|(at, server)| {
            let own = &draft.servers[number][at];
            let differs = draft.servers.iter().any(|others| others[at] != *own);
            differs.then(|| format!("{}: {own}", server.name.get_ref()))
        })
    });
    for command in probes.chain(servers) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let text = |command: &Option<Spanned<String>>| {
        let written = command.as_ref()?.get_ref();
        Some(Template::parse(written).map_or_else(|_| written.clone(), |it| it.text()))
    };
    Variant {
        name: variant.name.get_ref().clone(),
        command: commands.join("; "),
        before: text(&variant.before),
        after: text(&variant.after),
        same_as_baseline: number > 0
            && drafts.iter().all(|draft| draft.cell.blocks[number] == draft.cell.blocks[0]),
    }
}
