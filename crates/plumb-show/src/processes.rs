//! Which commands took processors when.

use plumb_nmon::{Process, Stamp, Taken};

/// Commands that are told apart; the others are told together.
const NAMED: usize = 5;

/// What the commands that took most, and all others together, took: percent of one processor, a
/// figure a snapshot, not a number where no process was recorded.
pub(crate) fn over_time(processes: &[Process], stamps: &[Stamp]) -> Vec<(String, Vec<f64>)> {
    let mut recorded = vec![f64::NAN; stamps.len()];
    for taken in processes.iter().flat_map(|process| &process.taken) {
        for place in stands_for(*taken, stamps) {
            recorded[place] = 0.0;
        }
    }
    // a command that is not listed took too little to be
    let line = |name: String, of: &[Process]| {
        let mut values = recorded.clone();
        for taken in of.iter().flat_map(|process| &process.taken) {
            for place in stands_for(*taken, stamps) {
                values[place] += taken.percent;
            }
        }
        (name, values)
    };
    let (named, others) = processes.split_at(processes.len().min(NAMED));
    let mut lines: Vec<(String, Vec<f64>)> =
        named.iter().map(|one| line(one.command.clone(), std::slice::from_ref(one))).collect();
    if !others.is_empty() {
        lines.push(line(format!("{} others", others.len()), others));
    }
    lines
}

/// The snapshots within the seconds before one, which is the last of them.
fn stands_for(taken: Taken, stamps: &[Stamp]) -> std::ops::Range<usize> {
    let Some(last) = stamps.get(taken.place) else { return 0..0 };
    let seconds = |stamp: &Stamp| last.local_s.saturating_sub(stamp.local_s);
    let within = |stamp: &&Stamp| {
        let passed = seconds(stamp);
        // a clock that was set says nothing of what lies before
        passed >= 0 && as_seconds(passed) < taken.seconds - 0.5
    };
    let before = stamps[..taken.place].iter().rev().take_while(within).count();
    taken.place - before..taken.place + 1
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a recording are far below 2^53")]
fn as_seconds(seconds: i64) -> f64 {
    seconds as f64
}

#[cfg(test)]
mod tests {
    use plumb_nmon::{Options, Series, read};

    use super::*;

    #[test]
    fn commands_stand_for_the_seconds_that_they_say_and_the_small_ones_together() {
        let mut file =
            String::from("AAA,host,h\nTOP,+PID,Time,%CPU,Command,Threads,Seconds\nX,Y,a\n");
        for second in 1..=5 {
            file += &format!("ZZZZ,T{second:04},10:00:0{second},01-MAY-2026\nX,T{second:04},1\n");
            if second == 4 {
                file += "TOP,1,T0004,50.00,db,1,3.00\nTOP,2,T0004,25.00,db,1,3.00\n";
                for other in 3..9 {
                    file += &format!("TOP,{other},T0004,{other}.00,c{other},1,3.00\n");
                }
            }
        }
        let options = Options { series: Series::All, ..Options::default() };
        let read = read(file.as_bytes(), &options).unwrap();
        let recording = &read.recordings[0];
        let lines = over_time(&recording.processes, recording.timeline.stamps());
        let names: Vec<&str> = lines.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["db", "c8", "c7", "c6", "c5", "2 others"]);
        assert_eq!(format!("{:?}", lines[0].1), "[NaN, 75.0, 75.0, 75.0, NaN]");
        assert_eq!(format!("{:?}", lines[5].1), "[NaN, 7.0, 7.0, 7.0, NaN]");
    }
}
