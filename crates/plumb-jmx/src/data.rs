//! Data files.

use plumb_draft::template::variable_name;
use plumb_scenario::csv::Quotes;
use plumb_scenario::file::placed;
use plumb_scenario::file::{AtEnd, Data, Take};

use super::Importer;
use super::element::Element;
use super::scope::Scope;

impl Importer {
    /// The data files in scope of a group; the plan has `groups` of them.
    pub(super) fn data(&mut self, scope: &Scope<'_>, groups: usize) -> Vec<Data> {
        scope.data.iter().filter_map(|element| self.data_file(element, groups)).collect()
    }

    fn data_file(&mut self, element: &Element<'_>, groups: usize) -> Option<Data> {
        let text = element.text("filename");
        let Some(file) = self.words.known(text) else {
            let why = format!("its file `{text}` is not known before the load");
            self.draft.notes.add(element.place(), element.what(), why);
            return None;
        };
        let mut lost = Vec::new();
        let mut names = names(element);
        if element.flag("ignoreFirstLine") && !names.is_empty() {
            lost.push("the first line of its file is passed over; here it names the variables");
            names.clear();
        }
        self.has_unnamed_data |= names.is_empty();
        self.set.extend(names.iter().cloned());
        if !is_read(element.text("fileEncoding")) {
            lost.push("its file is read as UTF-8");
        }
        let delimiter = delimiter(element.text("delimiter"), &mut lost);
        let take = take(element.text("shareMode"), groups, &mut lost);
        let again = element.given("recycle") != Some("false");
        if !again && !element.flag("stopThread") {
            lost.push("behind its last line users go on with `<EOF>`; here they stop");
        }
        for why in lost {
            self.draft.notes.add(element.place(), element.what(), why);
        }
        let quotes =
            if element.flag("quotedData") { Quotes::AroundCells } else { Quotes::Characters };
        let at_end = if again { AtEnd::Again } else { AtEnd::Stop };
        let file = placed(file.into());
        Some(Data { file, names, delimiter, quotes, ignore_further: true, take, at_end })
    }
}

/// The variables that a file is said to give.
pub(super) fn names(element: &Element<'_>) -> Vec<String> {
    let names = element.text("variableNames").split(',');
    names.filter(|name| !name.trim().is_empty()).map(variable_name).collect()
}

/// True for encodings that are the same as UTF-8, as far as they go.
fn is_read(encoding: &str) -> bool {
    ["", "UTF-8", "US-ASCII"].iter().any(|known| encoding.eq_ignore_ascii_case(known))
}

/// What stands between cells, where it is no comma.
fn delimiter(text: &str, lost: &mut Vec<&'static str>) -> Option<char> {
    match text {
        "" | "," => None,
        "\\t" => Some('\t'),
        other => {
            if other.chars().nth(1).is_some() {
                lost.push("only the first character between its cells is taken");
            }
            other.chars().next()
        }
    }
}

/// When a user takes the next line. Old plans write the words of the window.
fn take(mode: &str, groups: usize, lost: &mut Vec<&'static str>) -> Take {
    match mode {
        "shareMode.thread" | "Current thread" => return Take::OwnLines,
        "shareMode.group" | "Current thread group" => {}
        "" | "shareMode.all" | "All threads" if groups > 1 => {
            lost.push("its lines are shared by all groups; here by those of one");
        }
        "" | "shareMode.all" | "All threads" => {}
        _ => lost.push("its lines are shared under a name; here by the users of a scenario"),
    }
    Take::EachScript
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_lines_are_divided() {
        let mut lost = Vec::new();
        let found = [",", "\\t", "\t", ";", ""].map(|text| delimiter(text, &mut lost));
        assert_eq!(found, [None, Some('\t'), Some('\t'), Some(';'), None]);
        assert_eq!(take("shareMode.thread", 2, &mut lost), Take::OwnLines);
        assert_eq!(take("shareMode.all", 1, &mut lost), Take::EachScript);
        assert_eq!(take("Current thread", 2, &mut lost), Take::OwnLines);
        assert_eq!(lost, [] as [&str; 0]);
        assert_eq!(delimiter("||", &mut lost), Some('|'));
        assert_eq!(take("shareMode.all", 2, &mut lost), Take::EachScript);
        assert_eq!(take("mine", 1, &mut lost), Take::EachScript);
        assert_eq!(lost.len(), 3);
    }
}
