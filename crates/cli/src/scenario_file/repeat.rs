//! The JSON report of a run as a scenario: what to do to get it again.

use serde_json::{Map, Value};

use super::written::{Given, Setting, Written};
use crate::failure::Failure;
use crate::identity;
use crate::output;
use crate::report::SCHEMA;
use crate::topo;

/// A report being read.
struct Report<'a> {
    file: &'a str,
    scenario: &'a Map<String, Value>,
    written: Written,
}

/// The schemas whose `scenario` is read: it is the same in both.
const KNOWN: [u64; 2] = [1, SCHEMA as u64];

/// What the report says, and the digests of its runs, which a repetition must have, too. Runs that were
/// interrupted have none that could be had again.
pub(super) fn read(text: &str, file: &str) -> Result<(Written, Vec<String>), Failure> {
    let wrong = |what: String| Failure::Input(format!("{file}: {what}"));
    let root: Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| Failure::Input(format!("{file}:{}: no JSON: {error}", error.line())))?;
    if let Some(schema) = root.get("schema")
        && !schema.as_u64().is_some_and(|schema| KNOWN.contains(&schema))
    {
        return Err(wrong(format!("schema: found {schema}, expected {}", KNOWN[1])));
    }
    let Some(Value::Object(scenario)) = root.get("scenario") else {
        let what = "found JSON without a `scenario`, expected the report of `simsched run --json`";
        return Err(wrong(what.to_owned()));
    };
    let mut report = Report { file, scenario, written: Written::default() };
    report.options()?;
    let mut runs: Vec<&Map<String, Value>> = vec![&root];
    if let Some(seeds) = root.get("seeds") {
        report.option("seeds", "seeds", seeds.to_string());
        runs = root
            .get("runs")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .collect();
    }
    let is_whole =
        |run: &&&Map<String, Value>| run.get("end").is_none_or(|end| end != "interrupted");
    let text = |run: &Map<String, Value>| run.get("digest")?.as_str().map(str::to_owned);
    let digests: Vec<String> =
        runs.iter().take_while(is_whole).filter_map(|run| text(run)).collect();
    Ok((report.written, digests))
}

impl Report<'_> {
    fn options(&mut self) -> Result<(), Failure> {
        let machine = self.machine()?;
        self.option("topo", "topo", machine);
        let policy = self.text("policy")?;
        self.option("policy", "policy", policy);
        let number = |key: &str| match self.scenario.get(key) {
            Some(value) if value.is_number() => Ok(Some(value.to_string())),
            None => Ok(None),
            Some(_) => Err(self.wrong(key, "a number")),
        };
        let seed = number("seed")?;
        let (duration, precision) = (number("duration_ns")?, number("precision_pct")?);
        let (limit, interval) = (number("precision_limit")?, number("llc_interval_ns")?);
        let Some(seed) = seed else { return Err(self.wrong("seed", "a whole number")) };
        self.option("seed", "seed", seed);
        let spans = [("duration", duration, "ns"), ("llc_interval", interval, "ns")];
        let shares = [("precision", precision, "%"), ("precision_limit", limit, "")];
        for (id, value, unit) in spans.into_iter().chain(shares) {
            if let Some(value) = value {
                self.option(id, id, value + unit);
            }
        }
        for flag in ["whole", "paranoid"] {
            match self.scenario.get(flag) {
                None | Some(Value::Bool(false)) => {}
                Some(Value::Bool(true)) => {
                    let (at, words) = (self.at(flag), vec![format!("--{flag}")]);
                    self.written.options.push(Given { id: flag.to_owned(), words, at });
                }
                Some(_) => return Err(self.wrong(flag, "true or false")),
            }
        }
        self.settings()?;
        self.written.workload = Some((self.workload()?, self.at("workload")));
        Ok(())
    }

    fn at(&self, key: &str) -> String {
        format!("{}: scenario.{key}", self.file)
    }

    fn wrong(&self, key: &str, expected: &str) -> Failure {
        let found = self.scenario.get(key).map_or_else(|| "nothing".to_owned(), Value::to_string);
        Failure::Input(format!("{}: found {found}, expected {expected}", self.at(key)))
    }

    fn option(&mut self, id: &str, key: &str, value: String) {
        let words = vec![format!("--{}={value}", id.replace('_', "-"))];
        let at = self.at(key);
        self.written.options.push(Given { id: id.to_owned(), words, at });
    }

    fn text(&self, key: &str) -> Result<String, Failure> {
        let text = self.scenario.get(key).and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| self.wrong(key, "a text"))
    }

    /// As it was given, or what reports had before that: its name or file, and its mode.
    fn machine(&self) -> Result<String, Failure> {
        let (file, mode) = (self.text("topology_file")?, self.text("mode")?);
        let name = if file == "built-in" { self.text("topology")? } else { file.clone() };
        let machine = format!("{name}@{mode}");
        let known = self.scenario.get("topology_hash").and_then(Value::as_str);
        if let (Some(known), Ok((text, _))) = (known, topo::text(&machine))
            && known != identity::hex(text.as_bytes())
        {
            let what = "note: the machine's file has changed since the report";
            output::say(&format!("{what}: {file}"));
        }
        Ok(machine)
    }

    fn settings(&mut self) -> Result<(), Failure> {
        let Some(Value::Object(settings)) = self.scenario.get("settings") else {
            return Err(self.wrong("settings", "an object of texts"));
        };
        let at = self.at("settings");
        for (key, value) in settings {
            let Some(value) = value.as_str() else {
                return Err(self.wrong("settings", "an object of texts"));
            };
            let (key, value, at) = (key.clone(), value.to_owned(), at.clone());
            self.written.settings.push(Setting { key, value, at });
        }
        Ok(())
    }

    /// Its words as they were given, or the command line that reports had before that.
    fn workload(&self) -> Result<Vec<String>, Failure> {
        match self.scenario.get("workload_args") {
            None => Ok(self.text("workload")?.split_whitespace().map(str::to_owned).collect()),
            Some(Value::Array(words)) => {
                let words = words.iter().map(|word| word.as_str().map(str::to_owned));
                let words = words.collect::<Option<Vec<String>>>();
                words.ok_or_else(|| self.wrong("workload_args", "an array of texts"))
            }
            Some(_) => Err(self.wrong("workload_args", "an array of texts")),
        }
    }
}
