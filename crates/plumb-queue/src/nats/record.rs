//! What a stream holds of a message: its fields, each with its length before it, then its body.

use bytes::{BufMut as _, Bytes, BytesMut};

use super::super::Message;
use super::super::parameters::{decode, encode};

/// What stands before the name of a parameter, so that no parameter is taken for a field.
const PARAMETER: char = '=';

/// A message, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) message: Message,
    /// Its id, where that is not its sequence in the stream of those that wait.
    pub(super) id: Option<u64>,
    /// When it was accepted, milliseconds since 1970.
    pub(super) accepted_ms: u64,
    pub(super) failures: u32,
    /// When it is due, or when it ended, milliseconds since 1970.
    pub(super) at_ms: u64,
    /// How long it is put off, or kept, milliseconds.
    pub(super) for_ms: u64,
    /// Its sequence among those that waited.
    pub(super) sequence: u64,
    pub(super) error: Option<String>,
    pub(super) trace: Option<String>,
}

impl Record {
    pub(super) fn of(message: Message, accepted_ms: u64) -> Self {
        Self {
            message,
            id: None,
            accepted_ms,
            failures: 0,
            at_ms: 0,
            for_ms: 0,
            sequence: 0,
            error: None,
            trace: None,
        }
    }

    /// It is kept no longer.
    pub(super) fn has_expired(&self, now_ms: u64) -> bool {
        self.at_ms.saturating_add(self.for_ms) <= now_ms
    }

    pub(super) fn encode(&self) -> Bytes {
        let fields = encode(&self.fields());
        let mut bytes = BytesMut::with_capacity(4 + fields.len() + self.message.body.len());
        // what came in over HTTP is far below 4 GiB
        bytes.put_u32_le(u32::try_from(fields.len()).unwrap_or(u32::MAX));
        bytes.put_slice(&fields);
        bytes.put_slice(&self.message.body);
        bytes.freeze()
    }

    fn fields(&self) -> Vec<(String, String)> {
        let message = &self.message;
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut fields = vec![
            field("transaction", &message.transaction),
            field("media type", &message.media_type),
        ];
        let texts = [
            ("order key", &message.order_key),
            ("idempotency key", &message.idempotency_key),
            ("error", &self.error),
            ("trace", &self.trace),
        ];
        let texts = texts.iter().filter_map(|(name, text)| Some(field(name, text.as_ref()?)));
        fields.extend(texts);
        let numbers = [
            ("id", self.id.unwrap_or(0)),
            ("accepted", self.accepted_ms),
            ("failures", self.failures.into()),
            ("at", self.at_ms),
            ("for", self.for_ms),
            ("sequence", self.sequence),
        ];
        let numbers = numbers.iter().filter(|(_, number)| *number > 0);
        fields.extend(numbers.map(|(name, number)| field(name, &number.to_string())));
        let parameters = message.parameters.iter();
        fields.extend(parameters.map(|(name, text)| (format!("{PARAMETER}{name}"), text.clone())));
        fields
    }

    /// What [`encode`](Self::encode) made; `None` when it is something else.
    pub(super) fn decode(payload: &Bytes) -> Option<Self> {
        let (length, rest) = payload.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let fields = decode(rest.get(..length)?)?;
        let message = Message {
            transaction: "".into(),
            parameters: Vec::new(),
            media_type: "".into(),
            body: payload.slice(4 + length..),
            order_key: None,
            idempotency_key: None,
        };
        let mut record = Self::of(message, 0);
        for (name, text) in fields {
            record.take(&name, text)?;
        }
        (!record.message.transaction.is_empty()).then_some(record)
    }

    fn take(&mut self, name: &str, text: String) -> Option<()> {
        let message = &mut self.message;
        match name {
            "transaction" => message.transaction = text.into(),
            "media type" => message.media_type = text.into(),
            "order key" => message.order_key = Some(text),
            "idempotency key" => message.idempotency_key = Some(text),
            "error" => self.error = Some(text),
            "trace" => self.trace = Some(text),
            "id" => self.id = Some(text.parse().ok()?),
            "accepted" => self.accepted_ms = text.parse().ok()?,
            "failures" => self.failures = text.parse().ok()?,
            "at" => self.at_ms = text.parse().ok()?,
            "for" => self.for_ms = text.parse().ok()?,
            "sequence" => self.sequence = text.parse().ok()?,
            _ => message.parameters.push((name.strip_prefix(PARAMETER)?.to_owned(), text)),
        }
        Some(())
    }
}

/// `text` as a token of a subject: hexadecimal digits, so that any name and key is one.
pub(super) fn token(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::with_capacity(2 * text.len()), |mut token, byte| {
        let _ = write!(token, "{byte:02x}"); // into memory
        token
    })
}

/// The text of a [`token`].
pub(super) fn untoken(token: &str) -> Option<String> {
    let pairs = token.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    String::from_utf8(pairs.collect::<Option<Vec<u8>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            transaction in ".{1,20}",
            parameters: Vec<(String, String)>,
            body: Vec<u8>,
            keys: (Option<String>, Option<String>),
            error: Option<String>,
            numbers: (u32, u64, u64, u64),
        ) {
            let message = Message {
                transaction: transaction.as_str().into(),
                parameters,
                media_type: "application/xml".into(),
                body: body.into(),
                order_key: keys.0,
                idempotency_key: keys.1,
            };
            let (failures, at_ms, for_ms, sequence) = numbers;
            let record =
                Record { failures, at_ms, for_ms, sequence, error, ..Record::of(message, at_ms) };
            prop_assert_eq!(Record::decode(&record.encode()), Some(record));
            prop_assert_eq!(untoken(&token(&transaction)), Some(transaction));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = Record::decode(&bytes.into());
        }
    }
}
