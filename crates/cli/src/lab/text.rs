//! The verdicts as a table.

use simsched_lab::judge::{Row, Tally};
use simsched_lab::verdict::{Class, Verdict};

use super::{HEAVY_SEEDS, Judged, On, Report, Verdicts, below};
use crate::args::Bars;
use crate::output::units::percent;

/// All that is told; the last line is the summary by class.
pub(super) fn report(report: &Report<'_>) -> String {
    let mut text = String::new();
    for folder in &report.folders {
        text += &self::folder(folder, report);
        text.push('\n');
    }
    if let [only] = &report.folders[..] {
        return text + &summary(&only.tally, &report.bars) + "\n";
    }
    for folder in report.folders.iter().filter(|folder| !matches!(folder.bench.on, On::Nothing)) {
        text += &format!("{}: {}\n", name(folder), summary(&folder.tally, &report.bars));
    }
    let mut last = format!("all: {}", counts(&report.total()));
    if report.is_below() {
        last += "; a folder is below its bar";
    }
    text + &last + "\n"
}

fn name(folder: &Judged<'_>) -> String {
    let of = &folder.bench.folder;
    let variant = of.variant().map(|variant| format!(" ({})", variant.name().replace('-', " ")));
    format!("{}-{}{}", of.kernel(), of.topology(), variant.unwrap_or_default())
}

/// With which seeds the simulator has run.
fn seeds(seed: u64, seeds: u64) -> String {
    match seeds {
        1 => format!("seed {seed}"),
        _ => {
            let last = seed.wrapping_add(seeds - 1);
            format!("seeds {seed} to {last}: means, of exact metrics medians")
        }
    }
}

fn folder(folder: &Judged<'_>, report: &Report<'_>) -> String {
    let name = name(folder);
    let mut text = match &folder.bench.on {
        On::Simulator(bed) => {
            format!("{name}: {}, {}\n", bed.policy, seeds(report.seed, report.seeds))
        }
        On::Pair(pair) => {
            let seeds = seeds(report.seed, report.seeds.min(HEAVY_SEEDS));
            format!("{name}: {} and {}, {seeds}\n", pair.off.policy, pair.on.policy)
        }
        On::Groups(bed) => {
            let seeds = seeds(report.seed, report.seeds.min(HEAVY_SEEDS));
            format!("{name}: {}, {seeds}\n", bed.policy)
        }
        On::Recorded(label) => format!("{name}: as recorded under {label}\n"),
        On::Nothing => {
            let kernel = folder.bench.folder.kernel();
            return format!("{name}: not yet: there is no policy for kernel {kernel}\n");
        }
    };
    let rows = folder.scenarios.iter();
    let cells: Vec<Cells> = rows
        .flat_map(|of| of.rows.iter().map(move |row| Cells::of(&of.scenario.name, row)))
        .collect();
    let head = Cells::head();
    let lines = || std::iter::once(&head).chain(&cells);
    let widths: [usize; 7] =
        std::array::from_fn(|nth| lines().map(|cells| cells.0[nth].len()).max().unwrap_or(0));
    lines().for_each(|cells| text += &cells.line(&widths));
    folder.scenarios.iter().for_each(|of| text += &outside(of));
    if folder.stopped > 0 {
        text += &format!("stopped by Ctrl-C: {} scenarios were not run\n", folder.stopped);
    }
    text
}

/// A line for each seed in which somebody outside the scenario came between.
fn outside(of: &Verdicts<'_>) -> String {
    let mut text = String::new();
    for (label, outside) in of.outside.iter().flatten() {
        let Some(first) = &outside.first else { continue };
        let names = outside.by_name.iter().map(|(name, count)| format!("{name} {count}"));
        text += &format!(
            "outside {}, {label}: {} of {} switches are with others ({}), the first:\n  {}\n",
            of.scenario.name,
            outside.with_outsiders,
            outside.switches,
            names.collect::<Vec<_>>().join(", "),
            first.trim()
        );
    }
    text
}

/// The cells of a line: scenario, metric, class, the kernel's values, their spread, ours, verdict.
struct Cells([String; 7]);

impl Cells {
    fn head() -> Cells {
        Cells(
            ["scenario", "metric", "class", "kernel", "spread", "ours", "verdict"]
                .map(str::to_owned),
        )
    }

    fn of(scenario: &str, row: &Row) -> Cells {
        let kernel: Vec<String> = row.kernel.iter().map(ToString::to_string).collect();
        let spread =
            row.spread().map_or_else(|| "-".to_owned(), |cv| format!("{:.1} %", 100.0 * cv));
        let verdict = match row.verdict {
            Verdict::Met => "met",
            Verdict::Missed => "MISSED",
            Verdict::Shown => "shown",
        };
        Cells([
            scenario.to_owned(),
            row.metric.clone(),
            row.class.to_string(),
            kernel.join(" "),
            spread,
            row.ours.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            verdict.to_owned(),
        ])
    }

    fn line(&self, widths: &[usize]) -> String {
        let cells = self.0.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    }
}

/// `exact 255 of 256 (99.6 %), tight ..., loose ..., 54 shown`, and what is below its bar.
fn summary(tally: &Tally, bars: &Bars) -> String {
    let below: Vec<&str> = below(tally, bars).into_iter().map(Class::name).collect();
    let text = counts(tally);
    if below.is_empty() { text } else { format!("{text}; below the bar: {}", below.join(", ")) }
}

fn counts(tally: &Tally) -> String {
    let class = |class: Class| {
        let (met, judged) = tally.of(class);
        format!("{class} {met} of {judged} ({})", percent(met, judged))
    };
    let of_seeds = [Class::Exact, Class::Tight, Class::Loose];
    let is_told = |of: &Class| of_seeds.contains(of) || tally.of(*of).1 > 0;
    let judged: Vec<String> = Class::JUDGED.into_iter().filter(is_told).map(class).collect();
    format!("{}, {} shown", judged.join(", "), tally.shown)
}
