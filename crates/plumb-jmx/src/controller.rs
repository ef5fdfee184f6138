//! Controllers: loops, groups, shares and conditions around requests.

use plumb_draft::DraftStep;
use plumb_draft::note::Place;
use plumb_draft::template::variable_name;
use plumb_draft::wait::Sequence;
use plumb_measure::counted;
use plumb_scenario::file::placed;
use plumb_scenario::file::{Step, Think};

use super::Importer;
use super::condition;
use super::configured::set_first;
use super::element::Element;
use super::inserted::EMPTY;
use super::requests_below;
use super::scope::{Role, Scope, is_loop, role};
use super::timer;
use super::words::is_sole_variable;

/// `ThroughputController.style` of a share in percent.
const PERCENT: &str = "1";
/// What stands for a loop without end: more turns than any load has time for.
const ENDLESS: u64 = 1_000_000_000;
/// `ActionProcessor.action` of a wait.
const PAUSE: &str = "1";

impl Importer {
    /// The steps of what stands side by side; `scope` is theirs.
    pub(super) fn steps<'a>(
        &mut self,
        elements: &[Element<'a>],
        scope: &Scope<'a>,
    ) -> Vec<DraftStep> {
        let set = self.configured(elements);
        let mut steps = self.steps_that_set_nothing(elements, scope);
        set_first(&set, &mut steps);
        steps
    }

    /// The same steps, without what elements beside them set.
    pub(super) fn steps_that_set_nothing<'a>(
        &mut self,
        elements: &[Element<'a>],
        scope: &Scope<'a>,
    ) -> Vec<DraftStep> {
        let mut steps = Vec::new();
        let mut sequence = Sequence::default();
        let mut paused = None;
        for element in elements {
            match role(element) {
                Role::Request => {
                    if let Some((step, wait)) = self.request(element, scope) {
                        sequence.push(step, timer::sum(paused.take(), wait));
                    }
                }
                Role::Action => paused = timer::sum(paused, self.pause(element, scope)),
                Role::Controller => {
                    self.linger(paused.take(), &mut sequence);
                    steps.extend(sequence.take());
                    steps.extend(self.controller(element, scope));
                }
                Role::Group | Role::Setup | Role::Teardown => {
                    let why = "it stands inside another group, where JMeter does not run it";
                    self.draft
                        .notes
                        .add_no_part(element.place(), format!("{}: {why}", element.what()));
                }
                _ => self.beside(element),
            }
        }
        self.linger(paused, &mut sequence);
        steps.extend(sequence.take());
        steps
    }

    /// Lets a wait behind which no request follows stand behind the last one.
    fn linger(&mut self, wait: Option<Think>, sequence: &mut Sequence) {
        if wait.is_some() && !sequence.linger(|think| timer::sum(think, wait)) {
            let why = "no request stands directly before or behind it";
            self.draft.notes.add(Place::File, "the wait of a TestAction", why);
        }
    }

    /// The wait of an action between requests; what is none is named.
    fn pause<'a>(&mut self, action: &Element<'a>, outer: &Scope<'a>) -> Option<Think> {
        let scope = outer.with(&action.below());
        if action.text("ActionProcessor.action").trim() != PAUSE {
            let why = "it ends or restarts users; `on-failure` does so after a step that failed";
            self.draft.notes.add(action.place(), action.what(), why);
            return None;
        }
        let notes = &mut self.draft.notes;
        let timers = timer::wait(&scope.timers, &self.words, notes);
        timer::sum(timer::fixed(action, "ActionProcessor.duration", &self.words, notes), timers)
    }

    /// The steps of a controller; what it cannot say is named, with the requests that are lost.
    fn controller<'a>(&mut self, element: &Element<'a>, outer: &Scope<'a>) -> Vec<DraftStep> {
        let made = match element.kind() {
            "RandomController" | "InterleaveControl" | "SwitchController" => {
                let made = self.choice(element, &outer.with(&element.below()));
                made.map(|steps| remarked(element, steps))
            }
            "RandomOrderController" => {
                let steps = self.random_order(element, &outer.with(&element.below()));
                Ok(remarked(element, steps))
            }
            "ParallelSampler" => {
                let steps = self.at_the_same_time(element, &outer.with(&element.below()));
                Ok(remarked(element, steps))
            }
            _ if is_loop(element) => self.looped(element, outer),
            _ => self.around(element).map(|around| {
                let steps = self.inside(element, outer);
                self.put_around(element, around, steps)
            }),
        };
        made.unwrap_or_else(|why| {
            let lost = counted(requests_below(element), "request");
            let why = format!("{why}; what stands in it is left out ({lost})");
            self.draft.notes.add(element.place(), element.what(), why);
            Vec::new()
        })
    }

    /// What a controller puts around all of its steps.
    ///
    /// # Errors
    /// Why it cannot be said.
    pub(super) fn around(&mut self, element: &Element<'_>) -> Result<Around, String> {
        match element.kind() {
            "GenericController" | "RecordingController" => Ok(Around::Nothing),
            "TransactionController" => Ok(self.transaction(element)),
            "LoopController" => self.repeated(element),
            "ForeachController" => self.each(element),
            "IfController" => self.when(element),
            "ThroughputController" => self.share(element),
            "OnceOnlyController" => Ok(self.once(element)),
            "WhileController" => self.repeated_while(element),
            "CriticalSectionController" => {
                let why = "one user at a time does what stands in it; here they do not wait";
                self.draft.notes.add(element.place(), element.what(), why);
                Ok(Around::Nothing)
            }
            _ => Err(element.attribute(EMPTY).to_owned()),
        }
    }

    /// The steps of what stands in a controller.
    pub(super) fn inside<'a>(
        &mut self,
        element: &Element<'a>,
        outer: &Scope<'a>,
    ) -> Vec<DraftStep> {
        let below = element.below();
        self.name_inside(element, &below);
        self.steps(&below, &outer.with(&below))
    }

    /// `steps` in what their controller puts around them.
    pub(super) fn put_around(
        &mut self,
        element: &Element<'_>,
        around: Around,
        steps: Vec<DraftStep>,
    ) -> Vec<DraftStep> {
        if steps.is_empty() {
            return Vec::new();
        }
        let mut around = match around {
            Around::Nothing => return steps,
            Around::Condition(step) if element.flag("IfController.evaluateAll") => {
                return remarked(element, self.each_hung_on(element, &step, steps));
            }
            Around::Condition(step) => hung_on(step, steps),
            Around::Step(step) => DraftStep::around(*step, steps),
        };
        around.remarks.insert(0, element.remark());
        if around.step.repeat.as_ref().is_some_and(|times| *times.get_ref() == ENDLESS) {
            around.remarks.push("never ends in JMeter: users stay in it".into());
            self.endless = true;
        }
        vec![around]
    }

    /// The steps of a controller that looks at its condition before each request.
    fn each_hung_on(
        &mut self,
        element: &Element<'_>,
        step: &Step,
        steps: Vec<DraftStep>,
    ) -> Vec<DraftStep> {
        if steps.iter().any(|it| !it.steps.is_empty()) {
            let why = "its condition holds for each request in it; here for each element, and all in \
                       that";
            self.draft.notes.add(element.place(), element.what(), why);
        }
        let each = steps.into_iter().map(|one| hung_on(Box::new(step.clone()), vec![one]));
        each.collect()
    }

    /// Names what holds for all users of a group or for none.
    fn name_inside(&mut self, controller: &Element<'_>, below: &[Element<'_>]) {
        for element in below {
            if matches!(role(element), Role::Cookies | Role::Logins | Role::Data | Role::Pacing) {
                let why = format!("it cannot hold for {} alone", controller.what());
                self.draft.notes.add(element.place(), element.what(), why);
            }
        }
    }

    fn transaction(&mut self, element: &Element<'_>) -> Around {
        // its time holds them where nothing is said
        if element.given("TransactionController.includeTimers") != Some("false") {
            let why = "its time holds waits; here think times are left out of the time of a group";
            self.draft.notes.add(element.place(), element.what(), why);
        }
        let name = self.labels.unique(element.name());
        Around::Step(Box::new(Step { group: Some(placed(name)), ..Step::default() }))
    }

    fn repeated(&mut self, element: &Element<'_>) -> Result<Around, String> {
        let text = element.text("LoopController.loops");
        // JMeter writes `continue_forever` into every controller: it means done again when what is
        // around it comes back, and not without end
        let known = self.words.known(text);
        let times = if known.as_deref().is_some_and(|text| text.trim() == "-1") {
            ENDLESS
        } else {
            let known = known.and_then(|text| text.trim().parse::<u32>().ok());
            u64::from(known.ok_or_else(|| {
                format!("it is done `{text}` times, which is not known before the load")
            })?)
        };
        if times == 0 {
            return Err("it is done 0 times".into());
        }
        let step = Step { repeat: Some(placed(times)), ..Step::default() };
        Ok(Around::Step(Box::new(step)))
    }

    /// What a user does in its first turn only.
    fn once(&mut self, element: &Element<'_>) -> Around {
        if self.loops > 0 {
            let why = "it is done once each time the loop around it begins; here in every turn of that \
                       loop in the first turn of the script";
            self.draft.notes.add(element.place(), element.what(), why);
        }
        let condition = Some(placed("${iteration()} == 1".into()));
        Around::Condition(Box::new(Step { condition, ..Step::default() }))
    }

    fn repeated_while(&mut self, element: &Element<'_>) -> Result<Around, String> {
        let text = element.text("WhileController.condition").trim();
        if text.is_empty() || text.eq_ignore_ascii_case("last") {
            return Err("it ends after a request that failed, which no condition tells".into());
        }
        let condition = condition::read(text, true).or_else(|| condition::read(text, false));
        let condition = condition.ok_or_else(|| {
            format!("its condition `{text}` is more than one comparison of a variable")
        })?;
        // JMeter goes on until the text is `false`, whatever else it is
        let sole = is_sole_variable(&condition);
        let condition = if sole { format!("{condition} != 'false'") } else { condition };
        let condition = self.words.template(&condition, element, &mut self.draft.notes);
        let condition = condition::checked(condition)?;
        let step = Step { holds: Some(placed(condition)), ..Step::default() };
        Ok(Around::Step(Box::new(step)))
    }

    fn each(&mut self, element: &Element<'_>) -> Result<Around, String> {
        let list = variable_name(element.text("ForeachController.inputVal"));
        if !self.words.lists.contains(&list) {
            return Err(format!(
                "`{list}` is no list: no extractor of the plan takes all matches of it"
            ));
        }
        if element.given("ForeachController.useSeparator") == Some("false") {
            return Err("its list has names without `_`, which no extractor makes".into());
        }
        let bound = |name: &str| -> Result<u64, String> {
            let text = element.text(name);
            if text.trim().is_empty() {
                return Ok(0);
            }
            let number = self.words.known(text).and_then(|text| text.trim().parse().ok());
            number.ok_or_else(|| format!("its {name} is `{text}`"))
        };
        if bound("ForeachController.startIndex")? > 0 {
            return Err("it does not begin with the first value".into());
        }
        let end = bound("ForeachController.endIndex")?;
        let variable = variable_name(element.text("ForeachController.returnVal"));
        self.set.insert(variable.clone());
        Ok(Around::Step(Box::new(Step {
            each: Some(placed(list)),
            variable: Some(placed(variable)),
            most: (end > 0).then(|| placed(end)),
            ..Step::default()
        })))
    }

    fn when(&mut self, element: &Element<'_>) -> Result<Around, String> {
        let text = element.text("IfController.condition");
        let is_expression = element.flag("IfController.useExpression");
        let condition = condition::read(text, is_expression).ok_or_else(|| {
            format!("its condition `{text}` is more than one comparison of a variable")
        })?;
        let condition = self.words.template(&condition, element, &mut self.draft.notes);
        let condition = condition::checked(condition)?;
        let step = Step { condition: Some(placed(condition)), ..Step::default() };
        Ok(Around::Condition(Box::new(step)))
    }

    fn share(&mut self, element: &Element<'_>) -> Result<Around, String> {
        if element.text("ThroughputController.style").trim() != PERCENT {
            return Err("it counts how often it is done, and is no share in percent".into());
        }
        let text = element.text("ThroughputController.percentThroughput");
        let percent = self
            .words
            .number(text)
            .ok_or_else(|| format!("its share `{text}` is no number before the load"))?;
        if percent <= 0.0 {
            return Err("its share is 0 %".into());
        }
        if percent >= 100.0 {
            return Ok(Around::Nothing);
        }
        let step = Step { share: Some(placed(format!("{percent}%"))), ..Step::default() };
        Ok(Around::Condition(Box::new(step)))
    }
}

/// `steps`, with what they come from said above the first.
fn remarked(element: &Element<'_>, mut steps: Vec<DraftStep>) -> Vec<DraftStep> {
    if let Some(first) = steps.first_mut() {
        first.remarks.insert(0, element.remark());
    }
    steps
}

/// What a controller puts around its steps.
pub(super) enum Around {
    Nothing,
    /// A share or a condition: it may hang on a single step.
    Condition(Box<Step>),
    Step(Box<Step>),
}

/// `steps` under the share or the condition of `step`: on the one step that has none of its own,
/// or around them all.
fn hung_on(step: Box<Step>, mut steps: Vec<DraftStep>) -> DraftStep {
    if let [only] = &mut steps[..]
        && only.step.share.is_none()
        && only.step.condition.is_none()
    {
        only.step.share.clone_from(&step.share);
        only.step.condition.clone_from(&step.condition);
        return std::mem::take(only);
    }
    DraftStep::around(Step { repeat: Some(placed(1)), ..*step }, steps)
}
