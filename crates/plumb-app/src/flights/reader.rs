//! What the options of a request choose, read in the way of a service.

use plumb_odata::filter::{Datum, Order};
use plumb_odata::model::{CARRIER, EntityType, FLIGHT, OWN_OF_FLIGHT, Target};
use plumb_odata::{Entity, Options, Service};

use super::data::Data;
use crate::answer::Failure;
use crate::database::Row;
use crate::step::Step;

/// Entities of a page, and how many there are on all pages.
pub(super) struct Found {
    pub(super) entities: Vec<Entity>,
    pub(super) all: usize,
}

/// Reads what the options choose, in the way of a service.
pub(super) struct Reader<'a> {
    service: Service,
    options: &'a Options,
    /// Entities that navigations have led to.
    expanded: usize,
}

/// Entities that navigations may lead to in one answer.
const EXPANDED_MAX: usize = 20_000;

impl<'a> Reader<'a> {
    pub(super) fn new(service: Service, options: &'a Options) -> Self {
        Self { service, options, expanded: 0 }
    }

    pub(super) fn set(
        &mut self,
        step: &mut Step<'_>,
        kind: &'static EntityType,
    ) -> Result<Found, Failure> {
        let entities = if kind.name == CARRIER.name {
            entities(kind, Data::Carriers.read(step)?)
        } else if self.service != Service::Compatibility {
            entities(kind, Data::Flights.read(step)?)
        } else {
            let rows = Data::FlightRows.read(step)?;
            rows.into_iter().map(|row| complete(step, row)).collect::<Result<_, _>>()?
        };
        self.chosen(step, entities)
    }

    pub(super) fn entity(
        &self,
        step: &mut Step<'_>,
        kind: &'static EntityType,
        key: &[String],
    ) -> Result<Entity, Failure> {
        let missing = || Failure::not_found(format!("there is no {} {}", kind.name, key.join("/")));
        let first = |rows: Vec<Row>| rows.into_iter().next().ok_or_else(missing);
        let [carrier, rest @ ..] = key else { return Err(missing()) };
        let row = match rest {
            [connection, day] => {
                let key = [carrier.clone(), connection.clone(), day.clone()];
                if self.service == Service::Compatibility {
                    let row = first(Data::FlightRow(key).read(step)?)?;
                    return complete(step, row);
                }
                first(Data::Flight(key).read(step)?)?
            }
            _ => first(Data::Carrier(carrier.clone()).read(step)?)?,
        };
        Ok(Entity::new(kind, row))
    }

    /// What the navigation of `entity` leads to.
    pub(super) fn follow(
        &self,
        step: &mut Step<'_>,
        entity: &Entity,
    ) -> Result<Vec<Entity>, Failure> {
        let carrier = entity.text(0).to_owned(); // both types have it as their first property
        match entity.kind.navigation.to {
            Target::Carrier => Ok(entities(&CARRIER, Data::Carrier(carrier).read(step)?)),
            Target::Flights => Ok(entities(&FLIGHT, Data::FlightsOf(carrier).read(step)?)),
        }
    }

    /// Follows the navigations that the options name.
    pub(super) fn expand(
        &mut self,
        step: &mut Step<'_>,
        entities: &mut [Entity],
    ) -> Result<(), Failure> {
        self.expand_as(self.options, step, entities)
    }

    fn expand_as(
        &mut self,
        options: &Options,
        step: &mut Step<'_>,
        entities: &mut [Entity],
    ) -> Result<(), Failure> {
        let Some(inner) = options.expand.as_deref() else {
            return Ok(());
        };
        for entity in entities {
            let led = self.follow(step, entity)?;
            let mut led = choose(inner, led)?.entities;
            self.expanded += led.len();
            if self.expanded > EXPANDED_MAX {
                let problem = format!(
                    "$expand: it leads to more than {EXPANDED_MAX} entities: ask for fewer with \
                     $top or $filter"
                );
                return Err(Failure::bad_request(problem));
            }
            self.expand_as(inner, step, &mut led)?;
            entity.expanded = Some(led);
        }
        Ok(())
    }

    /// What of `entities` the options choose, in their order.
    pub(super) fn chosen(
        &mut self,
        step: &mut Step<'_>,
        entities: Vec<Entity>,
    ) -> Result<Found, Failure> {
        let mut found = choose(self.options, entities)?;
        self.expand(step, &mut found.entities)?;
        Ok(found)
    }
}

/// What of `entities` the `options` choose, in their order.
fn choose(options: &Options, mut entities: Vec<Entity>) -> Result<Found, Failure> {
    if let Some(filter) = &options.filter {
        let mut kept = Vec::new();
        for entity in entities {
            if filter.accepts(&entity).map_err(wrong("$filter"))? {
                kept.push(entity);
            }
        }
        entities = kept;
    }
    let all = entities.len();
    let entities = sorted(entities, &options.order).map_err(wrong("$orderby"))?;
    let top = options.top.unwrap_or(usize::MAX);
    Ok(Found { entities: entities.into_iter().skip(options.skip).take(top).collect(), all })
}

fn wrong(option: &'static str) -> impl Fn(String) -> Failure {
    move |problem| Failure::bad_request(format!("{option}: {problem}"))
}

fn entities(kind: &'static EntityType, rows: Vec<Row>) -> Vec<Entity> {
    rows.into_iter().map(|row| Entity::new(kind, row)).collect()
}

/// A flight with its connection, which is read for it alone.
fn complete(step: &mut Step<'_>, mut row: Row) -> Result<Entity, Failure> {
    let key = [row.text(0).to_owned(), row.text(1).to_owned()];
    let connection = Data::Connection(key).read(step)?.into_iter().next();
    row.0.truncate(OWN_OF_FLIGHT);
    row.0.extend(connection.map_or_else(Vec::new, |connection| connection.0));
    Ok(Entity::new(&FLIGHT, row))
}

/// `entities` by the keys of `orders`; equal ones stay as they were.
fn sorted(entities: Vec<Entity>, orders: &[Order]) -> Result<Vec<Entity>, String> {
    if orders.is_empty() {
        return Ok(entities);
    }
    let mut keyed = Vec::with_capacity(entities.len());
    for entity in entities {
        let keys: Result<Vec<Datum>, String> =
            orders.iter().map(|order| order.by.evaluate(&entity)).collect();
        keyed.push((keys?, entity));
    }
    let mut trouble = None;
    keyed.sort_by(|(left, _), (right, _)| {
        for ((left, right), order) in left.iter().zip(right).zip(orders) {
            match left.order(right) {
                Ok(std::cmp::Ordering::Equal) => {}
                Ok(found) if order.descending => return found.reverse(),
                Ok(found) => return found,
                Err(problem) => {
                    trouble.get_or_insert(problem);
                }
            }
        }
        std::cmp::Ordering::Equal
    });
    match trouble {
        Some(problem) => Err(problem),
        None => Ok(keyed.into_iter().map(|(_, entity)| entity).collect()),
    }
}
