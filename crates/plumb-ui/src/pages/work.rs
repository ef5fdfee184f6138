//! What can be started, and what was.

use std::sync::Arc;

use maud::{Markup, html};

use crate::jobs::{Job, Jobs};
use crate::route;

/// The page.
pub(crate) fn work(jobs: &Jobs) -> Markup {
    let (all, files) = (jobs.all(), jobs.files());
    let busy = all.first().is_some_and(|job| job.ended().is_none());
    html! {
        @if jobs.is_read_only() {
            p class="sentence" { "This app only looks: it was started with --read-only." }
        } @else if busy {
            p class="sentence" {
                "A command is under way. Another one can begin when it has ended: two would measure \
                 each other."
            }
        } @else {
            (forms(&files))
        }
        @if !all.is_empty() {
            section {
                h2 { "Started here" }
                ul class="jobs" {
                    @for job in &all {
                        li {
                            a href={ "/job?id=" (job.id) } { (name(job)) }
                            ", " (job.started) ": " (job.ended().unwrap_or_else(|| "under way".into()))
                        }
                    }
                }
            }
        }
    }
}

fn forms(files: &[String]) -> Markup {
    html! {
        section {
            h2 { "A checkup" }
            p {
                "Measures a landscape layer by layer. Without a file it starts servers of its own on \
                 this machine, drives them, and ends them."
            }
            form method="post" action="/work/checkup" class="fields" {
                label {
                    "Landscape "
                    select name="landscape" {
                        option value="" { "this machine" }
                        @for file in files { option value=(file) { (file) } }
                    }
                }
                label { "Time for each server " input type="text" name="for" value="10s" size="6" required; }
                button { "Start the checkup" }
            }
        }
        section {
            h2 { "An experiment" }
            @if files.is_empty() {
                p {
                    "Start the app with " code { "--experiments DIR" } ": the files of that folder can \
                     then be started here. They may run commands of their own."
                }
            } @else {
                form method="post" action="/work/experiment" class="fields" {
                    label {
                        "File "
                        select name="file" { @for file in files { option value=(file) { (file) } } }
                    }
                    button { "Start the experiment" }
                }
            }
        }
    }
}

/// The page of one command.
pub(crate) fn job(job: &Arc<Job>) -> Markup {
    let ended = job.ended();
    html! {
        p class="about" { code { "plumb " (job.words.join(" ")) } }
        div id="job" data-id=(job.id) data-ended=[ended.as_ref()] {
            p class="sentence" role="status" aria-live="polite" id="job-state" {
                (ended.clone().unwrap_or_else(|| "Under way.".into()))
            }
            p { a href=(route::show(&job.folder)) { "What it has measured so far" } }
            @if ended.is_none() {
                form method="post" action="/work/stop" {
                    input type="hidden" name="id" value=(job.id);
                    button { "Stop it" }
                }
            }
            pre id="job-lines" tabindex="0" aria-label="What it says" {
                @if ended.is_some() { (job.lines().join("\n")) }
            }
        }
    }
}

fn name(job: &Job) -> String {
    let words: Vec<&str> =
        job.words.iter().map(String::as_str).filter(|word| !word.starts_with("--out")).collect();
    words.join(" ")
}
