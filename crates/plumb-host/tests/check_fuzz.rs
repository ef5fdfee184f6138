//! The table reader and the checks under arbitrary text: the committed corpus, the corpus mutated,
//! and noise.
//!
//! `PLUMB_FUZZ_CASES` sets the number of cases of each property.
#![allow(
    clippy::float_cmp,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on should end, and its figures are exact"
)]

mod cases;

use std::fs;
use std::path::Path;

use cases::cases;
use plumb_host::check::{self, Figure, Style};
use proptest::prelude::*;

fn corpus() -> Vec<(String, String)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut files: Vec<_> = ["corpus/check", "../../../examples/published"]
        .iter()
        .flat_map(|folder| fs::read_dir(tests.join(folder)).unwrap())
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn judge(text: &str) -> bool {
    let read = if text.trim_start().starts_with('{') {
        check::read_json(text)
    } else {
        check::read_csv(text)
    };
    match read {
        Ok(table) => {
            let report = table.check();
            assert!(report.findings().len() <= 1_000, "findings are bounded");
            for finding in report.findings() {
                assert!(finding.to_string().starts_with("line "), "{finding}");
            }
            true
        }
        Err(error) => {
            assert!(error.to_string().starts_with("line "), "{error}");
            false
        }
    }
}

#[test]
fn the_corpus_reads_as_it_is_meant() {
    for (name, text) in corpus() {
        assert_eq!(judge(&text), !name.starts_with("bad-"), "{name}");
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn noise_is_read_without_harm(text in "\\PC{0,200}") {
        judge(&text);
    }

    #[test]
    fn lines_of_any_words_are_read_without_harm(
        lines in prop::collection::vec(
            prop::collection::vec(
                prop::sample::select(vec![
                    "# column: ", "# link: 10 Gbit/s", "# rows: a between b and c", "a", "b", "c",
                    ", ", " = ", "unit", "part-of", "formula", "total", "improvement", "better",
                    "lower", "between", "same-as", " and ", " against ", " over ", "kB/s", "ms", "%",
                    "100", "a + b", "(a", "[b]", "1,234", "1.5", "-7", "1e300", "\"", "0", " * ", "/",
                ]),
                0..12,
            ),
            0..12,
        ),
    ) {
        let text: Vec<String> = lines.iter().map(|words| words.concat()).collect();
        judge(&text.join("\n"));
    }

    #[test]
    fn the_corpus_changed_anywhere_is_read_without_harm(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let files = corpus();
        let mut bytes = which.get(&files).1.clone().into_bytes();
        bytes.push(b'\n');
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        judge(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_printed_figure_stands_for_what_was_printed(
        value in -1e9f64..1e9,
        decimals in 0usize..6,
    ) {
        let text = format!("{value:.decimals$}");
        let figure = Figure::parse(&text, Style::default()).unwrap().unwrap();
        let slack = value.abs() * 1e-12;
        prop_assert!(figure.interval.low - slack <= value && value <= figure.interval.high + slack);
    }
}
