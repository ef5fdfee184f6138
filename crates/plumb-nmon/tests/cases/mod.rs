//! How often a property is tried.

use proptest::prelude::ProptestConfig;

/// As often as `PLUMB_FUZZ_CASES` says, or as `usual`.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PLUMB_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(asked.unwrap_or(usual))
    }
}
