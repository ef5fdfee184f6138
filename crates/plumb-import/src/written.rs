//! A scenario as readable TOML: keys in the order of their meaning, headers and extracts a line
//! each, comments above what they belong to. The same scenario is the same text.

use plumb_draft::Remarks;
use plumb_draft::note::one_line;
use plumb_scenario::file::ScenarioFile;
use toml::{Table, Value};

/// Characters of a line of comment at most, where its words allow it.
const WIDTH: usize = 98;
/// Keys that become tables of their own, in the order in which they follow.
const TABLES: [&str; 6] = ["prepare", "finish", "scenario", "token", "login", "step"];
/// Keys that are written a line for each of their elements.
const LINES: [&str; 6] = ["thresholds", "stages", "data", "extract", "parts", "batch"];
/// Keys whose names are anybody's: written `headers.NAME = VALUE`.
const MAPS: [&str; 3] = ["headers", "set", "variables"];
/// The order of keys; one that is not named follows in the order of the alphabet.
const ORDER: [&str; 84] = [
    "name",
    "group",
    "parallel",
    "repeat",
    "while",
    "each",
    "as",
    "most",
    "turns",
    "get",
    "method",
    "path",
    "base",
    "hosts",
    "resolve",
    "close",
    "redirects",
    "resources",
    "seed",
    "over",
    "users",
    "rate",
    "arrivals",
    "start",
    "ramp",
    "stages",
    "iterations",
    "for",
    "warmup",
    "timeout",
    "connect-timeout",
    "finish-timeout",
    "think",
    "pause",
    "cookies",
    "on-failure",
    "credentials",
    "authentication",
    "service",
    "certificate",
    "headers",
    "variables",
    "data",
    "thresholds",
    "share",
    "if",
    "set",
    "body",
    "body-file",
    "parts",
    "batch",
    "value",
    "file",
    "file-name",
    "type",
    "names",
    "delimiter",
    "quotes",
    "ignore-further",
    "take",
    "at-end",
    "check",
    "status",
    "operations",
    "length",
    "length-min",
    "length-max",
    "within",
    "header",
    "json",
    "null",
    "xpath",
    "between",
    "regex",
    "template",
    "html",
    "address",
    "pick",
    "default",
    "extract",
    "normal",
    "deviation",
    "exponential",
    "max",
];

/// The text of `file`, below the comment `head`, with `remarks` where they belong.
///
/// # Errors
/// When it holds a number that TOML cannot.
pub(crate) fn text(
    file: &ScenarioFile,
    head: &[String],
    remarks: &Remarks,
) -> Result<String, toml::ser::Error> {
    let table = Table::try_from(file)?;
    let mut out = String::new();
    comment(&mut out, head);
    if !head.is_empty() {
        out.push('\n');
    }
    let writer = Writer { remarks };
    writer.keys(&mut out, &table, "");
    writer.tables(&mut out, &table, "", "");
    Ok(out)
}

struct Writer<'a> {
    remarks: &'a Remarks,
}

impl Writer<'_> {
    /// The keys of a table that are no tables. `at` is its place.
    fn keys(&self, out: &mut String, table: &Table, at: &str) {
        for (key, value) in ordered(table) {
            let place = within(at, key);
            match value {
                _ if TABLES.contains(&key) => {}
                Value::Table(pairs) if MAPS.contains(&key) => {
                    for (name, value) in pairs {
                        self.remark(out, &format!("{place}.{name}"));
                        *out += &format!("{key}.{} = {}\n", key_text(name), inline(value));
                    }
                }
                Value::Array(elements) if LINES.contains(&key) => {
                    self.remark(out, &place);
                    *out += &format!("{key} = [\n");
                    for (number, element) in elements.iter().enumerate() {
                        self.remark(out, &format!("{place}.{number}"));
                        *out += &format!("    {},\n", inline(element));
                    }
                    *out += "]\n";
                }
                other => {
                    self.remark(out, &place);
                    *out += &format!("{key} = {}\n", inline(other));
                }
            }
        }
    }

    /// The tables inside a table at the place `at`, whose header is `name`.
    fn tables(&self, out: &mut String, table: &Table, at: &str, name: &str) {
        for key in TABLES {
            let Some(Value::Array(elements)) = table.get(key) else { continue };
            let name = within(name, key);
            for (number, element) in elements.iter().enumerate() {
                let Value::Table(inner) = element else { continue };
                let place = format!("{}.{number}", within(at, key));
                if !out.is_empty() && !out.ends_with("\n\n") {
                    out.push('\n');
                }
                self.remark(out, &place);
                *out += &format!("[[{name}]]\n");
                self.keys(out, inner, &place);
                self.tables(out, inner, &place, &name);
            }
        }
    }

    fn remark(&self, out: &mut String, place: &str) {
        if let Some(lines) = self.remarks.get(place) {
            comment(out, lines);
        }
    }
}

fn within(outer: &str, key: &str) -> String {
    if outer.is_empty() { key.to_owned() } else { format!("{outer}.{key}") }
}

/// The entries of `table` in the order of their meaning.
fn ordered(table: &Table) -> Vec<(&str, &Value)> {
    let mut entries: Vec<(&str, &Value)> =
        table.iter().map(|(key, value)| (key.as_str(), value)).collect();
    // the sort keeps the alphabet among those without a rank
    entries.sort_by_key(|(key, _)| rank(key));
    entries
}

fn rank(key: &str) -> usize {
    ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len())
}

/// A value in one line, but for texts of several lines.
fn inline(value: &Value) -> String {
    match value {
        Value::Table(table) => {
            let pair = |(key, value)| format!("{} = {}", key_text(key), inline(value));
            let pairs: Vec<String> = ordered(table).into_iter().map(pair).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(elements) => {
            format!("[{}]", elements.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn key_text(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { basic(key) }
}

/// A text between quotation marks.
fn basic(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            c if c.is_control() => out += &format!("\\u{:04X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// `lines` as comments, broken between words.
fn comment(out: &mut String, lines: &[String]) {
    for line in lines {
        let line = one_line(line);
        let indent = line.chars().take_while(|c| *c == ' ').count();
        let mut written = String::from("#");
        let mut width = 1 + indent;
        written += &" ".repeat(indent);
        for word in line.split_whitespace() {
            let long = word.chars().count() + 1;
            if width + long > WIDTH && width > 4 + indent {
                written += &format!("\n#{}  ", " ".repeat(indent));
                width = 3 + indent;
            }
            written += &format!(" {word}");
            width += long;
        }
        *out += &written;
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use plumb_wire::document;

    use super::*;
    use proptest::prelude::*;

    fn again(text: &str) -> ScenarioFile {
        document::read(text).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
    }

    const FULL: &str = r##"
name = "all of it"
base = "http://h:1"
seed = 7
for = "10s"
warmup = "1s"
timeout = "30s"
connect-timeout = "5s"
headers = { Accept = "a/b", "x y" = "\"q\" \\" }
variables = { "a.b" = "1", c = "" }
credentials = "who"
thresholds = ["list p95 < 200ms", "failures < 0.1%"]

[[prepare]]
get = "/before"

[[scenario]]
name = "users"
users = 2
ramp = "1s"
start = "1s"
iterations = 3
for = "1m"
think = { uniform = ["1s", "2s"] }
pause = { exponential = "10s", max = "1m" }
cookies = "clear"
on-failure = "restart"
headers = { A = "b" }
variables = { d = "e" }
data = [{ file = "a.csv", names = ["x", "y"], delimiter = ";", quotes = "characters", take = "own-lines", at-end = "stop" }]
stages = [{ over = "1s", users = 2 }, { over = "1s", users = 0 }]

[[scenario.login]]
path = "/in"
body = "a\r\nb = '''${x}''' \"\"\" # \u0001"

[[scenario.step]]
name = "list"
get = "/list"
check = { status = "200,3xx", length = 1, contains = ["a", "b\nc"], matches_not = [] }
extract = [{ name = "id", regex = "\"x\": (.+?)", pick = "all", default = "" },
           { name = "n", between = ["<a>", "</a>"], pick = 2 }]
think = "1500ms"

[[scenario.step]]
each = "id"
as = "one"
most = 10
share = "20%"
if = "${x} != 0"
set = { id = "${uuid()}", "a b" = "c" }

[[scenario.step.step]]
group = "both"

[[scenario.step.step.step]]
path = "/f/${one}"
method = "PUT"
body-file = "b.bin"

[[scenario.step]]
while = "${x} != 1"
most = 3

[[scenario.step.step]]
path = "/p"
parts = [{ name = "a", value = "b" }, { name = "f", file = "x.pdf", file-name = "y", type = "a/b" }]

[[scenario.step.step]]
path = "/b"
batch = [{ get = "x" }, { changeset = [{ path = "y", method = "PUT", body = "{}", headers = { A = "b" } }] }]
check = { operations = "2xx" }
"##;

    #[test]
    fn what_is_written_is_read_again() {
        let file = again(&FULL.replace(", matches_not = []", ""));
        let mut remarks = Remarks::new();
        for place in ["base", "variables.c", "scenario.0", "scenario.0.step.1.step.0", "name"] {
            remarks.insert(place.into(), vec![format!("about\n{place}: {}", "word ".repeat(40))]);
        }
        let written = text(&file, &["head".into()], &remarks).unwrap();
        assert_eq!(again(&written), file, "{written}");
        assert_eq!(written.matches("# about").count(), 5, "{written}");
        assert!(written.lines().filter(|line| line.starts_with('#')).all(|line| line.len() <= 100));
        assert_eq!(text(&again(&written), &["head".into()], &remarks).unwrap(), written);
    }

    #[test]
    fn keys_stand_in_the_order_of_their_meaning() {
        let file = again(
            "[[scenario]]\nname = \"u\"\n[[scenario.step]]\ncheck = { status = \"2xx\" }\nthink = \"1s\"\nget = \"/\"\nheaders = { B = \"2\", A = \"1\" }\n",
        );
        let written = text(&file, &[], &Remarks::new()).unwrap();
        assert_eq!(
            written,
            "[[scenario]]\nname = \"u\"\n\n[[scenario.step]]\nget = \"/\"\nthink = \"1s\"\n\
             headers.A = \"1\"\nheaders.B = \"2\"\ncheck = { status = \"2xx\" }\n"
        );
    }

    proptest! {
        #[test]
        fn any_text_comes_back(body in "\\PC{0,20}|(\\PC|[\r\n\t'\"\\\\#])*", key in "[a-zA-Z.\" -]{1,9}") {
            let mut file = again("[[scenario]]\nname = \"u\"\n[[scenario.step]]\nget = \"/\"\n");
            file.scenario[0].step[0].body = Some(plumb_scenario::file::placed(body.clone()));
            file.variables.insert(key, body.clone());
            let remarks = Remarks::from([("scenario.0".to_owned(), vec![body])]);
            let written = text(&file, &[], &remarks).unwrap();
            prop_assert_eq!(again(&written), file, "{}", written);
        }
    }
}
