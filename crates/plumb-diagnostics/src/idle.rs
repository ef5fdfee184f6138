//! What the sleep of idle processors costs, as people read it.

use plumb_checkup::{IdleCost, IdleFinding};
use plumb_measure::show_ns;

use plumb_page::figures::grouped;
use plumb_page::table::escaped;
use plumb_page::wrap::{fact, harmless, paragraph};

/// The cost as text of `width` columns. Ends with a line end.
#[must_use]
pub fn terminal(cost: &IdleCost, width: usize) -> String {
    let mut out = format!("host idle: {}\n\n", word(cost));
    out += &paragraph("", &cost.sentence, width);
    out.push('\n');
    for (name, text) in facts(cost) {
        out += &fact(name, &text, width);
    }
    harmless(&out)
}

/// The cost as Markdown, to paste into a ticket.
#[must_use]
pub fn markdown(cost: &IdleCost) -> String {
    let mut out = format!("## host idle: {}\n\n{}\n\n", word(cost), escaped(&cost.sentence));
    for (name, text) in facts(cost) {
        out += &format!("- {name}: {}\n", escaped(&text));
    }
    out
}

fn word(cost: &IdleCost) -> &'static str {
    match cost.finding {
        IdleFinding::Shown => "COST SHOWN",
        IdleFinding::NotShown => "NO COST SHOWN",
        IdleFinding::Open => "OPEN",
    }
}

fn facts(cost: &IdleCost) -> Vec<(&'static str, String)> {
    let [one, other] = cost.processors;
    let (company, setting) = (cost.company, &cost.setting);
    let part = |pct: Option<f64>| pct.map_or("not known".into(), |pct| format!("{pct:.1} %"));
    let told = |text: &Option<String>| text.clone().unwrap_or_else(|| "not told".into());
    let boot = match &setting.boot {
        None => "not readable".into(),
        Some(words) if words.is_empty() => "none".into(),
        Some(words) => words.join(" "),
    };
    vec![
        (
            "measured",
            format!(
                "{} round trips of 500 B over loopback in {} rounds, the tick left alone and held \
                 in turns; blocking receives on processors {one} and {other}",
                grouped(cost.round_trips),
                cost.rounds.len()
            ),
        ),
        ("tick free", format!("{}, the median of the rounds' medians", show_ns(cost.free_ns))),
        ("tick held", format!("{}, the same", show_ns(cost.held_ns))),
        (
            "others",
            format!(
                "{} of the processor time by other processes, {} withheld by the hypervisor",
                part(company.foreign_pct),
                part(company.steal_pct)
            ),
        ),
        ("idle driver", told(&setting.driver)),
        ("governor", told(&setting.governor)),
        (
            "idle states",
            match setting.states.is_empty() {
                true => "not told".into(),
                false => setting.states.join(", "),
            },
        ),
        ("boot words", boot),
        ("hypervisor", setting.hypervisor.clone().unwrap_or_else(|| "none seen".into())),
    ]
}

#[cfg(test)]
mod tests {
    use plumb_checkup::{IdleCompany, IdleRound, IdleSample, IdleSetting};
    use plumb_measure::Program;

    use super::*;

    fn cost(foreign_pct: f64) -> IdleCost {
        IdleCost::of(IdleSample {
            plumb: Program { version: "0.0.0".into() },
            started: "2026-11-21T08:30:48Z".into(),
            processors: [0, 1],
            round_trips: 12_345,
            rounds: vec![IdleRound { free_ns: 73_000, held_ns: 56_000 }; 20],
            company: IdleCompany {
                foreign_pct: Some(foreign_pct),
                steal_pct: Some(0.0),
                limit_pct: 5.0,
            },
            setting: IdleSetting { boot: Some(Vec::new()), ..IdleSetting::default() },
        })
    }

    #[test]
    fn text_and_markdown_say_the_same() {
        let shown = cost(0.4);
        let text = terminal(&shown, 80);
        assert!(text.starts_with("host idle: COST SHOWN\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for told in [&text, &markdown(&shown)] {
            for words in ["17.0 us", "73.0 us", "56.0 us", "12,345 round trips", "boot words"] {
                assert!(told.contains(words), "{words}: {told}");
            }
        }
    }

    #[test]
    fn a_busy_machine_is_open_in_every_form() {
        let busy = cost(40.0);
        assert!(terminal(&busy, 80).contains("OPEN"));
        assert!(markdown(&busy).contains("OPEN"));
        assert!(terminal(&busy, 80).contains("40.0 %"));
    }
}
