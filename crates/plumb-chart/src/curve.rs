//! A model over users with its interval, and what was measured, on one sheet.

use maud::{Markup, html};
use plumb_measure::show_ns;
use plumb_page::figures::{per_second, typeset};

use crate::axis::Axis;
use crate::sheet::{BOTTOM, Chart, Key, LEFT, Mark, RIGHT, TOP, coordinate as n, line, mark};

/// What a chart shows over users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Operations a second.
    Rate,
    /// A time, seconds.
    Time,
}

/// The model with so many users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Users at once.
    pub users: f64,
    /// The figure.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// A measured step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredPoint {
    /// Users at once.
    pub users: f64,
    /// The figure.
    pub value: f64,
    /// True for the step that was predicted from the others.
    pub held_out: bool,
}

/// A chart over users.
#[derive(Clone, Debug)]
pub struct CurveChart {
    /// What it shows.
    pub title: String,
    /// Of which figure, the name of its axis.
    pub figure: String,
    /// Its unit.
    pub quantity: Quantity,
    /// The model, users ascending.
    pub curve: Vec<CurvePoint>,
    /// What was measured.
    pub steps: Vec<MeasuredPoint>,
    /// The knee with its interval: users, low, high.
    pub knee: Option<(f64, f64, f64)>,
    /// The target, in the unit of the figure.
    pub target: Option<f64>,
    /// The users that were asked for.
    pub asked: Option<f64>,
    /// What a reader must know of the drawing.
    pub notes: Vec<String>,
}

/// Values beyond this many times what was measured and wanted are cut off.
const ROOM: f64 = 1.6;
/// Target and answer are on the axis where they are below so many times what was measured.
const NEAR: f64 = 8.0;
/// An axis from zero begins at a share of its end at which it is not yet logarithmic.
const FROM_ZERO: f64 = 0.1;

impl CurveChart {
    /// The figure.
    #[must_use]
    pub fn draw(&self) -> Markup {
        let measured = self.steps.iter().map(|it| it.users).fold(0.0, f64::max);
        let last = self.curve.iter().map(|it| it.users).fold(measured, f64::max).max(1.0);
        let x = Axis::counted("users", (0, whole(last)), LEFT, RIGHT);
        let y = self.axis();
        let cut = self.curve.iter().any(|it| !y.holds(self.unit(it.high)));
        let marks = html! {
            @if measured < last {
                rect class="beyond" x=(n(x.at(measured))) y=(n(TOP))
                    width=(n(x.at(last) - x.at(measured))) height=(n(BOTTOM - TOP)) {}
            }
            (self.knee(&x))
            @if let Some(asked) = self.asked.filter(|asked| *asked <= last) {
                (upright("asked", x.at(asked), &format!("asked for: {asked:.0} users")))
            }
            @if let Some(target) = self.target.filter(|target| y.holds(self.unit(*target))) {
                @let at = n(y.at(self.unit(target)));
                line class="limit" x1=(n(LEFT)) x2=(n(RIGHT)) y1=(at) y2=(at) {
                    title { "target: " (self.words(target)) }
                }
            }
            path class="spread s0" d=(self.band(&x, &y)) {}
            path class="line s0" d=(line(&self.along(&x, &y))) {}
            @for step in &self.steps {
                @let class = if step.held_out { "s1 held-out" } else { "s1" };
                (mark(class, Mark::Dot, (x.at(step.users), y.at(self.unit(step.value))),
                      &typeset(&format!("{:.0} users: {}", step.users, self.words(step.value)))))
            }
        };
        let mut notes = self.notes.clone();
        if cut {
            notes.push("What lies above the upper end of the axis is drawn at its end.".into());
        }
        Chart { title: self.title.clone(), keys: self.keys(measured < last), x, y, marks, notes }
            .draw()
    }

    fn axis(&self) -> Axis {
        let measured = self.steps.iter().map(|it| it.value).fold(0.0, f64::max);
        let near = |it: &f64| *it < NEAR * measured;
        let answer = self.asked.map(|asked| {
            let up_to = self.curve.iter().filter(|it| it.users <= asked);
            up_to.map(|it| it.high).fold(0.0, f64::max)
        });
        let wanted =
            [self.target, answer].into_iter().flatten().filter(near).fold(measured, f64::max);
        let model = self.curve.iter().map(|it| it.high).fold(0.0, f64::max);
        match self.quantity {
            Quantity::Rate => {
                let high = model.max(wanted).max(1e-3);
                Axis::rates(&self.figure, (0.0, high), BOTTOM, TOP)
            }
            Quantity::Time => {
                // times grow without end behind the knee, and would hide what was measured
                let high = self.unit(model.min(wanted * ROOM).max(wanted)).max(1e-3);
                Axis::times_between(&self.figure, (high * FROM_ZERO, high), BOTTOM, TOP)
            }
        }
    }

    /// A figure in the unit of its axis.
    fn unit(&self, value: f64) -> f64 {
        match self.quantity {
            Quantity::Rate => value,
            Quantity::Time => value * 1e9,
        }
    }

    fn words(&self, value: f64) -> String {
        match self.quantity {
            Quantity::Rate => per_second(value),
            Quantity::Time => show_ns(whole(value * 1e9)),
        }
    }

    fn along(&self, x: &Axis, y: &Axis) -> Vec<(f64, f64)> {
        self.curve.iter().map(|it| (x.at(it.users), y.at(self.unit(it.value)))).collect()
    }

    /// The interval as an area: along its upper end, and back along the lower.
    fn band(&self, x: &Axis, y: &Axis) -> String {
        let upper = self.curve.iter().map(|it| (it.users, it.high));
        let lower = self.curve.iter().rev().map(|it| (it.users, it.low));
        let points = upper.chain(lower).map(|(users, it)| (x.at(users), y.at(self.unit(it))));
        let path = line(&points.collect::<Vec<_>>());
        if path.is_empty() { path } else { path + "Z" }
    }

    fn knee(&self, x: &Axis) -> Markup {
        let Some((users, low, high)) = self.knee.filter(|knee| x.holds(knee.0)) else {
            return html! {};
        };
        html! {
            rect class="knee-range" x=(n(x.at(low))) y=(n(TOP)) width=(n(x.at(high) - x.at(low)))
                height=(n(BOTTOM - TOP)) {}
            (upright("knee", x.at(users), &format!("knee: {users:.0} users ({low:.0} to {high:.0})")))
        }
    }

    fn keys(&self, beyond: bool) -> Vec<Key> {
        let last = self.curve.last().map_or(0.0, |it| it.users);
        let mut keys = vec![Key::new("s1 measured", "measured")];
        if self.steps.iter().any(|it| it.held_out) {
            keys.push(Key::new("s1 held-out", "measured, held out"));
        }
        if !self.curve.is_empty() {
            keys.push(Key::new("s0", "model"));
            keys.push(Key::new("s0 spread", "its interval"));
        }
        if self.knee.is_some_and(|knee| knee.0 <= last) {
            keys.push(Key::new("knee", "knee"));
        }
        if self.target.is_some() {
            keys.push(Key::new("limit", "target"));
        }
        if self.asked.is_some_and(|asked| asked <= last) {
            keys.push(Key::new("asked", "asked for"));
        }
        if beyond {
            keys.push(Key::new("beyond", "not measured"));
        }
        keys
    }
}

fn upright(class: &str, at: f64, words: &str) -> Markup {
    html! {
        line class=(class) x1=(n(at)) x2=(n(at)) y1=(n(TOP)) y2=(n(BOTTOM)) { title { (words) } }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, not negative"
)]
fn whole(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> CurveChart {
        let curve = [1.0, 10.0, 20.0];
        let curve = curve.map(|users| CurvePoint { users, value: 0.1, low: 0.09, high: 0.11 });
        let step = |users, held_out| MeasuredPoint { users, value: 0.1, held_out };
        CurveChart {
            title: "Response time".into(),
            figure: "p95".into(),
            quantity: Quantity::Time,
            curve: curve.to_vec(),
            steps: vec![step(1.0, false), step(10.0, true)],
            knee: Some((8.0, 7.0, 9.0)),
            target: Some(0.15),
            asked: Some(12.0),
            notes: Vec::new(),
        }
    }

    #[test]
    fn everything_that_is_known_is_drawn_and_named() {
        let drawn = chart().draw().into_string();
        for class in ["held-out", "knee-range", "limit", "asked", "beyond", "spread s0"] {
            assert!(drawn.contains(class), "{class}: {drawn}");
        }
        assert_eq!(drawn.matches("class=\"touch\"").count(), 2);
        assert!(drawn.contains("10 users: 100"), "{drawn}");
    }

    #[test]
    fn a_curve_that_grows_beyond_the_sheet_is_cut_off_and_says_so() {
        let mut steep = chart();
        steep.curve[2] = CurvePoint { users: 20.0, value: 8.0, low: 7.0, high: 9.0 };
        assert!(steep.draw().into_string().contains("drawn at its end"));
        let bare = CurveChart { knee: None, target: None, asked: None, ..chart() };
        let drawn = bare.draw().into_string();
        assert!(!drawn.contains("class=\"knee\"") && !drawn.contains("class=\"limit\""));
    }
}
