//! Which driver made a run: what a driver costs itself is part of every figure.

use std::collections::BTreeSet;

use plumb_measure::RunRecord;

/// The driver of a run.
pub(crate) fn driver(run: &RunRecord) -> &str {
    run.results.iter().find_map(|result| result.driver.name.as_deref()).unwrap_or("plumb's own")
}

/// A warning when the runs were not all made by one driver.
pub(crate) fn drivers_warning<'a>(runs: impl Iterator<Item = &'a RunRecord>) -> Option<String> {
    warning(&runs.map(driver).collect())
}

fn warning(drivers: &BTreeSet<&str>) -> Option<String> {
    (drivers.len() > 1).then(|| {
        let all: Vec<&str> = drivers.iter().copied().collect();
        format!(
            "The runs were made by different drivers ({}): what they cost themselves is part of \
             the difference.",
            all.join(" against ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_drivers_are_warned_of_and_one_is_not() {
        assert_eq!(warning(&BTreeSet::from(["plumb's own"])), None);
        let said = warning(&BTreeSet::from(["plumb's own", "tokio-postgres"])).unwrap();
        assert!(said.contains("plumb's own against tokio-postgres"), "{said}");
    }
}
