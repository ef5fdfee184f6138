//! Processes (TOP lines) summed up by command.

use std::collections::HashMap;

use crate::cell::{Cell, Line, number, snapshot_id, text};

/// Most commands that are told apart.
const COMMANDS_MAX: usize = 4_096;
/// Most lines that are kept one by one; of more, none is.
const TAKEN_MAX: usize = 1 << 22;

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
    /// What its processes took together, snapshot by snapshot in the order of the file; empty unless
    /// figures are kept one by one.
    pub taken: Vec<Taken>,
}

/// What the processes of a command took up to a snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Place of the snapshot in the timeline.
    pub place: usize,
    /// Seconds before the snapshot for which it stands.
    pub seconds: f64,
    /// Percent of one processor.
    pub percent: f64,
}

impl Process {
    /// Adds what one process took; false where the snapshot was there already.
    fn take(&mut self, more: Taken) -> bool {
        match self.taken.last_mut().filter(|last| last.place == more.place) {
            Some(last) => last.percent += more.percent,
            None => {
                self.taken.push(more);
                return true;
            }
        }
        false
    }
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
    /// Lines that may still be kept one by one; `None` where none is.
    room: Option<usize>,
}

/// The snapshot of a TOP line; `None` for its headers.
pub(crate) fn snapshot_of(line: &Line<'_>) -> Option<u64> {
    snapshot_id(line.cells().nth(1)?)
}

impl Commands {
    /// No command yet; `kept` when their lines are wanted one by one.
    pub(crate) fn new(kept: bool) -> Self {
        Self { room: kept.then_some(TAKEN_MAX), ..Self::default() }
    }

    /// Books a line of the snapshot at `place` that stands for `seconds` unless it says for how many;
    /// false when there are too many commands.
    pub(crate) fn add(
        &mut self,
        line: &Line<'_>,
        layout: TopLayout,
        (place, seconds): (Option<usize>, f64),
    ) -> bool {
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
        let room = self.room;
        let Some(process) = self.process(command) else { return false };
        process.rows += 1;
        let seconds = layout.seconds.and_then(figure).unwrap_or(seconds);
        if let Some(resident) = layout.resident.and_then(figure) {
            let most = process.resident_max_kib.map_or(resident, |most| most.max(resident));
            process.resident_max_kib = Some(most);
        }
        if let Some(percent) = figure(layout.cpu) {
            process.cpu_s += percent / 100.0 * seconds;
            process.cpu_max_percent = process.cpu_max_percent.max(percent);
            if let (Some(_), Some(place)) = (room, place) {
                let added = process.take(Taken { place, seconds, percent });
                self.used(usize::from(added));
            }
        }
        true
    }

    /// Lines were kept; when there is no room for more, all are given up: some would tell a wrong sum.
    fn used(&mut self, lines: usize) {
        self.room = self.room.and_then(|room| room.checked_sub(lines));
        if self.room.is_none() {
            self.list.iter_mut().for_each(|process| process.taken = Vec::new());
        }
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
            assert!(commands.add(&line(row), layout, (Some(1), 2.0)));
        }
        let [db, odd] = &commands.list[..] else { panic!("{:?}", commands.list) };
        assert_eq!((db.command.as_str(), db.cpu_s, db.rows), ("db", 4.0, 2));
        assert_eq!((db.cpu_max_percent, db.resident_max_kib), (150.0, Some(2048.0)));
        assert_eq!((odd.command.as_str(), odd.resident_max_kib), ("a,b", Some(512.0)));
        assert!(db.taken.is_empty(), "nobody wanted them");
    }

    #[test]
    fn what_a_command_took_is_kept_by_snapshot_where_it_is_wanted() {
        let mut commands = Commands::new(true);
        let rows = ["1,T0002,50.00", "2,T0002,25.00", "1,T0003,10.00"];
        for (row, place) in rows.into_iter().zip([1, 1, 2]) {
            let row = format!("TOP,{row},1,1,100,1,1,1,1,0,0,db,1,0");
            assert!(commands.add(&line(&row), TopLayout::default(), (Some(place), 2.0)));
        }
        let taken = |place, percent| Taken { place, seconds: 2.0, percent };
        assert_eq!(commands.list[0].taken, [taken(1, 75.0), taken(2, 10.0)]);
        commands.used(TAKEN_MAX);
        assert!(commands.list[0].taken.is_empty() && commands.room.is_none());
    }

    #[test]
    fn a_line_may_stand_for_longer_than_its_snapshot() {
        let header = line("TOP,+PID,Time,%CPU,Command,Threads,Seconds");
        let layout = TopLayout::of(&header).unwrap();
        let mut commands = Commands::default();
        for row in ["TOP,7,T0005,20.00,a,b,1,5.00", "TOP,8,T0006,20.00,c,1,-1.0"] {
            assert!(commands.add(&line(row), layout, (None, 1.0)));
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
