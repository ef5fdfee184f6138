//! The file that is imported: its text, within limits, and its format.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use plumb_draft::Source;

use super::access_log::line::is_line;
use super::error::ImportError;
use super::options::Format;

/// Bytes of a HAR or of a log at most: recordings with the contents of answers are large.
const HAR_BYTES_MAX: u64 = 256 << 20;
/// Bytes of a file of another format at most.
const BYTES_MAX: u64 = 32 << 20;

/// Reads `path`, and which format it is of: its beginning tells, unless `format` does.
///
/// # Errors
/// When it cannot be read, is too large, no UTF-8, or of no format that is known.
pub(crate) fn open(path: &Path, format: Option<Format>) -> Result<(Source, Format), ImportError> {
    let failed = |cause| ImportError::Read { path: path.into(), cause };
    let mut file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.by_ref().take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    let format = match format.or_else(|| format_of(&bytes)) {
        Some(format) => format,
        None => return Err(ImportError::Format { path: path.into() }),
    };
    let is_large = matches!(format, Format::Har | Format::AccessLog);
    let most = if is_large { HAR_BYTES_MAX } else { BYTES_MAX };
    if is_large {
        let rest = (HAR_BYTES_MAX + 1).saturating_sub(BYTES_MAX + 1);
        file.take(rest).read_to_end(&mut bytes).map_err(failed)?;
    }
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        return Err(ImportError::Large { path: path.into(), most_mib: most >> 20 });
    }
    if format == Format::AccessLog {
        // anybody may have sent such bytes; lines with them are named
        let text = String::from_utf8_lossy(&bytes).into_owned();
        return Ok((Source { path: path.into(), text }, format));
    }
    let text = String::from_utf8(bytes).map_err(|error| ImportError::NotUtf8 {
        path: path.into(),
        line: 1 + newlines(&error.as_bytes()[..error.utf8_error().valid_up_to()]),
    })?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok((Source { path: path.into(), text }, format))
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn format_of(bytes: &[u8]) -> Option<Format> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace())? {
        b'{' => Some(Format::Har),
        b'<' => Some(Format::Jmx),
        _ => {
            let lines = bytes.split(|byte| *byte == b'\n').take(10_000);
            let mut lines = lines.map(<[u8]>::trim_ascii_start);
            if lines.any(|line| line.starts_with(b"grinder.")) {
                return Some(Format::Grinder);
            }
            let lines = bytes.split(|byte| *byte == b'\n').take(100).map(String::from_utf8_lossy);
            let mut read = lines.map(|line| is_line(&line));
            read.any(|is_line| is_line).then_some(Format::AccessLog)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(bytes: &[u8]) -> Result<(Source, Format), ImportError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.of.mine");
        std::fs::write(&path, bytes).unwrap();
        open(&path, None)
    }

    #[test]
    fn the_beginning_tells_the_format() {
        for (bytes, format) in [
            (&b"\xef\xbb\xbf {\"log\""[..], Format::Har),
            (b"\n<?xml", Format::Jmx),
            (b"# c\n  grinder.threads=1\n", Format::Grinder),
            (
                b"\xff\nh - - [21/Nov/2026:03:16:39 +0100] \"GET / HTTP/1.1\" 200 1\n",
                Format::AccessLog,
            ),
        ] {
            let (source, found) = opened(bytes).unwrap();
            assert_eq!(found, format);
            assert!(!source.text.starts_with('\u{feff}'));
            assert_eq!(
                (source.name().as_str(), source.stem().as_str()),
                ("plan.of.mine", "plan.of")
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_what_to_do() {
        let error = opened(b"hello").unwrap_err().to_string();
        assert!(error.contains("--from"), "{error}");
        let error = opened(b"{\n\xff}").unwrap_err().to_string();
        assert!(error.contains("line 2 is not UTF-8") && error.contains("iconv"), "{error}");
        let error = open(Path::new("/does/not/exist"), None).unwrap_err().to_string();
        assert!(error.starts_with("cannot read /does/not/exist: "), "{error}");
        let large = vec![b'<'; usize::try_from(BYTES_MAX).unwrap() + 1];
        let error = opened(&large).unwrap_err().to_string();
        assert!(error.contains("larger than 32 MiB"), "{error}");
    }
}
