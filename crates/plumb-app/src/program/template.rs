//! The language of pages: text with `<%= ... %>` for values and `<% fill N %>` for size.
//!
//! `<%= user %>`, `<%= language %>`, `<%= client %>` and other names stand for values of the
//! [`Scene`]; `<%= carrier LH %>` is read from the database while the page is rendered;
//! `<% fill 1024 %>` fills the page with text to that many bytes.

use std::fmt::Write as _;

use crate::database::{Database, DatabaseError};

/// A compiled page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    parts: Vec<Segment>,
    bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Text(String),
    Value(String),
    /// The name of a carrier, read from the database.
    Carrier(String),
    /// Text up to `to` bytes of the page, of which `behind` come after it.
    Fill {
        to: usize,
        behind: usize,
    },
}

/// What is wrong in a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(crate) struct TemplateError {
    /// Line, from 1.
    line: usize,
    /// What is wrong.
    problem: String,
}

/// Where a page takes its values from.
pub(crate) trait Scene {
    /// The value called `name`.
    fn value(&self, name: &str) -> Option<&str>;
}

/// The largest page that a template may ask for, bytes.
const FILL_MAX: usize = 1 << 20;
/// What pages are filled with.
const FILLER: &str = "All work of this page is real: it was loaded from the database, compiled, \
                      buffered, rendered by a work process and sent by the front. ";

impl Program {
    /// Compiles `source`.
    ///
    /// # Errors
    /// [`TemplateError`] names the line.
    pub(crate) fn compile(source: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = source;
        while let Some(start) = rest.find("<%") {
            push_text(&mut parts, &rest[..start]);
            let line = source[..source.len() - rest.len() + start].matches('\n').count() + 1;
            let wrong = |problem: String| TemplateError { line, problem };
            let inner = &rest[start + 2..];
            let end = inner.find("%>").ok_or_else(|| wrong("`<%` without `%>`".into()))?;
            parts.push(directive(inner[..end].trim()).map_err(wrong)?);
            rest = &inner[end + 2..];
        }
        push_text(&mut parts, rest);
        place_fill(&mut parts)?;
        let bytes = size_of::<Self>()
            + parts.iter().map(|part| size_of::<Segment>() + part.bytes()).sum::<usize>();
        Ok(Self { parts, bytes })
    }

    /// What it takes in memory, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The page.
    ///
    /// # Errors
    /// What the database says to the reads of the page.
    pub(crate) fn render(
        &self,
        scene: &impl Scene,
        database: &mut Database,
    ) -> Result<String, DatabaseError> {
        let mut page = String::with_capacity(self.bytes);
        for part in &self.parts {
            match part {
                Segment::Text(text) => page.push_str(text),
                Segment::Value(name) => escape(scene.value(name).unwrap_or(""), &mut page),
                Segment::Carrier(id) => {
                    let statement = "SELECT carrname FROM carrier WHERE carrid = $1";
                    let row = database.row(statement, &[id.as_str().into()])?;
                    escape(row.as_ref().map_or("", |row| row.text(0)), &mut page);
                }
                Segment::Fill { to, behind } => fill(&mut page, to.saturating_sub(*behind)),
            }
        }
        Ok(page)
    }
}

impl Segment {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Value(text) | Self::Carrier(text) => text.capacity(),
            Self::Fill { to, .. } => *to,
        }
    }
}

fn push_text(parts: &mut Vec<Segment>, text: &str) {
    if !text.is_empty() {
        parts.push(Segment::Text(text.into()));
    }
}

fn directive(words: &str) -> Result<Segment, String> {
    let (kind, words) = match words.strip_prefix('=') {
        Some(words) => ('=', words),
        None => ('%', words),
    };
    let words: Vec<&str> = words.split_whitespace().collect();
    match (kind, words.as_slice()) {
        ('=', ["carrier", id]) => Ok(Segment::Carrier((*id).into())),
        ('=', [name]) => Ok(Segment::Value((*name).into())),
        ('%', ["fill", to]) => match to.parse() {
            Ok(to) if to <= FILL_MAX => Ok(Segment::Fill { to, behind: 0 }),
            _ => Err(format!("`{to}` is no number of bytes up to {FILL_MAX}")),
        },
        _ => Err(format!("`{}` is no directive", words.join(" "))),
    }
}

/// Tells a fill how many bytes come after it, which must be known beforehand.
fn place_fill(parts: &mut [Segment]) -> Result<(), TemplateError> {
    let Some(at) = parts.iter().position(|part| matches!(part, Segment::Fill { .. })) else {
        return Ok(());
    };
    let mut after = 0;
    for part in &parts[at + 1..] {
        match part {
            Segment::Text(text) => after += text.len(),
            _ => {
                let problem = "only text may follow a fill".into();
                return Err(TemplateError { line: 1, problem });
            }
        }
    }
    if let Segment::Fill { behind, .. } = &mut parts[at] {
        *behind = after;
    }
    Ok(())
}

fn fill(page: &mut String, to: usize) {
    while page.len() < to {
        let left = to - page.len();
        page.push_str(&FILLER[..left.min(FILLER.len())]);
    }
}

/// Appends `text` so that it means itself in HTML and XML.
pub(crate) fn escape(text: &str, out: &mut String) {
    let mut rest = text;
    let means = |byte: &u8| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'');
    while let Some(at) = rest.as_bytes().iter().position(means) {
        out.push_str(&rest[..at]);
        // a String takes everything
        let _ = write!(out, "&#{};", rest.as_bytes()[at]);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::testing::filled;

    struct One;

    impl Scene for One {
        fn value(&self, name: &str) -> Option<&str> {
            (name == "user").then_some("<O'Neil>")
        }
    }

    fn page(source: &str) -> String {
        let (_folder, mut database) = filled();
        Program::compile(source).unwrap().render(&One, &mut database).unwrap()
    }

    #[test]
    fn values_are_escaped_and_reads_are_real() {
        assert_eq!(
            page("<p><%= user %>, <%=carrier LH%></p>"),
            "<p>&#60;O&#39;Neil&#62;, Lufthansa</p>"
        );
        assert_eq!(page("<%= nothing %><%= carrier XX %>."), ".");
    }

    #[test]
    fn a_fill_makes_the_page_exactly_as_long_as_asked_for() {
        for size in [100, 1024, 65_536] {
            assert_eq!(page(&format!("<p><%= user %><% fill {size} %></p>\n")).len(), size);
        }
        assert_eq!(page("longer than that<% fill 4 %>"), "longer than that");
    }

    #[test]
    fn a_mistake_is_placed() {
        let wrong = |source: &str| Program::compile(source).unwrap_err().to_string();
        assert_eq!(wrong("a\n<% what %>"), "line 2: `what` is no directive");
        assert_eq!(wrong("a\nb<%= user"), "line 2: `<%` without `%>`");
        assert!(wrong("<% fill 99999999 %>").contains("no number of bytes"));
        assert!(wrong("<% fill 9 %><%= user %>").contains("only text"));
    }
}
