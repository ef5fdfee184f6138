//! Scenarios that remotes play together.

use plumb_engine::Lengths;
use plumb_engine::layer::{Spread, SpreadParts, SpreadPoint};
use plumb_measure::{Http2Figures, ResultRecord};

use super::finish;
use super::hops::settle_hops;
use super::verdict::judge;
use super::{PlannedScenario, ScenarioLoad, labels, names, together};
use crate::heard::account_all;

impl Spread for ScenarioLoad {
    fn points(&self) -> Vec<SpreadPoint> {
        let parts = self.points.iter().filter_map(|point| self.parts(*point).ok());
        let point = |parts: Vec<PlannedScenario>| SpreadPoint {
            labels: labels(&parts),
            plan: together(&parts),
            lengths: Lengths::Any,
        };
        parts.map(point).collect() // they were checked
    }

    fn rows(&self) -> Vec<String> {
        self.compile(&[]).map_or_else(|_| Vec::new(), |compiled| names(&compiled.rows))
    }

    fn conclude(&mut self, _: usize, result: &mut ResultRecord, parts: &SpreadParts<'_>) {
        result.finish = finish::of_all(parts.results);
        account_all(&mut result.parts, parts.whole);
        result.http2 =
            Http2Figures::of_all(parts.results.iter().filter_map(|it| it.http2.as_ref()));
        result.groups.iter_mut().for_each(|group| group.first_byte_ns = None);
        settle_hops(result);
        if let Ok(compiled) = self.compile(&[]) {
            judge(result, &compiled.thresholds, parts.whole);
        }
    }
}
