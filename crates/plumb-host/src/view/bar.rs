//! Bars and sparklines.

use plumb_procfs::counter;

use super::text::{Line, Style};
use crate::sample::CpuShare;

/// Eighths of a character, from nothing to all of it.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// What stands for each kind of work, so that it can be told without colours too.
pub(super) const USER: char = '█';
pub(super) const SYSTEM: char = '▓';
pub(super) const INTERRUPT: char = '▒';
pub(super) const STEAL: char = 'x';
const NOTHING: char = '·';

/// The work of a processor in `width` characters: programs, kernel, interrupts, stolen.
pub(super) fn cpu(share: &CpuShare, width: usize) -> Line {
    let steal = share.steal_pct.unwrap_or(0.0);
    let parts = [
        (Style::User, USER, share.user_pct + share.nice_pct),
        (Style::System, SYSTEM, share.system_pct),
        (Style::Interrupt, INTERRUPT, share.irq_pct + share.softirq_pct),
        (Style::Hot, STEAL, steal),
    ];
    let mut line = Line::default();
    let (mut drawn, mut sum) = (0, 0.0);
    for (style, character, pct) in parts {
        // rounding the sums, not the parts, lets the bar be as long as all the work
        sum += pct;
        let end = places(sum, width);
        line.add(style, &String::from(character).repeat(end.saturating_sub(drawn)));
        drawn = end.max(drawn);
    }
    line.add(Style::Dim, &String::from(NOTHING).repeat(width - drawn));
    line
}

/// A share of `width` characters.
pub(super) fn share(pct: f64, style: Style, width: usize) -> Line {
    let full = places(pct, width);
    let mut line = Line::of(style, &String::from(USER).repeat(full));
    line.add(Style::Dim, &String::from(NOTHING).repeat(width - full));
    line
}

/// The last of `values` in `width` characters, the newest at the right; `top` is a whole character.
pub(super) fn spark(values: &[f64], top: f64, width: usize) -> String {
    let shown = &values[values.len().saturating_sub(width)..];
    let mut text = " ".repeat(width - shown.len());
    text.extend(shown.iter().map(|value| eighths(*value, top, 0)));
    text
}

/// The same over `height` lines, the highest first.
pub(super) fn chart(values: &[f64], top: f64, width: usize, height: usize) -> Vec<String> {
    let shown = &values[values.len().saturating_sub(width)..];
    let row = |above: usize| {
        let step = top / counter::float(height as u64);
        let mut text = " ".repeat(width - shown.len());
        text.extend(shown.iter().map(|value| eighths(*value, step, above)));
        text
    };
    (0..height).rev().map(row).collect()
}

/// The character for a value, of which `below` characters of `step` each are filled already.
fn eighths(value: f64, step: f64, below: usize) -> char {
    let rest = value - step * counter::float(below as u64);
    let eighths = places(rest / step.max(f64::MIN_POSITIVE) * 100.0, 8);
    // something is never nothing, at the foot of a column
    let least = usize::from(below == 0 && value > 0.0);
    EIGHTHS[eighths.max(least)]
}

/// How many of `width` places a share fills.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is between zero and the width of a screen"
)]
fn places(pct: f64, width: usize) -> usize {
    let places = (pct.clamp(0.0, 100.0) / 100.0 * counter::float(width as u64)).round();
    (places as usize).min(width)
}

#[cfg(test)]
mod tests {
    use super::super::text::Paint;
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_the_work() {
        let share = CpuShare {
            user_pct: 24.0,
            system_pct: 24.0,
            softirq_pct: 24.0,
            steal_pct: Some(8.0),
            ..CpuShare::default()
        };
        let mut text = String::new();
        cpu(&share, 10).write(&mut text, 10, Paint::Plain);
        assert_eq!(text, "██▓▓▓▒▒x··");
    }

    #[test]
    fn little_is_seen_and_nothing_is_not() {
        assert_eq!(spark(&[0.0, 0.1, 50.0, 100.0, 900.0], 100.0, 7), "   ▁▄██");
        assert_eq!(spark(&[1.0; 9], 1.0, 3), "███");
        assert_eq!(chart(&[25.0, 50.0, 75.0, 100.0], 100.0, 4, 2), ["  ▄█", "▄███"]);
    }
}
