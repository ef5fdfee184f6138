//! The variables of users: names become slots once, values are shared where they are the same.

use std::cell::{RefCell, RefMut};
use std::collections::HashMap;
use std::sync::Arc;

use plumb_measure::LoadPart;

use crate::generator::{Counter, Counters, Generator};

/// The place of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

/// Names of variables, each with its slot.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Vec<Arc<str>>,
    slots: HashMap<Arc<str>, Slot>,
    /// Counters of built-in values; `None` where there are no such values.
    counters: Option<Counters>,
    uses_values: bool,
}

/// Why a text is no name of a variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no name of a variable: write letters, digits, `_`, `-` and `.`")]
pub struct NoName {
    /// As written.
    pub name: String,
}

impl Names {
    /// None yet, for templates that may hold built-in values. `part` says which numbers of a
    /// counter of the whole load are those of this process.
    #[must_use]
    pub fn with_values(part: LoadPart) -> Self {
        Self { counters: Some(Counters::new(part)), ..Self::default() }
    }

    /// True where templates may hold built-in values: they then ask for one.
    pub(crate) fn ask_for_value(&mut self) -> bool {
        self.uses_values |= self.counters.is_some();
        self.uses_values
    }

    /// True when a template asked for a built-in value.
    #[must_use]
    pub fn uses_values(&self) -> bool {
        self.uses_values
    }

    /// The counter `name` of each user or of the load.
    pub(crate) fn counter(&mut self, name: &str, of_load: bool) -> Option<Counter> {
        Some(self.counters.as_mut()?.named(name, of_load))
    }

    /// The slot of `name`, a new one when it was not known.
    ///
    /// # Errors
    /// [`NoName`] for what cannot stand in `${...}`.
    pub fn slot(&mut self, name: &str) -> Result<Slot, NoName> {
        if let Some(slot) = self.slots.get(name) {
            return Ok(*slot);
        }
        let wrong = || NoName { name: name.into() };
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(wrong());
        }
        let slot = Slot(u32::try_from(self.names.len()).map_err(|_| wrong())?);
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.slots.insert(name, slot);
        Ok(slot)
    }

    /// The name of a slot.
    #[must_use]
    pub fn name(&self, slot: Slot) -> &str {
        self.names.get(slot.index()).map_or("", |name| name)
    }

    /// All names, in the order in which they became known.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }
}

impl Slot {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// True for what a name is made of.
fn is_name(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '-' | '.')
}

/// What a variable holds. A clone shares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One text.
    Text(Arc<str>),
    /// Several, for `each`.
    List(Arc<[Arc<str>]>),
}

impl Value {
    /// One text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// Several texts.
    #[must_use]
    pub fn list<T: Into<Arc<str>>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(Into::into).collect())
    }

    /// True of a list of none.
    #[must_use]
    pub fn is_empty_list(&self) -> bool {
        matches!(self, Self::List(values) if values.is_empty())
    }
}

/// The values that all users of a scenario have in common: those of the file, of the scenario and
/// what the preparation extracted.
#[derive(Clone, Debug, Default)]
pub struct Common {
    values: Vec<Option<Value>>,
}

impl Common {
    /// Gives a variable a value; the one it had before is gone.
    pub fn set(&mut self, slot: Slot, value: Value) {
        let index = slot.index();
        if self.values.len() <= index {
            self.values.resize(index + 1, None);
        }
        self.values[index] = Some(value);
    }

    /// The values, ready to be shared.
    #[must_use]
    pub fn share(self) -> Arc<Self> {
        Arc::new(self)
    }

    fn get(&self, slot: Slot) -> Option<&Value> {
        self.values.get(slot.index())?.as_ref()
    }
}

/// The variables of one user: its own before the common ones. What it never set costs nothing.
#[derive(Clone, Debug)]
pub struct Variables {
    common: Arc<Common>,
    /// In no order: a user has few.
    own: Vec<(Slot, Value)>,
    /// A template is written of variables that stay as they are, and yet draws and counts on.
    generator: Option<Box<RefCell<Generator>>>,
}

impl Variables {
    /// A user that has set nothing.
    #[must_use]
    pub fn new(common: Arc<Common>) -> Self {
        Self { common, own: Vec::new(), generator: None }
    }

    /// The same, whose built-in values come from `generator`.
    #[must_use]
    pub fn with(common: Arc<Common>, generator: Generator) -> Self {
        Self { generator: Some(Box::new(RefCell::new(generator))), ..Self::new(common) }
    }

    /// Says which turn of the script begins, from 1.
    pub fn begin_iteration(&mut self, iteration: u64) {
        if let Some(generator) = &mut self.generator {
            generator.get_mut().begin_iteration(iteration);
        }
    }

    /// Where its built-in values come from.
    pub(crate) fn generator(&self) -> Option<RefMut<'_, Generator>> {
        self.generator.as_ref().map(|generator| generator.borrow_mut())
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, slot: Slot) -> Option<&Value> {
        let own = self.own.iter().find(|(known, _)| *known == slot);
        own.map(|(_, value)| value).or_else(|| self.common.get(slot))
    }

    /// Gives a variable a value for this user.
    pub fn set(&mut self, slot: Slot, value: Value) {
        match self.own.iter_mut().find(|(known, _)| *known == slot) {
            Some((_, old)) => *old = value,
            None => self.own.push((slot, value)),
        }
    }

    /// Takes the user's own value away; the common one, if any, is seen again.
    pub fn unset(&mut self, slot: Slot) {
        self.own.retain(|(known, _)| *known != slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_values_hide_common_ones() {
        let mut names = Names::default();
        let (host, id) = (names.slot("host").unwrap(), names.slot("id").unwrap());
        assert_eq!(names.slot("host"), Ok(host));
        assert_eq!((names.name(id), names.all().collect::<Vec<_>>()), ("id", vec!["host", "id"]));
        let mut common = Common::default();
        common.set(host, Value::text("a"));
        common.set(host, Value::text("b"));
        let common = common.share();
        let (mut one, other) = (Variables::new(Arc::clone(&common)), Variables::new(common));
        assert_eq!((one.get(host), one.get(id)), (Some(&Value::text("b")), None));
        one.set(host, Value::text("c"));
        one.set(id, Value::list(["1", "2"]));
        assert_eq!(one.get(host), Some(&Value::text("c")));
        assert_eq!(one.get(id), Some(&Value::list(["1", "2"])));
        assert_eq!((other.get(host), other.get(id)), (Some(&Value::text("b")), None));
        one.unset(host);
        assert_eq!(one.get(host), Some(&Value::text("b")));
    }

    #[test]
    fn a_name_must_fit_into_a_template() {
        let mut names = Names::default();
        for name in ["", "a b", "a}", "${a}", "a:url", "a\n"] {
            assert_eq!(names.slot(name), Err(NoName { name: name.into() }));
        }
        for name in ["a", "A-1", "x.y_z", "größe"] {
            assert!(names.slot(name).is_ok(), "{name}");
        }
        assert_eq!(names.all().count(), 4);
    }

    #[test]
    fn a_user_that_set_nothing_is_small() {
        assert!(size_of::<Variables>() <= 40 && size_of::<(Slot, Value)>() <= 32);
    }
}
