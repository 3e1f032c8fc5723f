//! What `lscpu` prints: `-p` (with any columns), `-e` and `-J -e`.
//!
//! Source of the formats: lscpu(1) of util-linux 2.38. The head lines of plain `lscpu` may stand before a
//! table (`lscpu; lscpu -p`): a table has no sizes of caches.

use std::collections::BTreeMap;

use crate::cpuinfo;
use crate::error::{ImportError, at, quoted, whole};
use crate::found::{Cache, Found, Node};
use crate::set::{self, Set};
use crate::totals;

type Result<T> = std::result::Result<T, ImportError>;

/// What is wrong with the totals that plain `lscpu` prints.
pub(crate) const SUMMARY: &str = "found the totals of plain lscpu, from which it does not follow which \
                                  CPUs share a core or a cache; expected a table: \
                                  `(lscpu -B; lscpu -p) > FILE`";

/// Whether this is a table of `-p` or `-e`, perhaps below head lines.
pub(crate) fn has_table(text: &str) -> bool {
    text.lines().any(|line| header(line).is_some() || bare(line).is_some())
}

/// The columns of a row of plain `-p` whose header was cut off (`lscpu -p | grep -v '^#'`): numbers, and in
/// the fifth place the empty column that stands there before the caches and nowhere else.
fn bare(line: &str) -> Option<Vec<String>> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let is_number = |cell: &&str| cell.is_empty() || set::number(cell).is_some();
    let is_row = (7..=10).contains(&cells.len()) && cells.iter().all(is_number);
    if !is_row || cells[0].is_empty() || cells[1].is_empty() || !cells[4].is_empty() {
        return None;
    }
    let names = ["CPU", "CORE", "SOCKET", "NODE", ""].into_iter();
    let names = names.chain(CACHES.iter().map(|(name, ..)| *name)).map(str::to_owned);
    Some(names.take(cells.len()).collect())
}

/// The columns of a header: `# CPU,Core,Socket` of `-p`, or `CPU NODE SOCKET` of `-e`.
fn header(line: &str) -> Option<Vec<String>> {
    let upper = |word: &str| word.trim().to_ascii_uppercase();
    let columns: Vec<String> = match line.strip_prefix('#') {
        Some(rest) => rest.split(',').map(upper).collect(),
        None => line.split_whitespace().map(upper).collect(),
    };
    let has = |name: &str| columns.iter().any(|column| column == name);
    (has("CPU") && (has("CORE") || has("SOCKET") || has("NODE"))).then_some(columns)
}

/// A row by column, `L1D:L1I:L2:L3` in its parts.
type Row = BTreeMap<String, String>;

fn row(columns: &[String], cells: &[String]) -> Row {
    let mut row = Row::new();
    for (column, cell) in columns.iter().zip(cells) {
        for (name, value) in column.split(':').zip(cell.split(':')) {
            row.insert(name.to_owned(), value.trim().to_owned());
        }
    }
    row
}

/// The cells of a row of `-e`; the name of a model has blanks in it.
fn words(line: &str, columns: &[String]) -> Vec<String> {
    let mut cells: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let more = cells.len().saturating_sub(columns.len());
    if let Some(model) = columns.iter().position(|column| column == "MODELNAME")
        && more > 0
    {
        let name = cells[model..=model + more].join(" ");
        cells.splice(model..=model + more, [name]);
    }
    cells
}

/// Reads the text of `-p` or `-e`.
pub(crate) fn read_table(text: &str, file: &str) -> Result<Found> {
    let mut found = Found { kind: "lscpu".to_owned(), ..Found::default() };
    let mut sizes = BTreeMap::new();
    let mut columns: Option<(Vec<String>, bool)> = None;
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate().map(|(n, line)| (n + 1, line.trim())) {
        if let Some(header) = header(line) {
            columns = Some((header, line.starts_with('#')));
            continue;
        }
        if let Some(bare) = bare(line).filter(|_| columns.is_none()) {
            found.notes.push(
                "there is no header: the columns are taken as those of `lscpu -p`".to_owned(),
            );
            columns = Some((bare, true));
        }
        match &columns {
            _ if line.is_empty() || line.starts_with('#') => {}
            None => head(line, &mut found, &mut sizes).map_err(|what| at(file, number, what))?,
            Some((columns, is_parsable)) => {
                let cells: Vec<String> = match is_parsable {
                    true => line.split(',').map(str::to_owned).collect(),
                    false => words(line, columns),
                };
                if cells.len() != columns.len() {
                    let what = format!("found {} columns, expected {}", cells.len(), columns.len());
                    return Err(at(file, number, what));
                }
                rows.push((number.to_string(), row(columns, &cells)));
            }
        }
    }
    lower(rows, &sizes, found, file)
}

/// Sizes in KiB of one cache of each kind, by the name of its column.
type Sizes = BTreeMap<String, u64>;

/// A line of plain `lscpu`, which may stand before a table.
fn head(line: &str, found: &mut Found, sizes: &mut Sizes) -> std::result::Result<(), String> {
    let Some((key, value)) = cpuinfo::pair(line) else { return Ok(()) };
    if key == "Model name"
        && let Some(other) = found.processor.name.as_deref().filter(|other| *other != value)
    {
        let [other, value] = [other, value].map(quoted);
        return Err(format!("cores of different kinds are not simulated ({other} and {value})"));
    }
    cpuinfo::head(&mut found.processor, key, value);
    if let Some(name) = key.strip_suffix(" cache")
        && let Some(kib) = size(value)
    {
        sizes.insert(name.to_ascii_uppercase(), kib);
    }
    Ok(())
}

/// `768 MiB (24 instances)`, `805306368 (24 instances)` and `32K`: the size of one in KiB.
pub(crate) fn size(text: &str) -> Option<u64> {
    let (total, instances) = text.split_once('(').unwrap_or((text, "1 "));
    let count: u64 = instances.split(' ').next()?.parse().ok().filter(|&count| count > 0)?;
    let total = total.trim();
    let end = total.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(total.len());
    let (number, unit) = total.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u64 = whole.parse().ok().filter(|&whole| whole < 1 << 40)?;
    let tenths: u64 = part.get(..1)?.parse().ok()?;
    let bytes: u64 = match unit.trim().chars().next() {
        None => 1,
        Some('K') => 1 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        Some(_) => return None,
    };
    let bytes = whole.checked_mul(bytes)?.checked_add(tenths * bytes / 10)?;
    Some(bytes / 1024 / count).filter(|&kib| kib > 0)
}

/// Reads the JSON of `-J -e`.
pub(crate) fn read_json(text: &str, file: &str) -> Result<Found> {
    // util-linux writes a bare `-` for what it does not know, which is no JSON.
    let bare = |end: &str| (format!("\": -{end}"), format!("\": null{end}"));
    let text = [",", "\n", "\r"].map(bare).iter().fold(text.to_owned(), |text, (bare, null)| {
        if text.contains(bare) { text.replace(bare, null) } else { text }
    });
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
        at(file, error.line(), format!("the file is no JSON that can be read ({error})"))
    })?;
    if let Some(fields) = json.get("lscpu") {
        return totals::read_json(fields, file);
    }
    let Some(cpus) = json.get("cpus").and_then(|cpus| cpus.as_array()) else {
        return Err(whole(file, "found JSON without `cpus`, expected that of `lscpu -J -e`"));
    };
    let mut rows = Vec::new();
    for (number, cpu) in cpus.iter().enumerate() {
        let place = format!("cpus[{number}]");
        let Some(cells) = cpu.as_object() else {
            return Err(at(file, place, "found no object, expected one for each CPU"));
        };
        let mut row = Row::new();
        for (column, value) in cells {
            let text = match value {
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Bool(flag) => flag.to_string(),
                serde_json::Value::Null => "-".to_owned(),
                other => other.to_string(),
            };
            let columns = column.to_ascii_uppercase();
            for (name, value) in columns.split(':').zip(text.split(':')) {
                row.insert(name.to_owned(), value.trim().to_owned());
            }
        }
        rows.push((place, row));
    }
    let found = Found { kind: "lscpu".to_owned(), ..Found::default() };
    lower(rows, &Sizes::new(), found, file)
}

const CACHES: &[(&str, u32, bool)] =
    &[("L1D", 1, false), ("L1I", 1, true), ("L2", 2, false), ("L3", 3, false), ("L4", 4, false)];

/// What the rows say; `place` is the line or the path of a row.
fn lower(rows: Vec<(String, Row)>, sizes: &Sizes, mut found: Found, file: &str) -> Result<Found> {
    let mut cores: BTreeMap<(u32, u32), Set> = BTreeMap::new();
    let (mut packages, mut nodes) = (BTreeMap::<u32, Set>::new(), BTreeMap::<u32, Set>::new());
    let mut caches: BTreeMap<(usize, u32), Set> = BTreeMap::new();
    let mut clusters: BTreeMap<u32, Set> = BTreeMap::new();
    let has_node = rows.iter().any(|(_, row)| row.get("NODE").is_some_and(|text| !is_blank(text)));
    for (place, row) in &rows {
        let number = |column: &str| -> Result<Option<u32>> {
            let Some(text) = row.get(column).filter(|text| !is_blank(text)) else {
                return Ok(None);
            };
            let wrong =
                || at(file, place, format!("{column} is {}, expected a number", quoted(text)));
            set::number(text).map(Some).ok_or_else(wrong)
        };
        let need = |column: &str| -> Result<u32> {
            let what = format!("found no {column} of this CPU, expected a number: add the column");
            number(column)?.ok_or_else(|| at(file, place, what))
        };
        let cpu = need("CPU")?;
        if is_offline(row) {
            found.hidden.insert(cpu);
            continue;
        }
        if !found.cpus.insert(cpu) {
            return Err(at(file, place, format!("CPU {cpu} is there twice")));
        }
        let package = number("SOCKET")?.unwrap_or(0);
        packages.entry(package).or_default().insert(cpu);
        cores.entry((package, need("CORE")?)).or_default().insert(cpu);
        if has_node {
            nodes.entry(need("NODE")?).or_default().insert(cpu);
        }
        if let Some(id) = number("CLUSTER")? {
            clusters.entry(id).or_default().insert(cpu);
        }
        for (kind, (column, ..)) in CACHES.iter().enumerate() {
            if let Some(id) = number(column)? {
                caches.entry((kind, id)).or_default().insert(cpu);
            }
        }
        words_of(row, cpu, &mut found);
    }
    if found.cpus.is_empty() {
        return Err(whole(file, "found no row of a CPU that is online, expected one for each"));
    }
    found.cores = cores.into_values().collect();
    found.packages = packages.into_values().collect();
    found.clusters = clusters.into_values().collect();
    let node = |(number, cpus)| Node { number, cpus, is_special: false };
    found.nodes = has_node.then(|| nodes.into_iter().map(node).collect());
    let cache = |((kind, _), cpus): ((usize, u32), Set)| {
        let (column, level, is_instruction) = CACHES[kind];
        Cache { level, is_instruction, kib: sizes.get(column).copied(), cpus }
    };
    found.caches = caches.into_iter().map(cache).collect();
    unlike(&mut found);
    Ok(found)
}

/// `lscpu` does not tell kinds of cores; second-level caches of one core and of several let one think of them.
fn unlike(found: &mut Found) {
    let cores = |cache: &Cache| found.cores.iter().filter(|c| !c.is_disjoint(&cache.cpus)).count();
    let counts = found.caches.iter().filter(|cache| cache.level == 2).map(cores);
    let (least, most) = (counts.clone().min(), counts.max());
    if let (Some(least), Some(most)) = (least, most)
        && least < most
    {
        found.notes.push(format!(
            "second-level caches serve {least} to {most} cores: if these are of different kinds, lscpu does \
             not tell it, and they are simulated alike"
        ));
    }
}

/// Whether a row is one of a CPU that does not run (`-a` or `-c`): without the column that says so, all
/// others are blank.
fn is_offline(row: &Row) -> bool {
    match row.get("ONLINE").map(|text| text.to_ascii_lowercase()).as_deref() {
        Some("no" | "n" | "false" | "0") => true,
        Some("yes" | "y" | "true" | "1") => false,
        _ => {
            let told = ["CORE", "SOCKET", "NODE"].into_iter().filter_map(|name| row.get(name));
            row.contains_key("CORE") && told.into_iter().all(|text| is_blank(text))
        }
    }
}

/// What columns that hold no numbers say: models, books, clocks.
fn words_of(row: &Row, cpu: u32, found: &mut Found) {
    let told = |name: &str| row.get(name).map(String::as_str).filter(|text| !is_blank(text));
    if let Some(model) = told("MODELNAME") {
        found.kinds.push((model.to_owned(), Set::from([cpu])));
        found.processor.name.get_or_insert_with(|| model.to_owned());
    }
    if told("BOOK").or(told("DRAWER")).is_some() {
        found.kinds.push(("book of s390".to_owned(), Set::from([cpu])));
    }
    let mhz = told("MAXMHZ").and_then(|text| text.split('.').next()?.parse::<u64>().ok());
    if let Some(mhz) = mhz.filter(|mhz| (100..=20_000).contains(mhz)) {
        let (least, most) = found.processor.max_mhz.unwrap_or((mhz, mhz));
        found.processor.max_mhz = Some((least.min(mhz), most.max(mhz)));
    }
}

/// What `lscpu` prints where it knows nothing.
fn is_blank(text: &str) -> bool {
    matches!(text.trim(), "" | "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_one_cache() {
        // Lines of lscpu 2.38 on 2 x EPYC 9654, with and without -B, and of lscpu 2.30.
        assert_eq!(size("768 MiB (24 instances)"), Some(32 * 1024));
        assert_eq!(size("805306368 (24 instances)"), Some(32 * 1024));
        assert_eq!(size("32K"), Some(32));
        assert_eq!(size("1.5 MiB (1 instance)"), Some(1_536));
        assert_eq!(size("some"), None);
    }
}
