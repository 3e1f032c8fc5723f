//! The table of instruction counts: what a row says, its file, and the text that README.md shows.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// A cell as it was counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The cell's name.
    pub cell: String,
    /// Instructions from the first event to the last.
    pub instructions: u64,
    /// Context switches.
    pub switches: u64,
    /// Events.
    pub events: u64,
}

/// All cells, and what built and counted them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// `rustc --version` of the compiler whose code was counted.
    pub rustc: String,
    /// `valgrind --version` of the counter.
    pub valgrind: String,
    /// The rows, in the order of the plan.
    pub row: Vec<Row>,
}

impl Row {
    /// Instructions for a context switch.
    #[must_use]
    pub fn per_switch(&self) -> u64 {
        self.instructions / self.switches.max(1)
    }

    /// Instructions for an event.
    #[must_use]
    pub fn per_event(&self) -> u64 {
        self.instructions / self.events.max(1)
    }
}

impl Table {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Table, String> {
        let table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
        for (k, row) in table.row.iter().enumerate() {
            if table.row[..k].iter().any(|other| other.cell == row.cell) {
                return Err(format!("{}: found twice, expected once", row.cell));
            }
            if row.instructions == 0 || row.events == 0 {
                return Err(format!("{}: found nothing counted", row.cell));
            }
        }
        Ok(table)
    }

    /// The file.
    ///
    /// # Panics
    /// Never: strings and numbers can be written.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let head = "# Instructions of whole runs, written by benches/count.sh --record.\n";
        format!("{head}{}", toml::to_string(self).expect("strings and numbers"))
    }

    /// The row of this cell.
    #[must_use]
    pub fn row(&self, cell: &str) -> Option<&Row> {
        self.row.iter().find(|row| row.cell == cell)
    }

    /// The table of README.md.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = String::from(
            "| cell | context switches | events | instructions per switch | per event |\n\
             | --- | ---: | ---: | ---: | ---: |\n",
        );
        for row in &self.row {
            let [switches, events, per_switch, per_event] =
                [row.switches, row.events, row.per_switch(), row.per_event()].map(thousands);
            writeln!(text, "| {} | {switches} | {events} | {per_switch} | {per_event} |", row.cell)
                .expect("a String takes all");
        }
        text
    }
}

/// `number` with a comma before every three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `text` with what stands between the two marks replaced by `table`.
///
/// # Errors
/// When a mark is missing.
pub fn put_between(text: &str, table: &str) -> Result<String, String> {
    let missing = |mark: &str| format!("found no line {mark}");
    let (before, rest) = text.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

const BEGIN: &str = "<!-- counts.toml -->";
const END: &str = "<!-- end of counts.toml -->";

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cell: &str) -> Row {
        Row { cell: cell.to_owned(), instructions: 1_234_567, switches: 100, events: 1000 }
    }

    fn table() -> Table {
        Table { rustc: "rustc 1".into(), valgrind: "valgrind-3".into(), row: vec![row("a-16")] }
    }

    #[test]
    fn a_table_that_is_written_is_read_as_it_was() {
        assert_eq!(Table::parse(&table().to_toml()), Ok(table()));
    }

    #[test]
    fn a_file_with_a_row_twice_or_with_nothing_counted_is_refused() {
        let twice = Table { row: vec![row("a-16"), row("a-16")], ..table() };
        assert!(Table::parse(&twice.to_toml()).is_err_and(|text| text.contains("a-16")));
        let empty = Table { row: vec![Row { events: 0, ..row("b") }], ..table() };
        assert!(Table::parse(&empty.to_toml()).is_err());
        assert!(Table::parse("rustc = 1").is_err());
    }

    #[test]
    fn readme_shows_counts_by_switch_and_event_with_commas() {
        assert!(table().to_markdown().ends_with("| a-16 | 100 | 1,000 | 12,345 | 1,234 |\n"));
        assert_eq!(thousands(1_234_567), "1,234,567");
    }

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let text = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let found = put_between(&text, "new\n").expect("both marks");
        assert_eq!(found, format!("before\n{BEGIN}\nnew\n{END}\nafter\n"));
        assert!(put_between("no mark", "new").is_err());
    }

    /// A run of a machine that decides otherwise has other rows; who records writes both files.
    #[test]
    fn the_table_of_the_readme_is_the_file() {
        let table = Table::parse(include_str!("../counts.toml")).expect("a good file");
        let readme = include_str!("../README.md");
        assert_eq!(put_between(readme, &table.to_markdown()).as_deref(), Ok(readme));
    }

    #[test]
    fn the_file_has_a_row_for_each_cell_of_the_plan_in_its_order() {
        let table = Table::parse(include_str!("../counts.toml")).expect("a good file");
        let rows: Vec<String> = table.row.into_iter().map(|row| row.cell).collect();
        let plan: Vec<String> = crate::cells::plan().into_iter().map(|cell| cell.name).collect();
        assert_eq!(rows, plan);
    }
}
