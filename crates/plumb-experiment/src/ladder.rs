//! A ladder as it is written, and checked.

use std::collections::BTreeMap;

use plumb_measure::{Share, Span};
use plumb_wire::document;
use serde::{Deserialize, Serialize};

use crate::{Fault, ServerSection, Template};

/// Levels of one ladder at most.
const LEVELS_MAX: usize = 64;
/// The highest level.
const LEVEL_MAX: u32 = 1_000_000;
/// What the ladder says itself, so that its command must not.
const OWN: [&str; 6] = ["--users", "--connections", "--rate", "--for", "--warmup", "--out"];
const STEP: Span = Span::from_ms(10_000);
const WARMUP: Span = Span::from_ms(2_000);
/// How often a step is taken that does not come to valid figures.
const ATTEMPTS: u32 = 3;
/// Half an interval may be this share of its figure.
const WIDTH: f64 = 0.05;
/// A step may be this many times as long as the shortest where the file does not say.
const LONGEST: u64 = 6;

/// A file with a `[ladder]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LadderFile {
    /// What it is called, in the folder's name.
    name: Option<String>,
    /// Servers that are started and ended.
    #[serde(default)]
    server: Vec<ServerSection>,
    ladder: LadderSection,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LadderSection {
    /// The words behind `plumb`, without level and length.
    run: String,
    users: Option<Levels>,
    connections: Option<Levels>,
    rate: Option<Levels>,
    /// The shortest and the longest step, its warm-up not counted.
    step: Option<Span>,
    step_max: Option<Span>,
    warmup: Option<Span>,
    /// Half the interval of throughput and of p95, as a share of it, that a step is long enough for.
    width: Option<Share>,
    attempts: Option<u32>,
    /// Whether the ladder ends at its knee.
    until: Option<Until>,
    #[serde(default)]
    pools: BTreeMap<String, u32>,
    #[serde(default)]
    servers: BTreeMap<String, u32>,
}

/// Where a ladder ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// As soon as the knee is shown, or behind the last level.
    #[default]
    Knee,
    /// Behind the last level.
    End,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Levels {
    List(Vec<u32>),
    Range(Range),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: u32,
    to: u32,
    factor: f64,
}

/// What a ladder asks for, checked as far as that goes without the commands that it names.
#[derive(Clone, Debug)]
pub struct LadderPlan {
    /// In the folder's name.
    pub name: String,
    /// Servers that are started and ended.
    pub servers: Vec<ServerSection>,
    /// Their commands, in each of which those above it may stand by their names.
    pub commands: Vec<Template>,
    /// What is stepped: `users`, `connections` or `rate`.
    pub stepped: &'static str,
    /// In rising order, each once.
    pub levels: Vec<u32>,
    /// The shortest step, its warm-up not counted.
    pub step: Span,
    /// The longest.
    pub step_max: Span,
    /// Half the interval of throughput and of p95, as a share of it, that a step is long enough for.
    pub width: f64,
    /// How often a step is taken that does not come to valid figures.
    pub attempts: u32,
    /// Where the ladder ends.
    pub until: Until,
    /// Places of pools, for whoever sizes.
    pub pools: BTreeMap<String, u32>,
    /// Servers of parts of the server's account, for whoever sizes.
    pub parts: BTreeMap<String, u32>,
    run: String,
    warmup: Span,
}

/// True when `text` has a `[ladder]`.
#[must_use]
pub fn is_ladder(text: &str) -> bool {
    text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("ladder"))
}

impl LadderPlan {
    /// The ladder of `text`; one without a name is called `stem`.
    ///
    /// # Errors
    /// When `text` is no such file, or asks for what cannot be.
    pub fn read(text: &str, stem: &str) -> Result<Self, Fault> {
        let file: LadderFile =
            document::read(text).map_err(|wrong| Fault::of_all(wrong.to_string()))?;
        let LadderFile { name, server, ladder } = file;
        let (stepped, levels) = levels(&ladder)?;
        let commands = commands(&server)?;
        let step = ladder.step.unwrap_or(STEP);
        let longest = Span::from_ns(step.ns().saturating_mul(LONGEST));
        let plan = Self {
            name: name.unwrap_or_else(|| stem.to_owned()),
            servers: server,
            commands,
            stepped,
            levels,
            step,
            step_max: ladder.step_max.unwrap_or(longest),
            width: ladder.width.map_or(WIDTH, Share::of_one),
            attempts: ladder.attempts.unwrap_or(ATTEMPTS),
            until: ladder.until.unwrap_or_default(),
            pools: ladder.pools,
            parts: ladder.servers,
            run: ladder.run,
            warmup: ladder.warmup.unwrap_or(WARMUP),
        };
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), Fault> {
        ensure(self.step.ns() > 0, || "[ladder] step: a step of no time measures nothing".into())?;
        ensure(self.step_max >= self.step, || {
            format!(
                "[ladder] step-max is {} and step {}: the longest step cannot be the shorter one",
                self.step_max, self.step
            )
        })?;
        ensure((1..=10).contains(&self.attempts), || {
            "[ladder] attempts: write a number from 1 to 10".into()
        })?;
        ensure(self.width > 0.0, || {
            "[ladder] width: no step is long enough for an interval of 0 %".into()
        })?;
        let places = self.pools.values().chain(self.parts.values());
        ensure(places.into_iter().all(|places| (1..=100_000).contains(places)), || {
            "[ladder] pools and servers have from 1 to 100,000 places each".into()
        })?;
        let of_its_own = |word: &&str| OWN.contains(&word.split('=').next().unwrap_or(word));
        if let Some(word) = self.run.split_whitespace().find(of_its_own) {
            return Err(Fault::of_all(format!(
                "[ladder] run: the ladder says {word} itself; leave it out"
            )));
        }
        self.command(self.levels[0], self.step).map(drop)
    }

    /// The words that measure the step of `level` for `length`, with the servers by their names.
    ///
    /// # Errors
    /// When they name what is no server.
    pub fn command(&self, level: u32, length: Span) -> Result<Template, Fault> {
        let Self { run, stepped, warmup, .. } = self;
        let words = format!("{run} --{stepped} {level} --for {length} --warmup {warmup}");
        template("[ladder] run", &words, &self.names())
    }

    /// The words behind `plumb`, without level and length.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The names of the servers, whose addresses a command may use.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.servers.iter().map(|server| server.name.get_ref().as_str()).collect()
    }

    /// About how long it takes at least and at most, nanoseconds.
    #[must_use]
    pub fn takes_ns(&self) -> [u64; 2] {
        let of = |step: Span, times: u32| {
            let steps = (self.levels.len() as u64 + 1) * u64::from(times);
            step.ns().saturating_add(self.warmup.ns()).saturating_mul(steps)
        };
        [of(self.step, 1), of(self.step_max, self.attempts)]
    }
}

fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault::of_all(problem())) }
}

fn levels(section: &LadderSection) -> Result<(&'static str, Vec<u32>), Fault> {
    let all =
        [("users", &section.users), ("connections", &section.connections), ("rate", &section.rate)];
    let mut given = all.into_iter().filter_map(|(name, levels)| Some((name, levels.as_ref()?)));
    let Some((name, levels)) = given.next() else {
        return Err(Fault::of_all(
            "[ladder] says nothing to step: write users = [1, 2, 4, 8] or users = { from = 1, to = \
             40, factor = 1.5 }",
        ));
    };
    if let Some((other, _)) = given.next() {
        return Err(Fault::of_all(format!(
            "[ladder] steps {name} and {other}: one ladder steps one of them"
        )));
    }
    let levels = match levels {
        Levels::List(list) => list.clone(),
        Levels::Range(range) => range.levels(name)?,
    };
    let rising = levels.windows(2).all(|pair| pair[0] < pair[1]);
    let known = levels.iter().all(|it| (1..=LEVEL_MAX).contains(it));
    ensure(rising && known, || {
        format!("[ladder] {name}: write numbers from 1 to {LEVEL_MAX} that rise")
    })?;
    ensure(levels.len() > 1, || {
        format!("[ladder] {name}: a ladder has at least two levels, four to be sized")
    })?;
    ensure(levels.len() <= LEVELS_MAX, || format!("[ladder] {name}: at most {LEVELS_MAX} levels"))?;
    Ok((name, levels))
}

impl Range {
    /// From one end to the other, each so many times the one before, and at least one more.
    fn levels(self, name: &str) -> Result<Vec<u32>, Fault> {
        let Self { from, to, factor } = self;
        ensure(factor.is_finite() && factor >= 1.05 && from >= 1 && from < to, || {
            format!(
                "[ladder] {name}: write from and to with 1 <= from < to, and a factor of at least 1.05"
            )
        })?;
        let mut levels = vec![from];
        let mut last = from;
        while last < to && levels.len() <= LEVELS_MAX {
            last = times(last, factor).max(last + 1).min(to);
            levels.push(last);
        }
        Ok(levels)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a float becomes the nearest number there is")]
#[expect(clippy::cast_sign_loss, reason = "levels and factors are positive")]
fn times(level: u32, factor: f64) -> u32 {
    (f64::from(level) * factor).round() as u32
}

/// The commands of servers, in each of which those above it may stand by their names.
fn commands(servers: &[ServerSection]) -> Result<Vec<Template>, Fault> {
    let mut known: Vec<&str> = Vec::new();
    let mut commands = Vec::new();
    for section in servers {
        let name = section.name.get_ref();
        ensure(!known.contains(&name.as_str()), || format!("two servers are called `{name}`"))?;
        let text = section.run.as_ref().or(section.exec.as_ref());
        let text = text.ok_or_else(|| {
            Fault::at(&section.name, format!("the server `{name}` has no command"))
        })?;
        commands.push(template(&format!("the server `{name}`"), text.get_ref(), &known)?);
        known.push(name);
    }
    Ok(commands)
}

fn template(whose: &str, text: &str, known: &[&str]) -> Result<Template, Fault> {
    let Ok(template) = Template::parse(text) else {
        return Err(Fault::of_all(format!(
            "{whose}: `${{` has no `}}`; write `$${{` for the characters themselves"
        )));
    };
    if let Some(name) = template.names().find(|name| !known.contains(name)) {
        let known = if known.is_empty() { "none".into() } else { known.join(", ") };
        return Err(Fault::of_all(format!(
            "{whose}: `${{{name}}}` is no server above it; known here: {known}"
        )));
    }
    Ok(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(ladder: &str) -> Result<LadderPlan, Fault> {
        LadderPlan::read(
            &format!("[ladder]\nrun = \"http ping http://127.0.0.1:1/\"\n{ladder}"),
            "x",
        )
    }

    fn wrong(ladder: &str) -> String {
        format!("{:#}", plan(ladder).unwrap_err())
    }

    #[test]
    fn a_range_rises_by_its_factor_and_ends_at_its_end() {
        let levels = |from, to, factor| Range { from, to, factor }.levels("users").unwrap();
        assert_eq!(levels(1, 40, 2.0), [1, 2, 4, 8, 16, 32, 40]);
        assert_eq!(levels(1, 5, 1.1), [1, 2, 3, 4, 5], "at least one more each time");
        assert!(Range { from: 4, to: 4, factor: 2.0 }.levels("users").is_err());
        assert!(Range { from: 1, to: 9, factor: 1.0 }.levels("users").is_err());
        assert!(Range { from: 1, to: 9, factor: f64::NAN }.levels("users").is_err());
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        assert!(wrong("").contains("users = [1, 2, 4, 8]"));
        assert!(wrong("users = [1, 2]\nrate = [3, 4]").contains("one of them"));
        assert!(wrong("users = [2, 1]").contains("that rise"));
        assert!(wrong("users = [1]").contains("at least two"));
        assert!(wrong("users = [1, 2]\nstep = \"5s\"\nstep-max = \"1s\"").contains("step-max"));
        assert!(wrong("users = [1, 2]\nattempts = 0").contains("attempts"));
        assert!(wrong("users = [1, 2]\nuser = 3").contains("user"));
        let own = "[ladder]\nrun = \"http load x.toml --for 3s\"\nusers = [1, 2]";
        assert!(LadderPlan::read(own, "x").unwrap_err().to_string().contains("--for itself"));
        let unknown = "[ladder]\nrun = \"http ping http://${app}/\"\nconnections = [1, 2]";
        let said = LadderPlan::read(unknown, "x").unwrap_err().to_string();
        assert!(said.contains("${app}") && said.contains("no server"), "{said}");
    }

    #[test]
    fn no_warm_up_is_said_to_the_command_as_well() {
        let text =
            |ladder: &str| plan(ladder).unwrap().command(2, Span::from_ms(3_000)).unwrap().text();
        let own = text("users = [1, 2]\nwarmup = \"0s\"");
        assert!(own.ends_with(" --users 2 --for 3s --warmup 0s"), "{own}");
        assert!(text("users = [1, 2]").ends_with(" --warmup 2s"));
    }

    #[test]
    fn short_steps_take_their_time_too() {
        let short = plan("users = [1, 2, 3]\nstep = \"500ms\"\nwarmup = \"200ms\"").unwrap();
        let s = 1_000_000_000;
        assert_eq!(short.takes_ns(), [4 * 7 * s / 10, 4 * 3 * 32 * s / 10]);
    }

    #[test]
    fn a_file_with_a_ladder_is_told_from_others() {
        assert!(is_ladder("[ladder]\nrun = \"x\""));
        assert!(!is_ladder("name = \"[ladder]\"") && !is_ladder("[ladder"));
    }
}
