//! Histories against the model of a queue.

use proptest::prelude::*;

use super::super::super::model::{Pair, step};
use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_does_what_its_model_does(steps in prop::collection::vec(step(), 1..120)) {
        let folder = tempfile::tempdir().unwrap();
        Pair::new(|clock| Box::new(open(folder.path(), clock))).run(steps)?;
    }
}
