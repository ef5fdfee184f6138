//! The document around a report: its styles, its one script, and what it may load, which is nothing.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::Definition;

/// The styles of every page.
pub const STYLE: &str = include_str!("style.css");

/// The script of the charts as a page carries it: without its margins and remarks.
pub fn script() -> &'static str {
    static SCRIPT: OnceLock<String> = OnceLock::new();
    SCRIPT.get_or_init(|| {
        let lines = include_str!("chart.js").lines().map(str::trim_start);
        lines
            .filter(|line| !line.starts_with("//"))
            .fold(String::new(), |all, line| all + line + "\n")
    })
}

/// Nothing may be loaded, and nothing but that script run, whatever a record contains.
fn policy() -> &'static str {
    static POLICY: OnceLock<String> = OnceLock::new();
    POLICY.get_or_init(|| {
        let digest = ring::digest::digest(&ring::digest::SHA256, script().as_bytes());
        let digest = BASE64_STANDARD.encode(digest);
        format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'")
    })
}

/// The whole document; `tone` is the class that carries the colours of a verdict.
pub fn document(title: &str, tone: &str, content: &Markup) -> String {
    styled(title, tone, &[], content)
}

/// The same with styles of its own behind those of every page.
pub fn styled(title: &str, tone: &str, own: &[&'static str], content: &Markup) -> String {
    let head = html! {
        meta http-equiv="Content-Security-Policy" content=(policy());
        title { (title) }
        style { (PreEscaped(STYLE)) @for own in own { (PreEscaped(own)) } }
    };
    let body = html! {
        body class=(tone) {
            (content)
            script { (PreEscaped(script())) }
        }
    };
    bare(&head, &body)
}

/// A document of what its head says, title and styles, and of its `body` element.
pub fn bare(head: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                (head)
            }
            (body)
        }
    };
    page.into_string()
}

/// What the figures mean, for who wants to know.
pub fn how_to_read(definitions: &[Definition]) -> Markup {
    html! {
        section {
            details {
                summary { "How to read this" }
                dl class="definitions" {
                    @for known in definitions { dt { (known.term) } dd { (known.meaning) } }
                }
            }
        }
    }
}
