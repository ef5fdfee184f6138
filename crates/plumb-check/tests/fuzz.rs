//! The table reader and the checks under arbitrary text: the committed corpus, the corpus mutated,
//! and noise; and the checks of recordings under the corpus of their reader, mutated.
//!
//! `PLUMB_FUZZ_CASES` sets the number of cases of each property.
#![allow(
    clippy::float_cmp,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on should end, and its figures are exact"
)]

#[path = "../../plumb-wire/tests/cases/mod.rs"]
mod cases;
#[path = "../../plumb-wire/tests/cases/corpus.rs"]
mod corpus;

use cases::cases;
use corpus::files_of;
use plumb_nmon::Options;
use proptest::prelude::*;

const TABLES: [&str; 2] = ["corpus", "../../../examples/published"];
const RECORDINGS: [&str; 2] = ["../../plumb-nmon/tests/corpus", "../../plumb-nmon/tests/fixtures"];

/// One of the files, changed in some bytes and cut.
fn changed(
    files: &[(String, Vec<u8>)],
    which: prop::sample::Index,
    changes: Vec<(prop::sample::Index, u8)>,
    cut: prop::sample::Index,
) -> Vec<u8> {
    let mut bytes = which.get(files).1.clone();
    bytes.push(b'\n');
    for (place, byte) in changes {
        let place = place.index(bytes.len());
        bytes[place] = byte;
    }
    bytes.truncate(cut.index(bytes.len()) + 1);
    bytes
}

fn judge(text: &str) -> bool {
    let read = if text.trim_start().starts_with('{') {
        plumb_check::read_json(text)
    } else {
        plumb_check::read_csv(text)
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
    for (name, bytes) in files_of(&TABLES) {
        assert_eq!(judge(&String::from_utf8(bytes).unwrap()), !name.starts_with("bad-"), "{name}");
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
        let bytes = changed(&files_of(&TABLES), which, changes, cut);
        judge(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn recordings_changed_anywhere_are_checked_without_harm(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = changed(&files_of(&RECORDINGS), which, changes, cut);
        if let Ok(file) = plumb_nmon::read(&bytes, &Options::default()) {
            for report in plumb_check::of_file(&file) {
                assert!(report.findings().len() <= 1_000, "findings are bounded");
            }
        }
    }
}
