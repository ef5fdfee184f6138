//! Content of several parts: forms with files, and batches of OData.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::Pairs;

/// A part of a form (`multipart/form-data`): a field with its value, or a file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Part {
    /// What the form calls it.
    pub name: String,
    /// The value of the field, a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The file whose content is sent; relative to the scenario file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Spanned<PathBuf>>,
    /// What the file is called, a template; absent: as `file` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    /// Its content type; absent: of a file `application/octet-stream`, of a field none.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

/// An operation of a batch (`multipart/mixed`, as `$batch` of OData): a request, or a change set of
/// several that are done together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Operation {
    /// The path of a GET, relative to the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get: Option<String>,
    /// The path, where there is a method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The method of `path`; absent: POST.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Headers of this operation.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub headers: Pairs,
    /// Its body, a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The operations of a change set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changeset: Vec<Self>,
}

impl Operation {
    /// How many answers it has.
    #[must_use]
    pub fn answers(&self) -> usize {
        if self.changeset.is_empty() { 1 } else { self.changeset.iter().map(Self::answers).sum() }
    }
}
