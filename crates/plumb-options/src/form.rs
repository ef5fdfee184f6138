//! In which form a command prints its result.

use clap::Args;

/// The forms of a result on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people, 80 columns wide.
    Text,
    /// To paste into a ticket.
    Markdown,
    /// One document.
    Json,
}

/// The options that choose a form.
#[derive(Args, Clone, Copy, Debug)]
#[group(skip)]
pub struct FormOptions {
    /// Print one JSON document, and nothing else
    #[arg(long)]
    json: bool,

    /// Print Markdown, to paste into a ticket
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

impl Form {
    /// JSON before Markdown, Markdown before text.
    #[must_use]
    pub fn of(json: bool, markdown: bool) -> Self {
        Self::from(FormOptions { json, markdown })
    }
}

impl From<FormOptions> for Form {
    fn from(options: FormOptions) -> Self {
        match options {
            FormOptions { json: true, .. } => Self::Json,
            FormOptions { markdown: true, .. } => Self::Markdown,
            FormOptions { .. } => Self::Text,
        }
    }
}
