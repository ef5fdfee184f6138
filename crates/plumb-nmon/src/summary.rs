//! The table of counters with average, minimum and maximum, named for people.

use crate::perfmon;
use crate::recording::Recording;
use crate::role::Name;
use crate::stat::Stat;

/// One counter of the summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it counts.
    pub counter: String,
    /// Its unit: `%`, `MB`, `KB/s` (of 1024 bytes), `1/s` or none.
    pub unit: &'static str,
    /// Average over time ([`Stat::average`]), minimum and maximum.
    pub stat: Stat,
    /// The columns it was made from, and how.
    pub source: String,
}

impl Recording {
    /// The counters a person asks for first; those that were not recorded are left out.
    #[must_use]
    pub fn summary(&self) -> Vec<Row> {
        let mut rows = Rows { recording: self, list: Vec::new() };
        rows.processors();
        rows.memory();
        rows.disks();
        rows.network();
        rows.counters();
        rows.list
    }
}

struct Rows<'r> {
    recording: &'r Recording,
    list: Vec<Row>,
}

impl Rows<'_> {
    fn processors(&mut self) {
        let busy = match self.recording.tells_steal() {
            true => "CPU_ALL: 100 - Idle% - Wait% - Steal%",
            false => "CPU_ALL: 100 - Idle% - Wait%",
        };
        self.gauge("Processor busy", "%", Name::Busy, busy);
        for (counter, column) in [
            ("Processor user", "User%"),
            ("Processor system", "Sys%"),
            ("Processor wait", "Wait%"),
            ("Processor idle", "Idle%"),
            ("Processor stolen", "Steal%"),
        ] {
            self.column(counter, "%", "CPU_ALL", column);
        }
        if let Some(busy) = self.recording.cores_busy() {
            self.push("Cores busy", "", busy.stat, busy.rule.to_string());
        }
        self.column("Run queue", "", "PROC", "Runnable");
        self.column("Processes blocked", "", "PROC", "Blocked");
        self.column("Process switches", "1/s", "PROC", "pswitch");
        self.column("Interrupts", "1/s", "IRQ", "interrupts/s");
        self.column("Threads", "", "SYSTEM", "threads");
        self.column("Open files", "", "SYSTEM", "open-files");
        self.column("Waiting for a processor", "%", "PRESSURE", "cpu-some%");
    }

    fn memory(&mut self) {
        let available = "MEM: memfree + cached + buffers";
        self.column("Memory available", "MB", "AVAIL", "available");
        self.gauge("Memory free or cached", "MB", Name::Available, available);
        self.column("Memory free", "MB", "MEM", "memfree");
        self.column("Memory free", "MB", "MEM", "Real free(MB)");
        self.column("Swap free", "MB", "MEM", "swapfree");
        self.column("Swap free", "MB", "MEM", "Virtual free(MB)");
        let paging = match self.recording.section("PAGE") {
            Some(_) => "PAGE: pgsin + pgsout",
            None => "VM: (pswpin + pswpout) / seconds",
        };
        self.gauge("Pages swapped", "1/s", Name::Paging, paging);
        self.gauge("Major page faults", "1/s", Name::MajorFaults, "VM: pgmajfault / seconds");
        self.column("Waiting for memory", "%", "PRESSURE", "memory-some%");
    }

    fn disks(&mut self) {
        self.gauge("Busiest disk", "%", Name::DiskBusy, "DISKBUSY: largest");
        self.gauge("Disk read", "KB/s", Name::DiskRead, "DISKREAD: sum of the disks");
        self.gauge("Disk written", "KB/s", Name::DiskWrite, "DISKWRITE: sum of the disks");
        self.gauge("Disk transfers", "1/s", Name::DiskTransfers, "DISKXFER: sum of the disks");
        self.gauge("Disk queue length", "", Name::DiskQueue, "QUEUE: sum of the disks");
        self.column("Waiting for disks", "%", "PRESSURE", "io-some%");
    }

    fn network(&mut self) {
        let counted = self.recording.network().map(|network| network.counted.join(" + "));
        let counted = counted.unwrap_or_default();
        self.gauge("Network received", "KB/s", Name::NetRead, &format!("NET: {counted}"));
        self.gauge("Network sent", "KB/s", Name::NetWrite, &format!("NET: {counted}"));
        self.gauge("RDMA received", "KB/s", Name::RdmaRead, "IBREAD: sum of the ports");
        self.gauge("RDMA sent", "KB/s", Name::RdmaWrite, "IBWRITE: sum of the ports");
        self.gauge("Sent again", "1/s", Name::SentAgain, "TCP: sent-again / seconds");
    }

    /// The counters of Windows, each by its own name.
    fn counters(&mut self) {
        let of_windows = |name: &str| name.starts_with(perfmon::SECTION);
        for section in self.recording.sections.iter().filter(|it| of_windows(&it.name)) {
            for column in &section.columns {
                let name = format!("{}: {}", section.title, column.name);
                let source = "\\".to_owned() + &section.title + "\\" + &column.name;
                self.push(&name, perfmon::unit(&column.name), column.stat, source);
            }
        }
    }

    fn gauge(&mut self, counter: &str, unit: &'static str, name: Name, source: &str) {
        self.push(counter, unit, self.recording.gauge(name), source.to_owned());
    }

    fn column(&mut self, counter: &str, unit: &'static str, section: &str, column: &str) {
        if let Some(found) = self.recording.column(section, column) {
            self.push(counter, unit, found.stat, format!("{section}: {column}"));
        }
    }

    fn push(&mut self, counter: &str, unit: &'static str, stat: Stat, source: String) {
        if stat.count() > 0 {
            self.list.push(Row { counter: counter.to_owned(), unit, stat, source });
        }
    }
}
