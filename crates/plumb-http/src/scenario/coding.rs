//! Content as it came, and as it was meant: `Content-Encoding`.

use std::io::Read as _;

use flate2::read::{MultiGzDecoder, ZlibDecoder};
use plumb_wire::http::RawHead;

/// How content was packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Nobody looks into it.
    Unread,
    /// As it is.
    Plain,
    Gzip,
    Deflate,
    /// In a way that is not undone here.
    Unknown(String),
}

impl Coding {
    /// What a head says of the content behind it.
    ///
    /// # Source
    /// RFC 9110, section 8.4.
    pub(crate) fn of(head: &[u8]) -> Self {
        let Some(word) = RawHead::new(head).values("content-encoding").next() else {
            return Self::Plain;
        };
        match word.to_ascii_lowercase().as_str() {
            "" | "identity" => Self::Plain,
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            other => Self::Unknown(other.into()),
        }
    }

    /// Unpacks `content` in its place, up to `most` bytes.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn decode(&self, content: &mut Vec<u8>, most: usize) -> Result<(), String> {
        let limit = most as u64 + 1;
        let mut plain = Vec::new();
        let read = match self {
            Self::Unread | Self::Plain => return Ok(()),
            _ if content.is_empty() => return Ok(()), // no content, whatever was announced
            Self::Gzip => MultiGzDecoder::new(&**content).take(limit).read_to_end(&mut plain),
            Self::Deflate => ZlibDecoder::new(&**content).take(limit).read_to_end(&mut plain),
            Self::Unknown(name) => {
                return Err(format!(
                    "the content is encoded as {name}, which cannot be looked into: ask for \
                     nothing else than gzip in Accept-Encoding"
                ));
            }
        };
        if let Err(error) = read {
            return Err(format!("the content is not what its Content-Encoding says: {error}"));
        }
        if plain.len() > most {
            return Err(format!("the content has more than {most} bytes when it is unpacked"));
        }
        *content = plain;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use super::*;

    fn of(line: &str) -> Coding {
        Coding::of(format!("HTTP/1.1 200 OK\r\n{line}\r\n").as_bytes())
    }

    #[test]
    fn what_was_packed_is_unpacked_up_to_a_limit() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&[b'a'; 1_000]).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(&[b'a'; 1_000]).unwrap();
        let packed = [gzip.finish().unwrap(), zlib.finish().unwrap()];
        for (coding, packed) in
            [of("Content-Encoding: GZIP\r\n"), of("content-encoding: deflate\r\n")]
                .iter()
                .zip(packed)
        {
            let mut content = packed.clone();
            coding.decode(&mut content, 1_000).unwrap();
            assert_eq!(content, [b'a'; 1_000]);
            let error = coding.decode(&mut packed.clone(), 999).unwrap_err();
            assert!(error.contains("more than 999 bytes"), "{error}");
            let error = coding.decode(&mut packed[..9].to_vec(), 999).unwrap_err();
            assert!(error.contains("not what"), "{error}");
        }
    }

    #[test]
    fn what_is_not_packed_stays_and_what_is_unknown_is_named() {
        for line in ["", "Content-Encoding: identity\r\n"] {
            let mut content = b"x".to_vec();
            of(line).decode(&mut content, 0).unwrap();
            assert_eq!(content, b"x");
        }
        let error = of("Content-Encoding: br\r\n").decode(&mut vec![1], 9).unwrap_err();
        assert!(error.contains("encoded as br"), "{error}");
    }
}
