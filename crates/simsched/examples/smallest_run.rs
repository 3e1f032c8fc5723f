//! The smallest run: a published patch on a server, ten seeds, one number with its interval.
#![expect(clippy::print_stdout, reason = "an example prints")]

use simsched::{Error, Metric, Simulation};

fn migrations(machine: &str, loops: u32) -> Result<[f64; 2], Error> {
    let load = format!("hackbench -g 2 -f 4 -T -p -l {loops}");
    let on = |policy: &str| -> Result<f64, Error> {
        let runs = Simulation::on(machine)?.policy(policy)?.workload(load.as_str())?;
        let spread = runs.seeds(1..=10).run()?.metric(&Metric::MIGRATIONS)?;
        println!("{policy}: {:.0} migrations +-{:.0}", spread.mean, spread.ci95.unwrap_or(0.0));
        Ok(spread.mean)
    };
    Ok([on("cfs")?, on("wakeup_bias_prev")?])
}

fn main() -> Result<(), Error> {
    migrations("genoa", 200).map(drop)
}

#[cfg(test)]
mod tests {
    /// What the patch is for: it reduces migrations (M. Desnoyers, 2023-10-17).
    #[test]
    fn the_patch_reduces_migrations() {
        let [base, patched] = super::migrations("t16", 100).unwrap();
        assert!(patched < base, "{base} {patched}");
    }
}
