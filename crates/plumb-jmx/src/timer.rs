//! Timers: they run before each request in scope, and add up.

use plumb_draft::note::Notes;
use plumb_draft::wait::ms;
use plumb_measure::Span;
use plumb_scenario::file::Think;

use super::element::Element;
use super::words::Words;

/// Milliseconds of a wait, while timers are added up.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wait {
    Fixed(f64),
    Uniform(f64, f64),
    Normal(f64, f64),
}

/// The wait that `timers` make together; `None` for no time.
pub(super) fn wait(timers: &[Element<'_>], words: &Words, notes: &mut Notes) -> Option<Think> {
    let mut sum = Wait::Fixed(0.0);
    for timer in timers {
        if let Some(next) = read(timer, words, notes) {
            sum = added(sum, next).unwrap_or_else(|coarse| {
                let why = "it is added to a random wait of another kind: the mean is right, the \
                           spread is not";
                notes.add(timer.place(), timer.what(), why);
                coarse
            });
        }
    }
    think(sum)
}

/// The wait of so many milliseconds as the property `name` says; `None` for no time.
pub(super) fn fixed(
    element: &Element<'_>,
    name: &str,
    words: &Words,
    notes: &mut Notes,
) -> Option<Think> {
    think(Wait::Fixed(number(element, name, words, notes)?))
}

/// One wait behind the other; two that cannot be added keep their mean.
pub(super) fn sum(one: Option<Think>, other: Option<Think>) -> Option<Think> {
    match (one, other) {
        (Some(one), Some(other)) => {
            think(added(Wait::of(one), Wait::of(other)).unwrap_or_else(|coarse| coarse))
        }
        (one, other) => one.or(other),
    }
}

impl Wait {
    fn of(think: Think) -> Self {
        let ms = |span: Span| {
            #[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
            let ns = span.ns() as f64;
            ns / 1e6
        };
        match think {
            Think::Fixed(time) | Think::Exponential(time, _) => Self::Fixed(ms(time)),
            Think::Uniform(from, to) => Self::Uniform(ms(from), ms(to)),
            Think::Normal(mean, deviation) => Self::Normal(ms(mean), ms(deviation)),
        }
    }
}

fn number(timer: &Element<'_>, name: &str, words: &Words, notes: &mut Notes) -> Option<f64> {
    let text = timer.text(name);
    let number = if text.trim().is_empty() { Some(0.0) } else { words.number(text) };
    if number.is_none() {
        let why = format!("{name} is `{text}`, which is not known before the load");
        notes.add(timer.place(), timer.what(), why);
    }
    number
}

fn read(timer: &Element<'_>, words: &Words, notes: &mut Notes) -> Option<Wait> {
    let mut number = |name: &str| number(timer, name, words, notes);
    let delay = number("ConstantTimer.delay")?;
    Some(match timer.kind() {
        "UniformRandomTimer" => Wait::Uniform(delay, delay + number("RandomTimer.range")?.max(0.0)),
        "GaussianRandomTimer" => {
            let deviation = number("RandomTimer.range")?.abs();
            if delay < 2.0 * deviation {
                // seldom enough above that
                let why = "JMeter waits as long as a draw is below 0, and here that is no wait: waits \
                           are shorter in the mean";
                notes.add(timer.place(), timer.what(), why);
            }
            Wait::Normal(delay, deviation)
        }
        _ => Wait::Fixed(delay),
    })
}

/// The sum of two waits; `Err` holds one with the same mean where there is no exact one.
fn added(one: Wait, other: Wait) -> Result<Wait, Wait> {
    match (one, other) {
        (Wait::Fixed(a), Wait::Fixed(b)) => Ok(Wait::Fixed(a + b)),
        (Wait::Fixed(a), Wait::Uniform(from, to)) | (Wait::Uniform(from, to), Wait::Fixed(a)) => {
            Ok(Wait::Uniform(from + a, to + a))
        }
        (Wait::Fixed(a), Wait::Normal(mean, deviation))
        | (Wait::Normal(mean, deviation), Wait::Fixed(a)) => Ok(Wait::Normal(mean + a, deviation)),
        (Wait::Normal(a, x), Wait::Normal(b, y)) => Ok(Wait::Normal(a + b, x.hypot(y))),
        (Wait::Uniform(a, b), Wait::Uniform(c, d)) => Err(Wait::Uniform(a + c, b + d)),
        (Wait::Uniform(from, to), Wait::Normal(mean, _))
        | (Wait::Normal(mean, _), Wait::Uniform(from, to)) => {
            Err(Wait::Uniform(from + mean, to + mean))
        }
    }
}

fn think(wait: Wait) -> Option<Think> {
    let think = match wait {
        Wait::Fixed(delay) => Think::Fixed(ms(delay)),
        Wait::Uniform(from, to) if ms(from) == ms(to) => Think::Fixed(ms(from)),
        Wait::Uniform(from, to) => Think::Uniform(ms(from), ms(to)),
        Wait::Normal(mean, deviation) if ms(deviation).ns() == 0 => Think::Fixed(ms(mean)),
        Wait::Normal(mean, deviation) => Think::Normal(ms(mean), ms(deviation)),
    };
    (think != Think::Fixed(ms(0.0))).then_some(think)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::read as tree;

    fn of(timers: &[(&str, &str, &str)]) -> (Option<Think>, Vec<String>) {
        let text: String = timers
            .iter()
            .map(|(kind, delay, range)| {
                format!(
                    "<{kind} testname='t'><stringProp name='ConstantTimer.delay'>{delay}</stringProp>\
                     <stringProp name='RandomTimer.range'>{range}</stringProp></{kind}>"
                )
            })
            .collect();
        let tree = tree(&format!("<hashTree>{text}</hashTree>")).unwrap();
        let mut notes = Notes::default();
        let found = wait(&Element::of_tree(&tree), &Words::default(), &mut notes);
        (found, notes.sorted().iter().map(ToString::to_string).collect())
    }

    fn span(text: &str) -> plumb_measure::Span {
        text.parse().unwrap()
    }

    #[test]
    fn timers_add_up() {
        let uniform = of(&[("ConstantTimer", "1000", ""), ("UniformRandomTimer", "500", "2000.0")]);
        assert_eq!(uniform, (Some(Think::Uniform(span("1500ms"), span("3500ms"))), vec![]));
        let normal =
            of(&[("GaussianRandomTimer", "300", "30"), ("GaussianRandomTimer", "0", "40")]);
        assert_eq!(normal.0, Some(Think::Normal(span("300ms"), span("50ms"))));
        assert!(normal.1[0].contains("below 0"), "of the second: {:?}", normal.1);
        assert_eq!(of(&[("GaussianRandomTimer", "300", "30")]).1, [""; 0]);
        assert_eq!(of(&[("ConstantTimer", "0", "")]).0, None);
        assert_eq!(of(&[("UniformRandomTimer", "7", "0")]).0, Some(Think::Fixed(span("7ms"))));
    }

    #[test]
    fn what_cannot_be_added_or_read_is_named() {
        let two = of(&[("UniformRandomTimer", "0", "10"), ("UniformRandomTimer", "0", "20")]);
        assert_eq!(two.0, Some(Think::Uniform(span("0s"), span("30ms"))));
        assert!(two.1[0].contains("the mean is right"), "{:?}", two.1);
        let unknown = of(&[("ConstantTimer", "${later}", "")]);
        assert_eq!(unknown.0, None);
        assert!(unknown.1[0].contains("`${later}`"), "{:?}", unknown.1);
    }
}
