//! A load as it would be, for people.

use plumb_measure::{grouped, real, rounded, show_count, show_ns};
use plumb_scenario::file::{
    AtEnd, Check, Cookies, Extract, OnFailure, Operation, Part, Pick, Step, Take, Think, Turns,
};

use super::amount::Amount;
use super::script::{ShownData, ShownScript, ShownVariable};
use super::step::ShownStep;
use super::users_over_time::{Level, Point, UsersOverTime};
use super::{Preview, span};

/// Characters of a body that are shown.
const BODY_CHARS: usize = 60;

/// The whole text.
pub(super) fn of(preview: &Preview) -> String {
    let mut lines = head(preview);
    if !preview.prepare.is_empty() {
        lines.push(String::new());
        lines.push("once before the load, not recorded".into());
        lines.extend(preview.prepare.iter().flat_map(|step| step_lines(step, 1)));
    }
    for (number, scenario) in preview.scenarios.iter().enumerate() {
        lines.push(String::new());
        lines.extend(scenario_lines(preview, number, scenario));
    }
    if !preview.finish.is_empty() {
        lines.push(String::new());
        lines.push("once when the load is over, recorded apart".into());
        lines.extend(preview.finish.iter().flat_map(|step| step_lines(step, 1)));
    }
    if !preview.thresholds.is_empty() {
        lines.push(String::new());
        lines.push("thresholds".into());
        lines.extend(preview.thresholds.iter().map(|text| format!("  {text}")));
    }
    lines.iter().map(|line| format!("{}\n", plain(line.trim_end()))).collect()
}

/// Nothing that a terminal would obey.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn head(preview: &Preview) -> Vec<String> {
    let named = preview.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let (file, base) = (preview.file.display(), preview.base.trim_end_matches('/'));
    let mut lines = vec![format!("{file}{named} against {base}: nothing is asked for now")];
    let hosts: Vec<&str> = preview.hosts.iter().map(|it| it.trim_end_matches('/')).collect();
    lines.extend((!hosts.is_empty()).then(|| entry("hosts", &hosts.join(", "))));
    lines.extend(preview.proxy.as_ref().map(|proxy| entry("proxy", proxy)));
    lines.push(entry("length", &length(preview)));
    let timeout = span(preview.timeout_ns);
    let connect = span(preview.connect_timeout_ns);
    lines.push(entry("limits", &format!("an answer {timeout}, a connection {connect}")));
    let seed = preview.seed.map_or("drawn when the load begins".into(), |seed| seed.to_string());
    lines.push(entry("seed", &seed));
    if preview.points.len() > 1 {
        let users: Vec<String> = preview.points.iter().map(|point| grouped(point.users)).collect();
        let order = match preview.seed {
            Some(_) => "in this order",
            None => "in an order that is drawn",
        };
        lines.push(entry("sweep", &format!("{} users, {order}", users.join(", "))));
    }
    lines
}

/// How long everything takes.
fn length(preview: &Preview) -> String {
    let warmup = match preview.warmup_ns {
        0 => String::new(),
        ns => format!("a warm-up of {}, then ", span(ns)),
    };
    let recorded: Vec<Option<u64>> = preview.points.iter().map(|it| it.recorded_ns).collect();
    let waited =
        format!("what is under way then is waited for, up to {}", span(preview.timeout_ns));
    match (preview.predicted_ns, &recorded[..]) {
        (Some(_), [Some(ns)]) if preview.warmup_ns == 0 => format!("{}; {waited}", span(*ns)),
        (Some(all), [Some(ns)]) => {
            format!("{warmup}{} recorded, {} in all; {waited}", span(*ns), span(all))
        }
        (Some(all), points) => {
            let each = points.first().copied().flatten().unwrap_or(0);
            let times = points.len();
            format!(
                "{warmup}{} recorded, {times} times, {} in all; {waited}",
                span(each),
                span(all)
            )
        }
        (None, _) => {
            let thinks = preview.scenarios.iter().filter_map(|it| {
                let times = it.iterations?;
                Some(it.script.think_ns * real(times))
            });
            let longest = match rounded(thinks.fold(0.0, f64::max)) {
                0 => String::new(),
                ns => format!(", who think and pause for {} in the mean", show_ns(ns)),
            };
            format!("{warmup}until the users are done{longest}")
        }
    }
}

fn scenario_lines(preview: &Preview, number: usize, shown: &ShownScript) -> Vec<String> {
    let courses: Vec<(&Point, &UsersOverTime)> = preview
        .points
        .iter()
        .filter_map(|point| Some((point, point.scenarios.get(number)?)))
        .collect();
    let load = courses.first().map_or("", |(_, course)| course.load);
    let mut lines = vec![format!("{}: {load} load", shown.name)];
    let said: Vec<String> = courses.iter().map(|(_, it)| course_words(it, preview)).collect();
    let same = said.windows(2).all(|two| two[0] == two[1]);
    for ((point, course), words) in
        courses.iter().zip(&said).take(if same { 1 } else { said.len() })
    {
        let at = if same { String::new() } else { format!("of {}: ", grouped(point.users)) };
        lines.push(entry(course.unit, &format!("{at}{words}")));
    }
    lines.push(entry("a script", &amount_words(shown.script, shown.iterations)));
    lines.extend(shown.pause.as_ref().map(|pause| entry("pause", &think_words(pause))));
    let cookies = match shown.cookies {
        Cookies::Keep => "kept as long as a user lives",
        Cookies::Clear => "forgotten between two scripts",
        Cookies::Off => "neither kept nor sent",
    };
    lines.push(entry("cookies", cookies));
    let failure = match shown.on_failure {
        OnFailure::Continue => "the next step",
        OnFailure::Restart => "the script from its beginning",
        OnFailure::Stop => "the user is done",
    };
    lines.push(entry("a failure", failure));
    let whence = shown.credentials.as_deref().unwrap_or("none");
    lines.push(entry("credentials", whence));
    lines.extend(shown.data.iter().map(|data| entry("data", &data_words(data))));
    lines.extend(shown.variables.iter().map(|it| entry("variable", &variable_words(it))));
    let parts = [
        ("token", &shown.token),
        ("login", &shown.login),
        ("steps", &shown.steps),
        ("finish", &shown.finish),
    ];
    for (title, steps) in parts {
        if !steps.is_empty() {
            lines.push(format!("  {title}"));
            lines.extend(steps.iter().flat_map(|step| step_lines(step, 2)));
        }
    }
    lines
}

fn entry(name: &str, text: &str) -> String {
    format!("  {name:<12} {text}")
}

/// How many there are, from when to when.
fn course_words(course: &UsersOverTime, preview: &Preview) -> String {
    let over_ns = course.recorded_ns.map(|ns| preview.warmup_ns + ns);
    let mut parts = vec![level_words(&course.levels, over_ns)];
    if course.load == "open" {
        parts.push(format!("at most {} at once", plumb_measure::counted(course.users, "user")));
        parts.extend(course.scripts.map(|n| format!("{} scripts recorded", show_count(n))));
    }
    parts.extend(
        course.requests_per_s_most.map(|rate| format!("at most {}/s", counted(rate, "request"))),
    );
    if course.threads > 1 {
        parts.push(format!("on {} threads", course.threads));
    }
    parts.join("; ")
}

fn level_words(levels: &[Level], over_ns: Option<u64>) -> String {
    let mut parts = Vec::new();
    for part in levels.windows(2) {
        let [from, to] = [part[0], part[1]];
        if from.at_ns == to.at_ns {
            continue; // a jump: what follows says where it leads
        }
        let (begin, end) = (span(from.at_ns), span(to.at_ns));
        let same = (from.level - to.level).abs() < f64::EPSILON;
        parts.push(match same {
            true => format!("{} from {begin} to {end}", from.level),
            false => format!("{} to {} from {begin} to {end}", from.level, to.level),
        });
    }
    let goes_on = |last: &&Level| last.level > 0.0 && over_ns.is_none_or(|ns| last.at_ns < ns);
    let last = levels.last().filter(goes_on);
    parts.extend(last.map(|last| format!("{} from {} on", last.level, span(last.at_ns))));
    parts.join(", ")
}

fn amount_words(amount: Amount, iterations: Option<u64>) -> String {
    let requests = counted(amount.requests, "request");
    let requests = match (amount.depends, amount.requests > 0.0) {
        (false, _) => requests,
        (true, true) => format!("{requests}, and what lists and conditions decide on"),
        (true, false) => "what lists and conditions decide on".into(),
    };
    let think = match rounded(amount.think_ns) {
        0 => String::new(),
        ns => format!("; {} of think times and pauses in the mean", show_ns(ns)),
    };
    let times = match iterations {
        None => String::new(),
        Some(1) => "; each user does it once".into(),
        Some(n) => format!("; each user does it {} times", grouped(n)),
    };
    format!("{requests}{think}{times}")
}

/// `1 request`, `2.50 requests`.
fn counted(number: f64, noun: &str) -> String {
    let shown = show_count(number);
    let s = if shown == "1" { "" } else { "s" };
    format!("{shown} {noun}{s}")
}

fn data_words(data: &ShownData) -> String {
    let take = match data.take {
        Take::EachScript => "one for each script",
        Take::EachUser => "one for each user",
        Take::OwnLines => "all for each user",
        Take::ByUser => "that of its number for each user",
    };
    let end = match data.at_end {
        AtEnd::Again => "then again from the first",
        AtEnd::Stop => "then users are done",
    };
    let lines = plumb_measure::counted(data.lines, "line");
    format!("{}: {lines}, {take}, {end}", data.file.display())
}

fn variable_words(variable: &ShownVariable) -> String {
    match &variable.value {
        Some(value) if value.is_empty() => format!("{} is empty", variable.name),
        Some(value) => format!("{} = {value}", variable.name),
        None => format!("{} from {}", variable.name, variable.from),
    }
}

/// A step, and the steps in it.
fn step_lines(shown: &ShownStep, depth: usize) -> Vec<String> {
    let step = &shown.step;
    let indent = "  ".repeat(depth);
    let mut lines = vec![format!("{indent}{:<9} {}", format!("line {}", shown.line), kind(step))];
    let inner = format!("{indent}{:<12}", "");
    lines.extend(details(shown).into_iter().map(|detail| format!("{inner}{detail}")));
    lines.extend(shown.steps.iter().flat_map(|step| step_lines(step, depth + 1)));
    lines
}

/// What a step does.
fn kind(step: &Step) -> String {
    let value = |text: &Option<toml::Spanned<String>>| {
        text.as_ref().map_or(String::new(), |text| text.get_ref().clone())
    };
    if step.path.is_some() {
        let asked = format!("{} {}", value(&step.method), value(&step.path));
        let name = value(&step.name);
        let parts = if step.resources.is_some() { ", and what the page embeds" } else { "" };
        return if name == asked { asked } else { format!("{name}: {asked}") } + parts;
    }
    if let Some(times) = &step.repeat {
        return counted(real(*times.get_ref()), "time");
    }
    if step.holds.is_some() {
        let most = step.most.as_ref().map(|it| format!(", {} at most", grouped(*it.get_ref())));
        return format!("while {}{}", value(&step.holds), most.unwrap_or_default());
    }
    if step.parallel.is_some() {
        return format!("at the same time, timed as one: {}", value(&step.parallel));
    }
    if step.group.is_some() {
        return format!("timed as one: {}", value(&step.group));
    }
    let most = step.most.as_ref().map(|most| format!(", {} at most", grouped(*most.get_ref())));
    let shared = match step.turns {
        Turns::Own => "",
        Turns::Shared => ", shared by all users",
    };
    let (list, variable) = (value(&step.each), value(&step.variable));
    format!("for each {variable} of {list}{}{shared}", most.unwrap_or_default())
}

fn details(shown: &ShownStep) -> Vec<String> {
    let step = &shown.step;
    let mut lines = Vec::new();
    lines.extend(step.share.as_ref().map(|share| format!("in {} of the turns", share.get_ref())));
    lines.extend(step.condition.as_ref().map(|it| format!("if {}", it.get_ref())));
    lines.extend(step.set.iter().map(|(name, value)| format!("set {name} = {}", cut(value))));
    if shown.is_request() {
        lines.extend(step.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        lines.extend(step.body.as_ref().map(|body| format!("body {}", cut(body.get_ref()))));
        lines.extend(
            step.body_file.as_ref().map(|file| format!("body of {}", file.get_ref().display())),
        );
        lines.extend(step.parts.iter().map(|part| part_words(part.get_ref())));
        lines.extend(step.batch.iter().flat_map(|it| operation_words(it.get_ref())));
    }
    lines.extend(step.check.as_ref().map(|check| check_words(check.get_ref())));
    lines.extend(step.extract.iter().map(|extract| extract_words(extract.get_ref())));
    lines
        .extend(step.think.as_ref().map(|think| format!("think {}", think_words(think.get_ref()))));
    lines
}

fn part_words(part: &Part) -> String {
    match (&part.file, &part.value) {
        (Some(file), _) => format!("part {}: file {}", part.name, file.get_ref().display()),
        (None, value) => format!("part {}: {}", part.name, cut(value.as_deref().unwrap_or(""))),
    }
}

fn operation_words(operation: &Operation) -> Vec<String> {
    if !operation.changeset.is_empty() {
        let inner = operation.changeset.iter().flat_map(operation_words);
        let all = inner.map(|line| format!("  {line}"));
        return std::iter::once("change set".to_owned()).chain(all).collect();
    }
    let (method, target) = match &operation.get {
        Some(target) => ("GET", Some(target)),
        None => (operation.method.as_deref().unwrap_or("POST"), operation.path.as_ref()),
    };
    vec![format!("operation {method} {}", target.map_or("", String::as_str))]
}

fn cut(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(BODY_CHARS) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

fn think_words(think: &Think) -> String {
    match think {
        Think::Fixed(time) => time.to_string(),
        Think::Uniform(from, to) => format!("{from} to {to}"),
        Think::Exponential(mean, None) => format!("exponential, {mean} in the mean"),
        Think::Exponential(mean, Some(most)) => {
            format!("exponential, {mean} in the mean, {most} at most")
        }
        Think::Normal(mean, deviation) => format!("normal, {mean} in the mean, +-{deviation}"),
    }
}

fn check_words(check: &Check) -> String {
    let mut parts = Vec::new();
    parts.extend(check.status.as_ref().map(|status| format!("status {status}")));
    parts.extend(check.path.as_ref().map(|path| format!("of {path}")));
    let lengths =
        [("length", check.length), ("at least", check.length_min), ("at most", check.length_max)];
    for (name, bytes) in lengths {
        parts.extend(bytes.map(|bytes| format!("{name} {} B", grouped(bytes))));
    }
    for (word, texts) in [
        ("holds", &check.contains),
        ("holds not", &check.contains_not),
        ("matches", &check.matches),
        ("matches not", &check.matches_not),
    ] {
        parts.extend(texts.iter().map(|text| format!("{word} `{}`", cut(text))));
    }
    parts.extend(check.within.map(|time| format!("within {time}")));
    format!("check {}", parts.join(", "))
}

fn extract_words(extract: &Extract) -> String {
    let between = extract.between.as_ref().map(|[before, behind]| format!("{before}...{behind}"));
    let kinds = [
        ("header", &extract.header),
        ("json", &extract.json),
        ("xpath", &extract.xpath),
        ("between", &between),
        ("regex", &extract.regex),
    ];
    let kinds = kinds.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
    let kinds: Vec<String> = kinds.map(|(name, text)| format!("{name} {}", cut(text))).collect();
    let pick = match extract.pick {
        Pick::First => String::new(),
        Pick::All => ", all".into(),
        Pick::Random => ", one of them".into(),
        Pick::Number(number) => format!(", number {number}"),
    };
    format!("extract {}: {}{pick}", extract.name, kinds.join(", "))
}
