//! How long a database is waited for, and what is said of one that took longer.

use plumb_measure::{Span, show_ns};

use super::{DatabaseError, DatabaseLimits};

/// What a server that breaks a statement off at its time has at most for saying so, before it is taken
/// for silent.
const SAYING_SO: Span = Span::from_ms(5_000);

impl DatabaseLimits {
    /// How long the answer of a statement is waited for.
    pub(super) fn patience(&self) -> Span {
        Span::from_ns(self.statement.ns().saturating_add(self.saying_so().ns()))
    }

    fn saying_so(&self) -> Span {
        self.statement.min(SAYING_SO)
    }

    pub(super) fn late_log_on(&self) -> DatabaseError {
        let limit = show_ns(self.connect.ns());
        let named = named(self.settings.map(|it| it.connect));
        DatabaseError::Silent(format!("a log-on took longer than {limit}{named}"))
    }

    pub(super) fn late_statement(&self) -> DatabaseError {
        let [waited, limit, rest] =
            [self.patience(), self.statement, self.saying_so()].map(|it| show_ns(it.ns()));
        let named = named(self.settings.map(|it| it.statement));
        DatabaseError::Silent(format!(
            "a statement had no answer for {waited}: it may take {limit}{named}, and the server had {rest} \
             more to say that it took longer"
        ))
    }
}

fn named(setting: Option<&str>) -> String {
    setting.map_or(String::new(), |setting| format!(" ({setting})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_statement_tells_the_whole_wait() {
        let said = |ms| {
            let limits = DatabaseLimits { statement: Span::from_ms(ms), ..Default::default() };
            limits.late_statement().to_string()
        };
        assert!(
            said(4_000).contains("for 8.00 s: it may take 4.00 s, and the server had 4.00 s more")
        );
        assert!(
            said(30_000).contains("for 35.0 s: it may take 30.0 s, and the server had 5.00 s more")
        );
    }
}
