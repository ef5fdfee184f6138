//! Every layer, by name. A new one is a crate, a line here and a line in `tests/imports.rs`.

use plumb_engine::layer::Layer;

use crate::integration::Integration;
use crate::pages::Pages;

/// The layers, in the order in which help lists them.
pub(crate) const LAYERS: &[&dyn Layer] = &[
    &plumb_net::Net,
    &Pages,
    &plumb_db::Db,
    &plumb_app::App,
    &Integration,
    &plumb_lock::Locks,
    &plumb_host::Host,
];

/// The layer whose command is called `name`.
pub(crate) fn find(name: &str) -> Option<&'static dyn Layer> {
    LAYERS.iter().copied().find(|layer| layer.command().get_name() == name)
}
