//! A landscape as one list of what an operation does, one after the other.

use super::draw::Draw;
use super::places::{Queue, Shared};
use crate::landscape::{Element, Landscape, Servers};

/// What an operation does next; the number is that of the delay, station or pool.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    Delay(usize),
    Queue(usize),
    Shared(usize),
    Hold(usize),
    Release(usize),
}

/// Everything that an operation passes.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) moves: Vec<Move>,
    pub(super) delays: Vec<Draw>,
    pub(super) queues: Vec<Queue>,
    pub(super) shared: Vec<Shared>,
    pub(super) pools: Vec<Queue>,
    /// The resources in the order of the landscape.
    pub(super) order: Vec<Move>,
}

impl Flow {
    pub(super) fn of(landscape: &Landscape) -> Self {
        let mut flow = Self::default();
        flow.add(&landscape.elements);
        flow
    }

    fn add(&mut self, elements: &[Element]) {
        for element in elements {
            match element {
                Element::Station(station) => {
                    let draw = Draw::of(station.service_s, station.variation);
                    let name = station.name.clone();
                    let next = match station.servers {
                        Servers::Delay => {
                            self.delays.push(draw);
                            Move::Delay(self.delays.len() - 1)
                        }
                        Servers::Queue(servers) => {
                            self.queues.push(Queue::new(name, servers, None, draw));
                            Move::Queue(self.queues.len() - 1)
                        }
                        Servers::Shared(processors) => {
                            let background = station.background;
                            self.shared.push(Shared::new(name, processors, background, draw));
                            Move::Shared(self.shared.len() - 1)
                        }
                    };
                    self.moves.push(next);
                    if !matches!(next, Move::Delay(_)) {
                        self.order.push(next);
                    }
                }
                Element::Pool(pool) => {
                    let none = Draw::of(0.0, 0.0);
                    let places = Queue::new(pool.name.clone(), pool.size, pool.queue, none);
                    self.pools.push(places);
                    let number = self.pools.len() - 1;
                    self.moves.push(Move::Hold(number));
                    self.order.push(Move::Hold(number));
                    self.add(&pool.inside);
                    self.moves.push(Move::Release(number));
                }
            }
        }
    }
}
