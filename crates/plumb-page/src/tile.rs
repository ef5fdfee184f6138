//! The figures asked for first, side by side.

use maud::{Markup, html};

use crate::figures::{ABSENT, typeset};
use crate::trust::Trust;

/// One figure to be seen first.
#[derive(Clone, Debug)]
pub struct Tile {
    name: String,
    value: String,
    about: String,
    /// Why it may not be used; `None` when it may.
    doubt: Option<&'static str>,
}

impl Tile {
    /// `value` under its name, with what there is to say about it.
    pub fn new(name: impl Into<String>, value: String, about: impl Into<String>) -> Self {
        let about = if value == ABSENT { "not measured".into() } else { about.into() };
        Self { name: name.into(), value, about, doubt: None }
    }

    /// The same, which may be used if `trust` is one of those that `suffices` allows; what was not
    /// measured cannot be in doubt.
    pub fn doubted(self, trust: Trust, suffices: fn(Trust) -> bool) -> Self {
        let doubted = !suffices(trust) && self.value != ABSENT;
        Self { doubt: doubted.then(|| trust.denial()), ..self }
    }
}

/// The tiles in a row, or in as many as the page needs.
pub fn tiles(tiles: &[Tile]) -> Markup {
    html! {
        dl class="tiles" {
            @for tile in tiles {
                div class=[tile.doubt.map(|_| "doubt")] {
                    dt { (tile.name) }
                    dd class="value" { (typeset(&tile.value)) }
                    dd { (typeset(&tile.about)) }
                    @if let Some(doubt) = tile.doubt { dd { strong { (doubt) } } }
                }
            }
        }
    }
}
