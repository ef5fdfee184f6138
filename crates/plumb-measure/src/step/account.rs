//! From the times of operations to an account of them: means, percentiles and single operations.

use std::collections::BTreeMap;

use super::names::{Meaning, meanings};
use super::times::{Band, LANES, StepTimes, Sums};
use crate::statistics::half_width;
use crate::{
    Attribution, Distribution, Estimate, ExampleOperation, ExamplePart, PartKind,
    PercentileAccount, Reading, Row, TimePart, real, rounded,
};

/// What is known of a step.
#[derive(Clone, Copy, Debug)]
pub struct StepSource<'a> {
    /// What was asked for.
    pub subject: &'a str,
    /// What was recorded of it.
    pub row: &'a Row,
    /// The names of what the server told, by their numbers.
    pub names: &'a [String],
    /// The shortest round trip that TCP saw on the connections, nanoseconds; `None` where it says
    /// nothing.
    pub round_trip_ns: Option<u64>,
    /// Who told it.
    pub telling: Telling<'a>,
}

/// Who told the times of a server.
#[derive(Clone, Copy, Debug, Default)]
pub enum Telling<'a> {
    /// Its answers; what a name means is known of usual names.
    #[default]
    Answers,
    /// Spans, each name with what it means, by its number.
    Spans(&'a [PartKind]),
    /// Time stamps of the kernel: each name with what it means and how it was measured, by its number.
    Stamps(&'a [(PartKind, &'a str)]),
}

/// The percentiles that are accounted for, each with the fewest operations that have one.
const PERCENTILES: [(u8, u64); 3] = [(50, 20), (95, 100), (99, 400)];
/// Operations around a percentile, where there are as many near enough.
const AROUND_MIN: u64 = 40;
/// Bands around that of a percentile that may be taken with it, on each side.
const AROUND_BANDS: usize = 2;
/// Means of so many lanes tell how well the mean of all is known.
const LANES_MIN: usize = 4;

const DUE: &str = "own measurement: from the due time to the send, waiting for the connection of the \
    user and making it included";
const TRANSFER: &str = "own measurement: from the first byte to the last; none where one read \
    brought both";
const WIRE: &str = "TCP: the shortest round trip of the connections. What it took longer than that, \
    and what a relay on the way adds, is not in it";
const REST: &str = "what the others leave: the way beyond the shortest round trip, the client, and \
    what the server does not tell";
const DOOR: &str = "told by the server: its whole time, less the parts that it tells";

/// How the times of one operation, or of several, become parts.
struct Reader<'a> {
    source: StepSource<'a>,
    meanings: Vec<Meaning>,
    /// Where the parts that the server tells overlap, only the longest time counts: its number.
    longest: Option<usize>,
}

/// A time of a part, with the name under which it was told.
struct Piece<'a> {
    kind: PartKind,
    name: &'a str,
    ns: u64,
}

/// The mean of the slowest operations and of its parts: of the fewest bands, the slowest first, that
/// hold at least one operation in `one_in`. `None` without any.
pub(crate) fn of_the_slowest(
    source: StepSource<'_>,
    one_in: u64,
) -> Option<(Estimate, Vec<TimePart>)> {
    let times = source.row.step.as_deref().filter(|times| !times.is_empty())?;
    let mut bands: Vec<&Band> = times.met().map(|(_, band)| band).collect();
    let all: u64 = bands.iter().map(|band| band.count()).sum();
    let mut lanes: [Sums; LANES] = Default::default();
    let mut count = 0;
    while count * one_in < all
        && let Some(band) = bands.pop()
    {
        band.add_to(&mut lanes);
        count += band.count();
    }
    Some(Reader::of(source, &lanes).account(&lanes))
}

impl Attribution {
    /// Where the time of a step went; `None` when no operation of it was answered.
    #[must_use]
    pub fn of_step(source: StepSource<'_>) -> Option<Self> {
        let times = source.row.step.as_deref().filter(|times| !times.is_empty())?;
        let mut all: [Sums; LANES] = Default::default();
        times.met().for_each(|(_, band)| band.add_to(&mut all));
        let reader = Reader::of(source, &all);
        let (_, parts) = reader.account(&all);
        let attribution = Self {
            subject: source.subject.into(),
            client: Estimate::of(&source.row.response, source.row.batches.means().as_ref()),
            parts,
            same_operations: true,
            percentiles: reader.percentiles(times),
            examples: reader.examples(times),
            times: reader.times(),
            readings: reader.readings(),
            ..Self::default()
        };
        Some(attribution.judged())
    }
}

impl<'a> Reader<'a> {
    fn of(source: StepSource<'a>, all: &[Sums; LANES]) -> Self {
        let meanings = match source.telling {
            Telling::Answers => meanings(source.names),
            Telling::Spans(kinds) => {
                kinds.iter().map(|kind| Meaning::Part { kind: *kind, of: None }).collect()
            }
            Telling::Stamps(kinds) => {
                kinds.iter().map(|(kind, _)| Meaning::Part { kind: *kind, of: None }).collect()
            }
        };
        let mut reader = Self { source, meanings, longest: None };
        let mut sum = Sums::default();
        all.iter().for_each(|lane| sum.add(lane));
        let whole = reader.whole_told(&sum).unwrap_or(sum.wait.saturating_add(sum.receive));
        let parts: u64 =
            reader.told(&sum).iter().map(|piece| piece.ns).fold(0, u64::saturating_add);
        // names are told to a microsecond, or as whole milliseconds
        let rounding = sum.count.saturating_mul(1_000 * source.names.len() as u64);
        if parts > whole.saturating_add(whole / 100).saturating_add(rounding) {
            let both = 0..sum.told.len();
            reader.longest =
                both.max_by_key(|number| (reader.is_whole(*number), sum.told[*number]));
        }
        reader
    }

    fn is_whole(&self, number: usize) -> bool {
        self.meanings.get(number) == Some(&Meaning::Whole)
    }

    fn whole_told(&self, sums: &Sums) -> Option<u64> {
        let number = self.meanings.iter().position(|meaning| *meaning == Meaning::Whole)?;
        sums.told.get(number).copied().filter(|ns| *ns > 0)
    }

    /// What the server told of `sums`, without its whole: of a time with parts of its own, those and
    /// what they leave.
    fn told(&self, sums: &Sums) -> Vec<Piece<'a>> {
        let of_parts = |parent: usize| {
            let own = |(number, meaning): (usize, &Meaning)| match meaning {
                Meaning::Part { of: Some(of), .. } if *of == parent => sums.told.get(number),
                Meaning::Part { .. } | Meaning::Whole | Meaning::Aside => None,
            };
            let parts = self.meanings.iter().enumerate().filter_map(own);
            parts.fold(0_u64, |sum, ns| sum.saturating_add(*ns))
        };
        let named = self.source.names.iter().zip(&self.meanings).enumerate();
        named
            .filter_map(|(number, (name, meaning))| match meaning {
                Meaning::Part { kind, .. } => {
                    let ns = sums.told.get(number)?.saturating_sub(of_parts(number));
                    Some(Piece { kind: *kind, name, ns })
                }
                Meaning::Whole | Meaning::Aside => None,
            })
            .collect()
    }

    /// Every part of `sums` but the rest, in the order in which an operation meets them.
    fn pieces(&self, sums: &Sums) -> Vec<Piece<'a>> {
        let mut told = match self.longest {
            None => self.told(sums),
            Some(number) => {
                let ns = sums.told.get(number).copied().unwrap_or(0);
                vec![Piece { kind: PartKind::Server, name: &self.source.names[number], ns }]
            }
        };
        let sum =
            |told: &[Piece<'_>]| told.iter().fold(0, |sum: u64, it| sum.saturating_add(it.ns));
        if self.longest.is_none()
            && let Some(whole) = self.whole_told(sums)
        {
            let left = whole.saturating_sub(sum(&told));
            match told.iter_mut().find(|piece| piece.kind == PartKind::Door) {
                Some(door) => door.ns = door.ns.saturating_add(left),
                None if left > 0 => {
                    told.push(Piece { kind: PartKind::Server, name: "server", ns: left });
                }
                None => {}
            }
        }
        told.sort_by_key(|piece| piece.kind.place());
        let left = sums.wait.saturating_sub(sum(&told));
        let own = |kind, name, ns| Piece { kind, name, ns };
        let due = (sums.due > 0).then(|| own(PartKind::Due, "waiting to be sent", sums.due));
        let wire = self
            .source
            .round_trip_ns
            .map(|ns| own(PartKind::Wire, "round trip", ns.saturating_mul(sums.count).min(left)));
        let transfer =
            (sums.receive > 0).then(|| own(PartKind::Transfer, "transfer", sums.receive));
        due.into_iter().chain(wire).chain(told).chain(transfer).collect()
    }

    /// The mean of these operations and of their parts; the rest is the last.
    fn account(&self, lanes: &[Sums; LANES]) -> (Estimate, Vec<TimePart>) {
        let mut all = Sums::default();
        lanes.iter().for_each(|lane| all.add(lane));
        let met: Vec<&Sums> = lanes.iter().filter(|lane| lane.count > 0).collect();
        let estimate = |of: &dyn Fn(&Sums) -> i128| {
            let means: Vec<f64> = met.iter().map(|lane| ratio(of(lane), lane.count)).collect();
            let half = (means.len() >= LANES_MIN).then(|| half_width(&means)).flatten();
            Estimate {
                mean_ns: signed(ratio(of(&all), all.count)),
                half_width_ns: half.map(rounded),
                count: all.count,
            }
        };
        let of_kind = |kind: PartKind, sums: &Sums| -> i128 {
            let pieces = self.pieces(sums);
            pieces.iter().filter(|it| it.kind == kind).map(|it| i128::from(it.ns)).sum()
        };
        let mut kinds: Vec<PartKind> = self.pieces(&all).iter().map(|piece| piece.kind).collect();
        kinds.sort_by_key(|kind| kind.place());
        kinds.dedup();
        let part = |kind| TimePart {
            kind,
            time: estimate(&|sums| of_kind(kind, sums)),
            how: self.how(kind, &all),
        };
        let mut parts: Vec<TimePart> = kinds.into_iter().map(part).collect();
        if matches!(self.source.telling, Telling::Stamps(_)) {
            return (estimate(&|sums| i128::from(sums.whole())), parts); // they are the whole
        }
        let rest = |sums: &Sums| {
            let parts: i128 = self.pieces(sums).iter().map(|it| i128::from(it.ns)).sum();
            i128::from(sums.whole()) - parts
        };
        parts.push(TimePart { kind: PartKind::Rest, time: estimate(&rest), how: REST.into() });
        (estimate(&|sums| i128::from(sums.whole())), parts)
    }

    fn how(&self, kind: PartKind, all: &Sums) -> String {
        if let Telling::Stamps(kinds) = self.source.telling {
            let how = kinds.iter().find(|(known, _)| *known == kind);
            return how.map_or_else(String::new, |(_, how)| (*how).to_owned());
        }
        match kind {
            PartKind::Due => DUE.into(),
            PartKind::Wire => WIRE.into(),
            PartKind::Transfer => TRANSFER.into(),
            PartKind::Door => DOOR.into(),
            _ => {
                let mut names: Vec<&str> = Vec::new();
                let own = self.pieces(all);
                names.extend(own.iter().filter(|it| it.kind == kind).map(|it| it.name));
                names.dedup();
                let names = names.join(", ");
                match self.source.telling {
                    Telling::Answers => format!("told by the server with its answers, as {names}"),
                    Telling::Spans(_) | Telling::Stamps(_) => {
                        format!("spans, each without those below it: {names}")
                    }
                }
            }
        }
    }

    /// Accounts of the operations around the percentiles, as far as there are enough of them.
    fn percentiles(&self, times: &StepTimes) -> Vec<PercentileAccount> {
        let count = self.source.row.response.count();
        let enough = PERCENTILES.iter().filter(|(_, fewest)| count >= *fewest);
        enough
            .filter_map(|(percentile, _)| {
                let (around, _) = around(times, *percentile)?;
                let mut lanes: [Sums; LANES] = Default::default();
                around.iter().for_each(|band| band.add_to(&mut lanes));
                let (client, parts) = self.account(&lanes);
                let value_ns = self.source.row.response.quantile(quantile(*percentile));
                Some(PercentileAccount { percentile: *percentile, value_ns, client, parts })
            })
            .collect()
    }

    /// A typical operation, and a slow one of the highest percentile that there is.
    fn examples(&self, times: &StepTimes) -> Vec<ExampleOperation> {
        let count = self.source.row.response.count();
        let known = PERCENTILES.iter().filter(|(_, fewest)| count >= *fewest);
        let mut wanted: Vec<u8> = known.map(|(percentile, _)| *percentile).collect();
        if wanted.len() > 2 {
            wanted.remove(1);
        }
        wanted
            .iter()
            .filter_map(|percentile| {
                let (_, band) = around(times, *percentile)?;
                let sums = &band.example.as_ref()?.sums;
                Some(ExampleOperation {
                    percentile: *percentile,
                    whole_ns: sums.whole(),
                    parts: self.waterfall(sums),
                })
            })
            .collect()
    }

    /// The parts of one operation one behind the other. What was not measured stands between what
    /// the server told and the transfer: where it lies is not known.
    fn waterfall(&self, sums: &Sums) -> Vec<ExamplePart> {
        let mut pieces = self.pieces(sums);
        let told = pieces.iter().fold(0, |sum: u64, piece| sum.saturating_add(piece.ns));
        let rest = sums.whole().saturating_sub(told);
        let behind = pieces.iter().position(|piece| piece.kind == PartKind::Transfer);
        let behind = behind.unwrap_or(pieces.len());
        pieces.insert(behind, Piece { kind: PartKind::Rest, name: "not measured", ns: rest });
        let mut from_ns: u64 = 0;
        let mut placed = Vec::with_capacity(pieces.len());
        for piece in pieces.iter().filter(|piece| piece.ns > 0) {
            let Piece { kind, name, ns } = *piece;
            // a server whose clock exceeds ours does not make the operation longer
            let ns = ns.min(sums.whole().saturating_sub(from_ns));
            placed.push(ExamplePart { kind, name: name.into(), from_ns, ns });
            from_ns = from_ns.saturating_add(ns);
        }
        placed
    }

    fn named(&self) -> impl Iterator<Item = (&String, Distribution)> {
        let all = self.source.names.iter().zip(&self.source.row.told);
        all.filter_map(|(name, times)| Some((name, Distribution::of(times)?)))
    }

    fn times(&self) -> BTreeMap<String, Distribution> {
        self.named().map(|(name, times)| (name.clone(), times)).collect()
    }

    /// What the server tells one by one where the parts put several together.
    fn readings(&self) -> Vec<Reading> {
        let count = self.source.row.response.count();
        let action = |name: &str| match name {
            "other-actions" => Some("all others".to_owned()),
            name => name.strip_prefix("action-").map(str::to_owned),
        };
        let within = |name: &str| {
            let number = self.source.names.iter().position(|other| other == name)?;
            match self.meanings[number] {
                Meaning::Part { of: Some(of), .. } => Some(&self.source.names[of]),
                Meaning::Part { of: None, .. } | Meaning::Whole | Meaning::Aside => None,
            }
        };
        let by_spans = matches!(self.source.telling, Telling::Spans(_));
        let reading = |(name, times): (&String, Distribution)| {
            let (source, about) = match (action(name), within(name), self.longest) {
                (None, _, None) if by_spans => {
                    (name.clone(), "its spans, without those below them".to_owned())
                }
                (_, Some(around), None) => (name.clone(), format!("a part of {around}")),
                (Some(action), _, _) => (
                    format!("action {action}"),
                    "one of the outermost actions of the transaction".to_owned(),
                ),
                (None, _, Some(_)) => (
                    name.clone(),
                    "overlaps with others that the server tells, so that it is no part".to_owned(),
                ),
                (None, None, None) => return None,
            };
            let about = match times.count == count {
                true => about,
                false => format!("{about}; told by {} of {count} answers", times.count),
            };
            Some(Reading { source, mean_ns: Some(times.mean), count: times.count, about })
        };
        self.named().filter_map(reading).collect()
    }
}

/// The bands around that of a `percentile`, with enough operations where there are, and that band.
fn around(times: &StepTimes, percentile: u8) -> Option<(Vec<&Band>, &Band)> {
    let bands: Vec<(usize, &Band)> = times.met().collect();
    let count = |bands: &[(usize, &Band)]| {
        bands.iter().map(|(_, band)| band.count()).fold(0, u64::saturating_add)
    };
    let all = count(&bands);
    let rank = u128::from(all) * u128::from(percentile);
    let mut below = 0_u64;
    let at = bands.iter().position(|(_, band)| {
        below = below.saturating_add(band.count());
        u128::from(below) * 100 >= rank
    })?;
    let middle = bands[at].0;
    let near = |distance: usize| {
        let near = bands.iter().filter(|(number, _)| number.abs_diff(middle) <= distance);
        near.copied().collect::<Vec<_>>()
    };
    let enough = (0..=AROUND_BANDS).map(near).find(|near| count(near) >= AROUND_MIN);
    let found = enough.unwrap_or_else(|| near(AROUND_BANDS));
    Some((found.into_iter().map(|(_, band)| band).collect(), bands[at].1))
}

fn quantile(percentile: u8) -> f64 {
    f64::from(percentile) / 100.0
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of seconds")]
fn ratio(sum: i128, count: u64) -> f64 {
    sum as f64 / real(count.max(1))
}

/// A mean in whole nanoseconds.
fn signed(ns: f64) -> i64 {
    let size = i64::try_from(rounded(ns.abs())).unwrap_or(i64::MAX);
    if ns < 0.0 { -size } else { size }
}
