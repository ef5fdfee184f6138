//! What requests upload: a file as a whole body, or the parts of a form.

use std::path::PathBuf;

use super::element::Element;
use crate::body::BOUNDARY;

/// Methods whose arguments are the body; of others only a body that is written out is.
pub(super) const BODIES: [&str; 3] = ["POST", "PUT", "PATCH"];
/// The switch of a request whose arguments are the parts of a form.
const MULTIPART: &str = "HTTPSampler.DO_MULTIPART_POST";

/// The files that a request sends.
fn files<'a>(request: &Element<'a>) -> Vec<Element<'a>> {
    let list = request.inner("HTTPsampler.Files");
    list.map(|list| list.members("HTTPFileArgs.files")).unwrap_or_default()
}

/// The one file that is a whole body.
pub(super) fn whole_file(request: &Element<'_>) -> Option<PathBuf> {
    match &files(request)[..] {
        [file] => Some(PathBuf::from(file.text("File.path"))),
        _ => None,
    }
}

/// Why what a request uploads cannot be sent; `None` when it can, or uploads nothing.
pub(super) fn unsendable(request: &Element<'_>, method: &str) -> Option<&'static str> {
    let files = files(request);
    let is_named = |file: &Element<'_>| !file.text("File.paramname").is_empty();
    match &files[..] {
        [] => None,
        [file, ..] if files.len() > 1 || is_named(file) || is_multipart(request) => Some(
            "it uploads files as parts of a form, which a scenario does not make; the request is left \
             out: write it as a step whose `body-file` is what is sent",
        ),
        [file, ..] if file.text("File.path").contains("${") => {
            Some("the file that it uploads is named by a variable; the request is left out")
        }
        _ if !BODIES.contains(&method) => {
            Some("it uploads a file with a method that has no body here; the request is left out")
        }
        _ => None,
    }
}

pub(super) fn is_multipart(request: &Element<'_>) -> bool {
    request.flag(MULTIPART)
}

/// The type of a form.
pub(super) fn form_type(request: &Element<'_>) -> String {
    match is_multipart(request) {
        true => format!("multipart/form-data; boundary={BOUNDARY}"),
        false => "application/x-www-form-urlencoded".into(),
    }
}
