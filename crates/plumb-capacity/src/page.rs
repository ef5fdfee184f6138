//! How large a box must be, as people read it: a page of sentences, figures, tables and charts.
//!
//! The page does not compute anything: whoever sized the box says what stands on it, from top to
//! bottom, and every form shows the same; charts and tiles only the page.

mod html;

use plumb_chart::CurveChart;
use plumb_page::table::{Column, Table, escaped};
use plumb_page::wrap::{harmless, paragraph};

/// How good the news at the top of the page are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Answered, and the target is kept.
    #[default]
    Kept,
    /// Answered, and the target is not kept, or there is none.
    Answered,
    /// Refused.
    Refused,
}

/// What a page is of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    /// What was sized, in a few words.
    pub(crate) target: String,
    /// What it was sized from, below the title.
    pub(crate) about: String,
    /// How good the news are.
    pub(crate) outcome: Outcome,
    /// The command that makes the page again.
    pub(crate) command: String,
    /// Version and schema, at the end.
    pub(crate) foot: String,
}

/// What stands on a page, from top to bottom.
#[derive(Debug, Default)]
pub(crate) struct Page {
    head: Head,
    blocks: Vec<Block>,
}

#[derive(Debug)]
enum Block {
    Title(String),
    Sentence(String),
    Table(String, Table), // with what it shows
    Figures(Vec<KeyFigure>),
    Charts(Vec<CurveChart>),
}

/// A figure to be seen first.
#[derive(Clone, Debug)]
pub(crate) struct KeyFigure {
    /// What it is.
    pub(crate) name: String,
    /// The figure with its unit.
    pub(crate) value: String,
    /// Its interval, or what else there is to say.
    pub(crate) about: String,
}

impl Page {
    /// A page on which nothing stands yet.
    #[must_use]
    pub(crate) fn new(head: Head) -> Self {
        Self { head, blocks: Vec::new() }
    }

    /// A heading.
    pub(crate) fn title(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Title(text.into()));
    }

    /// A sentence or several; the first of a page is its answer.
    pub(crate) fn sentence(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Sentence(text.into()));
    }

    /// A table that shows `what`, its first column words and the others figures; nothing where it
    /// has no row. A row has a cell for every column.
    pub(crate) fn table(&mut self, what: &str, head: &[&str], rows: Vec<Vec<String>>) {
        let column = |(at, title): (usize, &&str)| {
            if at == 0 { Column::words(*title) } else { Column::figure(*title) }
        };
        let mut table = Table::new(head.iter().enumerate().map(column).collect());
        for mut row in rows {
            row.resize(head.len(), String::new());
            table.push(row);
        }
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(what.to_owned(), table));
        }
    }

    /// Figures side by side; only the HTML form shows them, the sentences say the same.
    pub(crate) fn figures(&mut self, figures: Vec<KeyFigure>) {
        self.blocks.push(Block::Figures(figures));
    }

    /// Charts side by side; only the HTML form shows them.
    pub(crate) fn charts(&mut self, charts: Vec<CurveChart>) {
        self.blocks.push(Block::Charts(charts));
    }

    /// As text of `width` columns. Ends with a line end.
    #[must_use]
    pub(crate) fn text(&self, width: usize) -> String {
        let mut text = String::new();
        let mut after_title = true;
        for block in &self.blocks {
            let shown = match block {
                Block::Title(title) => paragraph("", title, width),
                Block::Sentence(sentence) => paragraph("", sentence, width),
                Block::Table(_, table) => table.text(width).0,
                Block::Figures(_) | Block::Charts(_) => continue,
            };
            if !after_title {
                text.push('\n');
            }
            text += &shown;
            after_title = matches!(block, Block::Title(_));
        }
        harmless(&text)
    }

    /// As Markdown, to paste into a ticket.
    #[must_use]
    pub(crate) fn markdown(&self) -> String {
        let block = |block: &Block| match block {
            Block::Title(text) => format!("## {}\n\n", escaped(text)),
            Block::Sentence(text) => format!("{}\n\n", escaped(text)),
            Block::Table(_, table) => table.markdown() + "\n",
            Block::Figures(_) | Block::Charts(_) => String::new(),
        };
        self.blocks.iter().map(block).collect()
    }

    /// As one self-contained HTML document.
    #[must_use]
    pub(crate) fn html(&self) -> String {
        html::render(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let mut page = Page::new(Head { target: "shop".into(), ..Head::default() });
        page.sentence("80 users <fit>.");
        page.title("Ladder");
        page.table("Steps", &["users", "a second"], vec![vec!["1".into(), "12.5".into()]]);
        page.table("Nothing", &["nothing"], vec![]);
        let about = "at least".into();
        page.figures(vec![KeyFigure { name: "fit".into(), value: "80".into(), about }]);
        page.sentence("a|b ".repeat(30));
        page
    }

    #[test]
    fn a_page_is_text_and_markdown() {
        let text = page().text(80);
        assert!(text.contains("\n\nLadder\nusers  a second\n1          12.5\n\na|b"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        let markdown = page().markdown();
        assert!(markdown.contains("| users | a second |\n|:--|--:|\n| 1 | 12.5 |\n"), "{markdown}");
        assert!(markdown.contains("a\\|b"));
    }

    #[test]
    fn the_document_loads_nothing_and_escapes_what_it_shows() {
        let html = page().html();
        assert!(html.contains("80 users &lt;fit&gt;."), "{html}");
        assert!(
            html.contains("default-src 'none'") && html.matches("<script").count() == 1,
            "{html}"
        );
        assert!(html.contains("<dl class=\"tiles\">") && html.contains(">12.5<"), "{html}");
    }
}
