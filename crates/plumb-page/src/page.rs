//! The document around a report: its styles, and what it may load, which is nothing.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::Definition;

/// The styles of every page.
pub const STYLE: &str = include_str!("style.css");
/// Nothing may be loaded or run, whatever a record contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The whole document; `tone` is the class that carries the colours of a verdict.
pub fn document(title: &str, tone: &str, content: &Markup) -> String {
    styled(title, tone, "", content)
}

/// The same with styles of its own behind those of every page.
pub fn styled(title: &str, tone: &str, own: &'static str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(own)) }
            }
            body class=(tone) { (content) }
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
