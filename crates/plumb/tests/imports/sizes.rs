//! Files and crates stay of a size that one can keep in mind.

use super::{crates, name, sources, text};

/// Lines of a file.
const FILE_MAX: usize = 449;
/// Lines of a crate.
const CRATE_MAX: usize = 13_999;

#[test]
fn no_file_and_no_crate_outgrows_its_reader() {
    let files: Vec<_> =
        sources().into_iter().map(|file| (text(&file).lines().count(), file)).collect();
    let too_long: Vec<_> = files.iter().filter(|(lines, _)| *lines > FILE_MAX).collect();
    assert!(too_long.is_empty(), "more than {FILE_MAX} lines: take a part out: {too_long:#?}");
    for folder in crates() {
        let of_crate = files.iter().filter(|(_, file)| file.starts_with(folder.join("src")));
        let lines: usize = of_crate.map(|(lines, _)| lines).sum();
        let crate_name = name(&folder);
        assert!(lines > 0, "{crate_name} has no sources");
        assert!(
            lines <= CRATE_MAX,
            "{crate_name} has {lines} lines: what can be a crate of its own?"
        );
    }
}
