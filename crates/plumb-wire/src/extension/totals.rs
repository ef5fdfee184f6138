//! What a server has served, and what streams have carried.

/// Processor time, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// In the program.
    pub user_ns: u64,
    /// In the kernel, in its name.
    pub system_ns: u64,
}

/// Messages and their payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages that came.
    pub messages_in: u64,
    /// Bytes that came.
    pub bytes_in: u64,
    /// Messages that went.
    pub messages_out: u64,
    /// Bytes that went.
    pub bytes_out: u64,
}

impl Traffic {
    /// Adds what another counted.
    pub fn add(&mut self, other: Self) {
        self.messages_in += other.messages_in;
        self.bytes_in += other.bytes_in;
        self.messages_out += other.messages_out;
        self.bytes_out += other.bytes_out;
    }
}

/// What a server has served since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Processor time of its process.
    pub cpu: Cpu,
    /// Clients that came.
    pub clients: u64,
    /// Clients that are gone.
    pub gone: u64,
    /// What all of them were served, those that are connected included.
    pub served: Traffic,
    /// The latest that are gone, in the order in which they went.
    pub rows: Vec<ClientTotals>,
}

/// One client of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTotals {
    /// The number of the client, from one.
    pub handle: u64,
    /// How long it was connected, nanoseconds.
    pub connected_ns: u64,
    /// What it was served.
    pub served: Traffic,
    /// Where it is; empty when that takes more than 255 bytes.
    pub peer: String,
}

/// What the streams under one token have carried so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Streams that began.
    pub began: u32,
    /// Streams that are over.
    pub ended: u32,
    /// Streams among them that broke.
    pub broken: u32,
    /// The server's clock at this moment, nanoseconds.
    pub now_ns: u64,
    /// The first byte that came, by the server's clock, nanoseconds; 0 before there was one.
    pub first_ns: u64,
    /// The last byte that came of the streams that are over, by the server's clock, nanoseconds.
    pub last_ns: u64,
    /// Bytes that came.
    pub bytes_in: u64,
    /// Bytes that went.
    pub bytes_out: u64,
    /// Segments sent again, of the streams that are over.
    pub retransmits: u64,
    /// Processor time of the threads that carried the streams that are over.
    pub cpu: Cpu,
}

impl Totals {
    pub(super) fn push(&self, out: &mut Vec<u8>) {
        self.cpu.push(out);
        push_all(out, [self.clients, self.gone]);
        self.served.push(out);
        for row in &self.rows {
            out.extend_from_slice(&row.handle.to_be_bytes());
            out.extend_from_slice(&row.connected_ns.to_be_bytes());
            row.served.push(out);
            let shown = if row.peer.len() > 255 { "" } else { &row.peer };
            out.push(u8::try_from(shown.len()).unwrap_or(u8::MAX));
            out.extend_from_slice(shown.as_bytes());
        }
    }
}

impl Cpu {
    fn push(self, out: &mut Vec<u8>) {
        push_all(out, [self.user_ns, self.system_ns]);
    }
}

impl Traffic {
    fn push(self, out: &mut Vec<u8>) {
        push_all(out, [self.messages_in, self.bytes_in, self.messages_out, self.bytes_out]);
    }
}

impl Carried {
    pub(super) fn push(self, out: &mut Vec<u8>) {
        for count in [self.began, self.ended, self.broken] {
            out.extend_from_slice(&count.to_be_bytes());
        }
        let (times, bytes) = ([self.now_ns, self.first_ns, self.last_ns], self.bytes_in);
        push_all(out, times);
        push_all(out, [bytes, self.bytes_out, self.retransmits]);
        self.cpu.push(out);
    }
}

pub(super) fn push_all<const N: usize>(out: &mut Vec<u8>, numbers: [u64; N]) {
    numbers.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
}
