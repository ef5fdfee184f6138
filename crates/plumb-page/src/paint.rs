//! Verdicts in colour, for a terminal.

/// What a verdict is to whoever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Good,
    Doubtful,
    Bad,
    Even,
}

impl Tone {
    /// Bold, in one of the colours that every terminal has.
    fn escape(self) -> &'static str {
        match self {
            Self::Good => "\u{1b}[1;32m",
            Self::Doubtful => "\u{1b}[1;33m",
            Self::Bad => "\u{1b}[1;31m",
            Self::Even => "\u{1b}[1;36m",
        }
    }
}

/// Back to what was before.
const END: &str = "\u{1b}[0m";

/// Words that begin a verdict, longer ones before those that they begin with.
static VERDICTS: [(&str, Tone); 31] = [
    ("VALID", Tone::Good),
    ("INVALID", Tone::Bad),
    ("LATENCY NOT VALID", Tone::Doubtful),
    ("NOT CHECKED", Tone::Doubtful),
    ("NOT VALID", Tone::Bad),
    ("NOT MEASURED", Tone::Bad),
    ("NOT FINISHED", Tone::Doubtful),
    ("FAULT", Tone::Bad),
    ("SLOWEST", Tone::Doubtful),
    ("AMONG THE SLOWEST", Tone::Doubtful),
    ("BETTER", Tone::Good),
    ("WORSE", Tone::Bad),
    ("EQUIVALENT", Tone::Even),
    ("NO DIFFERENCE SHOWN", Tone::Even),
    ("CANNOT BE TESTED", Tone::Doubtful),
    ("A/A COMPARISON", Tone::Even),
    ("CONSISTENT", Tone::Good),
    ("NOT CONSISTENT", Tone::Bad),
    ("PASSED", Tone::Good),
    ("FAILED", Tone::Bad),
    ("valid", Tone::Good),
    ("invalid", Tone::Bad),
    ("no latency", Tone::Doubtful),
    ("not checked", Tone::Doubtful),
    ("not measured", Tone::Bad),
    ("better", Tone::Good),
    ("worse", Tone::Bad),
    ("equivalent", Tone::Even),
    ("no difference shown", Tone::Even),
    ("missed", Tone::Bad),
    ("met", Tone::Good),
];

/// Words in front of a colon that begin a finding.
static FINDINGS: [(&str, Tone); 3] =
    [("invalid", Tone::Bad), ("no latency", Tone::Doubtful), ("not checked", Tone::Doubtful)];

/// `text` with its verdicts in colour: those at the end of a line, behind two blanks or more, the word
/// of the line `validity`, and what begins a finding. Nothing else is changed.
#[must_use]
pub fn painted(text: &str) -> String {
    text.split_inclusive('\n').map(line).collect()
}

fn line(line: &str) -> String {
    let body = line.trim_end_matches('\n');
    let found = ending(body).or_else(|| beginning(body));
    let Some((from, to, tone)) = found else { return line.to_owned() };
    let (escape, rest) = (tone.escape(), &line[to..]);
    format!("{}{escape}{}{END}{rest}", &line[..from], &line[from..to])
}

/// A verdict behind the last gap of a line, up to its end.
fn ending(body: &str) -> Option<(usize, usize, Tone)> {
    let from = body.rfind("  ")? + 2;
    let tail = &body[from..];
    let is_verdict = |word: &str| {
        let further = tail.strip_prefix(word);
        further.is_some_and(|further| further.is_empty() || further.starts_with([',', ':', ' ']))
    };
    let (word, tone) = VERDICTS.iter().find(|(word, _)| is_verdict(word))?;
    let capitals = word.starts_with(char::is_uppercase);
    // in small letters these are words of the language, too: only alone they are a verdict
    (capitals || tail == *word).then_some((from, body.len(), *tone))
}

/// The verdict behind `validity`, or the word in front of a finding.
fn beginning(body: &str) -> Option<(usize, usize, Tone)> {
    let from = body.len() - body.trim_start_matches("validity").trim_start().len();
    let rest = &body[from..];
    let begins = |list: &'static [(&str, Tone)], ends: &[char]| {
        list.iter()
            .find(|(word, _)| rest.strip_prefix(*word).is_some_and(|it| it.starts_with(ends)))
    };
    let found = if body.starts_with("validity ") {
        begins(&VERDICTS, &['.', ','])
    } else {
        begins(&FINDINGS, &[':']).filter(|_| from > 1)
    };
    found.map(|(word, tone)| (from, from + word.len(), *tone))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bare(text: &str) -> String {
        let mut text = text.replace(END, "");
        for tone in [Tone::Good, Tone::Doubtful, Tone::Bad, Tone::Even] {
            text = text.replace(tone.escape(), "");
        }
        text
    }

    #[test]
    fn verdicts_are_painted_where_they_stand() {
        for (line, tone, word) in [
            (
                "net ping 10.0.0.5:3298          VALID, limit raised to 9 %\n",
                Tone::Good,
                "VALID, limit",
            ),
            ("net ping 10.0.0.5:3298                      INVALID\n", Tone::Bad, "INVALID"),
            ("validity       NOT CHECKED. It is not known\n", Tone::Doubtful, "NOT CHECKED"),
            ("               no latency: the driver was busy\n", Tone::Doubtful, "no latency"),
            ("a flight list, one user     5.12 ms  11.4 ms  valid\n", Tone::Good, "valid"),
        ] {
            let shown = painted(line);
            assert!(shown.contains(&format!("{}{word}", tone.escape())), "{shown:?}");
            assert_eq!(bare(&shown), line);
        }
    }

    #[test]
    fn other_words_stay_as_they_are() {
        for line in
            ["worse than before\n", "invalid: at the margin\n", "x  valid figures only\n", "\n", ""]
        {
            assert_eq!(painted(line), line);
        }
    }

    proptest! {
        #[test]
        fn nothing_but_colour_is_added(text in "[ a-zA-Z:,.\u{b5}\n]{0,200}") {
            prop_assert_eq!(bare(&painted(&text)), text);
        }
    }
}
