//! How scripts are driven over the version of HTTP that was asked for.

use plumb_engine::{Crew, EngineError, LoadResult};
use plumb_measure::{Http2Figures, Shape};
use plumb_over_http2::OverHttp2;

use crate::HttpVersion;
use crate::probe::not_http2;
use crate::route::{Route, Supervision};
use crate::scenario::player::Player;

/// Drives scripts over `route` as it [drives](Route::drive_crews) anything; with what was seen of HTTP/2, where that
/// is spoken.
///
/// # Errors
/// What the engine says when the load cannot begin.
pub(super) fn drive_players<'a>(
    route: &'a Route,
    crews: &[Crew<'_>],
    shape: Shape,
    player: impl Fn(usize) -> Player,
    by: Supervision<'a>,
) -> Result<(LoadResult<Player>, Option<Http2Figures>), EngineError> {
    if route.version() == HttpVersion::One {
        return Ok((route.drive_crews(crews, shape, player, by)?, None));
    }
    let over = |number: usize| OverHttp2::new(player(number), route.schemes(), not_http2);
    let load = route.drive_crews(crews, shape, over, by)?;
    let mut figures = Vec::new();
    let load = load.map(|over| {
        let (player, of_thread) = over.into_parts();
        figures.push(of_thread);
        player
    });
    Ok((load, Http2Figures::of_all(&figures)))
}
