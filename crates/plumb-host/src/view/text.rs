//! Lines made of pieces with a style each, whose width is known.

use std::fmt::Write as _;

/// Whether styles are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// As colours of the terminal.
    Ansi,
    /// Not at all.
    Plain,
}

/// What a piece of text is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    #[default]
    Plain,
    Bold,
    Dim,
    /// Work of programs.
    User,
    /// Work of the kernel.
    System,
    /// Work of interrupts.
    Interrupt,
    /// Something to look at.
    Warm,
    /// Something is wrong.
    Hot,
}

impl Style {
    /// The terminal's code. Only the sixteen colours that every terminal lets people choose.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::User => "\x1b[32m",
            Self::System => "\x1b[36m",
            Self::Interrupt => "\x1b[35m",
            Self::Warm => "\x1b[33m",
            Self::Hot => "\x1b[1;31m",
        }
    }

    /// The style of a share that is fine below `warm` and wrong from `hot` on.
    pub(super) fn of_share(pct: f64, warm: f64, hot: f64) -> Self {
        match pct {
            pct if pct >= hot => Self::Hot,
            pct if pct >= warm => Self::Warm,
            _ => Self::Plain,
        }
    }

    /// The style of a count that ought to be zero.
    pub(super) fn of_trouble(count: u64) -> Self {
        if count == 0 { Self::Plain } else { Self::Hot }
    }
}

/// One line. Every character takes one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pieces: Vec<(Style, String)>,
}

impl Line {
    pub(super) fn of(style: Style, text: &str) -> Self {
        let mut line = Self::default();
        line.add(style, text);
        line
    }

    /// The name of a section, in its own column.
    pub(super) fn titled(title: &str) -> Self {
        Self::of(Style::Bold, &format!("{title:<6}"))
    }

    pub(super) fn add(&mut self, style: Style, text: &str) {
        self.pieces.push((style, text.into()));
    }

    /// Adds a name and its value.
    pub(super) fn pair(&mut self, name: &str, style: Style, value: &str) {
        self.add(Style::Dim, name);
        self.add(style, &format!(" {value}  "));
    }

    /// Adds `text` so that it ends at `width`; leaves it out where there is no room.
    pub(super) fn right(&mut self, style: Style, text: &str, width: usize) {
        let used = self.width() + text.chars().count();
        if used < width {
            self.add(Style::Plain, &" ".repeat(width - used));
            self.add(style, text);
        }
    }

    pub(super) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// Fills up to `width`, or cuts what is beyond.
    pub(super) fn fitted(self, width: usize) -> Self {
        let mut left = width;
        let mut pieces = Vec::new();
        for (style, text) in self.pieces {
            let text: String = text.chars().take(left).collect();
            left -= text.chars().count();
            pieces.push((style, text));
        }
        pieces.push((Style::Plain, " ".repeat(left)));
        Self { pieces }
    }

    pub(super) fn append(&mut self, other: Self) {
        self.pieces.extend(other.pieces);
    }

    /// Writes at most `width` characters, without blanks at the end.
    pub(super) fn write(&self, to: &mut String, width: usize, paint: Paint) {
        let mut left = width;
        let start = to.len();
        for (style, text) in &self.pieces {
            let text: String = text.chars().take(left).collect();
            left -= text.chars().count();
            if paint == Paint::Plain || *style == Style::Plain || text.trim().is_empty() {
                to.push_str(&text);
            } else {
                let _ = write!(to, "{}{text}\x1b[0m", style.code()); // a string takes everything
            }
        }
        to.truncate(start + to[start..].trim_end().len());
    }
}

/// Two columns of `half` characters each, of at most `height` lines.
pub(super) fn side_by_side(
    left: Vec<Line>,
    right: Vec<Line>,
    half: usize,
    height: usize,
) -> Vec<Line> {
    let lines = left.len().max(right.len()).min(height);
    let mut left = left.into_iter();
    let mut right = right.into_iter();
    let mut both = || {
        let mut line = left.next().unwrap_or_default().fitted(half);
        line.add(Style::Dim, " │ ");
        line.append(right.next().unwrap_or_default().fitted(half));
        line
    };
    (0..lines).map(|_| both()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_and_has_no_blanks_at_its_end() {
        let mut line = Line::of(Style::Bold, "abc");
        line.add(Style::Plain, "def   ");
        let text = |width, paint| {
            let mut text = String::new();
            line.write(&mut text, width, paint);
            text
        };
        assert_eq!(text(80, Paint::Plain), "abcdef");
        assert_eq!(text(4, Paint::Plain), "abcd");
        assert_eq!(text(3, Paint::Ansi), "\x1b[1mabc\x1b[0m");
        assert_eq!(line.fitted(5).width(), 5);
    }
}
