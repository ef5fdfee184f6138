//! A check as one self-contained page: styles inline, nothing fetched.

use maud::{Markup, html};
use plumb_checkup::{Judgement, PathCheck, PathPart, PathVerdict};

use super::{heading, left, sizes, summary, tables};
use plumb_page::Definition;
use plumb_page::figures::typeset;
use plumb_page::{page, sheet};

const DEFINITIONS: [Definition; 4] = [
    Definition {
        term: "kB/s",
        meaning: "niping's tr2: 2 x payload / av2 / 1,024. Both directions are counted, one message \
                  at a time, the longest and the shortest round trip left out. Below three messages \
                  it is tr, over all of them.",
    },
    Definition {
        term: "Orders of magnitude",
        meaning: "About 100,000 kB/s over Gigabit Ethernet and 10,000 over Fast Ethernet are usual \
                  with large messages. They are no limits: a long way, a small window or a loaded \
                  server gives less, and none of these is broken.",
    },
    Definition {
        term: "Sizes",
        meaning: "Payloads around the sizes at which one packet more is needed. A size that gets no \
                  answer while smaller ones do points to full packets that are dropped on the way.",
    },
    Definition {
        term: "Idle",
        meaning: "One message, silence, one more message over the same connection. Nothing travels \
                  in between, no keep-alive either. A firewall that forgets silent connections \
                  shows as a message without an answer, or as a connection that was reset.",
    },
];

/// The check as an HTML document.
#[must_use]
pub fn render(check: &PathCheck) -> String {
    let word = heading(check);
    let content = html! {
        header {
            h1 { "net check " span class="target" { (check.target) } }
            p class="about" { (check.started) }
        }
        main {
            p class="sentence" { (summary(check)) }
            section class="answers" aria-label="Verdicts" {
                @for verdict in &check.verdicts() { (answer(verdict)) }
            }
            @if let Some(left) = left(check) { p class="note" { (left) } }
            @if let Some(chart) = sizes::chart(check) {
                section {
                    h2 { "Time by size" }
                    div class="charts" { (chart) }
                }
            }
            section {
                h2 { "Parts" }
                (sheet::table("Every part, with the folder of its run", &tables::figures_of_parts(check)))
                @if tables::errors(check).next().is_some() {
                    ul class="notes" {
                        @for (part, error) in tables::errors(check) { li { "part " (part) ": " (typeset(error)) } }
                    }
                }
            }
            section {
                details {
                    summary { "To repeat it, and the run of each part" }
                    ol {
                        @for part in &check.parts { li { (command(check, part)) } }
                    }
                }
            }
            (page::how_to_read(&DEFINITIONS))
        }
        footer { "plumb " (check.plumb.version) ", " (check.schema) }
    };
    page::document(&format!("net check {}: {word}", check.target), tone(check.worst()), &content)
}

fn command(check: &PathCheck, part: &PathPart) -> Markup {
    let run = part.outcome.as_ref().and_then(|outcome| outcome.folder.as_ref());
    html! {
        @if let Some(folder) = run {
            a href=(format!("{folder}/report.html")) { (part.test.name()) " " (part.size_bytes) "B" } " "
        }
        code { "plumb net " (part.test.verb()) " " (check.target) " " (part.words.join(" ")) }
    }
}

fn answer(verdict: &PathVerdict) -> Markup {
    html! {
        p class={ "validity " (tone(verdict.judgement)) } {
            strong { (verdict.test.name()) ": " (verdict.judgement.word()) }
            " " span { (typeset(&verdict.sentence)) }
        }
    }
}

fn tone(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Open | Judgement::Untold => "open",
        Judgement::Fine => "good",
        Judgement::Look => "part",
        Judgement::Bad => "bad",
    }
}
