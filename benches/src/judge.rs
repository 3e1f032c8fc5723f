//! Holds a new count against the recorded one.

use std::cmp::Ordering;

use crate::counts::{Row, Table};

/// By which part a cell may rise, and from which part on a fall is to be recorded, if nothing else is asked for.
pub const TOLERANCE: f64 = 0.05;

/// By which part the code of another compiler may be longer all over.
pub const COMPILER_TOLERANCE: f64 = 0.15;

/// What a cell's new count means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the tolerance.
    Same,
    /// Below it.
    Faster,
    /// Above it.
    Slower,
    /// It was never recorded.
    New,
}

/// A cell beside its record.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The cell's name.
    pub cell: String,
    /// The new instructions for each event over the recorded ones.
    pub per_event: f64,
    /// The same for each context switch.
    pub per_switch: f64,
    /// The same in all.
    pub in_all: f64,
    /// What that means.
    pub verdict: Verdict,
}

/// All cells beside their records.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The cells of the new table, in its order.
    pub cells: Vec<Judged>,
    /// By which factor the code of another compiler is longer or shorter all over: the median over the
    /// cells; 1 if it is the same compiler.
    pub compiler: f64,
    /// Rows of the record that were not counted anew.
    pub missing: Vec<String>,
}

impl Judgement {
    /// Whether a cell is slower, was not counted, or another compiler's code is much longer.
    #[must_use]
    pub fn fails(&self) -> bool {
        let is_slower = self.cells.iter().any(|cell| cell.verdict == Verdict::Slower);
        is_slower || !self.missing.is_empty() || self.compiler > 1.0 + COMPILER_TOLERANCE
    }

    /// Whether a cell is faster or new, so that the record is to be written anew.
    #[must_use]
    pub fn asks_for_record(&self) -> bool {
        let asks = |cell: &Judged| matches!(cell.verdict, Verdict::Faster | Verdict::New);
        self.cells.iter().any(asks)
    }
}

/// Holds `new` against `record`.
///
/// A cell is slower when it takes more than `tolerance` (a part of 1) for each event, for each context switch and in
/// all: a simulator that decides otherwise changes one or two of the three without being slower. It
/// is faster when all three have fallen by more.
///
/// What another release of the compiler does to all cells alike is taken out, and may not be much.
#[must_use]
pub fn judge(record: &Table, new: &Table, tolerance: f64) -> Judgement {
    let mut cells: Vec<Judged> = new.row.iter().map(|row| beside(record, row)).collect();
    let compiler =
        if release(&record.rustc) == release(&new.rustc) { 1.0 } else { common_part(&cells) };
    for cell in cells.iter_mut().filter(|cell| cell.verdict != Verdict::New) {
        cell.verdict = if cell.least() / compiler > 1.0 + tolerance {
            Verdict::Slower
        } else if cell.most() / compiler < 1.0 - tolerance {
            Verdict::Faster
        } else {
            Verdict::Same
        };
    }
    let is_missing = |row: &&Row| new.row(&row.cell).is_none();
    let missing = record.row.iter().filter(is_missing).map(|row| row.cell.clone()).collect();
    Judgement { cells, compiler, missing }
}

impl Judged {
    fn least(&self) -> f64 {
        self.per_event.min(self.per_switch).min(self.in_all)
    }

    fn most(&self) -> f64 {
        self.per_event.max(self.per_switch).max(self.in_all)
    }
}

fn beside(record: &Table, new: &Row) -> Judged {
    let cell = new.cell.clone();
    let Some(old) = record.row(&cell) else {
        return Judged {
            cell,
            per_event: 1.0,
            per_switch: 1.0,
            in_all: 1.0,
            verdict: Verdict::New,
        };
    };
    let in_all = ratio(new.instructions, old.instructions);
    Judged {
        cell,
        per_event: in_all / ratio(new.events, old.events),
        per_switch: in_all / ratio(new.switches.max(1), old.switches.max(1)),
        in_all,
        verdict: Verdict::Same,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn ratio(new: u64, old: u64) -> f64 {
    new as f64 / old as f64
}

/// The median of what the recorded cells take for each event; 1 without cells.
fn common_part(cells: &[Judged]) -> f64 {
    let known = cells.iter().filter(|cell| cell.verdict != Verdict::New);
    let mut ratios: Vec<f64> = known.map(|cell| cell.per_event).collect();
    ratios.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    ratios.get(ratios.len() / 2).copied().unwrap_or(1.0)
}

/// `1.95.0` of `rustc 1.95.0 (59807616e 2026-04-14)`.
fn release(rustc: &str) -> &str {
    rustc.split(' ').nth(1).unwrap_or(rustc)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rustc: &str, rows: &[(u64, u64, u64)]) -> Table {
        let row = |(k, &(instructions, switches, events))| Row {
            cell: format!("cell-{k}"),
            instructions,
            switches,
            events,
        };
        let row = rows.iter().enumerate().map(row).collect();
        Table { rustc: rustc.to_owned(), valgrind: "valgrind-3".to_owned(), row }
    }

    fn verdicts(record: &Table, new: &Table) -> Vec<Verdict> {
        judge(record, new, TOLERANCE).cells.iter().map(|cell| cell.verdict).collect()
    }

    #[test]
    fn a_cell_may_rise_by_five_percent_and_no_more() {
        let record = table("rustc 1.95.0 (a)", &[(1_000_000, 100, 1_000)]);
        let at = |instructions| {
            let new = table("rustc 1.95.0 (b)", &[(instructions, 100, 1_000)]);
            (verdicts(&record, &new)[0], judge(&record, &new, TOLERANCE).fails())
        };
        assert_eq!(at(1_049_000), (Verdict::Same, false));
        assert_eq!(at(1_051_000), (Verdict::Slower, true));
        assert_eq!(at(951_000), (Verdict::Same, false));
        assert_eq!(at(949_000), (Verdict::Faster, false));
    }

    #[test]
    fn a_run_that_decides_otherwise_is_not_slower_as_long_as_its_events_are_not() {
        let record = table("rustc 1.95.0", &[(1_000_000, 100, 1_000)]);
        let more_work = table("rustc 1.95.0", &[(1_500_000, 150, 1_500)]);
        let fewer_events = table("rustc 1.95.0", &[(800_000, 100, 500)]);
        let fewer_switches = table("rustc 1.95.0", &[(1_000_000, 50, 1_000)]);
        for new in [more_work, fewer_events, fewer_switches] {
            assert_eq!(verdicts(&record, &new), [Verdict::Same]);
        }
        let slower = table("rustc 1.95.0", &[(1_700_000, 150, 1_500)]);
        assert_eq!(verdicts(&record, &slower), [Verdict::Slower]);
    }

    #[test]
    fn what_another_compiler_does_to_all_cells_is_taken_out() {
        let record = table("rustc 1.95.0", &[(1_000, 1, 1), (1_000, 1, 1), (1_000, 1, 1)]);
        let all_longer = table("rustc 1.96.0", &[(1_100, 1, 1), (1_100, 1, 1), (1_100, 1, 1)]);
        assert!(!judge(&record, &all_longer, TOLERANCE).fails());
        let one_longer = table("rustc 1.96.0", &[(1_100, 1, 1), (1_100, 1, 1), (1_200, 1, 1)]);
        assert_eq!(verdicts(&record, &one_longer)[2], Verdict::Slower);
        let much_longer = table("rustc 1.96.0", &[(1_200, 1, 1), (1_200, 1, 1), (1_200, 1, 1)]);
        assert!(judge(&record, &much_longer, TOLERANCE).fails());
        let same_compiler = Table { rustc: record.rustc.clone(), ..all_longer };
        assert!(judge(&record, &same_compiler, TOLERANCE).fails());
    }

    #[test]
    fn a_cell_that_is_not_counted_fails_and_a_new_one_asks_to_be_recorded() {
        let two = table("rustc 1.95.0", &[(1_000, 1, 1), (1_000, 1, 1)]);
        let one = table("rustc 1.95.0", &[(1_000, 1, 1)]);
        assert_eq!(judge(&two, &one, TOLERANCE).missing, ["cell-1"]);
        assert!(judge(&two, &one, TOLERANCE).fails());
        let new = judge(&one, &two, TOLERANCE);
        assert_eq!(new.cells[1].verdict, Verdict::New);
        assert!(new.asks_for_record() && !new.fails());
    }

    #[test]
    fn an_idle_cell_without_switches_is_judged_by_its_events() {
        let record = table("rustc 1.95.0", &[(1_000, 0, 10)]);
        let slower = table("rustc 1.95.0", &[(1_100, 0, 10)]);
        assert_eq!(verdicts(&record, &slower), [Verdict::Slower]);
    }
}
