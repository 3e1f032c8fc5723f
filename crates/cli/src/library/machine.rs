//! `Machine`: a topology with the costs of its hardware, by name, from a file or from a text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use simsched_topology::{Topology, split_mode};

use super::Error;
use crate::{identity, topo};

/// A machine that runs can be simulated on: its topology and the costs of its hardware.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(super) topology: Arc<Topology>,
    /// `built-in`, the path of its file, or the name under which its text was given.
    pub(super) file: String,
    /// The hash of that text; none of a built-in machine.
    pub(super) hash: Option<String>,
}

impl Machine {
    /// The machine that `name` means: a built-in one (`genoa`), or the path of a TOML file; a mode may
    /// follow after an `@` (`genoa@nps4`).
    ///
    /// # Errors
    /// When there is no such machine or mode, or the file cannot be read or is wrong, with its line.
    pub fn load(name: &str) -> Result<Machine, Error> {
        let (topology, file) = topo::load(name)?;
        let hash = file.map(|_| topo::hash(name)).transpose()?;
        let file = file.unwrap_or("built-in").to_owned();
        Ok(Machine { topology: Arc::new(topology), file, hash })
    }

    /// The machine that `text` describes, in the format of machine files. `name` stands for the file in
    /// messages and reports; a mode may follow after an `@`.
    ///
    /// # Errors
    /// What is wrong with the text, with its line.
    pub fn from_toml(name: &str, text: &str) -> Result<Machine, Error> {
        let (name, mode) = split_mode(name);
        Machine::of_text(name, mode, text)
    }

    fn of_text(name: &str, mode: Option<&str>, text: &str) -> Result<Machine, Error> {
        let topology = Topology::parse(text, name, mode).map_err(Error::input)?;
        let hash = Some(identity::hex(text.as_bytes()));
        Ok(Machine { topology: Arc::new(topology), file: name.to_owned(), hash })
    }

    /// Whether both are of the same text, in the same mode.
    pub(super) fn is(&self, other: &Machine) -> bool {
        let of = |it: &Machine| (it.topology.name().to_owned(), it.topology.mode().to_owned());
        (&self.file, &self.hash, of(self)) == (&other.file, &other.hash, of(other))
    }

    /// Its CPUs, caches, nodes and costs.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }
}

/// A machine, or the name or path of one: what [`Simulation::on`](super::Simulation::on) takes.
#[derive(Clone, Debug)]
pub struct MachineChoice(Choice);

#[derive(Clone, Debug)]
enum Choice {
    Name(String),
    File(PathBuf),
    Machine(Machine),
}

impl MachineChoice {
    pub(super) fn machine(self) -> Result<Machine, Error> {
        match self.0 {
            Choice::Name(name) => Machine::load(&name),
            Choice::File(path) => {
                let name = path.display().to_string();
                let text = topo::file(&name)?;
                Machine::of_text(&name, None, &text)
            }
            Choice::Machine(machine) => Ok(machine),
        }
    }
}

impl From<&str> for MachineChoice {
    fn from(name: &str) -> MachineChoice {
        MachineChoice(Choice::Name(name.to_owned()))
    }
}

impl From<String> for MachineChoice {
    fn from(name: String) -> MachineChoice {
        MachineChoice(Choice::Name(name))
    }
}

/// The machine file of this path, in its default mode; never a built-in machine.
impl From<&Path> for MachineChoice {
    fn from(path: &Path) -> MachineChoice {
        MachineChoice(Choice::File(path.to_owned()))
    }
}

impl From<Machine> for MachineChoice {
    fn from(machine: Machine) -> MachineChoice {
        MachineChoice(Choice::Machine(machine))
    }
}
