//! A machine of one's own: a file of TOML, here Genoa with a quarter of its LLCs.
#![expect(clippy::print_stdout, reason = "an example prints")]

use simsched::prelude::*;

/// The text of the built-in machine, with three LLCs a socket in place of twelve.
fn text() -> String {
    let genoa = simsched::topology::builtin_text("genoa").unwrap_or_default();
    genoa.replace("llcs_per_socket = 12", "llcs_per_socket = 3")
}

fn report() -> Result<String, Error> {
    let machine = Machine::from_toml("quarter-genoa.toml", &text())?;
    println!("{} CPUs", machine.topology().nr_cpus());
    let load = "hackbench -g 1 -f 4 -T -p -l 100";
    Ok(Simulation::on(machine)?.policy("eevdf")?.workload(load)?.run()?.to_json())
}

fn main() -> Result<(), Error> {
    print!("{}", report()?);
    Ok(())
}

#[test]
fn the_report_names_the_machine() {
    let report: serde_json::Value = serde_json::from_str(&report().unwrap()).unwrap();
    assert_eq!(report["scenario"]["nr_cpus"], 96);
    assert_eq!(report["scenario"]["topology_file"], "quarter-genoa.toml");
}
