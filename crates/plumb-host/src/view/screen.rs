//! The terminal: its alternate screen, its size, and back to what it was.

use std::io::{self, Write};

use plumb_terminal as terminal;

use super::{History, Paint, render};

/// Columns and lines of a terminal that does not say how many it has.
const SIZE: (usize, usize) = (80, 24);

/// A terminal that shows a screen of its own, until this is dropped.
pub(crate) struct Screen<'a> {
    out: &'a mut (dyn Write + Send),
    paint: Paint,
}

impl std::fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("paint", &self.paint).finish_non_exhaustive()
    }
}

impl<'a> Screen<'a> {
    /// Takes the terminal behind `out`.
    pub(crate) fn open(out: &'a mut (dyn Write + Send), paint: Paint) -> io::Result<Self> {
        // the alternate screen, without a cursor, from its first place
        out.write_all(b"\x1b[?1049h\x1b[?25l\x1b[2J")?;
        out.flush()?;
        Ok(Self { out, paint })
    }

    /// Shows `history` as the terminal is large now.
    pub(crate) fn draw(&mut self, history: &History) -> io::Result<()> {
        let (width, height) = terminal::size(io::stdout()).unwrap_or(SIZE);
        let text = render(history, width, height, self.paint);
        // written over what stands there, line by line, and in one piece: nothing flickers
        let mut frame = String::with_capacity(text.len() + 16 * height);
        frame += "\x1b[?2026h\x1b[H";
        for (place, line) in text.lines().enumerate() {
            if place > 0 {
                frame += "\r\n";
            }
            frame += line;
            frame += "\x1b[K";
        }
        frame += "\x1b[J\x1b[?2026l";
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        // a terminal that is gone needs nothing back
        let _ = self.out.write_all(b"\x1b[?25h\x1b[?1049l");
        let _ = self.out.flush();
    }
}
