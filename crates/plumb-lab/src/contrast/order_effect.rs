//! Whether the later of two blocks of a round fares worse or better for that alone.

use plumb_comparison::{Endpoint, OrderEffect};
use plumb_measure::statistics::shift;

use super::{Pair, ratio};

/// The later of the two in a round against the earlier, whoever it is. The candidate is the later in some
/// rounds and the earlier in the others, and what the variants differ in is the same in both. `None` where so
/// few rounds of one kind cannot show it, and of figures of zero.
///
/// # Source
/// The period effect of a cross-over trial: Hills and Armitage, The two-period cross-over clinical trial,
/// Br. J. Clin. Pharmac. 8, 1979; by ranks: Koch, The use of non-parametric methods in the statistical analysis
/// of the two-period change-over design, Biometrics 28, 1972.
pub(super) fn order_effect(primary: &Endpoint, pairs: &[Pair<'_>]) -> Option<OrderEffect> {
    let (mut later, mut earlier) = (Vec::new(), Vec::new());
    for (pair, block) in pairs.iter().zip(&primary.blocks) {
        let of_order = if pair.candidate_first { &mut earlier } else { &mut later };
        of_order.extend(block.effect());
    }
    let found = shift(&later, &earlier)?;
    // between the two kinds of rounds lies the effect twice: once added, once taken away
    Some(OrderEffect { ratio: ratio(found.by / 2.0)?, p: found.p })
}
