//! From a file and the words of the command line to the scripts of all scenarios.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumb_measure::LoadPart;
use plumb_measure::statistics::SplitMix64;
use plumb_scenario::Patterns;
use plumb_scenario::ScenarioError;
use plumb_scenario::ScenarioSource;
use plumb_scenario::cookies::Site;
use plumb_scenario::data::Lines;
use plumb_scenario::file::{Cookies, OnFailure, Pairs, Scenario};
use plumb_scenario::variables::{Common, Slot, Value};
use toml::Spanned;

use super::compile::{Compiler, Manner, PREPARATION, Row, header_problem};
use super::constants::{self, NoValue};
use super::cursor::SharedTurns;
use super::origin::Origins;
use super::player::Script;
use super::program::{Instruction, Program, Step};
use super::threshold::Threshold;
use crate::HttpError;
use crate::credentials::{Credentials, Source};
use crate::request::split;

/// What the command line says of what is asked.
#[derive(Debug)]
pub(crate) struct Overrides {
    pub(crate) headers: Pairs,
    pub(crate) exclude: Patterns,
    pub(crate) credentials: Option<PathBuf>,
    pub(crate) body_bytes_max: u64,
    /// Which users, and which lines of data, are those of this process.
    pub(crate) part: LoadPart,
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
    pub(crate) rows: Vec<Row>,
    pub(crate) groups: Vec<Row>,
    /// The first of both belong to the preparation, which is not recorded.
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

/// A scenario whose steps are compiled.
struct Draft<'a> {
    scenario: &'a Scenario,
    login: Program,
    program: Program,
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
        let prepared = (compiler.rows.len(), compiler.groups.len());
        let first = Draft {
            scenario: &Scenario::default(),
            login: Program::new(),
            program: preparation,
            common,
            data: Vec::new(),
            lists: std::mem::take(&mut compiler.lists),
        };
        let mut drafts = Vec::new();
        for scenario in &file.scenario {
            drafts.push(self.draft(scenario, &known, &mut compiler)?);
        }
        let own = compiler.add_hop_rows();
        let thresholds = self.thresholds(&compiler.rows, &compiler.groups)?;
        let (steps, names): (Arc<[Step]>, _) = (compiler.steps.into(), Arc::new(compiler.names));
        let sites: Arc<[Site]> = self.origins.sites().into();
        let script = |draft: Draft<'_>, number: u64| {
            let scenario = draft.scenario;
            Arc::new(Script {
                name: scenario.name.clone(),
                steps: Arc::clone(&steps),
                names: Arc::clone(&names),
                origins: Arc::clone(self.origins),
                login: draft.login,
                program: draft.program,
                common: draft.common.share(),
                data: draft.data,
                shared: SharedTurns::new(draft.lists, self.overrides.part),
                iterations: scenario.iterations.as_ref().map(|most| *most.get_ref()),
                pause: scenario.pause.as_ref().map(|pause| *pause.get_ref()),
                cookies: scenario.cookies,
                sites: Arc::clone(&sites),
                on_failure: scenario.on_failure,
                seed: seed_of(self.seed, number),
                body_bytes_max: self.overrides.body_bytes_max,
                prepares: false,
            })
        };
        let preparation = (!first.program.is_empty()).then(|| {
            let mut script = script(first, 0);
            if let Some(script) = Arc::get_mut(&mut script) {
                script.name = "prepare".into();
                script.iterations = Some(1);
                script.cookies = Cookies::Keep;
                script.on_failure = OnFailure::Stop;
                script.prepares = true;
            }
            script
        });
        let scripts = (1..).zip(drafts).map(|(number, draft)| script(draft, number)).collect();
        Ok(CompiledScenario {
            preparation,
            scripts,
            rows: compiler.rows,
            groups: compiler.groups,
            prepared,
            own,
            thresholds,
        })
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
        let headers = [&scenario.headers];
        let mut manner = self.manner(&scenario.name, &headers, who.as_ref());
        manner.think = scenario.think.as_ref().map(|think| *think.get_ref());
        manner.redirects = scenario.redirects.unwrap_or(manner.redirects);
        let login = compiler.program(&scenario.login, &manner)?;
        let program = compiler.program(&scenario.step, &manner)?;
        if !program.iter().any(|it| matches!(it, Instruction::Request(_))) {
            let problem = match compiler.excluded {
                0 => "this scenario asks for nothing: give it a [[scenario.step]]",
                _ => "--exclude leaves nothing of this scenario",
            };
            return Err(self.source.wrong(&self.source.place_of(scenario), problem).into());
        }
        known.extend(compiler.set_by(&login));
        known.extend(compiler.set_by(&program));
        compiler.check_variables(&known)?;
        let lists = std::mem::take(&mut compiler.lists);
        Ok(Draft { scenario, login, program, common, data, lists })
    }

    fn manner<'m>(
        &'m self,
        scenario: &'m str,
        headers: &'m [&'m Pairs],
        who: Option<&'m Credentials>,
    ) -> Manner<'m> {
        Manner {
            scenario,
            file: &self.source.file().headers,
            headers,
            told: &self.overrides.headers,
            authorization: who.map(Credentials::authorization),
            think: None,
            redirects: self.source.file().redirects.unwrap_or_default(),
        }
    }

    /// Who asks: as the command line says, else the file, else the environment.
    fn credentials(&self, path: Option<&Path>) -> Result<Option<Credentials>, HttpError> {
        let named = self.overrides.credentials.clone();
        let file = match (named, path) {
            (Some(named), _) => Some(named),
            (None, Some(path)) => Some(self.source.reach().file(path).map_err(|refused| {
                HttpError::Credentials(format!(
                    "{}: cannot take the credentials {}: {refused}",
                    self.source.path().display(),
                    path.display()
                ))
            })?),
            (None, None) => None,
        };
        Source::new(file.as_deref()).at_hand()
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scenario::cursor::{Around, Cursor, Halt};

    const WHOLE: &str = include_str!("../../../../examples/scenarios/user-mix.toml");
    const LIST: &str = include_str!("../../../../examples/scenarios/list-details.toml");

    fn overrides(exclude: &[String]) -> Overrides {
        Overrides {
            headers: Pairs::new(),
            exclude: Patterns::new(exclude),
            credentials: None,
            body_bytes_max: u64::MAX,
            part: LoadPart::default(),
        }
    }

    fn compiled_of(text: &str) -> Result<CompiledScenario, HttpError> {
        let source = ScenarioSource::parse(Path::new("s.toml"), text.into())?;
        let origins = Arc::new(Origins::new(&source, None, None)?);
        compile(&source, &origins, &overrides(&[]), 1, &[])
    }

    #[test]
    fn a_whole_file_becomes_scripts_with_their_rows() {
        let compiled = compiled_of(WHOLE).unwrap();
        let rows = compiled.rows.iter().map(|row| format!("{}/{}", row.scenario, row.name));
        let own = rows.filter(|row| !row.contains("(redirect"));
        assert_eq!(own.collect::<Vec<_>>(), ["eager/part", "calm/part", "background/message"]);
        assert_eq!((compiled.scripts.len(), compiled.groups.len()), (3, 2 + 3));
        assert!(compiled.preparation.is_none());
        assert_ne!(compiled.scripts[0].seed, compiled.scripts[1].seed);
        let compiled = compiled_of(LIST).unwrap();
        assert_eq!((compiled.prepared, compiled.rows.len()), ((1, 0), 3 + 2 * 5));
        assert_eq!(compiled.preparation.unwrap().iterations, Some(1));
    }

    #[test]
    fn what_is_left_out_takes_its_loops_and_groups_along() {
        let source = ScenarioSource::parse(Path::new("s.toml"), WHOLE.into()).unwrap();
        let origins = Arc::new(Origins::new(&source, None, None).unwrap());
        let error = compile(&source, &origins, &overrides(&["*kb.*".into()]), 1, &[]).unwrap_err();
        assert!(error.to_string().contains("--exclude leaves nothing"), "{error}");
        let compiled = compile(&source, &origins, &overrides(&["kb.htm".into()]), 1, &[]).unwrap();
        assert_eq!(compiled.steps(), 1 + 1 + 1);
    }

    impl CompiledScenario {
        fn steps(&self) -> usize {
            let programs = self.scripts.iter().map(|script| &script.program);
            let requests = |program: &Program| {
                program.iter().filter(|it| matches!(it, Instruction::Request(_))).count()
            };
            programs.map(requests).sum()
        }
    }

    /// Walks a script for a while, whatever it is.
    fn wander(script: &Script) {
        let mut variables = plumb_scenario::variables::Variables::new(Arc::clone(&script.common));
        let mut draw = plumb_scenario::draw::Draw::of_user(script.seed, 0);
        let (mut cursor, mut complete, mut undecided) = (Cursor::default(), Vec::new(), None);
        for _ in 0..20 {
            let halt = cursor.go(&mut Around {
                program: &script.program,
                variables: &mut variables,
                draw: &mut draw,
                shared: &script.shared,
                complete: &mut complete,
                undecided: &mut undecided,
            });
            match halt {
                Halt::Request(step) | Halt::Undecided(step) => {
                    assert!(usize::from(step) < script.steps.len());
                    cursor.pass();
                }
                Halt::Pause(_) => {}
                Halt::End => return,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_file_that_was_changed_anywhere_is_read_or_refused(
            at in 0usize..4_000,
            gone in 0usize..40,
            put in "[ -~\n]{0,12}",
            whole in any::<bool>(),
        ) {
            let text = if whole { WHOLE } else { LIST };
            let at = at.min(text.len());
            let end = (at + gone).min(text.len());
            let changed = format!("{}{put}{}", &text[..at], &text[end..]);
            if let Ok(compiled) = compiled_of(&changed) {
                compiled.scripts.iter().for_each(|script| wander(script));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
            let _ = compiled_of(&text);
        }
    }
}
