//! `benches/count.sh`: counts the instructions of the cells with callgrind, and compares them with the
//! recorded ones.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::thread;

use simsched_benches::cells::{Cell, plan};
use simsched_benches::counts::{Row, Table, put_between};
use simsched_benches::judge::{Judgement, TOLERANCE, Verdict, judge};
use simsched_benches::to_the_end;

/// What callgrind counts: instructions in this function and whatever it calls.
const COUNTED: &str = "--toggle-collect=*simsched_benches*to_the_end*";

const HELP: &str = "\
Counts the instructions of whole runs, and prints them by context switch and event.

usage: count.sh [--check[=PERCENT] | --record] [CELL...]

  --check   compare with benches/counts.toml; exit with 1 if a cell takes over 5 % more, or PERCENT
  --record  write benches/counts.toml, and its table in benches/README.md
  --list    print the cells and run nothing";

/// What is asked for.
#[derive(Clone, Copy, PartialEq)]
enum Task {
    Print,
    /// By which part a cell may rise.
    Check(f64),
    Record,
}

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let task = match args.first().map(String::as_str) {
        Some("--cell") => return run_cell(args.get(1)),
        Some("--help" | "-h") => return say(HELP),
        Some("--list") => return say(&list()),
        Some("--check") => Task::Check(TOLERANCE),
        Some(word) if word.starts_with("--check=") => match word["--check=".len()..].parse::<f64>()
        {
            Ok(percent) if percent > 0.0 => Task::Check(percent / 100.0),
            _ => {
                eprintln!("count: {word}: expected a number of percent, such as --check=2");
                return ExitCode::from(2);
            }
        },
        Some("--record") => Task::Record,
        _ => Task::Print,
    };
    if task != Task::Print {
        args.remove(0);
    }
    match count(task, &args) {
        Ok(code) => code,
        Err(text) => {
            eprintln!("count: {text}");
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stdout, reason = "a command prints")]
fn say(text: &str) -> ExitCode {
    println!("{text}");
    ExitCode::SUCCESS
}

fn list() -> String {
    let line = |cell: &Cell| {
        let hardware = format!("{:?}", cell.hardware).to_lowercase();
        let command = cell.load.command(cell.topology().nr_cpus());
        format!("{:<27}{:<12}{:<21}{hardware:<8}{command}", cell.name, cell.machine, cell.policy)
    };
    plan().iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The inside of a counted run: one cell, its counts printed for the parent.
fn run_cell(name: Option<&String>) -> ExitCode {
    let Some(cell) = plan().into_iter().find(|cell| Some(&cell.name) == name) else {
        eprintln!("count: there is no such cell: {name:?}");
        return ExitCode::from(2);
    };
    let topology = cell.topology();
    let mut run = cell.simulator(&topology);
    let counts = to_the_end(&mut run);
    say(&format!("{} {}", counts.switches, counts.events))
}

fn count(task: Task, names: &[String]) -> Result<ExitCode, String> {
    let cells = chosen(names)?;
    if task == Task::Record && !names.is_empty() {
        return Err("--record takes all cells".to_owned());
    }
    let mut table =
        Table { rustc: version("rustc")?, valgrind: version("valgrind")?, row: Vec::new() };
    table.row = counted(&cells)?;
    say(&table.to_markdown());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    match task {
        Task::Print => Ok(ExitCode::SUCCESS),
        Task::Record => record(folder, &table).map(|()| ExitCode::SUCCESS),
        Task::Check(tolerance) => check(folder, &table, !names.is_empty(), tolerance),
    }
}

fn chosen(names: &[String]) -> Result<Vec<Cell>, String> {
    let plan = plan();
    if let Some(name) = names.iter().find(|name| !plan.iter().any(|cell| cell.name == **name)) {
        return Err(format!("found {name}, expected cells as --list shows them"));
    }
    let is_chosen = |cell: &Cell| names.is_empty() || names.contains(&cell.name);
    Ok(plan.into_iter().filter(is_chosen).collect())
}

fn version(program: &str) -> Result<String, String> {
    let output = Command::new(program).arg("--version").output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Counts the cells, as many at once as there are CPUs; the rows are in the order of `cells`.
fn counted(cells: &[Cell]) -> Result<Vec<Row>, String> {
    let next = Mutex::new(0);
    let take = || {
        let mut next = next.lock().expect("no thread panics");
        *next += 1;
        (*next <= cells.len()).then(|| *next - 1)
    };
    let work = || {
        let mut rows = Vec::new();
        while let Some(k) = take() {
            rows.push((k, count_cell(&cells[k])));
        }
        rows
    };
    let nr_threads = thread::available_parallelism().map_or(1, usize::from);
    let mut rows = thread::scope(|scope| {
        let threads: Vec<_> = (0..nr_threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        threads.into_iter().flat_map(join).collect::<Vec<_>>()
    });
    rows.sort_by_key(|(k, _)| *k);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// One cell in a process of its own, with an empty environment: its size would move the stack.
#[expect(clippy::disallowed_methods, reason = "valgrind is where the user has it")]
fn count_cell(cell: &Cell) -> Result<Row, String> {
    let wrong = |what: &dyn std::fmt::Display| format!("{}: {what}", cell.name);
    let this = std::env::current_exe().map_err(|error| wrong(&error))?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let command = cell.command();
    match &command {
        Some(words) => valgrind.arg(this.with_file_name("simsched")).args(words.split(' ')),
        None => valgrind.args([COUNTED.as_ref(), this.as_os_str()]).args(["--cell", &cell.name]),
    };
    let output = valgrind
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .output()
        .map_err(|error| wrong(&error))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(wrong(&errors));
    }
    let instructions = collected(&errors).ok_or_else(|| wrong(&"nothing was counted"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counts = if command.is_some() { reported(&text) } else { printed(&text) };
    let (switches, events) =
        counts.ok_or_else(|| wrong(&format!("found {text:?}, expected switches and events")))?;
    Ok(Row { cell: cell.name.clone(), instructions, switches, events })
}

/// Switches and events as a cell prints them.
fn printed(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split_whitespace().map(|word| word.parse::<u64>().ok());
    Some((numbers.next().flatten()?, numbers.next().flatten()?))
}

/// Switches and events of the whole run in the JSON of `simsched run`, each on a line of its own. The instructions
/// are those of the whole run, too.
fn reported(json: &str) -> Option<(u64, u64)> {
    let of = |json: &str, key: &str| {
        let (_, rest) = json.split_once(&format!(" \"{key}\": "))?;
        rest.split([',', '\n']).next()?.parse::<u64>().ok()
    };
    let (_, whole) = json.split_once("\n  \"whole\": {")?;
    Some((of(whole, "context_switches")?, of(json, "events")?))
}

/// The count of a line such as `==12== Collected : 123456`; 0 is none.
fn collected(errors: &str) -> Option<u64> {
    let (_, rest) = errors.split_once("Collected :")?;
    rest.split_whitespace().next()?.parse().ok().filter(|count| *count > 0)
}

fn record(folder: &Path, table: &Table) -> Result<(), String> {
    let readme = folder.join("README.md");
    let wrong = |error: std::io::Error| error.to_string();
    let text = fs::read_to_string(&readme).map_err(wrong)?;
    fs::write(&readme, put_between(&text, &table.to_markdown())?).map_err(wrong)?;
    fs::write(folder.join("counts.toml"), table.to_toml()).map_err(wrong)
}

fn check(folder: &Path, new: &Table, is_part: bool, tolerance: f64) -> Result<ExitCode, String> {
    let text = fs::read_to_string(folder.join("counts.toml")).map_err(|error| error.to_string())?;
    let mut record = Table::parse(&text)?;
    if is_part {
        record.row.retain(|row| new.row(&row.cell).is_some());
    }
    let judgement = judge(&record, new, tolerance);
    say(&told(&record, new, &judgement, tolerance));
    Ok(if judgement.fails() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn told(record: &Table, new: &Table, judgement: &Judgement, tolerance: f64) -> String {
    let mut lines = vec![format!("{:<27} per event  per switch  in all", "new / recorded")];
    for cell in &judgement.cells {
        let verdict = match cell.verdict {
            Verdict::Same => "",
            Verdict::Faster => "  faster",
            Verdict::Slower => "  SLOWER",
            Verdict::New => "  new",
        };
        lines.push(format!(
            "{:<27} {:>9.3} {:>11.3} {:>7.3}{verdict}",
            cell.cell, cell.per_event, cell.per_switch, cell.in_all
        ));
    }
    lines.extend(judgement.missing.iter().map(|cell| format!("{cell}: not counted")));
    if record.rustc != new.rustc {
        lines.push(format!(
            "recorded with {}, counted with {}: all cells alike {:.3}, which is taken out",
            record.rustc, new.rustc, judgement.compiler
        ));
    }
    if judgement.fails() {
        let percent = 100.0 * tolerance;
        lines.push(format!(
            "FAILED: a cell takes over {percent} % more than its row in benches/counts.toml"
        ));
    } else if judgement.asks_for_record() {
        lines.push("better or new: benches/count.sh --record keeps it".into());
    } else {
        lines.push("no cell is slower than its row in benches/counts.toml".into());
    }
    lines.join("\n")
}
