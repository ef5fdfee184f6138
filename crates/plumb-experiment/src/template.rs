//! Text with names in it: `${size}` stands for a value, `$${` for the characters `${`.

use std::ops::Range;

/// Text and names in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Text(String),
    /// A name, and where it stands in the text, in bytes.
    Name(String, Range<usize>),
}

/// A name that stands for nothing, or a `${` without an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unclear {
    /// The name; `None` where a `}` is missing.
    pub name: Option<String>,
    /// Where it stands in the text, in bytes.
    pub at: Range<usize>,
}

impl Template {
    /// Takes a text apart.
    ///
    /// # Errors
    /// When a `${` has no `}`.
    pub fn parse(text: &str) -> Result<Self, Unclear> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut from = 0;
        while let Some(found) = text[from..].find("${") {
            let start = from + found;
            if text[from..start].ends_with('$') {
                plain.push_str(&text[from..start - 1]);
                plain.push_str("${");
                from = start + 2;
                continue;
            }
            plain.push_str(&text[from..start]);
            let end = text[start..].find('}');
            let Some(length) = end.filter(|end| !text[start + 2..start + end].contains("${"))
            else {
                return Err(Unclear { name: None, at: start..start + 2 });
            };
            let at = start..start + length + 1;
            parts.push(Segment::Text(std::mem::take(&mut plain)));
            parts.push(Segment::Name(text[start + 2..start + length].to_owned(), at.clone()));
            from = at.end;
        }
        plain.push_str(&text[from..]);
        parts.push(Segment::Text(plain));
        Ok(Self { parts })
    }

    /// The same with every name replaced that `value` knows.
    pub fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Self {
        let part = |part: &Segment| match part {
            Segment::Name(name, _) => value(name).map_or_else(|| part.clone(), Segment::Text),
            Segment::Text(_) => part.clone(),
        };
        Self { parts: self.parts.iter().map(part).collect() }
    }

    /// This text and another behind it, with a blank between them.
    pub fn and(mut self, other: Self) -> Self {
        self.parts.push(Segment::Text(" ".into()));
        self.parts.extend(other.parts);
        self
    }

    /// Every name that is left.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Segment::Name(name, _) => Some(name.as_str()),
            Segment::Text(_) => None,
        })
    }

    /// The first name that is left and that `known` refuses.
    pub fn unclear(&self, known: impl Fn(&str) -> bool) -> Option<Unclear> {
        self.parts.iter().find_map(|part| match part {
            Segment::Name(name, at) if !known(name) => {
                Some(Unclear { name: Some(name.clone()), at: at.clone() })
            }
            Segment::Name(..) | Segment::Text(_) => None,
        })
    }

    /// The text; names that are left stand in it as they were written.
    pub fn text(&self) -> String {
        let words = self.parts.iter().map(|part| match part {
            Segment::Text(text) => text.clone(),
            Segment::Name(name, _) => format!("${{{name}}}"),
        });
        words.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let value = |name: &str| (name == "size").then(|| "${echo}".to_owned());
        Template::parse(text).unwrap().fill(value).text()
    }

    #[test]
    fn names_become_their_values_once_and_the_rest_stays() {
        assert_eq!(filled("net ping ${echo} --size ${size}B"), "net ping ${echo} --size ${echo}B");
        assert_eq!(filled("echo $HOME $$ $1 } {"), "echo $HOME $$ $1 } {");
        assert_eq!(filled("echo $${size} ${size}"), "echo ${size} ${echo}");
        assert_eq!(filled(""), "");
    }

    #[test]
    fn what_is_left_is_named_with_its_place() {
        let template = Template::parse("a ${one} ${two}").unwrap();
        assert_eq!(template.names().collect::<Vec<_>>(), ["one", "two"]);
        let unclear = template.unclear(|name| name == "one").unwrap();
        assert_eq!((unclear.name.as_deref(), unclear.at), (Some("two"), 9..15));
        for open in ["a ${one", "a ${one ${two}"] {
            assert_eq!(Template::parse(open).unwrap_err(), Unclear { name: None, at: 2..4 });
        }
    }
}
