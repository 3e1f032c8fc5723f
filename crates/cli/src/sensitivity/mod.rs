//! `--sweep-hw`: which physical parameters, within their ranges, would change what is found.
//!
//! A run is a pure function of its machine, and its digest tells whether two runs are the same. So
//! the parameters of one table of the machine file are moved together first, each to an end of its
//! range, in a run of one seed; if all sides run the same as before, none of them is ever paid, and
//! they are left out. Else the table is halved, and so on. Each parameter that is paid runs at both
//! ends with one seed; where that finds another class, all seeds decide. A flip is one only if the
//! intervals of both runs leave no class in common. How many classes another seed changes on the
//! machine as it is says what such a list is worth.

mod machine;

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use simsched_topology::Topology;

use self::machine::{Machine, Parameter};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::scenario::Outcome;

/// Runs all sides again, on another machine: so many seeds from the first one on are left out, and
/// so many run.
pub(crate) type Again<'a> =
    dyn Fn(&Arc<Topology>, (u64, u64)) -> Result<Vec<Vec<Outcome>>, Failure> + 'a;

/// What of these runs is of another class than before.
pub(crate) type Judge<'a, F> = dyn Fn(&[Vec<Outcome>], Sure) -> Vec<F> + 'a;

/// When a class is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sure {
    /// When the values say so.
    No,
    /// When no class is possible within the intervals of both.
    Yes,
}

/// What a sweep has found.
#[derive(Clone, Debug)]
pub(crate) struct Sweep<F> {
    /// What changes, and with what.
    pub(crate) flips: Vec<(At, F)>,
    /// How many classes are others with other seeds on the same machine, by the values alone; none
    /// if that was not run.
    pub(crate) other_seed_flips: Option<usize>,
    /// Parameters that were run at the ends of their ranges.
    pub(crate) paid: Vec<String>,
    /// Those that these runs never pay.
    pub(crate) unpaid: Vec<String>,
    /// Those that cannot be moved alone, and why.
    pub(crate) fixed: Vec<String>,
    /// Whether Ctrl-C has left some out.
    pub(crate) partial: bool,
}

/// A parameter at an end of its range, in thousandths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) parameter: String,
    pub(crate) milli: u64,
    pub(crate) usual_milli: u64,
}

struct Sweeper<'a, F> {
    machine: &'a Machine,
    /// The digests of the first runs of all sides.
    base: &'a [String],
    seeds: u64,
    again: &'a Again<'a>,
    judge: &'a Judge<'a, F>,
    progress: &'a Mutex<Progress>,
    found: Sweep<F>,
}

/// Sweeps the parameters of the machine that `--topo` names like this. `base` are the digests of
/// the first runs of all sides, which had so many seeds; `judge` says what of other runs differs from
/// them in class.
pub(crate) fn sweep<F>(
    topo: &str,
    (base, seeds): (&[String], u64),
    again: &Again<'_>,
    judge: &Judge<'_, F>,
    progress: &Mutex<Progress>,
) -> Result<Sweep<F>, Failure> {
    let machine = Machine::load(topo)?;
    let found = Sweep {
        flips: Vec::new(),
        other_seed_flips: None,
        paid: Vec::new(),
        unpaid: Vec::new(),
        fixed: Vec::new(),
        partial: false,
    };
    let mut sweeper = Sweeper { machine: &machine, base, seeds, again, judge, progress, found };
    match sweeper.other_seed() {
        Err(Failure::Interrupted) => sweeper.found.partial = true,
        other => other?,
    }
    for table in machine.parameters.chunk_by(|a, b| a.table() == b.table()) {
        match sweeper.group(table) {
            Err(Failure::Interrupted) => {
                sweeper.found.partial = true;
                break;
            }
            other => other?,
        }
    }
    Ok(sweeper.found)
}

impl<F> Sweeper<'_, F> {
    /// As many other seeds on the machine as it is.
    fn other_seed(&mut self) -> Result<(), Failure> {
        let same = self.machine.with(&[]).map_err(Failure::Input)?;
        let runs = (self.again)(&same, (self.seeds, self.seeds))?;
        self.found.other_seed_flips = Some((self.judge)(&runs, Sure::No).len());
        Ok(())
    }

    fn group(&mut self, group: &[Parameter]) -> Result<(), Failure> {
        if interrupt::is_asked() {
            return Err(Failure::Interrupted);
        }
        let ends: Vec<(&Parameter, u64)> = group
            .iter()
            .filter_map(|parameter| Some((parameter, parameter.ends().last()?)))
            .collect();
        let moved = self.machine.with(&ends);
        if let ([parameter], Err(why)) = (group, &moved) {
            self.found.fixed.push(format!("{}: {why}", parameter.name()));
            return Ok(());
        }
        let runs = match moved {
            Ok(machine) => Some((self.again)(&machine, (0, 1))?),
            Err(_) => None,
        };
        if runs.as_ref().is_some_and(|runs| self.is_the_same(runs)) {
            self.found.unpaid.extend(group.iter().map(Parameter::name));
        } else if let ([parameter], Some(runs)) = (group, runs) {
            self.single(parameter, &runs)?;
        } else {
            let (first, second) = group.split_at(group.len() / 2);
            self.group(first)?;
            self.group(second)?;
        }
        let done = self.found.paid.len() + self.found.unpaid.len() + self.found.fixed.len();
        let mut progress = self.progress.lock().expect("nobody panics while telling");
        progress.parameters(done, self.machine.parameters.len());
        Ok(())
    }

    fn is_the_same(&self, runs: &[Vec<Outcome>]) -> bool {
        let mut sides = runs.iter().zip(self.base);
        sides.all(|(now, then)| now[0].report.digest == *then)
    }

    /// A parameter that is paid; `last` are the runs of its last end.
    fn single(&mut self, parameter: &Parameter, last: &[Vec<Outcome>]) -> Result<(), Failure> {
        self.found.paid.push(parameter.name());
        let ends: Vec<u64> = parameter.ends().collect();
        for (idx, end) in ends.iter().enumerate() {
            let moved = self.machine.with(&[(parameter, *end)]);
            let Ok(machine) = moved else { continue };
            let own;
            let one = if idx + 1 == ends.len() {
                last
            } else {
                own = (self.again)(&machine, (0, 1))?;
                &own
            };
            let flips = match (self.judge)(one, Sure::No).is_empty() {
                true => Vec::new(),
                false if self.seeds == 1 => (self.judge)(one, Sure::Yes),
                false => (self.judge)(&(self.again)(&machine, (0, self.seeds))?, Sure::Yes),
            };
            let (milli, usual_milli) = (*end, parameter.milli);
            let at = At { parameter: parameter.name(), milli, usual_milli };
            self.found.flips.extend(flips.into_iter().map(|flip| (at.clone(), flip)));
        }
        Ok(())
    }
}

/// Thousandths as a decimal number.
fn decimal(milli: u64) -> String {
    let text = format!("{}.{:03}", milli / 1000, milli % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl At {
    /// Such as `costs.tick at 700 (1000)`.
    pub(crate) fn told(&self) -> String {
        let At { parameter, milli, usual_milli } = self;
        format!("{parameter} at {} and not {}", decimal(*milli), decimal(*usual_milli))
    }
}

/// What was found, in lines.
pub(crate) fn text<F>(sweep: &Sweep<F>, said: impl Fn(&F) -> String) -> String {
    let Sweep { flips, other_seed_flips, paid, unpaid, fixed, partial } = sweep;
    let mut text = format!(
        "\nSensitivity: {} physical parameters were run at the ends of their ranges\n",
        paid.len()
    );
    if flips.is_empty() {
        text += "  none of them changes a class by more than the intervals allow\n";
    }
    if let Some(count) = other_seed_flips {
        let _ = writeln!(text, "  on the same machine other seeds change {count} classes");
    }
    for (at, flip) in flips {
        let _ = writeln!(text, "  {}: {}", at.told(), said(flip));
    }
    if !unpaid.is_empty() {
        let _ =
            writeln!(text, "  never paid in these runs ({}): {}", unpaid.len(), unpaid.join(", "));
    }
    for why in fixed {
        let _ = writeln!(text, "  not moved: {why}");
    }
    if *partial {
        text += "  stopped by Ctrl-C: the others were not run\n";
    }
    text
}

/// The same as JSON.
pub(crate) fn json<F>(sweep: &Sweep<F>, said: impl Fn(&F) -> Value) -> Value {
    let flip = |(at, flip): &(At, F)| {
        json!({
            "parameter": at.parameter,
            "value": decimal(at.milli),
            "usual": decimal(at.usual_milli),
            "changes": said(flip),
        })
    };
    json!({
        "flips": sweep.flips.iter().map(flip).collect::<Vec<_>>(),
        "other_seed_flips": sweep.other_seed_flips,
        "paid": sweep.paid,
        "unpaid": sweep.unpaid,
        "not_moved": sweep.fixed,
        "partial": sweep.partial,
    })
}
