//! From compiled scenarios to what their users follow.

use std::sync::Arc;

use plumb_scenario::cookies::Site;
use plumb_scenario::file::{Cookies, OnFailure};
use plumb_scenario::variables::Names;

use super::{Draft, ScenarioCompiler, seed_of};
use crate::scenario::cursor::SharedTurns;
use crate::scenario::program::Step;
use crate::scenario::user_script::Script;

/// What all scripts of a file share.
pub(super) struct ScriptParts {
    pub(super) steps: Arc<[Step]>,
    pub(super) names: Arc<Names>,
    pub(super) sites: Arc<[Site]>,
}

impl ScenarioCompiler<'_> {
    /// The script of `draft`, whose chance is that of `number`.
    pub(super) fn script(&self, draft: Draft<'_>, number: u64, parts: &ScriptParts) -> Script {
        let scenario = draft.scenario;
        Script {
            name: scenario.name.clone(),
            steps: Arc::clone(&parts.steps),
            names: Arc::clone(&parts.names),
            origins: Arc::clone(self.origins),
            token: draft.token,
            login: draft.login,
            program: draft.program,
            finish: draft.finish,
            proof: draft.proof,
            refused: self.overrides.refused.clone(),
            close: self.overrides.close || self.source.file().close,
            identities: draft.identities,
            common: draft.common.share(),
            data: draft.data,
            shared: SharedTurns::new(draft.lists, self.overrides.part),
            iterations: scenario.iterations.as_ref().map(|most| *most.get_ref()),
            pause: scenario.pause.as_ref().map(|pause| *pause.get_ref()),
            cookies: scenario.cookies,
            sites: Arc::clone(&parts.sites),
            on_failure: scenario.on_failure,
            seed: seed_of(self.seed, number),
            body_bytes_max: self.overrides.body_bytes_max,
            prepares: false,
        }
    }

    /// The script of what is done once, where it asks for anything.
    pub(super) fn done_once(
        &self,
        draft: Draft<'_>,
        (name, on_failure): (&str, OnFailure),
        parts: &ScriptParts,
    ) -> Option<Arc<Script>> {
        let asks = !draft.program.is_empty();
        let script = Script {
            name: name.into(),
            iterations: Some(1),
            cookies: Cookies::Keep,
            on_failure,
            prepares: true,
            ..self.script(draft, 0, parts)
        };
        asks.then(|| Arc::new(script))
    }
}
