//! The ways in which the service works, and the forms that each knows.

use hyper::{HeaderMap, StatusCode};

use crate::format::Format;
use crate::path::Resource;
use crate::refusal::Refusal;
use crate::version::Version;

/// In which of its ways the service works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// The older way: Atom only, a read for each part of each entity, a tree in memory.
    Compatibility,
    /// The newer way: one read, written as it comes.
    Standard,
    /// The same way, in version 4 of the protocol.
    Version4,
}

const COMPATIBILITY: &str = "/opu/sdata/iwfnd/RMTSAMPLEFLIGHT";
const STANDARD: &str = "/opu/odata/iwfnd/RMTSAMPLEFLIGHT";
const VERSION_4: &str = "/opu/odata4/iwfnd/RMTSAMPLEFLIGHT";

impl Service {
    /// The service at `rest` of a path below `/sap`, and what follows its root.
    #[must_use]
    pub fn at(rest: &str) -> Option<(Self, &str)> {
        for service in [Self::Standard, Self::Compatibility, Self::Version4] {
            let root = service.root();
            if let Some(below) = rest.strip_prefix(root)
                && (below.is_empty() || below.starts_with('/'))
            {
                return Some((service, below));
            }
        }
        None
    }

    /// What follows `/sap` in the paths of the service.
    #[must_use]
    pub fn root(self) -> &'static str {
        match self {
            Self::Compatibility => COMPATIBILITY,
            Self::Standard => STANDARD,
            Self::Version4 => VERSION_4,
        }
    }

    /// The version of the protocol that it speaks.
    #[must_use]
    pub fn version(self) -> Version {
        if self == Self::Version4 { Version::Four } else { Version::Two }
    }

    /// The forms that it knows, the one for whoever names none first.
    fn forms(self) -> &'static [Format] {
        match self {
            Self::Compatibility => &[Format::Atom],
            Self::Standard => &[Format::Atom, Format::Json],
            Self::Version4 => &[Format::Json4],
        }
    }

    /// The form of the answer about `resource`: what the query says, else what the client accepts.
    ///
    /// # Errors
    /// [`Refusal`] when the service has none of them.
    pub fn format(
        self,
        resource: &Resource,
        headers: &HeaderMap,
        said: Option<Format>,
    ) -> Result<Format, Refusal> {
        let forms =
            if matches!(resource, Resource::Metadata) { &[Format::Atom] } else { self.forms() };
        let said = said.map(|said| match (self, said) {
            (Self::Version4, Format::Json) => Format::Json4,
            _ => said,
        });
        match said {
            Some(said) if forms.contains(&said) => Ok(said),
            Some(_) if matches!(resource, Resource::Metadata) => Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "types are described in XML only: leave $format out",
            )),
            Some(_) if self == Self::Version4 => Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "version 4 is served in JSON only",
            )),
            Some(_) => Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the compatibility mode knows Atom only; the standard mode is below \
                 /sap/opu/odata",
            )),
            // these have one form each, and clients rarely know it
            None if resource.is_bare() => Ok(forms[0]),
            None => Format::accepted(headers, forms).ok_or_else(|| {
                let there = match self {
                    Self::Compatibility => "application/atom+xml",
                    Self::Standard => "application/atom+xml and application/json",
                    Self::Version4 => "application/json",
                };
                Refusal::new(
                    StatusCode::NOT_ACCEPTABLE,
                    format!("the header Accept leaves nothing: there is {there}"),
                )
            }),
        }
    }
}
