//! The figures asked for first, side by side.

use maud::{Markup, html};

use crate::figures::{ABSENT, typeset};

/// One figure to be seen first.
pub(crate) struct Tile {
    name: String,
    value: String,
    about: String,
    doubt: bool,
}

impl Tile {
    /// `value` under its name, with what there is to say about it.
    pub(crate) fn new(name: impl Into<String>, value: String, about: impl Into<String>) -> Self {
        let about = if value == ABSENT { "not measured".into() } else { about.into() };
        Self { name: name.into(), value, about, doubt: false }
    }

    /// The same; what was not measured cannot be in doubt.
    pub(crate) fn doubted(self, doubt: bool) -> Self {
        Self { doubt: doubt && self.value != ABSENT, ..self }
    }
}

/// The tiles in a row, or in as many as the page needs.
pub(crate) fn tiles(tiles: &[Tile]) -> Markup {
    html! {
        dl class="tiles" {
            @for tile in tiles {
                div class=[tile.doubt.then_some("doubt")] {
                    dt { (tile.name) }
                    dd class="value" { (typeset(&tile.value)) }
                    dd { (typeset(&tile.about)) }
                    @if tile.doubt { dd { strong { "not valid" } } }
                }
            }
        }
    }
}
