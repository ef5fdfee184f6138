//! A comparison as one self-contained page: styles, charts and their script inline, nothing fetched.

use maud::{Markup, html};
use plumb_comparison::{Comparison, Contrast, DesignKind, Endpoint, Role, Verdict};

use super::contrasts::{self, Contrasts, Point, VERDICTS, primary, verdict};
use super::figures::{change, interval, level, probability, tone, value};
use super::{checks, definitions, densities, design, grid, tables};
use crate::chart::{self, Group};
use crate::facts::Fact;
use crate::figures::{ABSENT, grouped, typeset};
use crate::noun::capitalised;
use crate::tile::{Tile, tiles};
use crate::{page, sheet};

/// Answers that stand open on the page; more are folded up, and the tables tell them.
const ANSWERS_MAX: usize = 6;
/// Rows of the forest that are taken in at once; of more, the primary figures come first.
const ROWS_MAX: usize = 24;

/// Rows of which all are drawn, folded away; of more, only the primary figures are.
const ALL_MAX: usize = 400;

/// Points that have a part of their own on a page over many runs.
const POINTS_MAX: usize = 16;

/// The comparison as an HTML document.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    let contrasts = Contrasts::of(comparison);
    let content = html! {
        (head(comparison, &contrasts))
        main {
            (answers(&contrasts))
            (warnings(comparison))
            (keys(comparison, &contrasts))
            (grids(&contrasts))
            (forest(comparison, &contrasts))
            @for point in &contrasts.points() { (at_point(comparison, &contrasts, point)) }
            (around(comparison))
            (repeat(comparison))
            (page::how_to_read(&definitions::of(comparison)))
        }
        footer { "plumb " (comparison.plumb.version) ", " (comparison.schema) }
    };
    let heading = match contrasts.all {
        [only] => contrasts::heading(only),
        _ => contrasts.counted(),
    };
    let title = format!("{}: {heading}", contrasts::title(comparison));
    page::document(&title, "comparison", &content)
}

/// The comparison as a part of a page over many runs: without its head, and without what repeats it.
pub(crate) fn section(comparison: &Comparison) -> Markup {
    let contrasts = Contrasts::of(comparison);
    let primaries: Vec<(&Contrast, &Endpoint)> =
        contrasts.all.iter().filter_map(|one| Some((one, primary(one)?))).collect();
    let along = chart::effects_along(&primaries, comparison.design.margin);
    let points = contrasts.points();
    html! {
        p class="about" { (design::short(&comparison.design)) " \u{b7} " (comparison.compared) }
        (answers(&contrasts))
        (warnings(comparison))
        (keys(comparison, &contrasts))
        (forest(comparison, &contrasts))
        @if let Some(along) = along { div class="charts" { (along) } }
        details class="points" {
            summary { "Every figure, from round to round" }
            @for point in points.iter().take(POINTS_MAX) {
                (at_point(comparison, &contrasts, point))
            }
            @if points.len() > POINTS_MAX {
                p class="note" {
                    (POINTS_MAX) " of " (points.len()) " points; plumb compare shows all of them."
                }
            }
            (around(comparison))
        }
    }
}

fn head(comparison: &Comparison, contrasts: &Contrasts<'_>) -> Markup {
    let shared = contrasts.shared();
    html! {
        header {
            h1 {
                @match &comparison.variants[..] {
                    [baseline, candidates @ ..] if !candidates.is_empty() => {
                        @for (at, candidate) in candidates.iter().enumerate() {
                            @if at > 0 { ", " }
                            (candidate.name)
                        }
                        " " span class="target" { "against " (baseline.name) }
                    },
                    _ => { (contrasts::title(comparison)) },
                }
            }
            p class="about" {
                @if !shared.is_empty() { (shared) " \u{b7} " }
                (design::short(&comparison.design)) " \u{b7} " (comparison.compared)
            }
        }
    }
}

/// The class of a verdict's box.
fn box_tone(verdict: Verdict) -> &'static str {
    tone(Some(verdict))
}

fn answers(contrasts: &Contrasts<'_>) -> Markup {
    html! {
        @match contrasts.all {
            [] => { p class="sentence" { "Nothing was compared." } },
            [only] => {
                p class="sentence" { (typeset(&only.sentence)) }
                section class={ "validity " (box_tone(verdict(only))) } aria-label="Verdict" {
                    p {
                        strong { (contrasts::heading(only)) }
                        " " (contrasts::meaning(only, contrasts.kind))
                    }
                }
            },
            several => {
                p class="sentence" { (contrasts.counted()) }
                @if several.len() > ANSWERS_MAX {
                    details {
                        summary { "All " (several.len()) " answers in words" }
                        (sentences(contrasts, several))
                    }
                } @else {
                    (sentences(contrasts, several))
                }
            },
        }
    }
}

fn sentences(contrasts: &Contrasts<'_>, several: &[Contrast]) -> Markup {
    html! {
        section class="answers" aria-label="Verdicts" {
            @for contrast in several {
                p class={ "validity " (box_tone(verdict(contrast))) } {
                    strong { (contrasts::heading(contrast)) }
                    " " span { (typeset(&contrasts.sentence(contrast))) }
                }
            }
        }
    }
}

fn warnings(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.warnings.is_empty() {
            section class="validity part warnings" aria-label="Warnings" {
                p { strong { "BEFORE THE FIGURES" } }
                ul {
                    @for warning in &comparison.warnings {
                        li { span class="takes no-latency" { "warning" } " " (typeset(warning)) }
                    }
                }
            }
        }
    }
}

fn keys(comparison: &Comparison, contrasts: &Contrasts<'_>) -> Markup {
    match contrasts.all {
        [] => html! {},
        [only] => tiles(&of_one(comparison, only)),
        several => tiles(&of_several(comparison, several)),
    }
}

fn of_one(comparison: &Comparison, contrast: &Contrast) -> Vec<Tile> {
    let Some(endpoint) = primary(contrast) else { return Vec::new() };
    let shown = |figure| value(&endpoint.unit, figure);
    let around = match interval(endpoint) {
        absent if absent == ABSENT => "no interval".into(),
        ends => format!("{} interval {ends}", level(endpoint)),
    };
    let needed = contrast.checks.pairs_for_one_percent;
    vec![
        Tile::new("baseline", shown(endpoint.baseline), &endpoint.name),
        Tile::new("candidate", shown(endpoint.candidate), &endpoint.name),
        Tile::new("change, + is better", change(endpoint), around),
        p_tile(endpoint),
        pairs_tile(comparison),
        Tile::new(
            "pairs needed",
            needed.map_or_else(|| ABSENT.into(), grouped),
            "for an interval of \u{b1}1 %",
        ),
    ]
}

fn p_tile(endpoint: &Endpoint) -> Tile {
    match endpoint.p_adjusted {
        None => Tile::new("adjusted p", "none".into(), "not tested"),
        p => {
            let plain = format!("unadjusted {}", probability(endpoint.p));
            Tile::new("adjusted p", probability(p), plain)
        }
    }
}

fn of_several(comparison: &Comparison, contrasts: &[Contrast]) -> Vec<Tile> {
    let count = |kind| contrasts.iter().filter(|contrast| verdict(contrast) == kind).count();
    let about = format!("of {} contrasts", contrasts.len());
    // one row: what came of the question always, the rest where it came
    let always = [Verdict::Better, Verdict::Worse, Verdict::NoDifferenceShown];
    let mut list: Vec<Tile> = VERDICTS
        .into_iter()
        .filter(|kind| always.contains(kind) || count(*kind) > 0)
        .map(|kind| Tile::new(kind.words(), count(kind).to_string(), about.clone()))
        .collect();
    list.push(pairs_tile(comparison));
    list
}

fn pairs_tile(comparison: &Comparison) -> Tile {
    let design = &comparison.design;
    match design.kind {
        DesignKind::Interleaved => {
            let about = format!("of {} rounds", grouped(design.rounds));
            Tile::new("pairs", grouped(design.complete_rounds), about)
        }
        DesignKind::Separate => Tile::new("pairs", "none".into(), "separate runs"),
    }
}

fn grids(contrasts: &Contrasts<'_>) -> Markup {
    let grids = grid::of(contrasts);
    html! {
        @if !grids.is_empty() {
            section {
                h2 { "At a glance" }
                @for grid in &grids {
                    h3 { (grid.title) }
                    (sheet::table(&grid.title, &grid.table))
                }
                p class="note" { (tables::GRID) }
            }
        }
    }
}

fn forest(comparison: &Comparison, contrasts: &Contrasts<'_>) -> Markup {
    let groups = |wanted: fn(Role) -> bool| -> Vec<Group<'_>> {
        let group = |contrast| Group {
            name: contrasts.name(contrast),
            endpoints: contrast.endpoints.iter().filter(|one| wanted(one.role)).collect(),
        };
        let groups = contrasts.all.iter().map(group);
        groups.filter(|group| !group.endpoints.is_empty()).collect()
    };
    let margin = comparison.design.margin;
    let all = groups(|_| true);
    let rows: usize = all.iter().map(|group| group.endpoints.len()).sum();
    let draw = |caption: &str, groups: &[Group<'_>]| chart::forest(caption, groups, margin);
    let first = if rows > ROWS_MAX {
        draw(&primary_caption(contrasts), &groups(|role| role == Role::Primary))
    } else {
        draw("Every figure", &all)
    };
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for endpoint in contrasts.all.iter().flat_map(|contrast| &contrast.endpoints) {
        let key = (endpoint.key.as_str(), endpoint.name.as_str());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let of_one = |key: &str, name: &str| -> Option<Markup> {
        let group = |contrast| Group {
            name: contrasts.name(contrast),
            endpoints: contrast.endpoints.iter().filter(|one| one.key == key).collect(),
        };
        let groups = contrasts.all.iter().map(group);
        let groups: Vec<Group<'_>> = groups.filter(|group| !group.endpoints.is_empty()).collect();
        draw(&capitalised(name), &groups)
    };
    let densities = densities::charts(contrasts);
    html! {
        @if let Some(first) = first {
            section {
                h2 { "Effects" }
                (first)
                @if !densities.is_empty() {
                    div class="charts" { @for chart in &densities { (chart) } }
                }
                @if rows > ALL_MAX {
                    p class="note" { "Of " (rows) " effects the primary ones are drawn." }
                } @else if rows > ROWS_MAX {
                    details {
                        summary { "All " (rows) " effects" }
                        @for (key, name) in &keys {
                            @if let Some(figure) = of_one(key, name) { (figure) }
                        }
                    }
                }
            }
        }
    }
}

/// Names the primary figure where it is the same for all.
fn primary_caption(contrasts: &Contrasts<'_>) -> String {
    let mut names: Vec<&str> =
        contrasts.all.iter().filter_map(primary).map(|endpoint| endpoint.name.as_str()).collect();
    names.dedup();
    match names[..] {
        [name] => format!("Primary figure: {name}"),
        _ => "Primary figures".into(),
    }
}

/// The table of one point, and for each of its candidates what happened over time.
fn at_point(comparison: &Comparison, contrasts: &Contrasts<'_>, point: &Point<'_>) -> Markup {
    let title = if point.name.is_empty() { "Figures" } else { &point.name };
    let legend = match comparison.design.kind {
        DesignKind::Interleaved => tables::LEGEND,
        DesignKind::Separate => tables::LEGEND_SEPARATE,
    };
    html! {
        section class="point" {
            h2 { (title) }
            (sheet::table("One row a figure",
                          &tables::figures(&point.contrasts, contrasts.several_candidates)))
            p class="note" { (legend) }
            @for contrast in &point.contrasts { (over_time(comparison, contrasts, contrast)) }
        }
    }
}

fn over_time(comparison: &Comparison, contrasts: &Contrasts<'_>, contrast: &Contrast) -> Markup {
    let charts = primary(contrast)
        .map(|endpoint| chart::pairs(endpoint, &comparison.design))
        .unwrap_or_default();
    let checks = checks::of(contrast);
    let tails = tables::tails(&[contrast]);
    html! {
        @if contrasts.several_candidates { h3 class="candidate" { (contrast.candidate) } }
        div class="beside" {
            @if !charts.is_empty() { div { @for chart in &charts { (chart) } } }
            div {
                @if !checks.is_empty() {
                    h3 { "Checks" }
                    ul class="checks" { @for check in &checks { li { (typeset(check)) } } }
                }
                @if let Some(tails) = &tails {
                    h3 { "Tails" }
                    (sheet::table("The tails of both", tails))
                    p class="note" { (tables::TAILS) }
                }
            }
        }
    }
}

/// What differs between the variants, and which blocks do not count.
fn around(comparison: &Comparison) -> Markup {
    let differences = tables::differences(comparison);
    let left_out = tables::left_out(comparison);
    html! {
        section {
            h2 { "What differs" }
            @match &differences {
                Some(table) => { (sheet::table("What differs between the variants", table)) },
                None => { p class="about" { (no_difference(comparison)) } },
            }
        }
        @if let Some(table) = &left_out {
            section {
                h2 { "Blocks left out" }
                (sheet::table("Blocks that do not count", table))
            }
        }
    }
}

/// That nothing differs, as far as blocks were measured that count.
fn no_difference(comparison: &Comparison) -> String {
    let without = comparison.variants.iter().filter(|it| it.blocks == 0);
    let without: Vec<&str> = without.map(|it| it.name.as_str()).collect();
    let beside = match without.is_empty() {
        true => String::new(),
        false => format!("; of {} no block counts", without.join(" and ")),
    };
    format!("No difference between the variants is recorded{beside}.")
}

fn repeat(comparison: &Comparison) -> Markup {
    html! {
        section {
            h2 { "To repeat it" }
            pre class="command" { (design::commands(comparison)) }
            details class="more" {
                summary { "The design and the machine" }
                div class="columns wide" {
                    dl class="facts" {
                        @for known in design::facts(comparison) {
                            dt { (known.name) } dd { (typeset(&known.value)) }
                        }
                        @for variant in &comparison.variants {
                            dt { (variant.name) } dd { (design::variant(variant)) }
                        }
                    }
                    div {
                        (list(&design::circumstances(comparison)))
                        (list(&design::machine(comparison)))
                    }
                }
            }
        }
    }
}

fn list(facts: &[Fact]) -> Markup {
    html! {
        @if !facts.is_empty() {
            dl class="facts" {
                @for known in facts { dt { (known.name) } dd { (typeset(&known.value)) } }
            }
        }
    }
}
