//! Processes (TOP lines) summed up by command.

use std::collections::HashMap;

use crate::cell::{Cell, Line, number, snapshot_id, text};

/// Most commands that are told apart.
const COMMANDS_MAX: usize = 4_096;

/// What the processes of one command used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// The command, as TOP shows it.
    pub command: String,
    /// Processor time while it was seen: sum of `%CPU / 100 x seconds of the interval`, seconds.
    /// TOP counts in percent of one processor.
    pub cpu_s: f64,
    /// The most that one process took in one interval, percent of one processor.
    pub cpu_max_percent: f64,
    /// The most memory one process held, KiB; `None` when the file does not say.
    pub resident_max_kib: Option<f64>,
    /// Lines of it.
    pub rows: u64,
}

/// Where the figures stand in a TOP line, counted behind `TOP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TopLayout {
    cells: usize,
    cpu: usize,
    command: usize,
    resident: Option<usize>,
    /// The seconds for which the line stands, in files of this program.
    seconds: Option<usize>,
}

impl Default for TopLayout {
    /// nmon 16n.
    fn default() -> Self {
        Self { cells: 15, cpu: 2, command: 12, resident: Some(6), seconds: None }
    }
}

impl TopLayout {
    /// From `TOP,+PID,Time,...`; `None` when it is not that line.
    pub(crate) fn of(header: &Line<'_>) -> Option<Self> {
        let titles: Vec<&[u8]> = header.cells().map(<[u8]>::trim_ascii).collect();
        let place = |name: &[u8]| titles.iter().position(|title| *title == name);
        titles.first()?.starts_with(b"+").then_some(())?;
        Some(Self {
            cells: titles.len(),
            cpu: place(b"%CPU")?,
            command: place(b"Command")?,
            resident: place(b"ResSet"),
            seconds: place(b"Seconds"),
        })
    }
}

/// The processes of one recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commands {
    pub(crate) list: Vec<Process>,
    places: HashMap<Vec<u8>, usize>,
}

/// The snapshot of a TOP line; `None` for its headers.
pub(crate) fn snapshot_of(line: &Line<'_>) -> Option<u64> {
    snapshot_id(line.cells().nth(1)?)
}

impl Commands {
    /// Books a line that stands for `seconds` unless it says for how many; false when there are
    /// too many commands.
    pub(crate) fn add(&mut self, line: &Line<'_>, layout: TopLayout, seconds: f64) -> bool {
        let cells: Vec<&[u8]> = line.cells().collect();
        // separators within a command make a row longer
        let more = cells.len().saturating_sub(layout.cells);
        let figure = |at: usize| {
            let at = if at > layout.command { at + more } else { at };
            match cells.get(at).map(|cell| number(cell, line.decimal())) {
                Some(Cell::Value(value)) => Some(value),
                _ => None,
            }
        };
        let Some(command) = cells.get(layout.command..=layout.command + more) else {
            return true; // a short line
        };
        let command = command.join(&line.separator);
        let Some(process) = self.process(command) else { return false };
        process.rows += 1;
        let seconds = layout.seconds.and_then(figure).unwrap_or(seconds);
        if let Some(percent) = figure(layout.cpu) {
            process.cpu_s += percent / 100.0 * seconds;
            process.cpu_max_percent = process.cpu_max_percent.max(percent);
        }
        if let Some(resident) = layout.resident.and_then(figure) {
            let most = process.resident_max_kib.map_or(resident, |most| most.max(resident));
            process.resident_max_kib = Some(most);
        }
        true
    }

    fn process(&mut self, command: Vec<u8>) -> Option<&mut Process> {
        let at = match self.places.get(&command) {
            Some(at) => *at,
            None if self.list.len() == COMMANDS_MAX => return None,
            None => {
                self.list.push(Process { command: text(&command), ..Process::default() });
                self.places.insert(command, self.list.len() - 1);
                self.list.len() - 1
            }
        };
        self.list.get_mut(at)
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these figures are exact")]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        Line::split(text.as_bytes()).unwrap()
    }

    #[test]
    fn processor_time_is_summed_by_command() {
        let mut commands = Commands::default();
        let layout = TopLayout::default();
        for row in [
            "TOP,0000123,T0002,50.00,1,1,100,2048,1,1,1,0,0,db,1,0",
            "TOP,0000124,T0002,150.00,1,1,100,1024,1,1,1,0,0,db,1,0",
            "TOP,0000125,T0002,10.00,1,1,100,512,1,1,1,0,0,a,b,1,0",
        ] {
            assert!(commands.add(&line(row), layout, 2.0));
        }
        let [db, odd] = &commands.list[..] else { panic!("{:?}", commands.list) };
        assert_eq!((db.command.as_str(), db.cpu_s, db.rows), ("db", 4.0, 2));
        assert_eq!((db.cpu_max_percent, db.resident_max_kib), (150.0, Some(2048.0)));
        assert_eq!((odd.command.as_str(), odd.resident_max_kib), ("a,b", Some(512.0)));
    }

    #[test]
    fn a_line_may_stand_for_longer_than_its_snapshot() {
        let header = line("TOP,+PID,Time,%CPU,Command,Threads,Seconds");
        let layout = TopLayout::of(&header).unwrap();
        let mut commands = Commands::default();
        for row in ["TOP,7,T0005,20.00,a,b,1,5.00", "TOP,8,T0006,20.00,c,1,-1.0"] {
            assert!(commands.add(&line(row), layout, 1.0));
        }
        let seconds: Vec<f64> = commands.list.iter().map(|process| process.cpu_s).collect();
        assert_eq!(seconds, [1.0, 0.2], "20 % over five seconds, and over that of the snapshot");
    }

    #[test]
    fn the_header_of_aix_has_its_own_order() {
        let header = line(
            "TOP,+PID,Time,%CPU,%Usr,%Sys,Threads,Size,ResText,ResData,CharIO,%RAM,Paging,Command,WLMclass",
        );
        let layout = TopLayout::of(&header).unwrap();
        let expected = TopLayout { cells: 14, cpu: 2, command: 12, resident: None, seconds: None };
        assert_eq!(layout, expected);
        assert_eq!(TopLayout::of(&line("TOP,%CPU Utilisation")), None);
        assert_eq!(snapshot_of(&header), None);
        assert_eq!(snapshot_of(&line("TOP,0000123,T0002,50.00")), Some(2));
    }
}
