//! A table on the page.

use maud::{Markup, html};

use crate::figures::typeset;
use crate::table::{Column, Kind, Table};
use crate::verdict::Trust;

/// Columns below which a table is no wider than it needs to be.
const SNUG_BELOW: usize = 6;

/// The whole table, in a frame of its own that scrolls when the page is narrow.
pub(super) fn table(caption: &str, table: &Table) -> Markup {
    html! {
        div class=(if table.columns.len() < SNUG_BELOW { "sheet snug" } else { "sheet" }) tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead {
                    tr {
                        @for column in &table.columns {
                            th scope="col" class=(class(column)) { (column.title) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr class=[tone(row.trust)] {
                            @for (column, cell) in table.columns.iter().zip(&row.cells) {
                                td class=(class(column)) { (typeset(cell)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn class(column: &Column) -> &'static str {
    match column.kind {
        Kind::Words => "words",
        Kind::Verdict => "words verdict",
        Kind::Figure => "figure",
        Kind::Rate => "rate",
        Kind::Latency => "latency",
    }
}

fn tone(trust: Trust) -> Option<&'static str> {
    match trust {
        Trust::Full => None,
        Trust::Throughput => Some("no-latency"),
        Trust::Nothing => Some("refused"),
    }
}
