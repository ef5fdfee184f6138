//! The plan that a server of SQL Server tells of a batch that it has run, as XML.
//!
//! # Source
//! Showplan XML, `QueryTimeStats`; SET STATISTICS XML.

/// Has each batch of a session followed by its plan.
pub const WANTED: &str = "SET STATISTICS XML ON";
/// The error of the server for a user who may not see plans.
pub const NO_RIGHT: i32 = 262;
/// What a plan begins with.
const BEGINNING: &str = "<ShowPlanXML";
/// How long a statement of it ran.
const TIMES: &str = "<QueryTimeStats ";
const ELAPSED: &str = " ElapsedTime=\"";

/// What a plan says of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Its statements ran for so many milliseconds together.
    Elapsed(u64),
    /// It names no time.
    Nothing,
}

/// What `text` says if it is a plan, `None` if it is none.
#[must_use]
pub fn told(text: &str) -> Option<Told> {
    let plan = text.trim_start_matches('\u{feff}');
    if !plan.starts_with(BEGINNING) {
        return None;
    }
    // what is quoted in a plan has no < of its own
    let elapsed = plan.split(TIMES).skip(1).map(|behind| {
        let tag = behind.split_once('>').map_or(behind, |(tag, _)| tag);
        let tag = format!(" {tag}");
        let value = tag.split_once(ELAPSED)?.1.split_once('"')?.0;
        value.parse::<u64>().ok()
    });
    let sum = elapsed.reduce(|sum, ms| sum?.checked_add(ms?)).flatten();
    Some(sum.map_or(Told::Nothing, Told::Elapsed))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plan(inner: &str) -> String {
        format!("\u{feff}<ShowPlanXML Version=\"1.5\"><Batch>{inner}</Batch></ShowPlanXML>")
    }

    #[test]
    fn the_time_of_all_statements_of_a_plan_is_told() {
        let one = "<QueryPlan CompileTime=\"3\"><QueryTimeStats CpuTime=\"1\" ElapsedTime=\"12\" /></QueryPlan>";
        let other = "<QueryTimeStats ElapsedTime=\"30\" CpuTime=\"1\"></QueryTimeStats>";
        assert_eq!(told(&plan(one)), Some(Told::Elapsed(12)));
        assert_eq!(told(&plan(&format!("{one}{other}"))), Some(Told::Elapsed(42)));
        for nothing in
            ["", "<QueryTimeStats CpuTime=\"1\"/>", "<QueryTimeStats ElapsedTime=\"x\"/>"]
        {
            assert_eq!(told(&plan(nothing)), Some(Told::Nothing), "{nothing}");
        }
        let unsure = format!("{one}<QueryTimeStats CpuTime=\"1\"/>");
        assert_eq!(told(&plan(&unsure)), Some(Told::Nothing));
        assert_eq!(told(one), None);
    }

    proptest! {
        #[test]
        fn no_plan_brings_it_down(inner in "(<QueryTimeStats | ElapsedTime=\"|\"|>|[0-9a-z]{0,24}){0,8}") {
            let _ = told(&plan(&inner));
        }
    }
}
