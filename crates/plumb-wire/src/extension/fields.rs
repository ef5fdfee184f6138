//! Reads the fields of messages.

use super::{
    Carried, ClientTotals, Cpu, Direction, EYE_CATCHER, Exchange, HEAD_BYTES, Misunderstood,
    StampTerms, StampedMessage, Stream, TickState, Totals, Traffic, VERSION,
};

/// Kind and fields of a message that starts with the eye-catcher.
pub(super) fn opened(payload: &[u8]) -> Result<Option<(u8, Fields<'_>)>, Misunderstood> {
    if !payload.starts_with(EYE_CATCHER) {
        return Ok(None);
    }
    let Some((head, fields)) = payload.split_at_checked(HEAD_BYTES) else {
        return Err(Misunderstood::Fields(payload.len()));
    };
    match head[EYE_CATCHER.len()..] {
        [VERSION, kind] => Ok(Some((kind, Fields(fields)))),
        [version, ..] => Err(Misunderstood::Version(version)),
        [] => Err(Misunderstood::Fields(payload.len())),
    }
}

/// What stands behind the kind.
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn at_end(&self) -> bool {
        self.0.is_empty()
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn exchange(&mut self) -> Option<Exchange> {
        let terms = Exchange { response_bytes: self.u32()?, replies: self.u32()? };
        (terms.replies > 0).then_some(terms)
    }

    pub(super) fn stream(&mut self) -> Option<Stream> {
        let direction = match self.u8()? {
            1 => Direction::ToServer,
            2 => Direction::FromServer,
            3 => Direction::Both,
            _ => return None,
        };
        Some(Stream { direction, token: self.u64()? })
    }

    pub(super) fn tick(&mut self) -> Option<TickState> {
        match self.u8()? {
            0 => Some(TickState::Free),
            1 => Some(TickState::Held),
            _ => None,
        }
    }

    pub(super) fn stamp_terms(&mut self) -> Option<StampTerms> {
        let terms = StampTerms { every: self.u32()?, skip: self.u32()? };
        (terms.every > 0).then_some(terms)
    }

    pub(super) fn stamped(&mut self) -> Option<StampedMessage> {
        Some(StampedMessage {
            number: self.u32()?,
            waking_ns: self.u64()?,
            work_ns: self.u64()?,
            sending_ns: self.u64()?,
        })
    }

    fn cpu(&mut self) -> Option<Cpu> {
        Some(Cpu { user_ns: self.u64()?, system_ns: self.u64()? })
    }

    fn traffic(&mut self) -> Option<Traffic> {
        Some(Traffic {
            messages_in: self.u64()?,
            bytes_in: self.u64()?,
            messages_out: self.u64()?,
            bytes_out: self.u64()?,
        })
    }

    pub(super) fn totals(&mut self) -> Option<Totals> {
        let (cpu, clients, gone) = (self.cpu()?, self.u64()?, self.u64()?);
        let served = self.traffic()?;
        let mut rows = Vec::new();
        while !self.at_end() {
            rows.push(self.row()?);
        }
        Some(Totals { cpu, clients, gone, served, rows })
    }

    fn row(&mut self) -> Option<ClientTotals> {
        let handle = self.u64()?;
        let (connected_ns, served) = (self.u64()?, self.traffic()?);
        let length = usize::from(self.u8()?);
        let peer = str::from_utf8(self.bytes(length)?).ok()?.to_owned();
        Some(ClientTotals { handle, connected_ns, served, peer })
    }

    pub(super) fn carried(&mut self) -> Option<Carried> {
        Some(Carried {
            began: self.u32()?,
            ended: self.u32()?,
            broken: self.u32()?,
            now_ns: self.u64()?,
            first_ns: self.u64()?,
            last_ns: self.u64()?,
            bytes_in: self.u64()?,
            bytes_out: self.u64()?,
            retransmits: self.u64()?,
            cpu: self.cpu()?,
        })
    }
}
