//! What an execution did, line by line, as far as there is room.

use std::fmt::Write as _;
use std::sync::Arc;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span, counted};

use super::inside::{ActionTime, Inside};
use plumb_transaction::{Persist, Trace, Traced};

/// Rows, or actions that reach nothing outside, between two looks at the clock: a look costs as much as
/// a small row.
const ROWS_A_LOOK: u32 = 16;

/// Looks on at an execution: keeps what it did, and ends it at its time limit.
#[derive(Debug)]
pub(super) struct BoundedTrace {
    text: String,
    /// Bytes of it at most; 0: nothing is kept.
    most: usize,
    /// Lines that found no room.
    left_out: u64,
    limit: Span,
    until_ns: u64,
    looks: u32,
    /// When the action under way began.
    began_ns: u64,
    /// Outermost actions and what they took, nanoseconds.
    actions: Vec<ActionTime>,
    inside: Inside,
}

impl BoundedTrace {
    /// Of an execution that begins now and is traced by `persist`, in `most` bytes.
    pub(super) fn new(persist: Persist, most: usize, limit: Span, inside: Inside) -> Self {
        let most = if persist == Persist::Never { 0 } else { most };
        let until_ns = MonotonicClock.now_ns().saturating_add(limit.ns());
        Self {
            text: String::new(),
            most,
            left_out: 0,
            limit,
            until_ns,
            looks: 0,
            began_ns: 0,
            actions: Vec::new(),
            inside,
        }
    }

    /// The outermost actions so far, and what each took, nanoseconds.
    pub(super) fn take_actions(&mut self) -> Vec<ActionTime> {
        std::mem::take(&mut self.actions)
    }

    /// Writes a line of its own.
    pub(super) fn line(&mut self, line: &str) {
        if self.most == 0 {
            return;
        }
        if self.left_out > 0 || self.text.len() + line.len() + 1 > self.most {
            self.left_out += 1;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// All that was kept.
    pub(super) fn finish(mut self) -> String {
        if self.left_out > 0 {
            let more = counted(self.left_out, "more line");
            let are = if self.left_out == 1 { "is" } else { "are" };
            // a String takes everything
            let _ = writeln!(self.text, "{more} {are} not kept (trace-size)");
        }
        self.text
    }
}

impl Trace for BoundedTrace {
    fn traced(&mut self, depth: usize, action: &str, what: Traced<'_>) {
        if may_take_long(&what) {
            self.looks = 0; // before the next action the clock is looked at
        }
        if self.most == 0 {
            return;
        }
        if self.left_out > 0 {
            self.left_out += 1;
            return;
        }
        let indent = 2 * depth;
        let line = format!("{:indent$}{action}: {what}", "");
        self.line(&line);
    }

    fn begins(&mut self) {
        let _ = self.inside.take(); // what was spent between two actions is none of theirs
        self.began_ns = MonotonicClock.now_ns();
        self.looks = 0;
    }

    fn ended(&mut self, action: &Arc<str>) {
        let (name, ns) = (Arc::clone(action), MonotonicClock.now_ns() - self.began_ns);
        self.actions.push(ActionTime { name, ns, inside: self.inside.take() });
    }

    fn time_left(&self) -> Option<Span> {
        Some(Span::from_ns(self.until_ns.saturating_sub(MonotonicClock.now_ns())))
    }

    fn interrupted(&mut self) -> Option<String> {
        self.looks += 1;
        if self.looks % ROWS_A_LOOK != 1 || MonotonicClock.now_ns() < self.until_ns {
            return None;
        }
        self.looks = 0; // whoever asks again hears the same
        Some(format!("its time limit of {} is over (time-limit)", self.limit))
    }
}

/// What may take any time, be it outside or in a stylesheet.
fn may_take_long(what: &Traced<'_>) -> bool {
    match what {
        Traced::Statement { .. }
        | Traced::Answer(_)
        | Traced::BackEnd { .. }
        | Traced::Transformed(_) => true,
        Traced::Row(_)
        | Traced::Rows(_)
        | Traced::Branch(_)
        | Traced::Log(_)
        | Traced::Response(_)
        | Traced::Called(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(most: usize, limit: Span) -> BoundedTrace {
        BoundedTrace::new(Persist::OnError, most, limit, Inside::default())
    }

    #[test]
    fn lines_beyond_the_limit_are_counted() {
        let mut kept = trace(30, Span::from_ms(60_000));
        for line in ["0123456789", "0123456789", "0123456789", "x"] {
            kept.line(line);
        }
        kept.traced(1, "a", Traced::Rows(2));
        assert_eq!(
            kept.finish(),
            "0123456789\n0123456789\n3 more lines are not kept (trace-size)\n"
        );
        let limit = Span::from_ms(60_000);
        let mut nothing = BoundedTrace::new(Persist::Never, 30, limit, Inside::default());
        nothing.line("x");
        assert_eq!(nothing.finish(), "");
    }

    #[test]
    fn secrets_are_hidden_by_their_names() {
        let mut kept = trace(1_000, Span::from_ms(60_000));
        let row = [("user", Some("anna")), ("password", Some("x")), ("token", None)];
        kept.traced(1, "rows", Traced::Row(&row));
        let expected = "  rows: user = anna, password = (not shown), token is not there\n";
        assert_eq!(kept.finish(), expected);
    }

    #[test]
    fn an_execution_ends_at_its_time_limit() {
        let mut over = trace(0, Span::from_ns(0));
        assert_eq!(over.interrupted().unwrap(), over.interrupted().unwrap());
        let mut long = trace(0, Span::from_ms(86_400_000));
        assert!((0..100).all(|_| long.interrupted().is_none()));
    }

    #[test]
    fn behind_what_may_take_long_the_clock_is_looked_at() {
        let statement = Traced::Statement { text: "SELECT 1", values: &[] };
        for what in [statement, Traced::Transformed(7)] {
            let mut trace = trace(0, Span::from_ms(86_400_000));
            assert_eq!(trace.interrupted(), None);
            trace.until_ns = 0;
            trace.traced(0, "a", Traced::Rows(1));
            assert_eq!(trace.interrupted(), None, "not at each row");
            trace.traced(0, "a", what);
            assert!(trace.interrupted().is_some(), "{what:?}");
        }
        let mut trace = trace(0, Span::from_ms(86_400_000));
        assert_eq!(trace.interrupted(), None);
        trace.until_ns = 0;
        trace.begins();
        assert!(trace.interrupted().is_some());
    }
}
