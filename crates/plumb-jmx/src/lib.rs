//! Test plans of JMeter become scenarios.
//!
//! A plan is a tree of pairs: an element, and the tree of what stands below it (`element.rs`).
//! What holds for a request is found by the rules of scope (`scope.rs`): configuration, timers,
//! assertions and post-processors hold for every request beside them and below.

mod arguments;
mod arrivals;
mod assertion;
mod choice;
mod condition;
mod configured;
mod controller;
mod data;
mod date;
mod element;
mod extractor;
mod functions;
mod idle;
mod inserted;
mod login;
mod looped;
mod matches;
mod pacing;
mod pattern;
mod random_order;
mod request;
mod resources;
mod schedule;
mod scope;
mod segment;
mod stages;
mod timer;
mod tree;
mod turns;
mod upload;
mod users;
mod variables;
mod words;

use std::collections::BTreeSet;
use std::path::Path;

use plumb_draft::note::{Notes, Place};
use plumb_draft::origin::{Origins, WantedServers};
use plumb_draft::{Draft, Labels, Login, Secrets, Source, SourceError};
use plumb_measure::counted;
use plumb_scenario::file::Pick;
use plumb_scenario::file::{Authentication, Redirects, Step};
use plumb_wire::http::Url;

use element::Element;
use idle::why_idle;
use scope::{Role, Scope, role};
use users::Once;
use words::Words;

/// Makes a scenario of a test plan.
///
/// # Errors
/// When it is no test plan, or holds no request that can be asked for.
pub fn import(source: &Source, wanted: WantedServers<'_>) -> Result<Draft, SourceError> {
    let mut root = tree::read(&source.text).map_err(|cause| source.broken(cause))?;
    if root.name != "jmeterTestPlan" {
        let cause = format!(
            "line {}: the first element is <{}> and not <jmeterTestPlan>: is it a test plan of \
             JMeter?",
            root.line, root.name
        );
        return Err(source.broken(cause));
    }
    inserted::put_in(&mut root, source.path.parent().unwrap_or(Path::new("")));
    let elements: Vec<Element<'_>> = root
        .children
        .iter()
        .find(|node| node.name == "hashTree")
        .map(Element::of_tree)
        .unwrap_or_default();
    let plan = elements.iter().find(|element| element.kind() == "TestPlan" && element.is_enabled());
    let nothing = || source.nothing("it holds no request over HTTP that is enabled");
    let plan = plan.ok_or_else(nothing)?;
    let mut importer = Importer::default();
    importer.take_variables(plan);
    importer.choose_base(plan, wanted)?;
    importer.plan(plan);
    if importer.draft.file.scenario.is_empty() {
        return Err(match importer.left_out(plan) {
            None => nothing(),
            Some(why) => source.nothing(&why),
        });
    }
    Ok(importer.finished(plan))
}

/// Reasons that are spelled out when nothing is left of a plan.
const REASONS_MAX: usize = 3;

/// What is collected on the way.
#[derive(Default)]
struct Importer {
    draft: Draft,
    secrets: Secrets,
    labels: Labels,
    words: Words,
    base: Option<Url>,
    /// Servers beside it.
    hosts: Vec<Url>,
    /// Requests whose connection is kept.
    kept_alive: usize,
    /// Those whose connection is not, and what they are.
    closed: Vec<(Place, String)>,
    /// Groups of which each turn is a user with connections of its own, and what they are.
    renewed: Vec<(Place, String)>,
    /// Variables that something sets.
    set: BTreeSet<String>,
    /// A data file names its variables itself: nobody knows them here.
    has_unnamed_data: bool,
    /// Limits of time by their keys, as the requests have them.
    timeouts: Vec<(TimeLimit, u64, Place)>,
    /// A request follows redirects.
    follows_any: bool,
    /// What a page embeds is asked for.
    embeds_any: bool,
    /// Users of the group stay in one of its loops.
    endless: bool,
    /// Loops around the elements at hand.
    loops: usize,
    /// Controllers that choose so far.
    choices: usize,
    /// Who asks, for each scenario.
    logins: Vec<Option<Login>>,
}

/// A limit of time that a whole file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeLimit {
    Connect,
    Answer,
}

impl Importer {
    /// Takes down the user-defined variables of the whole plan, and what its extractors set.
    fn take_variables(&mut self, plan: &Element<'_>) {
        if let Some(list) = plan.inner("TestPlan.user_defined_variables") {
            self.define(&list, plan);
        }
        self.tell_properties(plan);
        let mut open = plan.below();
        open.reverse();
        while let Some(element) = open.pop() {
            self.tell_properties(&element);
            match role(&element) {
                Role::Variables => self.define(&element, &element),
                Role::Extractor => {
                    let unsaid = &mut Notes::default();
                    for extract in extractor::read(&element, unsaid) {
                        if extract.pick == Pick::All {
                            self.words.lists.insert(extract.name.clone());
                        }
                        self.secrets.leave(&extract.name);
                        self.set.insert(extract.name);
                    }
                }
                Role::Data => {
                    data::names(&element).iter().for_each(|name| self.secrets.leave(name))
                }
                _ => {}
            }
            open.extend(element.below().into_iter().rev());
        }
    }

    /// Says what the properties stand for that `element` asks for: a command line of JMeter could
    /// have told otherwise.
    fn tell_properties(&mut self, element: &Element<'_>) {
        for (whole, value) in element.all_texts().into_iter().flat_map(words::taken) {
            let what = format!("{whole} in {}", element.what());
            self.draft.notes.add_taken(element.place(), what, &value);
        }
    }

    fn choose_base(
        &mut self,
        plan: &Element<'_>,
        wanted: WantedServers<'_>,
    ) -> Result<(), SourceError> {
        let mut origins = Origins::default();
        self.count_origins(&plan.below(), &Scope::default(), &mut origins);
        self.base = match origins.is_empty() {
            true => wanted.base.cloned(),
            false => origins.main(wanted)?.cloned(),
        };
        match &self.base {
            Some(base) => {
                self.hosts = origins.name(base, wanted, &mut self.draft);
            }
            None => {
                let why = "none that is known before the load: name it with the load";
                self.draft.notes.add(plan.place(), "the server of the plan", why);
            }
        }
        Ok(())
    }

    fn count_origins<'a>(
        &self,
        elements: &[Element<'a>],
        outer: &Scope<'a>,
        origins: &mut Origins,
    ) {
        let scope = outer.with(elements);
        for element in elements {
            let below = element.below();
            let is_group = matches!(role(element), Role::Group | Role::Setup | Role::Teardown);
            if is_group && why_idle(element, &self.words).is_some() {
                continue;
            }
            if role(element) == Role::Request {
                let scope = scope.with(&below);
                if let request::Server::Known(url) = self.server(element, &scope) {
                    origins.count(&url);
                }
            }
            self.count_origins(&below, &scope, origins);
        }
    }

    /// The groups of the plan, and what stands beside them.
    fn plan(&mut self, plan: &Element<'_>) {
        let below = plan.below();
        let scope = Scope::default().with(&below);
        let groups = below.iter().filter(|it| role(it) == Role::Group);
        let groups = groups.filter(|it| why_idle(it, &self.words).is_none()).count();
        if plan.flag("TestPlan.serialize_threadgroups") && groups > 1 {
            let why = "its groups run one after another; the scenarios run side by side";
            self.draft.notes.add(plan.place(), plan.what(), why);
        }
        for element in &below {
            match role(element) {
                Role::Group => self.group(element, &scope, groups),
                Role::Setup => self.group_once(element, &scope, Once::Before),
                Role::Teardown => self.group_once(element, &scope, Once::Behind),
                Role::Request | Role::Controller | Role::Action => {
                    let why = "it stands in no group of users";
                    self.draft.notes.add(element.place(), element.what(), why);
                }
                _ => self.beside(element),
            }
        }
    }

    /// Why none of the requests of a plan became one of a load; `None` where it has none.
    fn left_out(&self, plan: &Element<'_>) -> Option<String> {
        let requests = requests_below(plan);
        let notes = self.draft.notes.sorted();
        let said: Vec<String> = notes.iter().take(REASONS_MAX).map(ToString::to_string).collect();
        (requests > 0).then(|| {
            let whole = counted(requests, "request");
            format!("none of its {whole} makes a load: {}", said.join("; "))
        })
    }

    /// Names what stands beside requests, where it has no equivalent.
    fn beside(&mut self, element: &Element<'_>) {
        match role(element) {
            Role::Listener => self.draft.notes.add_no_part(element.place(), element.what()),
            Role::Unknown => self.unknown(element),
            _ => {}
        }
    }

    /// Names an element without an equivalent, with what is lost below it.
    fn unknown(&mut self, element: &Element<'_>) {
        let why = match requests_below(element) {
            0 => "there is nothing like it here".to_owned(),
            1 => "there is nothing like it here; the request in it is left out".to_owned(),
            more => {
                format!("there is nothing like it here; the {more} requests in it are left out")
            }
        };
        self.draft.notes.add(element.place(), element.what(), why);
    }

    fn finished(mut self, plan: &Element<'_>) -> Draft {
        self.draft.file.name = Some(plan.name().trim().to_owned()).filter(|name| !name.is_empty());
        self.settle_timeouts();
        self.settle_connections();
        self.settle_logins();
        if !self.follows_any {
            self.draft.file.redirects = Some(Redirects::NONE);
            let scenarios = self.draft.file.scenario.iter_mut();
            let steps = scenarios.flat_map(|it| it.login.iter_mut().chain(&mut it.step));
            steps.for_each(leave_redirects_to_the_file);
        }
        self.settle_matches();
        self.settle_variables();
        self.secrets.declare(&mut self.draft);
        self.draft
    }

    /// One limit for the whole file: the longest.
    fn settle_timeouts(&mut self) {
        for limit in [TimeLimit::Connect, TimeLimit::Answer] {
            let own = || self.timeouts.iter().filter(|(kind, ..)| *kind == limit);
            let Some(longest) = own().map(|(_, ms, _)| *ms).max() else { continue };
            let shorter = own().find(|(_, ms, _)| *ms != longest).map(|(_, ms, at)| (*ms, *at));
            if let Some((ms, at)) = shorter {
                let why = format!("a file has one limit: {longest} ms, and not {ms} ms");
                self.draft.notes.add(at, "a time-out of a request", why);
            }
            let span = Some(plumb_measure::Span::from_ms(longest));
            match limit {
                TimeLimit::Connect => self.draft.file.connect_timeout = span,
                TimeLimit::Answer => self.draft.file.timeout = span,
            }
        }
    }

    /// Whether connections are kept, for the whole file.
    fn settle_connections(&mut self) {
        self.draft.file.close = self.kept_alive == 0 && !self.closed.is_empty();
        if !self.draft.file.close {
            let why = "its connection is kept, as those of the other requests are";
            for (place, what) in std::mem::take(&mut self.closed) {
                self.draft.notes.add(place, what, why);
            }
            let why = "each turn is another user with connections of its own; here they are kept \
                       (`close` makes one for each request)";
            for (place, what) in std::mem::take(&mut self.renewed) {
                self.draft.notes.add(place, what, why);
            }
        }
    }

    /// One login for the scenarios that have it.
    fn settle_logins(&mut self) {
        let Some(first) = self.logins.iter().flatten().next().cloned() else { return };
        let having = |login: &Option<Login>| login.as_ref() == Some(&first);
        let all = self.logins.iter().all(having);
        let others = self.logins.iter().flatten().any(|login| *login != first);
        if others {
            let why =
                "one file of credentials is written: give the scenarios of other users theirs";
            self.draft.notes.add(Place::File, "users that log in", why);
        }
        if !all {
            let numbered = self.logins.iter().enumerate();
            self.draft.login_of =
                numbered.filter(|(_, login)| having(login)).map(|(number, _)| number).collect();
        }
        if first.by != Authentication::Basic {
            self.draft.file.authentication = Some(first.by);
        }
        self.draft.login = Some(first).filter(|first| !first.user.is_empty());
    }
}

/// How many requests stand below `element`.
fn requests_below(element: &Element<'_>) -> u64 {
    let mut open = element.below();
    let mut found = 0;
    while let Some(element) = open.pop() {
        found += u64::from(role(&element) == Role::Request);
        open.extend(element.below());
    }
    found
}

/// What holds for all requests stands in the file.
fn leave_redirects_to_the_file(step: &mut Step) {
    step.redirects = None;
    step.step.iter_mut().for_each(leave_redirects_to_the_file);
}

#[cfg(test)]
mod group_tests;
#[cfg(test)]
mod meant_tests;
#[cfg(test)]
mod scope_tests;
#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
