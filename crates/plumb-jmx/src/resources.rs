//! "Retrieve All Embedded Resources" of a request.

use plumb_scenario::file::Resources;
use plumb_scenario::resources::{CONNECTIONS_MAX, Wanted};

use super::Importer;
use super::element::Element;
use super::scope::Scope;
use crate::pattern;

impl Importer {
    /// What is asked for behind the page of `request`.
    pub(super) fn resources(
        &mut self,
        request: &Element<'_>,
        scope: &Scope<'_>,
    ) -> Option<Resources> {
        let property = |name: &str| scope.property(request, &format!("HTTPSampler.{name}")).trim();
        if property("image_parser") != "true" {
            return None;
        }
        if !self.embeds_any {
            self.embeds_any = true;
            let why = "JMeter also asks for what frames and stylesheets embed themselves, which is not \
                       done here";
            self.draft.notes.add(request.place(), request.what(), why);
        }
        let mut pool = 1;
        if property("concurrentDwn") == "true" {
            let known = self.words.known(property("concurrentPool"));
            // what it takes where nothing is said
            pool = known.and_then(|text| text.trim().parse().ok()).unwrap_or(CONNECTIONS_MAX);
            if pool > CONNECTIONS_MAX {
                let why = format!(
                    "its pool of {pool} is one of {CONNECTIONS_MAX} connections to each host"
                );
                self.draft.notes.add(request.place(), request.what(), why);
            }
        }
        let connections = (1..CONNECTIONS_MAX).contains(&pool).then_some(pool);
        let (allow, forbid) = (property("embedded_url_re"), property("embedded_url_exclude_re"));
        let matches = self.addresses(request, allow);
        let matches_not = self.addresses(request, forbid);
        Some(Resources { matches, matches_not, connections })
    }

    /// An expression for whole addresses, as one that is looked for in them.
    fn addresses(&mut self, request: &Element<'_>, text: &str) -> Option<String> {
        if text.is_empty() {
            return None;
        }
        let read = self.words.known(text).ok_or("it is not known before the load".to_owned());
        let whole = read.and_then(|text| pattern::carried(&text)).map(|it| format!("^(?:{it})$"));
        let sound = whole.and_then(|whole| {
            let resources = Resources { matches: Some(whole.clone()), ..Resources::default() };
            Wanted::new(&resources).map(|_| whole).map_err(|error| error.to_string())
        });
        match sound {
            Ok(whole) => Some(whole),
            Err(why) => {
                let why = format!("the expression for embedded addresses is left out: {why}");
                self.draft.notes.add(request.place(), request.what(), why);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_draft::Source;
    use plumb_draft::origin::WantedServers;

    use crate::import;

    use super::*;

    /// What the request of a plan with these properties asks for, and what is said of it.
    fn read(properties: &[(&str, &str)]) -> (Option<Resources>, Vec<String>) {
        let properties: String = properties
            .iter()
            .map(|(name, value)| {
                format!("<stringProp name='HTTPSampler.{name}'>{value}</stringProp>")
            })
            .collect();
        let text = format!(
            "<jmeterTestPlan><hashTree><TestPlan testname='p'/><hashTree><ThreadGroup testname='g'/>\
             <hashTree><HTTPSamplerProxy testname='page'><stringProp name='HTTPSampler.domain'>h\
             </stringProp>{properties}</HTTPSamplerProxy><hashTree/></hashTree></hashTree></hashTree>\
             </jmeterTestPlan>"
        );
        let source = Source { path: "p.jmx".into(), text };
        let draft = import(&source, WantedServers::default()).unwrap_or_else(|e| panic!("{e}"));
        let step = &draft.file.scenario[0].step[0];
        let notes = draft.notes.sorted().iter().map(ToString::to_string).collect();
        (step.resources.as_ref().map(|it| it.get_ref().clone()), notes)
    }

    #[test]
    fn embedded_resources_are_asked_for_as_jmeter_does() {
        let all = ("image_parser", "true");
        let pool = ("concurrentDwn", "true");
        let of = |properties: &[(&str, &str)]| read(properties).0.map(|it| it.connections);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("image_parser", "false"), pool]), None);
        assert_eq!(of(&[all]), Some(Some(1)));
        assert_eq!(of(&[all, pool]), Some(None));
        assert_eq!(of(&[all, pool, ("concurrentPool", "4")]), Some(Some(4)));
        assert_eq!(of(&[all, pool, ("concurrentPool", "12")]), Some(None));
        let (_, notes) = read(&[all, pool, ("concurrentPool", "12")]);
        assert!(notes.iter().any(|note| note.contains("its pool of 12")), "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("frames and stylesheets")), "{notes:?}");
    }

    #[test]
    fn expressions_mean_whole_addresses() {
        let all = ("image_parser", "true");
        let (found, notes) = read(&[
            all,
            ("embedded_url_re", "http://h/.*|http://s/.*"),
            ("embedded_url_exclude_re", "(?!no)"),
        ]);
        let found = found.unwrap_or_default();
        assert_eq!(found.matches.as_deref(), Some("^(?:http://h/.*|http://s/.*)$"));
        assert_eq!(found.matches_not, None);
        let said = notes.iter().any(|note| note.contains("embedded addresses is left out"));
        assert!(said, "{notes:?}");
    }
}
