//! `simsched topo`: which machines there are, what one looks like, what is wrong with a file.

mod import;
mod json;
mod tree;

use std::path::Path;

use simsched_topology::{
    CpuId, Domains, Kernel, MachineReport, MachineSummary, Topology, TopologyError, builtin_text,
    modes, render_list, render_show, split_mode,
};

use crate::args::{KernelArg, ShowArgs, TopoCommand};
use crate::bounded;
use crate::failure::Failure;
use crate::{identity, output, settings};

/// Where the names of machines are.
pub(crate) const MACHINES: &str = "`simsched topo list` lists the machines";

/// Does what `simsched topo` is asked for.
pub(crate) fn topo(command: &TopoCommand) -> Result<(), Failure> {
    match command {
        TopoCommand::List => output::print(&render_list(&MachineSummary::builtins())),
        TopoCommand::Show(args) => show(args),
        TopoCommand::Check { file } => check(file),
        TopoCommand::Import(args) => import::import(args),
    }
}

/// The machine that `text` names, in the mode after its last `@`, and the path of its file: a file
/// if there is one of that name, else a built-in machine.
pub(crate) fn load(text: &str) -> Result<(Topology, Option<&str>), Failure> {
    // A file may have an `@` in its own name.
    let (name, mode) = if Path::new(text).is_file() { (text, None) } else { split_mode(text) };
    match source(name)? {
        Some(source) => {
            let machine = Topology::parse(&source, name, mode).map_err(Failure::input)?;
            Ok((machine, Some(name)))
        }
        None => Ok((builtin(name, mode)?, None)),
    }
}

/// The text of the machine that `text` names, and its name in messages.
pub(crate) fn text(text: &str) -> Result<(String, String), Failure> {
    let (name, _) = if Path::new(text).is_file() { (text, None) } else { split_mode(text) };
    if let Some(source) = source(name)? {
        return Ok((source, name.to_owned()));
    }
    builtin(name, None)?;
    Ok((builtin_text(name).expect("a built-in machine has a text").to_owned(), name.to_owned()))
}

/// The text of a machine that is a file; none of a built-in one, and of a name that is neither.
pub(crate) fn file_text(text: &str) -> Result<Option<String>, Failure> {
    let (name, _) = if Path::new(text).is_file() { (text, None) } else { split_mode(text) };
    source(name)
}

/// The hash of that text.
pub(crate) fn hash(name: &str) -> Result<String, Failure> {
    Ok(identity::hex(text(name)?.0.as_bytes()))
}

/// A machine that is built in; a name that looks like a file's is not found as a file either.
fn builtin(name: &str, mode: Option<&str>) -> Result<Topology, Failure> {
    Topology::builtin(name, mode).map_err(|error| match error {
        TopologyError::UnknownMachine { .. } => Failure::Input(not_found(name, &error)),
        _ => Failure::input(error),
    })
}

/// What is wrong with a name that is neither that of a file nor that of a machine.
fn not_found(name: &str, error: &TopologyError) -> String {
    if name.is_empty() {
        format!("found no name of a machine; {MACHINES}")
    } else if Path::new(name).is_dir() {
        folder(name)
    } else if name.ends_with(".toml") {
        let text = format!("{name}: there is no such file, and {error}");
        if text.ends_with('?') { text } else { format!("{text}; {MACHINES}") }
    } else {
        let text = error.to_string();
        if text.ends_with('?') { text } else { format!("{text}; {MACHINES}") }
    }
}

fn folder(name: &str) -> String {
    format!("{name}: found a folder, expected the file of a machine; {MACHINES}")
}

/// The text of the file `name`; `None` if the name can only be that of a built-in machine.
fn source(name: &str) -> Result<Option<String>, Failure> {
    let is_path = name.contains(std::path::is_separator) || Path::new(name).is_file();
    if is_path && Path::new(name).is_dir() {
        return Err(Failure::Input(folder(name)));
    }
    is_path.then(|| file(name)).transpose()
}

/// The text of this file.
pub(crate) fn file(name: &str) -> Result<String, Failure> {
    output::inputs::reads(Path::new(name))?;
    bounded::text(Path::new(name), bounded::WRITTEN)
}

fn show(args: &ShowArgs) -> Result<(), Failure> {
    let (machine, _) = load(&args.topo)?;
    let cpus = machine.cpus();
    let cpu = args.cpu.parse().ok().map(CpuId).filter(|cpu| cpus.contains(*cpu));
    let Some(cpu) = cpu else {
        let text = format!("--cpu: found '{}', expected one of {cpus} of {}", args.cpu, args.topo);
        return Err(Failure::Input(text));
    };
    let kernel = match args.kernel {
        KernelArg::V6_1 => Kernel::V6_1,
        KernelArg::V6_12 => Kernel::V6_12,
    };
    let domains = Domains::build(&machine, kernel, settings::numa_imbalance(&args.settings)?);
    let report = MachineReport::of(&machine, &domains, cpu);
    match args.json {
        true => output::data(&output::json(&json::Machine::from(report))),
        false => output::print(&render_show(&report)),
    }
}

/// A file is right if it describes a machine in each of its modes.
fn check(file: &str) -> Result<(), Failure> {
    let text = match source(file)? {
        Some(text) => text,
        None => {
            builtin(file, None)?;
            builtin_text(file).expect("a built-in machine has a text").to_owned()
        }
    };
    let mut found = String::new();
    for mode in modes(&text, file).map_err(Failure::input)? {
        let machine = Topology::parse(&text, file, Some(&mode.name)).map_err(Failure::input)?;
        let size = output::units::machine(&machine);
        found.push_str(&format!("{file}@{}: {size}\n", mode.name));
    }
    output::print(&found)
}
