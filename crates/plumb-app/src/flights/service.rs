//! The two ways in which the service works, and the forms that each knows.

use hyper::StatusCode;
use plumb_serve::Request;

use super::format::Format;
use super::path::Resource;
use crate::answer::Failure;

/// In which of its two ways the service works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The older way: Atom only, a read for each part of each entity, a tree in memory.
    Compatibility,
    /// The newer way: one read, written as it comes.
    Standard,
}

const COMPATIBILITY: &str = "/opu/sdata/iwfnd/RMTSAMPLEFLIGHT";
const STANDARD: &str = "/opu/odata/iwfnd/RMTSAMPLEFLIGHT";

impl Service {
    /// The service at `rest` of a path below `/sap`, and what follows its root.
    pub(crate) fn at(rest: &str) -> Option<(Self, &str)> {
        for (service, root) in [(Self::Standard, STANDARD), (Self::Compatibility, COMPATIBILITY)] {
            if let Some(below) = rest.strip_prefix(root)
                && (below.is_empty() || below.starts_with('/'))
            {
                return Some((service, below));
            }
        }
        None
    }

    /// What follows `/sap` in the paths of the service.
    pub(crate) fn root(self) -> &'static str {
        match self {
            Self::Compatibility => COMPATIBILITY,
            Self::Standard => STANDARD,
        }
    }

    /// The forms that it knows, the one for whoever names none first.
    fn forms(self) -> &'static [Format] {
        match self {
            Self::Compatibility => &[Format::Atom],
            Self::Standard => &[Format::Atom, Format::Json],
        }
    }

    /// The form of the answer about `resource`: what the query says, else what the client accepts.
    pub(super) fn format(
        self,
        resource: &Resource,
        request: &Request,
        said: Option<Format>,
    ) -> Result<Format, Failure> {
        let forms =
            if matches!(resource, Resource::Metadata) { &[Format::Atom] } else { self.forms() };
        match said {
            Some(said) if forms.contains(&said) => Ok(said),
            Some(_) if matches!(resource, Resource::Metadata) => Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "types are described in XML only: leave $format out",
            )),
            Some(_) => Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the compatibility mode knows Atom only; the standard mode is below \
                 /sap/opu/odata",
            )),
            // these have one form each, and clients rarely know it
            None if resource.is_bare() => Ok(Format::Atom),
            None => Format::accepted(request.headers(), forms).ok_or_else(|| {
                let json = if forms.len() > 1 { " and application/json" } else { "" };
                Failure::new(
                    StatusCode::NOT_ACCEPTABLE,
                    format!(
                        "the header Accept leaves nothing: there is application/atom+xml{json}"
                    ),
                )
            }),
        }
    }
}
