//! Paths below `/sap`, where the service has its roots.

/// A path below `/sap`, with its segment taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SapPath<'a> {
    /// What stands in the parentheses of `/sap(...)/`; encoded.
    pub segment: Option<&'a str>,
    /// What follows, from its slash on.
    pub rest: &'a str,
}

impl<'a> SapPath<'a> {
    /// Reads `path`, which is one below `/sap` or not.
    #[must_use]
    pub fn parse(path: &'a str) -> Option<Self> {
        let behind = path.strip_prefix("/sap")?;
        if behind.starts_with('/') {
            return Some(Self { segment: None, rest: behind });
        }
        let (segment, rest) = behind.strip_prefix('(')?.split_once(')')?;
        rest.starts_with('/').then_some(Self { segment: Some(segment), rest })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_segment_is_taken_out_of_a_path() {
        let path = SapPath::parse("/sap(bD1lbiZjPTAwMA==)/bc/bsp/it03/page.htm").unwrap();
        assert_eq!((path.segment, path.rest), (Some("bD1lbiZjPTAwMA=="), "/bc/bsp/it03/page.htm"));
        assert_eq!(SapPath::parse("/sap/bc").unwrap().segment, None);
        for other in ["/sapling/bc", "/sap(bD1l/bc", "/sap(x)bc", "/", "/sap"] {
            assert_eq!(SapPath::parse(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_path_is_read_or_refused(text: String) {
            let _ = SapPath::parse(&text);
        }
    }
}
