//! What an answer, or none, means for a message.

use plumb_measure::Span;

/// Retry-After is believed up to a day.
const AFTER_MAX_S: u64 = 86_400;

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The other side has it.
    Delivered,
    /// It does not take this message, now or later.
    Refused(String),
    /// This message failed there; others may not.
    Failed(String),
    /// It takes nothing for the moment: for so long, where it says so.
    Away(String, Option<Span>),
}

impl Verdict {
    /// What `status` with this `Retry-After` means; `text` is the beginning of the answer.
    pub(crate) fn of(status: u16, retry_after: Option<&str>, text: &str) -> Self {
        let told = |status: u16| {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
            let line: String = line.chars().filter(|char| !char.is_control()).take(200).collect();
            format!("status {status}{}{line}", if line.is_empty() { "" } else { ": " })
        };
        match status {
            200..=299 => Self::Delivered,
            400 | 409 | 410 | 411 | 413 | 414 | 415 | 422 => Self::Refused(told(status)),
            // the transaction failed, or was not done in its time
            408 | 500 | 504 => Self::Failed(told(status)),
            // 3xx, 401, 403, 404 and 405 are of the address and the user: no message is to blame
            _ => Self::Away(told(status), retry_after.and_then(seconds)),
        }
    }
}

/// The seconds of a `Retry-After`; a date is not read.
fn seconds(text: &str) -> Option<Span> {
    let seconds: u64 = text.trim().parse().ok()?;
    Some(Span::from_ms(seconds.min(AFTER_MAX_S) * 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_mean_what_the_runtime_says_with_them() {
        let of = |status| Verdict::of(status, Some("3"), "\n no room\u{7} \nmore");
        assert_eq!(of(202), Verdict::Delivered);
        assert_eq!(of(200), Verdict::Delivered);
        assert_eq!(of(422), Verdict::Refused("status 422: no room".into()));
        assert_eq!(of(500), Verdict::Failed("status 500: no room".into()));
        let after = Some(Span::from_ms(3_000));
        assert_eq!(of(429), Verdict::Away("status 429: no room".into(), after));
        assert_eq!(of(503), Verdict::Away("status 503: no room".into(), after));
        assert!(matches!(of(401), Verdict::Away(..)) && matches!(of(404), Verdict::Away(..)));
        assert_eq!(Verdict::of(503, None, ""), Verdict::Away("status 503".into(), None));
    }

    #[test]
    fn a_retry_after_is_a_number_of_seconds_up_to_a_day() {
        assert_eq!(seconds(" 7 "), Some(Span::from_ms(7_000)));
        assert_eq!(seconds("999999999999"), Some(Span::from_ms(86_400_000)));
        assert_eq!(seconds("Wed, 21 Oct 2015 07:28:00 GMT"), None);
        assert_eq!(seconds("-1"), None);
    }
}
