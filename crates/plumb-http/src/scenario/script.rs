//! From a file and the words of the command line to the scripts of all scenarios.

mod assemble;
mod who;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use plumb_measure::LoadPart;
use plumb_measure::statistics::SplitMix64;
use plumb_scenario::Patterns;
use plumb_scenario::ScenarioError;
use plumb_scenario::ScenarioSource;
use plumb_scenario::data::Lines;
use plumb_scenario::file::{self, Authentication, OnFailure, Pairs, Scenario};
use plumb_scenario::variables::{Common, Slot, Value};
use toml::Spanned;

use super::certificate::{CertificateFiles, Identities};
use super::compile::{Compiler, FINISH, Manner, PREPARATION, Row, header_problem};
use super::constants::{self, NoValue};
use super::origin::Origins;
use super::program::{Instruction, Program};
use super::threshold::Threshold;
use super::token::Token;
use super::user_script::Script;
use crate::HttpError;
use crate::credentials::Credentials;
use crate::proof::{Initiators, Proof};
use crate::request::split;
use assemble::ScriptParts;
use plumb_scenario::refused::RefusedLogOns;

/// What the command line says of what is asked.
#[derive(Debug)]
pub(crate) struct Overrides {
    pub(crate) headers: Pairs,
    pub(crate) exclude: Patterns,
    pub(crate) credentials: Option<PathBuf>,
    pub(crate) body_bytes_max: u64,
    /// Which users, and which lines of data, are those of this process.
    pub(crate) part: LoadPart,
    /// Each request has a connection of its own.
    pub(crate) close: bool,
    /// Who asks with tickets.
    pub(crate) initiators: Initiators,
    /// Who logs on no more.
    pub(crate) refused: RefusedLogOns,
}

impl Overrides {
    /// Header lines `Name: value` as pairs.
    ///
    /// # Errors
    /// [`HttpError::Header`] or [`HttpError::HeaderNotYours`].
    pub(crate) fn headers(lines: &[String]) -> Result<Pairs, HttpError> {
        let both = lines.iter().map(|line| split(line));
        both.map(|both| both.map(|(name, value)| (name.into(), value.into()))).collect()
    }
}

/// Everything that users do, and who records it.
#[derive(Debug)]
pub(crate) struct CompiledScenario {
    /// What is done once, before everything else.
    pub(crate) preparation: Option<Arc<Script>>,
    /// One a scenario.
    pub(crate) scripts: Vec<Arc<Script>>,
    /// The certificates of their users: identity 1 shows the first.
    pub(crate) certificates: Vec<CertificateFiles>,
    /// What is done once when the load is over.
    pub(crate) finish: Option<Arc<Script>>,
    /// The first row of what is done then; such rows go up to `prepared`.
    pub(crate) finished: usize,
    pub(crate) rows: Vec<Row>,
    pub(crate) groups: Vec<Row>,
    /// The first of both belong to the preparation, which is not recorded, and to what is done when the
    /// load is over, which is recorded apart.
    pub(crate) prepared: (usize, usize),
    /// How many of both are steps and groups of the file; behind them are redirects, and steps with
    /// their redirects.
    pub(crate) own: (usize, usize),
    pub(crate) thresholds: Vec<Threshold>,
}

/// The scripts of `source`. What a preparation `extracted` is known to all users.
///
/// # Errors
/// [`HttpError::Scenario`] with the place of the first thing that cannot be, or what is wrong with
/// a file that the scenario names.
pub(crate) fn compile(
    source: &ScenarioSource,
    origins: &Arc<Origins>,
    overrides: &Overrides,
    seed: u64,
    extracted: &[(Slot, Value)],
) -> Result<CompiledScenario, HttpError> {
    let scenarios = ScenarioCompiler { source, origins, overrides, seed, extracted };
    scenarios.compile()
}

struct ScenarioCompiler<'a> {
    source: &'a ScenarioSource,
    origins: &'a Arc<Origins>,
    overrides: &'a Overrides,
    seed: u64,
    extracted: &'a [(Slot, Value)],
}

/// The scenario of what belongs to none.
static NOBODY: LazyLock<Scenario> = LazyLock::new(Scenario::default);

/// A scenario whose steps are compiled.
struct Draft<'a> {
    scenario: &'a Scenario,
    token: Option<Token>,
    login: Program,
    program: Program,
    finish: Program,
    /// What answers challenges.
    proof: Option<Proof>,
    identities: Option<Identities>,
    common: Common,
    data: Vec<(String, Lines)>,
    lists: usize,
}

impl ScenarioCompiler<'_> {
    fn compile(&self) -> Result<CompiledScenario, HttpError> {
        self.check_names()?;
        let mut compiler =
            Compiler::new(self.source, self.origins, &self.overrides.exclude, self.overrides.part);
        let file = self.source.file();
        let (common, mut known) = self.common(&mut compiler, &file.variables)?;
        let who = self.credentials(file.credentials.as_deref())?;
        let manner = self.manner(PREPARATION, &[], who.as_ref());
        let preparation = compiler.program(&file.prepare, &manner)?;
        known.extend(compiler.set_by(&preparation));
        compiler.check_variables(&known)?;
        let lists = std::mem::take(&mut compiler.lists);
        let preparation = self.once(preparation, (&common, lists), who.as_ref())?;
        let finished = compiler.rows.len();
        let last = self.finish(&file.finish, "", &mut compiler)?;
        compiler.check_variables(&[&known[..], &compiler.set_by(&last)].concat())?;
        let lists = std::mem::take(&mut compiler.lists);
        let mut last = self.once(last, (&common, lists), who.as_ref())?;
        for (slot, value) in self.extracted {
            last.common.set(*slot, value.clone());
        }
        let (drafts, certificates, prepared) = self.drafts(&known, &mut compiler)?;
        let own = compiler.add_hop_rows();
        let thresholds = self.thresholds(&compiler.rows, &compiler.groups)?;
        let parts = ScriptParts {
            steps: compiler.steps.into(),
            names: Arc::new(compiler.names),
            sites: self.origins.sites().into(),
        };
        let scripts = (1..).zip(drafts).map(|(number, draft)| self.script(draft, number, &parts));
        Ok(CompiledScenario {
            preparation: self.done_once(preparation, ("prepare", OnFailure::Stop), &parts),
            scripts: scripts.map(Arc::new).collect(),
            certificates,
            finish: self.done_once(last, ("finish", OnFailure::Continue), &parts),
            finished,
            rows: compiler.rows,
            groups: compiler.groups,
            prepared,
            own,
            thresholds,
        })
    }

    /// What is done once, by nobody in particular.
    fn once(
        &self,
        program: Program,
        (common, lists): (&Common, usize),
        who: Option<&Credentials>,
    ) -> Result<Draft<'static>, HttpError> {
        Ok(Draft {
            scenario: &NOBODY,
            token: None,
            login: Program::new(),
            program,
            finish: Program::new(),
            proof: self.proof(&NOBODY, who)?,
            identities: None,
            common: common.clone(),
            data: Vec::new(),
            lists,
        })
    }

    /// The scenarios of the file, the certificates of their users, and how many rows and groups come
    /// before theirs.
    #[expect(clippy::type_complexity, reason = "it is taken apart where it is asked for")]
    fn drafts(
        &self,
        known: &[Slot],
        compiler: &mut Compiler<'_>,
    ) -> Result<(Vec<Draft<'_>>, Vec<CertificateFiles>, (usize, usize)), HttpError> {
        let file = self.source.file();
        let mut finishes = Vec::new();
        for scenario in &file.scenario {
            let program = self.finish(&scenario.finish, &scenario.name, compiler)?;
            finishes.push((program, compiler.take_used()));
        }
        let prepared = (compiler.rows.len(), compiler.groups.len());
        let (mut drafts, mut certificates) = (Vec::new(), Vec::new());
        for (scenario, (finish, used)) in file.scenario.iter().zip(finishes) {
            compiler.add_used(used);
            let known = [known, &compiler.set_by(&finish)].concat();
            let draft = self.draft(scenario, &known, compiler)?;
            let identities = Identities::of_scenario(
                scenario,
                self.source,
                &mut compiler.names,
                (&draft.common, &draft.data),
                &mut certificates,
            )?;
            drafts.push(Draft { finish, identities, ..draft });
        }
        Ok((drafts, certificates, prepared))
    }

    fn check_names(&self) -> Result<(), ScenarioError> {
        let file = self.source.file();
        let mut names = BTreeSet::new();
        for scenario in &file.scenario {
            let at = self.source.place_of(scenario);
            if scenario.name.is_empty() || scenario.name.contains(char::is_control) {
                return Err(self.source.wrong(&at, "a scenario has a name, without line ends"));
            }
            if !names.insert(&scenario.name) {
                let problem = format!("two scenarios are called `{}`", scenario.name);
                return Err(self.source.wrong(&at, problem));
            }
        }
        if names.is_empty() {
            return Err(self.source.wrong(&(0..0), "no [[scenario]]: nobody does anything"));
        }
        for name in file.headers.keys().chain(file.scenario.iter().flat_map(|s| s.headers.keys())) {
            if let Some(problem) = header_problem(name) {
                let at = self.source.text().find(name.as_str()).unwrap_or(0);
                let place = at..at + name.len();
                return Err(self.source.wrong(&place, format!("header `{name}`: {problem}")));
            }
        }
        Ok(())
    }

    /// The values of the file, and of whom they are.
    fn common(
        &self,
        compiler: &mut Compiler<'_>,
        variables: &Pairs,
    ) -> Result<(Common, Vec<Slot>), HttpError> {
        constants::values(variables, &mut compiler.names, seed_of(self.seed, u64::MAX)).map_err(
            |NoValue { name, problem }| {
                let at = self.source.text().find(name.as_str()).unwrap_or(0);
                self.source.wrong(&(at..at + name.len()), problem).into()
            },
        )
    }

    /// What is done when the load is over, by the users of `scenario` or, where that has no name, by
    /// nobody in particular.
    fn finish(
        &self,
        steps: &[file::Step],
        scenario: &str,
        compiler: &mut Compiler<'_>,
    ) -> Result<Program, HttpError> {
        let file = self.source.file();
        let of = file.scenario.iter().find(|it| it.name == scenario).unwrap_or(&NOBODY);
        let who = self.credentials(of.credentials.as_deref().or(file.credentials.as_deref()))?;
        let (name, headers) = (format!("{FINISH}{scenario}"), [&of.headers]);
        let mut manner = self.manner(&name, &headers, who.as_ref());
        manner.redirects = of.redirects.unwrap_or(manner.redirects);
        Ok(compiler.program(steps, &manner)?)
    }

    fn token(
        &self,
        scenario: &Scenario,
        manner: &Manner<'_>,
        compiler: &mut Compiler<'_>,
    ) -> Result<Option<Token>, ScenarioError> {
        let Some(written) = &scenario.token else { return Ok(None) };
        let program = compiler.program(&written.step, manner)?;
        if !program.iter().any(|it| it.requests().next().is_some()) {
            let problem = "this asks for nothing: give it a [[scenario.token.step]]";
            return Err(self.source.wrong(&written.lasts.span(), problem));
        }
        if program.iter().any(|it| matches!(it, Instruction::Parallel(_))) {
            let problem = "a token is got by one request after another: take parallel and \
                           resources out";
            return Err(self.source.wrong(&written.lasts.span(), problem));
        }
        let token = Token::new(written, program, self.source, &mut compiler.names)?;
        let used = token.slots().map(|slot| (slot, written.lasts.span())).collect();
        compiler.add_used(used);
        Ok(Some(token))
    }

    fn draft<'s>(
        &self,
        scenario: &'s Scenario,
        known: &[Slot],
        compiler: &mut Compiler<'_>,
    ) -> Result<Draft<'s>, HttpError> {
        let file = self.source.file();
        let all = file.variables.iter().chain(&scenario.variables);
        let all: Pairs = all.map(|(name, value)| (name.clone(), value.clone())).collect();
        let (mut common, own) = self.common(compiler, &all)?;
        for (slot, value) in self.extracted {
            common.set(*slot, value.clone());
        }
        let mut known = [known, &own].concat();
        let mut data = Vec::new();
        for source in &scenario.data {
            let lines = Lines::read(source, self.source.reach(), &mut compiler.names)
                .map_err(|error| self.source.wrong(&source.file.span(), error.to_string()))?
                .dealt(self.overrides.part);
            known.extend(lines.slots());
            let name = source.file.get_ref().file_name().unwrap_or_default();
            data.push((name.to_string_lossy().into_owned(), lines));
        }
        let path = scenario.credentials.as_deref().or(file.credentials.as_deref());
        let who = self.credentials(path)?;
        let proof = self.proof(scenario, who.as_ref())?;
        let headers = [&scenario.headers];
        let mut manner = self.manner(&scenario.name, &headers, who.as_ref());
        manner.think = scenario.think.as_ref().map(|think| *think.get_ref());
        manner.redirects = scenario.redirects.unwrap_or(manner.redirects);
        let token = self.token(scenario, &manner, compiler)?;
        let login = compiler.program(&scenario.login, &manner)?;
        let program = compiler.program(&scenario.step, &manner)?;
        if !program.iter().any(|it| it.requests().next().is_some()) {
            let problem = match compiler.excluded {
                0 => "this scenario asks for nothing: give it a [[scenario.step]]",
                _ => "--exclude leaves nothing of this scenario",
            };
            return Err(self.source.wrong(&self.source.place_of(scenario), problem).into());
        }
        let of_token = token.as_ref().map(|token| &token.program);
        for program in [&login, &program].into_iter().chain(of_token) {
            known.extend(compiler.set_by(program));
        }
        compiler.check_variables(&known)?;
        let lists = std::mem::take(&mut compiler.lists);
        let finish = Program::new();
        let identities = None;
        Ok(Draft {
            scenario,
            token,
            login,
            program,
            finish,
            proof,
            identities,
            common,
            data,
            lists,
        })
    }

    fn manner<'m>(
        &'m self,
        scenario: &'m str,
        headers: &'m [&'m Pairs],
        who: Option<&'m Credentials>,
    ) -> Manner<'m> {
        let name = scenario.strip_prefix(FINISH).unwrap_or(scenario);
        let of = self.source.file().scenario.iter().find(|it| it.name == name);
        let by = self.authentication(of.unwrap_or(&NOBODY));
        let challenged = by != Authentication::Basic;
        Manner {
            scenario,
            file: &self.source.file().headers,
            headers,
            told: &self.overrides.headers,
            authorization: who.map(Credentials::authorization).filter(|_| !challenged),
            think: None,
            redirects: self.source.file().redirects.unwrap_or_default(),
            challenged,
            close: self.overrides.close || self.source.file().close,
        }
    }

    fn thresholds(&self, rows: &[Row], groups: &[Row]) -> Result<Vec<Threshold>, ScenarioError> {
        let read = |text: &Spanned<String>| {
            Threshold::parse(text.get_ref(), rows, groups)
                .map_err(|problem| self.source.wrong(&text.span(), problem))
        };
        self.source.file().thresholds.iter().map(read).collect()
    }
}

/// The seed of scenario `number`: what it draws does not depend on how much the others draw.
pub(crate) fn seed_of(seed: u64, number: u64) -> u64 {
    SplitMix64::new(seed ^ number.wrapping_mul(0xa076_1d64_78bd_642f)).next_u64()
}

#[cfg(test)]
mod tests;
