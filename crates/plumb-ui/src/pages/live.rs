//! A run under way.

use maud::{Markup, html};

use super::moment;
use crate::index::Row;

/// The page; its script draws what comes.
pub(crate) fn live(row: &Row) -> Markup {
    html! {
        p class="about" {
            (row.path)
            @if row.started_ns > 0 { ", began " (moment(row.started_ns)) " UTC" }
        }
        div id="live" data-path=(row.path) {
            p class="sentence" role="status" aria-live="polite" id="live-said" { "Waiting for its first interval." }
            dl class="tiles" {
                div { dt { "in the last interval" } dd class="value" id="live-rate" { "-" } dd { "operations a second" } }
                div { dt { "failed" } dd class="value" id="live-failed" { "-" } dd { "operations in the last interval" } }
                div { dt { "median" } dd class="value" id="live-p50" { "-" } dd { "of the last interval" } }
                div { dt { "p95" } dd class="value" id="live-p95" { "-" } dd { "of the last interval" } }
                div { dt { "p99" } dd class="value" id="live-p99" { "-" } dd { "of the last interval" } }
            }
            figure class="chart" {
                figcaption { "Response time: median (thick) and p99 of each interval" }
                svg id="live-chart" viewBox="0 0 880 240" role="img" aria-label="Response time over the run so far" {}
            }
            p class="note" {
                "Each interval is shown when the run has written it down. A process that has died writes \
                 nothing more: this page then stays as it is."
            }
        }
    }
}
