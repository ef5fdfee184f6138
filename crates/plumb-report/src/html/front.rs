//! The top of the page: what was run, what it proves, and the figures asked for first.

use maud::{Markup, html};
use plumb_measure::{Finding, ResultRecord, RunRecord, attempts_to_connect, show_count, show_ns};

use crate::figures::{
    ABSENT, Pick, failures_of, grouped, share, time_of, total, typeset, with_unit,
};
use crate::noun::Noun;
use crate::points::Points;
use crate::streams;
use crate::tile::{self, Tile};
use crate::trust::Trust;
use crate::verdict;

/// Findings that are spelled out at once; further ones unfold.
const REASONS_MAX: usize = 5;

/// The class that carries the colours of a verdict.
pub(super) fn tone(trust: Trust) -> &'static str {
    match trust {
        Trust::Full => "good",
        Trust::Throughput | Trust::Unchecked => "part",
        Trust::Nothing => "bad",
    }
}

/// What was run, when and from where.
pub(super) fn head(record: &RunRecord) -> Markup {
    let about = match record.results.len() {
        1 => Points::of(record).shared(),
        n => format!("{n} results"),
    };
    html! {
        header {
            h1 {
                span class="verb" { (record.plan.layer) " " (record.plan.verb) }
                " " span class="target" { (record.target.address) }
            }
            p class="about" {
                @if !about.is_empty() { (about) " · " }
                (record.plan.load) " load · " (record.started) " · from " (record.host.name)
            }
        }
    }
}

/// The sentence and the verdict with its reasons.
pub(super) fn verdict(record: &RunRecord) -> Markup {
    let trust = Trust::of_run(record);
    let reasons = &record.validity.reasons;
    let (first, further) = reasons.split_at(reasons.len().min(REASONS_MAX));
    html! {
        p class="sentence" { (typeset(&verdict::sentence(record))) }
        section class={ "validity " (tone(trust)) } aria-label="Validity" {
            p { strong { (verdict::heading(record)) } " " (verdict::meaning(record)) }
            @if !first.is_empty() { (reasons_list(first)) }
            @if !further.is_empty() {
                details {
                    summary { (further.len()) " more findings" }
                    (reasons_list(further))
                }
            }
        }
    }
}

fn reasons_list(findings: &[Finding]) -> Markup {
    html! {
        ul {
            @for finding in findings {
                @let (word, text) = verdict::reason(finding);
                li { span class={ "takes " (word.replace(' ', "-")) } { (word) } " " (typeset(text)) }
            }
        }
    }
}

/// The key figures as tiles.
pub(super) fn keys(record: &RunRecord) -> Markup {
    let points = Points::of(record);
    if streams::are_in(record) {
        return tile::tiles(&of_streams(&points));
    }
    let mut tiles = match points.results[..] {
        [] => return html! {},
        [only] if verdict::is_figure(only) => return tile::tiles(&of_figures(only)),
        [only] => of_one(record, only),
        _ => of_several(record, &points),
    };
    tiles.push(floor_tile(record, &points));
    tile::tiles(&tiles)
}

/// Figures without times, and how long they took.
fn of_figures(result: &ResultRecord) -> Vec<Tile> {
    let figures = result.figures.iter();
    let figures = figures.map(|it| Tile::new(&it.name, with_unit(it.value, &it.unit), &it.formula));
    figures.chain([Tile::new("took", show_ns(result.duration_ns), "from start to end")]).collect()
}

fn of_one(record: &RunRecord, result: &ResultRecord) -> Vec<Tile> {
    let trust = Trust::of(&result.validity);
    let noun = Noun::of(record);
    let times = result.response_ns.as_ref();
    let latency = |name: &str, pick: Pick, about: String| {
        Tile::new(name, time_of(times, pick), about).doubted(trust, Trust::is_full)
    };
    let failures = failures_of(result);
    let mut lost = format!("of {} tried", grouped(tried(result)));
    if let Some(attempts) = attempts_to_connect(result.connect_failures, failures) {
        lost = format!("{lost}, {attempts}");
    }
    if result.refused > 0 {
        lost = format!("{lost}, {} refused", grouped(result.refused));
    }
    if result.dropped > 0 {
        lost = format!("{lost}, {} dropped", grouped(result.dropped));
    }
    vec![
        latency("median", |t| t.p50, format!("mean {}", time_of(times, |t| t.mean))),
        latency("99th percentile", |t| t.p99, format!("p90 {}", time_of(times, |t| t.p90))),
        latency("longest", |t| t.max, format!("p99.9 {}", time_of(times, |t| t.p999))),
        Tile::new(noun.rate, rate_of(result), rate_about(result, trust))
            .doubted(trust, Trust::leaves_any),
        Tile::new("failed", grouped(failures), lost),
    ]
}

/// Results of a run of streams that have a tile each.
const STREAM_TILES_MAX: usize = 6;

fn of_streams(points: &Points<'_>) -> Vec<Tile> {
    let ways = points.results.iter().flat_map(|result| {
        let stream = result.stream.iter();
        let ways = stream.flat_map(|stream| {
            [("to server", &stream.to_server), ("from server", &stream.from_server)]
        });
        ways.filter_map(move |(name, way)| way.as_ref().map(|way| (*result, name, way)))
    });
    let ways = ways.take(STREAM_TILES_MAX).map(|(result, name, way)| {
        let trust = Trust::of(&result.validity);
        let about = unbroken(&points.name(result));
        Tile::new(name, streams::rate(Some(way)), about).doubted(trust, Trust::leaves_any)
    });
    ways.chain(costs(points)).collect()
}

/// What the only result took beside its rate; nothing of several, which a table has.
fn costs(points: &Points<'_>) -> Vec<Tile> {
    let [only] = points.results[..] else { return Vec::new() };
    let Some(stream) = &only.stream else { return Vec::new() };
    let trust = Trust::of(&only.validity);
    if let Some(tiles) = streams::flow_tiles(stream) {
        return tiles
            .map(|(name, value, about)| {
                Tile::new(name, value, about).doubted(trust, Trust::leaves_any)
            })
            .into();
    }
    [
        ("sent again", streams::again(stream), "segments of the sender"),
        ("client CPU", streams::cost(stream.client_cpu_ns, stream), "a gigabyte received"),
        ("server CPU", streams::cost(stream.server_cpu_ns, stream), "a gigabyte received"),
    ]
    .map(|(name, value, about)| Tile::new(name, value, about).doubted(trust, Trust::leaves_any))
    .into()
}

fn rate_of(result: &ResultRecord) -> String {
    if result.operations == 0 { ABSENT.into() } else { show_count(result.throughput_per_s) }
}

fn rate_about(result: &ResultRecord, trust: Trust) -> String {
    let over = format!("over {}", show_ns(result.duration_ns));
    if trust == Trust::Throughput { format!("at least, {over}") } else { over }
}

fn of_several(record: &RunRecord, points: &Points<'_>) -> Vec<Tile> {
    let noun = Noun::of(record);
    let mut tiles = Vec::new();
    let medians = points.medians();
    let longest =
        points.results.iter().copied().max_by_key(|r| r.response_ns.as_ref().map(|t| t.max));
    let extremes: [(&str, Option<&ResultRecord>, Pick); 3] = [
        ("shortest median", medians.first().map(|(result, _)| *result), |t| t.p50),
        ("longest median", medians.last().map(|(result, _)| *result), |t| t.p50),
        ("longest of all", longest, |t| t.max),
    ];
    for (name, found, pick) in extremes {
        if let Some(result) = found {
            let trust = Trust::of(&result.validity);
            let value = time_of(result.response_ns.as_ref(), pick);
            tiles.push(
                Tile::new(name, value, unbroken(&points.name(result)))
                    .doubted(trust, Trust::is_full),
            );
        }
    }
    if let Some(most) = points.highest_throughput() {
        let tile = Tile::new(
            format!("highest {}", noun.rate),
            rate_of(most),
            unbroken(&points.name(most)),
        );
        tiles.push(tile.doubted(Trust::of(&most.validity), Trust::leaves_any));
    }
    let failures = total(points.results.iter().map(|result| failures_of(result)));
    let dropped = total(points.results.iter().map(|result| result.dropped));
    let refused = total(points.results.iter().map(|result| result.refused));
    let mut lost = format!("of {} tried", grouped(total(points.results.iter().map(|r| tried(r)))));
    if refused > 0 {
        lost = format!("{lost}, {} refused", grouped(refused));
    }
    if dropped > 0 {
        lost = format!("{lost}, {} dropped", grouped(dropped));
    }
    tiles.push(Tile::new("failed", grouped(failures), lost));
    tiles
}

/// Operations that had an end.
fn tried(result: &ResultRecord) -> u64 {
    total([result.operations, failures_of(result), result.refused].into_iter())
}

/// A name that breaks between its labels only.
fn unbroken(name: &str) -> String {
    let pairs: Vec<String> = name.split(", ").map(|pair| pair.replace(' ', "\u{a0}")).collect();
    pairs.join(", ")
}

fn floor_tile(record: &RunRecord, points: &Points<'_>) -> Tile {
    let Some(floor) = &record.floor else {
        return Tile::new("tool's floor", ABSENT.into(), "");
    };
    let measured = points.results.iter().filter_map(|result| result.service_ns.as_ref());
    let least = measured.map(|times| times.p50).min();
    let about = least.map_or_else(String::new, |ns| {
        let whose = if points.results.len() == 1 { "the" } else { "the shortest" };
        format!("{} of {whose} median", share(floor.service_ns.p50, ns))
    });
    Tile::new("tool's floor", show_ns(floor.service_ns.p50), about)
}
