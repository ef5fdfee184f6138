//! A table on the page.

use maud::{Markup, html};

use crate::figures::typeset;
use crate::table::{Column, ColumnKind, Row, Table};
use crate::trust::Trust;

/// Columns below which a table is no wider than it needs to be.
const SNUG_BELOW: usize = 6;

/// Columns from which a table is set closer, so that the last ones are seen on a desk.
const CLOSE_FROM: usize = 11;

/// The whole table, in a frame of its own that scrolls when the page is narrow.
pub fn table(caption: &str, table: &Table) -> Markup {
    html! {
        div class=(width(table)) tabindex="0" role="region" aria-label=(caption) {
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
                        tr class=[tone(row)] {
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

fn width(table: &Table) -> &'static str {
    match table.columns.len() {
        few if few < SNUG_BELOW => "sheet snug",
        many if many >= CLOSE_FROM => "sheet close",
        _ => "sheet",
    }
}

fn class(column: &Column) -> &'static str {
    match column.kind {
        ColumnKind::Words => "words",
        ColumnKind::Verdict => "words verdict",
        ColumnKind::Figure => "figure",
        ColumnKind::Rate => "rate",
        ColumnKind::Latency => "latency",
    }
}

fn tone(row: &Row) -> Option<&'static str> {
    match row.trust {
        Trust::Full => row.main.then_some("main"),
        Trust::Throughput => Some("no-latency"),
        Trust::Unchecked => Some("unchecked"),
        Trust::Nothing => Some("refused"),
    }
}
