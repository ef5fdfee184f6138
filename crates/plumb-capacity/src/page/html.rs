//! The page as one self-contained document: styles, charts and their script inline, nothing fetched.

use maud::{Markup, html};

use plumb_page::figures::typeset;
use plumb_page::tile::{Tile, tiles};
use plumb_page::{Definition, page, sheet};

use super::{Block, Outcome, Page};

const DEFINITIONS: [Definition; 5] = [
    Definition {
        term: "Interval",
        meaning: "Behind a figure, in brackets: the middle 95 % of the figures of landscapes that \
                  were drawn within what is known of each demand. It knows how well the ladder was \
                  measured and how well the model fits it, not that another release or another mix \
                  of work will come.",
    },
    Definition {
        term: "Knee",
        meaning: "The number of users at which the first resource is full if nobody ever waits. \
                  Beyond it waiting is all that grows.",
    },
    Definition {
        term: "Held out",
        meaning: "The step of most users is predicted from the others alone, and the prediction held \
                  against what was measured: the check of the model.",
    },
    Definition {
        term: "Twice the range",
        meaning: "Nothing is answered beyond twice the users and twice the places that were measured. \
                  What is shown there is a model, and no measurement.",
    },
    Definition {
        term: "Bottleneck",
        meaning: "The resource whose places are full first. Each row of the table of bottlenecks has \
                  just enough more of the resource before for another to be full first.",
    },
];

/// The page as a document.
pub(super) fn render(page: &Page) -> String {
    let head = &page.head;
    let tone = match head.outcome {
        Outcome::Kept => "good",
        Outcome::Answered => "part",
        Outcome::Refused => "bad",
    };
    let content = html! {
        header {
            h1 { "capacity " span class="target" { (head.target) } }
            p class="about" { (head.about) }
        }
        main {
            @for part in parts(&page.blocks) { (section(part, tone)) }
            @if !head.command.is_empty() {
                section {
                    h2 { "To repeat it" }
                    pre class="command" { (head.command) }
                }
            }
            (page::how_to_read(&DEFINITIONS))
        }
        footer { (head.foot) }
    };
    let title = format!("capacity of {}", head.target);
    page::styled(&title, tone, &[include_str!("capacity.css")], &content)
}

/// The blocks of each section: a title, and what stands below it.
fn parts(blocks: &[Block]) -> Vec<&[Block]> {
    let titles = blocks.iter().enumerate().filter(|(_, it)| matches!(it, Block::Title(_)));
    let mut starts: Vec<usize> = std::iter::once(0).chain(titles.map(|(at, _)| at)).collect();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([blocks.len()]);
    starts.iter().zip(ends).map(|(start, end)| &blocks[*start..end]).collect()
}

fn section(blocks: &[Block], tone: &str) -> Markup {
    let titled = matches!(blocks.first(), Some(Block::Title(_)));
    html! {
        @if titled {
            section { @for block in blocks { (shown(block)) } }
        } @else {
            @for (at, block) in blocks.iter().enumerate() {
                @match block {
                    Block::Sentence(text) if at == 0 => p class={ "sentence validity " (tone) } {
                        span { (typeset(text)) }
                    },
                    _ => (shown(block)),
                }
            }
        }
    }
}

fn shown(block: &Block) -> Markup {
    match block {
        Block::Title(text) => html! { h2 { (typeset(text)) } },
        Block::Sentence(text) => html! { p class="said" { (typeset(text)) } },
        Block::Table(what, table) => sheet::table(what, table),
        Block::Charts(charts) => html! {
            div class="charts" { @for chart in charts { (chart.draw()) } }
        },
        Block::Figures(figures) => {
            let tile = |it: &super::KeyFigure| {
                Tile::new(it.name.clone(), it.value.clone(), it.about.clone())
            };
            tiles(&figures.iter().map(tile).collect::<Vec<_>>())
        }
    }
}
