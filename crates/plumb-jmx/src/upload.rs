//! What requests upload: a file as a whole body, or the parts of a form.

use std::path::PathBuf;

use plumb_scenario::file::{Part, placed};
use plumb_wire::secret::is_secret;
use toml::Spanned;

use super::Importer;
use super::element::Element;

/// Methods whose arguments are the body; of others only a body that is written out is.
pub(super) const BODIES: [&str; 3] = ["POST", "PUT", "PATCH"];
/// The switch of a request whose arguments are the parts of a form.
const MULTIPART: &str = "HTTPSampler.DO_MULTIPART_POST";

/// The content type of a field of a form where no other is said.
const TEXT: &str = "text/plain";
/// The file of a request in plans of old versions.
const OLD_FILE: &str = "HTTPSampler.FILE_NAME";

/// The files that a request sends.
fn files<'a>(request: &Element<'a>) -> Vec<Element<'a>> {
    let list = request.inner("HTTPsampler.Files");
    let all = list.map(|list| list.members("HTTPFileArgs.files")).unwrap_or_default();
    // an empty line of the window
    all.into_iter().filter(|file| !file.text("File.path").trim().is_empty()).collect()
}

/// The one file that is a whole body, and its content type.
pub(super) fn whole_file(request: &Element<'_>) -> Option<(PathBuf, String)> {
    match &files(request)[..] {
        [file] if !is_form(request) => {
            Some((PathBuf::from(file.text("File.path")), file.text("File.mimetype").trim().into()))
        }
        _ => None,
    }
}

/// Why what a request uploads cannot be sent; `None` when it can, or uploads nothing.
pub(super) fn unsendable(request: &Element<'_>, method: &str) -> Option<&'static str> {
    if !request.text(OLD_FILE).trim().is_empty() {
        return Some("it names a file to upload as old versions do; the request is left out");
    }
    let files = files(request);
    if files.is_empty() {
        return None;
    }
    if files.iter().any(|file| file.text("File.path").contains("${")) {
        return Some("the file that it uploads is named by a variable; the request is left out");
    }
    let has_no_body = !BODIES.contains(&method);
    has_no_body
        .then_some("it uploads a file with a method that has no body here; the request is left out")
}

/// True for a request whose arguments and files are the parts of a form.
pub(super) fn is_form(request: &Element<'_>) -> bool {
    let files = files(request);
    let is_named = |file: &Element<'_>| !file.text("File.paramname").is_empty();
    request.flag(MULTIPART) || files.len() > 1 || files.iter().any(is_named)
}

impl Importer {
    /// The arguments and files of a request as the parts of a form.
    pub(super) fn parts(&mut self, request: &Element<'_>) -> Vec<Spanned<Part>> {
        let mut parts = Vec::new();
        for argument in request.arguments() {
            if self.has_no_name(&argument) {
                continue;
            }
            let name = self.part_name(argument.text("Argument.name"), request);
            let written = argument.text("Argument.value");
            let value = self.words.template(written, request, &mut self.draft.notes);
            let is_open = value.is_empty() || value.contains("${");
            let value = match is_secret(&name) && !is_open {
                true => self.secrets.template(&name, &value, ""),
                false => value,
            };
            // what JMeter says of every field says nothing
            let content_type = self.part_type(argument.text("HTTPArgument.content_type"), request);
            let content_type = content_type.filter(|kind| kind != TEXT);
            parts.push(Part { name, value: Some(value), content_type, ..Part::default() });
        }
        for file in files(request) {
            parts.push(Part {
                name: self.part_name(file.text("File.paramname"), request),
                file: Some(placed(PathBuf::from(file.text("File.path")))),
                content_type: self.part_type(file.text("File.mimetype"), request),
                ..Part::default()
            });
        }
        parts.into_iter().map(placed).collect()
    }

    /// The content type of a part, which is no template; `None` where none is said.
    fn part_type(&mut self, written: &str, request: &Element<'_>) -> Option<String> {
        let known = self.words.known(written.trim());
        if known.is_none() {
            let why = format!(
                "the type `{written}` of a part is not known before the load; it is sent without"
            );
            self.draft.notes.add(request.place(), request.what(), why);
        }
        known.filter(|kind| !kind.is_empty())
    }

    /// The name of a part, which is no template.
    fn part_name(&mut self, written: &str, request: &Element<'_>) -> String {
        self.words.known(written).unwrap_or_else(|| {
            let why = format!(
                "the name `{written}` of a part is not known before the load; it is sent as it is \
                 written"
            );
            self.draft.notes.add(request.place(), request.what(), why);
            written.to_owned()
        })
    }
}
