//! Parts as a bar, as long as their whole, and one operation as a waterfall: the one picture of
//! where time went.

use maud::{Markup, html};
use plumb_measure::{ExampleOperation, PartKind, Split, real, show_ns};

use super::shown;
use crate::figures::typeset;

/// The styles of the picture, for a page that has some.
pub const STYLES: &str = include_str!("stack.css");

/// From this share on, a part of a bar has its name in it.
const NAMED_SHARE: f64 = 0.09;
/// From this share on, its share is beside the name.
const COUNTED_SHARE: f64 = 0.16;

/// The colours and what they stand for.
#[must_use]
pub fn legend(kinds: &[PartKind]) -> Markup {
    html! {
        ul class="legend" {
            @for kind in kinds {
                li { span class={ "key stacked " (class(*kind)) } {} (shown(*kind)) }
            }
        }
    }
}

/// One bar over the whole width: `title`, its whole, and the parts in the order in which an operation
/// meets them.
pub(crate) fn bar(title: &str, split: &Split<PartKind>, doubt: bool) -> Markup {
    bar_within(title, split, doubt, 1.0)
}

/// A bar over a share of the width.
pub(super) fn bar_within(title: &str, split: &Split<PartKind>, doubt: bool, wide: f64) -> Markup {
    let mut parts: Vec<_> = split.all().filter(|part| part.share > 0.0).collect();
    parts.sort_by_key(|part| part.of.place());
    let words = |of: PartKind, share: f64, ns: i64| {
        format!("{} {:.0} %, {}", shown(of), 100.0 * share, show_ns(ns.unsigned_abs()))
    };
    let spoken: Vec<String> =
        parts.iter().map(|it| words(it.of, it.share, it.time.mean_ns)).collect();
    let whole = show_ns(split.whole.mean_ns.unsigned_abs());
    html! {
        div class=(if doubt { "bar-row doubt" } else { "bar-row" }) {
            @if !title.is_empty() { span class="what" { (title) } }
            span class="whole" { (typeset(&whole)) }
            div class="stack-bar" role="img" aria-label=(spoken.join("; ")) style=[within(wide)] {
                @for (part, said) in parts.iter().zip(&spoken) {
                    @let room = part.share * wide;
                    span class={ "seg " (class(part.of)) } style=(width(part.share))
                        title=(typeset(said)) {
                        @if room >= COUNTED_SHARE {
                            (shown(part.of)) " " (format!("{:.0}", 100.0 * part.share)) "\u{202f}%"
                        } @else if room >= NAMED_SHARE {
                            (shown(part.of))
                        }
                    }
                }
            }
        }
    }
}

/// A bar of a whole that has no parts, because of `reason`.
pub(super) fn unsplit(title: &str, whole_ns: i64, reason: &str, wide: f64) -> Markup {
    html! {
        div class="bar-row" {
            @if !title.is_empty() { span class="what" { (title) } }
            span class="whole" { (typeset(&show_ns(whole_ns.unsigned_abs()))) }
            div class="unsplit" {
                div class="stack-bar" style=[within(wide)] { span class="seg k-rest" style=(width(1.0)) {} }
                span class="why" { "Cannot be split: " (typeset(reason)) "." }
            }
        }
    }
}

/// One operation: a row a part, each where it lies in the whole.
pub(crate) fn waterfall(title: &str, example: &ExampleOperation, doubt: bool) -> Markup {
    let whole = real(example.whole_ns.max(1));
    html! {
        figure class=(if doubt { "waterfall doubt" } else { "waterfall" }) {
            figcaption { (title) ": " (typeset(&show_ns(example.whole_ns))) }
            @for part in &example.parts {
                @let share = real(part.ns) / whole;
                div class="fall" {
                    span class="what" title=(part.name) { (label(part.kind, &part.name)) }
                    div class="lane" {
                        span class={ "seg " (class(part.kind)) }
                            style=(format!("left:{:.2}%;{}", 100.0 * real(part.from_ns) / whole, width(share))) {}
                    }
                    span class="value" { (typeset(&show_ns(part.ns))) }
                }
            }
        }
    }
}

/// What a part of one operation is called: as it was told where that says more.
fn label(kind: PartKind, told: &str) -> String {
    match kind {
        PartKind::Actions | PartKind::Server | PartKind::Called => told.to_owned(),
        _ => shown(kind).to_owned(),
    }
}

/// The width of a bar that does not fill its row.
fn within(share: f64) -> Option<String> {
    (share < 1.0).then(|| width(share.max(0.0)))
}

fn width(share: f64) -> String {
    format!("width:{:.2}%", 100.0 * share)
}

/// The class that carries the colour of a kind.
fn class(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Due => "k-due",
        PartKind::Queue => "k-pool",
        PartKind::Connect => "k-connect",
        PartKind::Wire => "k-wire",
        PartKind::Front => "k-front",
        PartKind::WorkProcess => "k-process",
        PartKind::Program => "k-program",
        PartKind::Lock => "k-lock",
        PartKind::Server => "k-server",
        PartKind::Database => "k-database",
        PartKind::DatabaseWire => "k-database-wire",
        PartKind::Called => "k-called",
        PartKind::Door => "k-door",
        PartKind::Thread => "k-thread",
        PartKind::Actions => "k-actions",
        PartKind::Commit => "k-commit",
        PartKind::Flush => "k-flush",
        PartKind::Render => "k-render",
        PartKind::Transfer => "k-transfer",
        PartKind::Sending => "k-sending",
        PartKind::Away => "k-away",
        PartKind::ServerWaking => "k-server-waking",
        PartKind::ServerSending => "k-server-sending",
        PartKind::Waking => "k-waking",
        PartKind::Rest => "k-rest",
    }
}
