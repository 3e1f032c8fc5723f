//! `Machine`: a machine file whose physical parameters can be moved to the ends of their ranges.

use std::sync::Arc;

use simsched_topology::Topology;
use toml::{Table, Value};

use crate::failure::Failure;
use crate::topo;

/// A number of a machine with a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    path: Vec<Key>,
    /// The value in use and both ends of the range, in thousandths.
    pub(crate) milli: u64,
    pub(crate) lo_milli: u64,
    pub(crate) hi_milli: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    Name(String),
    Index(usize, String),
}

/// The text of a machine, which can be changed.
pub(crate) struct Machine {
    root: Table,
    file: String,
    mode: String,
    pub(crate) parameters: Vec<Parameter>,
}

impl Parameter {
    /// Its name, such as `c2c_ns.same_llc`, `idle.C2.measured_exit_us` or `costs.tick`.
    pub(crate) fn name(&self) -> String {
        let word = |key: &Key| match key {
            Key::Name(name) | Key::Index(_, name) => name.clone(),
        };
        self.path.iter().map(word).collect::<Vec<_>>().join(".")
    }

    /// The table that it stands in.
    pub(crate) fn table(&self) -> &str {
        match self.path.first() {
            Some(Key::Name(name) | Key::Index(_, name)) => name,
            None => "",
        }
    }

    /// The ends of its range that differ from its value.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u64> {
        let milli = self.milli;
        [self.lo_milli, self.hi_milli].into_iter().filter(move |end| *end != milli)
    }
}

impl Machine {
    /// The machine that `--topo` names like this.
    pub(crate) fn load(name: &str) -> Result<Machine, Failure> {
        let (topology, _) = topo::load(name)?;
        let (text, file) = topo::text(name)?;
        let root: Table = text.parse().map_err(Failure::input)?;
        let mut machine =
            Machine { root, file, mode: topology.mode().to_owned(), parameters: Vec::new() };
        let mut found = Vec::new();
        // Prices may come from a list: the machine that was read knows them all.
        let others =
            machine.root.iter().filter(|(key, _)| !["mode", "costs"].contains(&key.as_str()));
        for (key, value) in others {
            walk(&mut vec![Key::Name(key.clone())], value, &mut found);
        }
        for (name, fact) in topology.cost_facts() {
            let path = ["costs", name].map(|key| Key::Name(key.to_owned())).to_vec();
            let (milli, lo_milli, hi_milli) = (fact.milli, fact.lo_milli, fact.hi_milli);
            found.push(Parameter { path, milli, lo_milli, hi_milli });
        }
        found.retain(|parameter| parameter.ends().next().is_some());
        machine.parameters = found;
        Ok(machine)
    }

    /// The machine with these parameters at these values, in thousandths; what is wrong with it, if it
    /// contradicts itself then.
    pub(crate) fn with(&self, changes: &[(&Parameter, u64)]) -> Result<Arc<Topology>, String> {
        let mut root = self.root.clone();
        for (parameter, milli) in changes {
            let table = if parameter.table() == "costs" { self.costs(&mut root) } else { None };
            match table {
                Some(costs) => drop(costs.insert(parameter.last().to_owned(), number(*milli))),
                None => set(Value::Table(std::mem::take(&mut root)), &parameter.path, *milli)
                    .map(|changed| root = changed)
                    .ok_or("the parameter has gone")?,
            }
        }
        let text = toml::to_string(&root).map_err(|error| error.to_string())?;
        let machine = Topology::parse(&text, &self.file, Some(&self.mode));
        machine.map(Arc::new).map_err(|error| error.to_string())
    }

    /// The table of the machine's own prices, those of the mode if that has some.
    fn costs<'a>(&self, root: &'a mut Table) -> Option<&'a mut Table> {
        let mode =
            |root: &Table| root.get("mode")?.get(&self.mode)?.get("costs").is_some().then_some(());
        let holder = match mode(root) {
            Some(()) => root.get_mut("mode")?.get_mut(&self.mode)?.as_table_mut()?,
            None => root,
        };
        let costs = holder.get_mut("costs")?;
        if let Value::String(list) = costs {
            let list = Value::String(std::mem::take(list));
            *costs = Value::Table(Table::from_iter([("list".to_owned(), list)]));
        }
        costs.as_table_mut()
    }
}

impl Parameter {
    fn last(&self) -> &str {
        match self.path.last() {
            Some(Key::Name(name) | Key::Index(_, name)) => name,
            None => "",
        }
    }
}

/// Thousandths as machine files write them.
fn number(milli: u64) -> Value {
    match i64::try_from(milli) {
        Ok(milli) if milli % 1000 == 0 => Value::Integer(milli / 1000),
        #[expect(clippy::cast_precision_loss, reason = "at most three decimals, read back exactly")]
        _ => Value::Float(milli as f64 / 1000.0),
    }
}

/// The thousandths of a number of a machine file.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to fit")]
fn milli(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok()?.checked_mul(1000),
        Value::Float(number) if (0.0..1e15).contains(number) => {
            Some((number * 1000.0).round() as u64)
        }
        _ => None,
    }
}

/// Finds all `{ v, lo, hi }` below `value`.
fn walk(path: &mut Vec<Key>, value: &Value, found: &mut Vec<Parameter>) {
    match value {
        Value::Table(table) => {
            if let Some(v) = table.get("v").and_then(milli) {
                let end = |key| table.get(key).and_then(milli).unwrap_or(v);
                let (lo_milli, hi_milli) = (end("lo"), end("hi"));
                found.push(Parameter { path: path.clone(), milli: v, lo_milli, hi_milli });
                return;
            }
            // A state that is not in use costs nothing.
            if table.get("enabled") == Some(&Value::Boolean(false)) {
                return;
            }
            for (key, value) in table {
                path.push(Key::Name(key.clone()));
                walk(path, value, found);
                path.pop();
            }
        }
        Value::Array(values) => {
            for (idx, value) in values.iter().enumerate() {
                let name = value.get("name").and_then(Value::as_str);
                let name = name.map_or_else(|| idx.to_string(), str::to_owned);
                path.push(Key::Index(idx, name));
                walk(path, value, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// The tree with the number at `path` changed.
fn set(mut root: Value, path: &[Key], milli: u64) -> Option<Table> {
    let mut at = &mut root;
    for key in path {
        at = match key {
            Key::Name(name) => at.get_mut(name)?,
            Key::Index(idx, _) => at.get_mut(*idx)?,
        };
    }
    at.as_table_mut()?.insert("v".to_owned(), number(milli));
    match root {
        Value::Table(root) => Some(root),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter<'a>(machine: &'a Machine, name: &str) -> &'a Parameter {
        let found = machine.parameters.iter().find(|parameter| parameter.name() == name);
        found.unwrap_or_else(|| panic!("{name} is a parameter"))
    }

    #[test]
    fn every_number_with_a_range_can_be_moved_to_both_ends() {
        for name in simsched_topology::builtin_names() {
            let machine = Machine::load(name).unwrap();
            for parameter in &machine.parameters {
                let ends: Vec<u64> = parameter.ends().collect();
                assert!(!ends.is_empty() && !ends.contains(&parameter.milli));
                for end in ends {
                    let (moved, name) = (machine.with(&[(parameter, end)]), parameter.name());
                    // An idle state may not be quicker to leave than a shallower one.
                    let is_idle = parameter.table() == "idle";
                    assert!(moved.is_ok() || is_idle, "{name} at {end}: {:?}", moved.err());
                }
            }
        }
    }

    /// The price list has 1 us (0.7 to 1.5) for a remote tick; genoa has a transfer of 27 ns (24 to 34).
    #[test]
    fn what_is_moved_is_what_the_machine_then_has() {
        let machine = Machine::load("genoa@nps4").unwrap();
        let transfer = parameter(&machine, "c2c_ns.same_llc");
        assert_eq!(
            (transfer.milli, transfer.lo_milli, transfer.hi_milli),
            (27_000, 24_000, 34_000)
        );
        let moved = machine.with(&[(transfer, transfer.hi_milli)]).unwrap();
        assert_eq!(moved.facts().c2c_ns.same_llc.as_ref().unwrap().milli, 34_000);
        assert_eq!((moved.mode(), moved.nr_nodes()), ("nps4", 8));
        let tick = parameter(&machine, "costs.tick");
        let moved = machine.with(&[(tick, tick.hi_milli), (transfer, 24_000)]).unwrap();
        assert_eq!(u64::from(moved.costs().tick) * 1000, tick.hi_milli);
        assert_eq!(moved.facts().c2c_ns.same_llc.as_ref().unwrap().milli, 24_000);
        let exit = parameter(&machine, "idle.C2.measured_exit_us");
        let moved = machine.with(&[(exit, exit.lo_milli)]).unwrap();
        assert_eq!(moved.idle_states()[2].measured_exit_ns, 5_000);
    }
}
