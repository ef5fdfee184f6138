//! Compressed input, unpacked on a thread of its own: whoever reads lines has them without waiting
//! for what comes behind.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope};

use flate2::bufread::MultiGzDecoder;

const BLOCK_BYTES: usize = 1 << 18;
/// Blocks that are unpacked ahead of the reader.
const AHEAD: usize = 4;

type Block = io::Result<Vec<u8>>;

/// The text of a file that is compressed with gzip.
pub(crate) struct Unpacked {
    blocks: Receiver<Block>,
    block: Vec<u8>,
    taken: usize, // at most block.len()
}

impl Unpacked {
    /// Starts to unpack `packed`, until its end, an error, or until nobody reads any more.
    pub(crate) fn start<'scope>(
        packed: impl BufRead + Send + 'scope,
        scope: &'scope Scope<'scope, '_>,
    ) -> io::Result<Self> {
        let (sender, blocks) = sync_channel(AHEAD);
        let unpack = move || send_all(MultiGzDecoder::new(packed), &sender);
        Builder::new().name("unpack".into()).spawn_scoped(scope, unpack)?;
        Ok(Self { blocks, block: Vec::new(), taken: 0 })
    }
}

/// Sends what `text` holds block by block, and its error behind the text in front of it.
fn send_all(mut text: impl Read, blocks: &SyncSender<Block>) {
    loop {
        let mut block = Vec::with_capacity(BLOCK_BYTES);
        let read = text.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut block);
        let ended = block.is_empty() || read.is_err();
        let sent = block.is_empty() || blocks.send(Ok(block)).is_ok();
        if let Err(error) = read {
            let _ = blocks.send(Err(error)); // nobody reads any more
        }
        if ended || !sent {
            return;
        }
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Unpacked {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.block.len()
            && let Ok(block) = self.blocks.recv()
        {
            self.block = block?;
            self.taken = 0;
        }
        Ok(&self.block[self.taken..])
    }

    fn consume(&mut self, count: usize) {
        self.taken = self.block.len().min(self.taken + count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    }

    fn unpacked(packed: &[u8]) -> (Vec<u8>, io::Result<usize>) {
        let mut text = Vec::new();
        let read = std::thread::scope(|scope| {
            Unpacked::start(packed, scope).unwrap().read_to_end(&mut text)
        });
        (text, read)
    }

    #[test]
    fn many_blocks_are_one_text() {
        let text: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
        let (found, read) = unpacked(&packed(&text));
        assert!(found == text && read.unwrap() == text.len());
    }

    #[test]
    fn the_text_in_front_of_damage_is_whole() {
        let text: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
        let packed = packed(&text);
        let (found, read) = unpacked(&packed[..packed.len() / 2]);
        assert!(read.is_err());
        assert!(found.len() > BLOCK_BYTES && text.starts_with(&found), "{}", found.len());
    }

    #[test]
    fn who_stops_reading_ends_the_unpacking() {
        let packed = packed(&vec![0; 100 * BLOCK_BYTES]);
        let first = std::thread::scope(|scope| {
            Unpacked::start(packed.as_slice(), scope).unwrap().fill_buf().map(<[u8]>::len)
        });
        assert_eq!(first.unwrap(), BLOCK_BYTES);
    }
}
