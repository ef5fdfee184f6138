//! Runs with names.

use maud::{Markup, html};
use plumb_folder::Baselines;
use plumb_wire::percent::form_encoded;

use crate::jobs::Jobs;
use crate::route;

/// The page; `unknown` are the names of those whose run is not in the index. Where nothing is started,
/// nothing is changed either.
pub(crate) fn baselines(all: &Baselines, unknown: &[&str], jobs: &Jobs) -> Markup {
    html! {
        p class="sentence" {
            "A run with a name, with which later runs are compared. They stand in "
            code { "baselines.json" } " of the folder, where " code { "plumb baseline" }
            " finds them, too."
        }
        @if all.baselines.is_empty() {
            p {
                "There is none yet. "
                @if jobs.is_read_only() { code { "plumb baseline set" } " makes one of a run." }
                @else { "The page of a run makes one of it." }
            }
        } @else {
            div class="sheet" tabindex="0" role="region" aria-label="Baselines" {
                table {
                    caption { "Baselines" }
                    thead {
                        tr {
                            th scope="col" class="words" { "name" }
                            th scope="col" class="words" { "run" }
                            th scope="col" class="words" { "what it measures" }
                            th scope="col" class="words" { "since" }
                            th scope="col" class="words" { span class="unseen" { "Change" } }
                        }
                    }
                    tbody {
                        @for it in &all.baselines {
                            tr {
                                td class="words" { strong { (it.name) } }
                                td class="words" {
                                    @if unknown.contains(&it.name.as_str()) {
                                        (it.run) span class="path" { "not in this folder any more" }
                                    } @else { a href=(route::show(&it.run)) { (it.run) } }
                                }
                                td class="words" { (it.plan) }
                                td class="words" { (it.set) }
                                td class="words" {
                                    @if !jobs.is_read_only() {
                                        form method="post" action="/baselines/remove" {
                                            input type="hidden" name="name" value=(it.name);
                                            button { "Forget " span class="unseen" { (it.name) } }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What can be done with the run `path`: make it a baseline, compare it with one, look at its series.
pub(crate) fn actions(path: &str, series: &str, all: &Baselines, jobs: &Jobs) -> Markup {
    let others = || all.baselines.iter().filter(|it| it.run != path);
    html! {
        @if !series.is_empty() { a href=(route::trend(series)) { "Trend" } }
        @for it in others().take(8) {
            a href={ "/compare?run=" (form_encoded(&it.run)) "&run=" (form_encoded(path)) } {
                "Against " (it.name)
            }
        }
        @if !jobs.is_read_only() {
            form method="post" action="/baselines/set" {
                input type="hidden" name="run" value=(path);
                label {
                    "Baseline " input type="text" name="name" required maxlength="80" size="10";
                }
                button { "Set" }
            }
        }
    }
}
