//! A load ladder in words.

use plumb_measure::{counted, show_ns, show_rate};

use super::{LadderRecord, Step};

impl LadderRecord {
    /// The steps as a table of plain text, then what they show.
    #[must_use]
    pub fn text(&self) -> String {
        in_words(self, "")
    }

    /// The same in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        in_words(self, "| ")
    }
}

/// The steps as a table, then what they show; `bar` stands before the columns of Markdown.
fn in_words(ladder: &LadderRecord, bar: &str) -> String {
    let head = [ladder.stepped, "a second", "+-", "mean", "p95", "+-", ""].map(str::to_owned);
    let mut text = row(&head, bar);
    if !bar.is_empty() {
        text += "|---:|---:|---:|---:|---:|---:|---|\n";
    }
    for (at, step) in ladder.steps.iter().enumerate() {
        text += &row(&cells(step, remark(ladder, at)), bar);
    }
    text += "\n";
    for sentence in sentences(ladder) {
        text += &format!("{sentence}\n");
    }
    text
}

fn row(cells: &[String; 7], bar: &str) -> String {
    let [level, rate, rate_half, mean, p95, p95_half, rest] = cells;
    if bar.is_empty() {
        let line = format!(
            "{level:>11} {rate:>9} {rate_half:>7} {mean:>9} {p95:>9} {p95_half:>7}  {rest}"
        );
        return line.trim_end().to_owned() + "\n";
    }
    format!("| {} |\n", cells.join(" | "))
}

/// What is to be said of the step `at`.
fn remark(ladder: &LadderRecord, at: usize) -> String {
    let step = &ladder.steps[at];
    let is_last = at + 1 == ladder.steps.len();
    match (&step.invalid, step.counts, step.repeated) {
        (Some(why), ..) => format!("not valid: {why}"),
        (None, false, _) if ladder.interrupted && is_last => "interrupted".into(),
        (None, false, _) => "too wide, taken again".into(),
        (None, true, true) => "again, against drift".into(),
        (None, true, false) => String::new(),
    }
}

fn cells(step: &Step, remark: String) -> [String; 7] {
    let unknown = || "-".to_owned();
    let half = |half: Option<f64>| half.map_or_else(unknown, |it| format!("{:.1} %", it * 100.0));
    let level = step.level.to_string();
    match &step.figures {
        Some(it) => [
            level,
            show_rate(it.throughput_per_s),
            half(it.throughput_half),
            show_ns(it.mean_ns),
            show_ns(it.p95_ns),
            half(it.p95_half),
            remark,
        ],
        None => [level, unknown(), unknown(), unknown(), unknown(), unknown(), remark],
    }
}

fn sentences(ladder: &LadderRecord) -> Vec<String> {
    let stepped = ladder.stepped;
    let words = |level: u32| match stepped {
        "users" => counted(level.into(), "user"),
        "connections" => counted(level.into(), "connection"),
        _ => format!("{} a second", counted(level.into(), "operation")),
    };
    let mut all = Vec::new();
    let highest = ladder.steps.iter().filter(|it| it.counts).map(|it| it.level).max();
    let knee = match (ladder.knee, highest) {
        (Some(level), _) => format!(
            "The knee is shown: at {} throughput is flat and the response time grows.",
            words(level)
        ),
        (None, Some(level)) => format!("No knee up to {}.", words(level)),
        (None, None) => "No step counts.".into(),
    };
    all.push(ladder.accepted_load.map_or(knee.clone(), |it| it.beside(&knee)));
    if let Some([throughput, mean]) = ladder.drift {
        all.push(format!(
            "Taken again, throughput differs by {:+.1} % and the mean by {:+.1} % from the first time: {}.",
            throughput.share * 100.0,
            mean.share * 100.0,
            if ladder.has_drifted() {
                "the machine drifted, take the ladder again"
            } else if !ladder.knows_drift() {
                "whether that is drift is not known, take longer steps"
            } else {
                "no drift shown"
            }
        ));
    } else if !ladder.interrupted {
        all.push("No step could be taken again: whether the machine drifted is not known.".into());
    }
    let lacking: Vec<String> = ladder.lacking().iter().map(ToString::to_string).collect();
    if !lacking.is_empty() {
        all.push(format!("Without valid figures: {stepped} {}.", lacking.join(", ")));
    }
    let wide = ladder.steps.iter().filter(|it| it.counts && !it.repeated);
    let wide: Vec<String> = wide
        .filter(|it| it.figures.is_some_and(|of| of.widest().is_none()))
        .map(|it| it.level.to_string())
        .collect();
    if !wide.is_empty() {
        all.push(format!(
            "Too few operations, or too long ones, for an interval: {stepped} {}.",
            wide.join(", ")
        ));
    }
    all
}
