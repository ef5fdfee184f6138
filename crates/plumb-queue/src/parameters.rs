//! The values of parameters as bytes.

/// Names and values, each with its length before it: 32 bits, little endian.
pub(super) fn encode(parameters: &[(String, String)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in parameters.iter().flat_map(|(name, value)| [name, value]) {
        // what came in over HTTP is far below 4 GiB
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// What [`encode`] made; `None` when it is something else.
pub(super) fn decode(mut bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let mut parameters = Vec::new();
    while !bytes.is_empty() {
        parameters.push((text(&mut bytes)?, text(&mut bytes)?));
    }
    Some(parameters)
}

fn text(bytes: &mut &[u8]) -> Option<String> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (text, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(parameters: Vec<(String, String)>) {
            prop_assert_eq!(decode(&encode(&parameters)), Some(parameters));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Some(parameters) = decode(&bytes) {
                prop_assert_eq!(encode(&parameters), bytes);
            }
        }
    }
}
