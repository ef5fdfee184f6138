//! The files of a run on their way to the controller: piece by piece, so that none is too large for a
//! message, or on its way for so long that the remote is taken for gone.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use crate::HANDED_OVER_MAX;
use crate::files::text_of;
use crate::message::Report;

/// Bytes of a piece. Only a whole one is heard, so that each must pass a slow line before the silence is
/// too long.
const PIECE: u64 = 256 << 10;

/// Hands `files` of `run` over as far as there is room for them; a line for each that stays behind, which
/// says why.
pub(super) fn hand_over(run: u64, files: &[PathBuf], to: &Sender<Report>) -> Vec<String> {
    let mut room = HANDED_OVER_MAX;
    let mut behind = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stays = match whole(path, room) {
            Ok(Some((file, bytes))) => {
                room -= bytes;
                pieces(run, &name, file.take(bytes), to).err().map(|error| error.to_string())
            }
            Ok(None) => Some(format!(
                "a remote hands over {} MiB of files at most, and with it there are more",
                HANDED_OVER_MAX >> 20
            )),
            Err(error) => Some(error.to_string()),
        };
        behind.extend(stays.map(|why| format!("{name} is not handed over: {why}")));
    }
    behind
}

/// A file and its length, if there is `room` for it.
fn whole(path: &Path, room: u64) -> io::Result<Option<(File, u64)>> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    Ok((bytes <= room).then_some((file, bytes)))
}

fn pieces(run: u64, name: &str, mut file: impl io::Read, to: &Sender<Report>) -> io::Result<()> {
    let mut first = true;
    loop {
        let mut piece = Vec::new();
        file.by_ref().take(PIECE).read_to_end(&mut piece)?;
        // of an empty file there is one piece
        if piece.is_empty() && !first {
            return Ok(());
        }
        first = false;
        let _ = to.send(Report::Kept { run, name: name.to_owned(), content: text_of(&piece) });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::SILENCE_NS;

    #[test]
    fn a_piece_passes_a_line_of_a_megabit_before_the_silence_is_too_long() {
        let bits = 8 * text_of(&vec![0; usize::try_from(PIECE).unwrap()]).len() as u64;
        assert!(bits * 1_000 < SILENCE_NS, "{bits} bits of a microsecond each");
    }

    #[test]
    fn what_has_no_room_or_cannot_be_read_stays_behind_with_a_word() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, bytes: u64| {
            let path = folder.path().join(name);
            File::create(&path).unwrap().set_len(bytes).unwrap();
            path
        };
        let gone = folder.path().join("gone.csv");
        let files = [at("empty", 0), at("two", PIECE + 1), at("large", HANDED_OVER_MAX), gone];
        let (to, told) = mpsc::channel();
        let behind = hand_over(7, &files, &to);
        drop(to);
        let told: Vec<String> = told
            .iter()
            .map(|report| match report {
                Report::Kept { run: 7, name, content } => format!("{name} {}", content.len()),
                other => panic!("{other:?}"),
            })
            .collect();
        let whole = (PIECE.div_ceil(3) * 4).to_string();
        assert_eq!(told, ["empty 0".to_owned(), format!("two {whole}"), "two 4".to_owned()]);
        assert!(behind[0].starts_with("large is not handed over: a remote hands over 256 MiB"));
        assert!(behind[1].starts_with("gone.csv is not handed over: "), "{behind:?}");
        assert_eq!(behind.len(), 2);
    }
}
