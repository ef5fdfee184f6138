//! Values as both databases know them.

/// A value of a parameter or a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value.
    Null,
    /// A whole number; amounts are in hundredths.
    Int(i64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

/// A row of a result. A column that is not of the kind asked for reads as nothing: statements and
/// schema stand in this crate, and tests read every column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(pub Vec<Value>);

impl Row {
    /// The whole number in `column`, from 0.
    pub fn int(&self, column: usize) -> i64 {
        match self.0.get(column) {
            Some(Value::Int(number)) => *number,
            _ => 0,
        }
    }

    /// The text in `column`, from 0.
    pub fn text(&self, column: usize) -> &str {
        match self.0.get(column) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// The text in `column`, without a copy.
    pub fn take_text(&mut self, column: usize) -> String {
        match self.0.get_mut(column) {
            Some(Value::Text(text)) => std::mem::take(text),
            _ => String::new(),
        }
    }

    /// The bytes in `column`, without a copy.
    pub fn take_bytes(&mut self, column: usize) -> Vec<u8> {
        match self.0.get_mut(column) {
            Some(Value::Bytes(bytes)) => std::mem::take(bytes),
            _ => Vec::new(),
        }
    }
}

impl FromIterator<Value> for Row {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}
