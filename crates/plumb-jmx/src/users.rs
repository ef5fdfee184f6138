//! Groups of users: how many there are, when they begin, and how long they go on.

use plumb_draft::wait::ms;
use plumb_draft::{DraftStep, Remarks, laid_out, shared_headers};
use plumb_measure::counted;
use plumb_scenario::file::placed;
use toml::Spanned;

use plumb_scenario::file::{Arrivals, Cookies, Data, OnFailure, Scenario, Step};

use super::Importer;
use super::arrivals;
use super::configured::{are_constant, set_first};
use super::element::Element;
use super::pacing;
use super::schedule::{self, Shape};
use super::scope::{Role, Scope, role};
use super::stages;

/// When the requests of a group are made that are made once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Once {
    /// Before the load.
    Before,
    /// When it is over.
    Behind,
}

impl Once {
    /// The key of its steps.
    fn key(self) -> &'static str {
        match self {
            Self::Before => "prepare",
            Self::Behind => "finish",
        }
    }

    /// What such a group is called, and when it has its turn.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Before => ("a setUp group", "before the load"),
            Self::Behind => ("a tearDown group", "when the load is over"),
        }
    }
}

impl Importer {
    /// The scenario of a group. `outer` is the scope of the plan, in which `groups` ask for something.
    pub(super) fn group<'a>(&mut self, group: &Element<'a>, outer: &Scope<'a>, groups: usize) {
        if self.is_idle(group) {
            return;
        }
        self.words.turns.begin_group(group.name());
        let below = group.below();
        let scope = outer.with(&below);
        let number = self.draft.file.scenario.len();
        let at = format!("scenario.{number}");
        let set = self.configured(&below);
        let (once, rest) = match once_at_first(&below) {
            // a login and the first turn would each have values of their own
            (_, rest) if rest.iter().any(makes) && !are_constant(&set) => (Vec::new(), below),
            apart => apart,
        };
        self.endless = false;
        let mut login = Vec::new();
        for element in &once {
            let inside = element.below();
            login.extend(self.steps(&inside, &scope.with(&inside)));
        }
        let mut steps = self.steps_that_set_nothing(&rest, &scope);
        if steps.is_empty() {
            steps = std::mem::take(&mut login);
        }
        set_first(&set, &mut login);
        set_first(&set, &mut steps);
        if steps.is_empty() {
            let why = "no request of it was carried over";
            self.draft.notes.add(group.place(), group.what(), why);
            return;
        }
        let mut scenario = self.users(group);
        let stays_in = std::mem::take(&mut self.endless);
        if stays_in {
            scenario.iterations = None;
        }
        scenario.name = self.labels.unique(group.name());
        scenario.cookies = self.cookies(group, &scope);
        scenario.data = self.data(&scope, groups);
        let comes_back = scenario.iterations.as_ref().is_none_or(|turns| *turns.get_ref() > 1);
        if comes_back && is_another_each_turn(group) {
            self.renewed.push((group.place(), group.what()));
        }
        let login_of_group = self.login(&scope);
        self.logins.push(login_of_group);
        self.pace(&scope, groups, (&mut scenario, &steps));
        if !has_end(&scenario, stays_in) {
            self.draft.remark(at.clone(), "never ends in JMeter: give the load a length (`for`)");
        }
        scenario.headers = shared_headers(login.iter_mut().chain(steps.iter_mut()));
        let remarks = &mut self.draft.remarks;
        scenario.login = under(login, &at, remarks);
        scenario.step = laid_out(steps, &at, remarks);
        self.draft.remark(at, group.remark());
        self.draft.file.scenario.push(scenario);
    }

    /// The requests of a setUp or tearDown group are made once, by one user.
    pub(super) fn group_once<'a>(&mut self, group: &Element<'a>, outer: &Scope<'a>, once: Once) {
        if self.is_idle(group) {
            return;
        }
        self.words.turns.begin_group(group.name());
        let (kind, when) = once.words();
        let below = group.below();
        let scope = outer.with(&below);
        let users = self.count(group, "ThreadGroup.num_threads").unwrap_or(1);
        let times = self.iterations(group).map(|turns| turns.saturating_mul(users));
        if times != Some(1) {
            let why = format!("{kind}: what it asks for is done once {when}, by one user");
            self.draft.notes.add(group.place(), group.what(), why);
        }
        for data in &scope.data {
            let why = format!("what is done once {when} takes no line of data");
            self.draft.notes.add(data.place(), data.what(), why);
        }
        let mut steps = self.steps(&below, &scope);
        if let Some(first) = steps.first_mut() {
            first.remarks.insert(0, group.remark());
        }
        let key = once.key();
        let from = match once {
            Once::Before => self.draft.file.prepare.len(),
            Once::Behind => self.draft.file.finish.len(),
        };
        let mut remarks = Remarks::new();
        let laid = laid_out(steps, key, &mut remarks);
        // the steps of several groups stand behind each other
        for (place, said) in remarks {
            let rest = place.strip_prefix(key).and_then(|rest| rest.strip_prefix(".step."));
            let Some(rest) = rest else { continue };
            let (number, inner) = rest
                .split_once('.')
                .map_or((rest, ""), |(number, _)| (number, &rest[number.len()..]));
            let number = from + number.parse::<usize>().unwrap_or(0);
            self.draft.remarks.insert(format!("{key}.{number}{inner}"), said);
        }
        match once {
            Once::Before => self.draft.file.prepare.extend(laid),
            Once::Behind => self.draft.file.finish.extend(laid),
        }
    }

    /// Users that come and go by a plan of their group.
    fn staged(&mut self, group: &Element<'_>) -> Scenario {
        let mut scenario = Scenario { on_failure: self.on_failure(group), ..Scenario::default() };
        let main = group.inner("ThreadGroup.main_controller");
        if main.is_some_and(|main| main.given("LoopController.loops").is_some()) {
            scenario.iterations = self.iterations(group).map(placed);
        }
        let arrives = arrivals::is_arriving(group);
        let stages = match arrives {
            true => arrivals::read(group, &self.words),
            false => stages::read(group, &self.words),
        };
        if arrives {
            scenario.iterations = None; // each arrival does the script once
            // the plugin spreads arrivals at random
            scenario.arrivals = Arrivals::Poisson;
            scenario.users = self.words.number(group.text("ConcurrencyLimit")).and_then(users_of);
        }
        match stages {
            Ok(stages) => scenario.stages = stages.into_iter().map(placed).collect(),
            Err(why) => {
                let why = format!("{why}; one user does the script once instead");
                self.draft.notes.add(group.place(), group.what(), why);
                (scenario.users, scenario.iterations) = (Some(placed(1)), Some(placed(1)));
                scenario.arrivals = Arrivals::Fixed;
            }
        }
        scenario
    }

    fn users(&mut self, group: &Element<'_>) -> Scenario {
        if group.kind() == "OpenModelThreadGroup" {
            return self.arriving(group);
        }
        if stages::is_staged(group) || arrivals::is_arriving(group) {
            return self.staged(group);
        }
        let users = self.count(group, "ThreadGroup.num_threads").unwrap_or(1);
        let mut scenario = Scenario { users: Some(placed(users)), ..Scenario::default() };
        let mut seconds = |name: &str| {
            let text = group.text(name);
            let number = self.words.number(text);
            if number.is_none() && !text.trim().is_empty() {
                let why = format!("{name} is `{text}`, which is not known before the load");
                self.draft.notes.add(group.place(), group.what(), why);
            }
            number.filter(|number| *number > 0.0).map(|number| ms(number * 1000.0))
        };
        scenario.ramp = seconds("ThreadGroup.ramp_time");
        if group.flag("ThreadGroup.scheduler") {
            scenario.length = seconds("ThreadGroup.duration");
            scenario.start = seconds("ThreadGroup.delay");
        }
        scenario.iterations = self.iterations(group).map(placed);
        scenario.on_failure = self.on_failure(group);
        scenario
    }

    /// Users that arrive at a rate.
    fn arriving(&mut self, group: &Element<'_>) -> Scenario {
        let seed = group.text("OpenModelThreadGroup.random_seed").trim();
        if let Some(seed @ 1..) = seed.parse::<u64>().ok().filter(|seed| *seed <= u64::MAX >> 1) {
            self.draft.file.seed.get_or_insert(seed);
        }
        let schedule = match schedule::of_group(group, &self.words) {
            Ok(schedule) => schedule,
            Err(why) => {
                let why = format!("{why}; one user does the script once instead");
                self.draft.notes.add(group.place(), group.what(), why);
                let (users, iterations) = (Some(placed(1)), Some(placed(1)));
                return Scenario { users, iterations, ..Scenario::default() };
            }
        };
        if schedule.is_mixed {
            let why = "even and random arrivals follow each other; all are random here";
            self.draft.notes.add(group.place(), group.what(), why);
        }
        let mut scenario = Scenario { arrivals: schedule.arrivals, ..Scenario::default() };
        match schedule.shape {
            Shape::Constant(rate, length) => {
                scenario.rate = Some(placed(rate));
                scenario.length = Some(length);
            }
            Shape::Stages(stages) => scenario.stages = stages.into_iter().map(placed).collect(),
            Shape::Nobody => {} // such a group is idle
        }
        scenario
    }

    /// How often a user does the script; `None` without end.
    fn iterations(&mut self, group: &Element<'_>) -> Option<u64> {
        let main = group.inner("ThreadGroup.main_controller")?;
        let text = main.text("LoopController.loops");
        let known = self.words.known(text);
        let is_endless = known.as_deref().is_some_and(|text| text.trim() == "-1");
        // JMeter takes it for said where nothing is
        if is_endless || main.given("LoopController.continue_forever") != Some("false") {
            return None;
        }
        let times = known.and_then(|text| text.trim().parse::<u32>().ok());
        if times.is_none() {
            let why =
                format!("it is done `{text}` times, which is not known before the load; once");
            self.draft.notes.add(group.place(), group.what(), why);
        }
        Some(times.map_or(1, u64::from).max(1))
    }

    fn count(&mut self, group: &Element<'_>, name: &str) -> Option<u64> {
        let text = group.text(name);
        let number = self.words.known(text).and_then(|text| text.trim().parse::<u32>().ok());
        if number.is_none_or(|number| number == 0) {
            let why = format!("{name} is `{text}`, which is no number above 0; 1 is taken");
            self.draft.notes.add(group.place(), group.what(), why);
        }
        number.filter(|number| *number > 0).map(u64::from)
    }

    fn on_failure(&mut self, group: &Element<'_>) -> OnFailure {
        match group.text("ThreadGroup.on_sample_error").trim() {
            "startnextloop" => OnFailure::Restart,
            "stopthread" => OnFailure::Stop,
            whole @ ("stoptest" | "stoptestnow") => {
                let why = format!("a failure ends the whole test ({whole}); here only its user");
                self.draft.notes.add(group.place(), group.what(), why);
                OnFailure::Stop
            }
            _ => OnFailure::Continue,
        }
    }

    /// Without a manager JMeter keeps no cookies.
    fn cookies(&mut self, group: &Element<'_>, scope: &Scope<'_>) -> Cookies {
        let Some(manager) = scope.cookies.last() else { return Cookies::Off };
        if manager.text("CookieManager.policy").trim().eq_ignore_ascii_case("ignoreCookies") {
            return Cookies::Off;
        }
        if !manager.members("CookieManager.cookies").is_empty() {
            let why = "users begin without the cookies that it holds";
            self.draft.notes.add(manager.place(), manager.what(), why);
        }
        // each arrival is a user of its own
        let arrives = group.kind() == "OpenModelThreadGroup" || arrivals::is_arriving(group);
        let clears = if arrives {
            true
        } else if manager.flag("CookieManager.controlledByThreadGroup") {
            is_another_each_turn(group)
        } else {
            manager.flag("CookieManager.clearEachIteration")
        };
        if clears { Cookies::Clear } else { Cookies::Keep }
    }

    /// Throughput that the users keep together becomes a rate where it is the same.
    fn pace(
        &mut self,
        scope: &Scope<'_>,
        groups: usize,
        (scenario, steps): (&mut Scenario, &[DraftStep]),
    ) {
        let [timers @ .., _] = &scope.pacing[..] else { return };
        for timer in timers {
            let why = "several timers of throughput hold together; only the last is looked at";
            self.draft.notes.add(timer.place(), timer.what(), why);
        }
        let Some(timer) = scope.pacing.last() else { return };
        match pacing::rate(timer, &self.words, (scenario, steps, groups)) {
            Ok(paced) => {
                let requests = counted(paced.requests, "request");
                scenario.rate = Some(placed(paced.rate));
                if let Some(ramp) = scenario.ramp.take() {
                    let why =
                        format!("the users of its rate begin as they are needed, not over {ramp}");
                    self.draft.notes.add(timer.place(), timer.what(), why);
                }
                scenario.arrivals = paced.arrivals;
                if let Some(length) = paced.length {
                    scenario.iterations = None;
                    scenario.length = Some(length);
                }
                let at = format!("scenario.{}.rate", self.draft.file.scenario.len());
                let text = format!(
                    "{}: scripts of {requests}, by no more users than these",
                    timer.remark()
                );
                self.draft.remark(at, text);
            }
            Err(why) => self.draft.notes.add(timer.place(), timer.what(), why),
        }
    }
}

/// True for a scenario that ends by itself: by its time, or because each user is done at some time. Who
/// `stays_in` a controller takes no further line of data.
fn has_end(scenario: &Scenario, stays_in: bool) -> bool {
    let runs_dry = !stays_in && scenario.data.iter().any(Data::ends_users);
    let users_end = scenario.iterations.is_some() || runs_dry;
    scenario.length.is_some() || !scenario.stages.is_empty() || scenario.rate.is_none() && users_end
}

/// True when each turn is that of another user; in a group of JMeter itself the same one comes back where
/// nothing is said. The threads of any other group are made without a word of it, and an arrival is one.
///
/// # Source
/// Apache JMeter, the constructor of `JMeterThread` that the plugins call.
fn is_another_each_turn(group: &Element<'_>) -> bool {
    group.kind() != "ThreadGroup"
        || group.given("ThreadGroup.same_user_on_next_iteration") == Some("false")
}

/// The most users that are busy at once, where a plan limits them.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1e6")]
fn users_of(limit: f64) -> Option<Spanned<u64>> {
    (1.0..=1e6).contains(&limit).then(|| placed(limit as u64))
}

/// The controllers of what is done once, at the beginning of a group, and the rest of it: what stands
/// in front of them, too.
fn once_at_first<'a>(below: &[Element<'a>]) -> (Vec<Element<'a>>, Vec<Element<'a>>) {
    let is_once = |element: &&Element<'_>| element.kind() == "OnceOnlyController";
    let Some(first) = below.iter().position(makes) else { return (Vec::new(), below.to_vec()) };
    let count = below[first..].iter().take_while(is_once).count();
    let once = below[first..first + count].to_vec();
    (once, [&below[..first], &below[first + count..]].concat())
}

/// True of what asks for something.
fn makes(element: &Element<'_>) -> bool {
    matches!(role(element), Role::Request | Role::Controller)
}

/// Steps of the `login` of the scenario `at`.
fn under(steps: Vec<DraftStep>, at: &str, remarks: &mut Remarks) -> Vec<Step> {
    let mut own = Remarks::new();
    let laid = laid_out(steps, at, &mut own);
    let (from, to) = (format!("{at}.step."), format!("{at}.login."));
    remarks.extend(own.into_iter().map(|(place, text)| (place.replacen(&from, &to, 1), text)));
    laid
}
