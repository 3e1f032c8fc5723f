//! The text of a file becomes claims, each with what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use simsched_topology::nearest;
use toml::{Table, Value};

use crate::claim::{Better, Claim, Kind, Published, Values};
use crate::error::{ClaimError, Refused};
use crate::lines::{Lines, line};
use crate::metric::{Family, Metric};
use crate::renamed::{note, present_name};

/// How large a number can be whose quotients and squares are to be numbers, too.
///
/// Guess: no measurement is beyond, in any unit.
const MAGNITUDES: RangeInclusive<f64> = 1e-30..=1e30;

/// How many characters the names of claims and metrics may have.
const LONGEST: usize = 200;

/// What a claim may say.
const KEYS: [&str; 17] = [
    "id",
    "source",
    "topology",
    "baseline",
    "patched",
    "workload",
    "metric",
    "unit",
    "better",
    "baseline_value",
    "patched_value",
    "baseline_std_pct",
    "patched_std_pct",
    "ratio",
    "kind",
    "real_seconds",
    "options",
];

/// The claims in `text`, in their order; those that are wrong are replaced by what is wrong.
///
/// # Errors
/// When the text is no TOML, or holds something else than claims.
pub fn read(text: &str, file: &str) -> Result<Vec<Result<Claim, Refused>>, ClaimError> {
    let root: Table = text.parse().map_err(|error| syntax(&error, text, file))?;
    let shape = |key: &str, found: String, nearest: Vec<String>| ClaimError::Shape {
        file: file.to_owned(),
        key: key.to_owned(),
        found,
        expected: "only tables [[claim]]".to_owned(),
        nearest,
    };
    if let Some((key, value)) = root.iter().find(|(key, _)| *key != "claim") {
        return Err(shape(key, described(value), close(key, ["claim"])));
    }
    let claims = match root.get("claim") {
        None => return Err(shape("claim", "nothing".to_owned(), Vec::new())),
        Some(Value::Array(claims)) => claims,
        Some(other) => return Err(shape("claim", described(other), Vec::new())),
    };
    let mut seen = BTreeSet::new();
    let mut one = |(nth, value): (usize, &Value)| {
        let place = format!("#{}", nth + 1);
        let reader = match value {
            Value::Table(table) => Reader::new(file, place, table),
            other => {
                let empty = Table::new();
                let reader = Reader::new(file, place, &empty);
                return Err(reader.refused("claim", &described(other), "a table"));
            }
        };
        let claim = reader.claim()?;
        if !seen.insert(claim.id.clone()) {
            let found = format!("\"{}\" a second time", claim.id);
            return Err(reader.refused("id", &found, "a name that is unique in the file"));
        }
        Ok(claim)
    };
    let lines = Lines::of(text);
    let placed = |(nth, value)| {
        one((nth, value))
            .map_err(|refused| Refused { line: lines.line(nth, &refused.key), ..refused })
    };
    Ok(claims.iter().enumerate().map(placed).collect())
}

fn syntax(error: &toml::de::Error, text: &str, file: &str) -> ClaimError {
    let line = line(text, error.span().map_or(0, |span| span.start));
    let what = error.message().split('\n').collect::<Vec<_>>().join(", ");
    ClaimError::Syntax { file: file.to_owned(), line, what }
}

fn close<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    nearest(name, names).into_iter().map(str::to_owned).collect()
}

/// What stands in a file, in a word or two.
fn described(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{text}\""),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
        other => other.to_string(),
    }
}

struct Reader<'a> {
    file: &'a str,
    id: String,
    table: &'a Table,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, place: String, table: &'a Table) -> Reader<'a> {
        // One that is too long for a table is named by its place, as one that is missing.
        let is_name = |id: &&str| (1..=LONGEST).contains(&id.chars().count());
        let id = table.get("id").and_then(Value::as_str).filter(is_name);
        Reader { file, id: id.map_or(place, str::to_owned), table }
    }

    fn refused(&self, key: &str, found: &str, expected: &str) -> Refused {
        Refused {
            file: self.file.into(),
            line: 0,
            id: self.id.as_str().into(),
            key: key.into(),
            found: found.into(),
            expected: expected.into(),
            nearest: Box::default(),
        }
    }

    fn claim(&self) -> Result<Claim, Refused> {
        if let Some((key, value)) = self.table.iter().find(|(key, _)| !KEYS.contains(&key.as_str()))
        {
            let known = format!("one of the keys {}", KEYS.join(", "));
            let nearest = close(key, KEYS).into();
            return Err(Refused { nearest, ..self.refused(key, &described(value), &known) });
        }
        let id = self.text("id", "a name that is unique in the file")?;
        self.check_length("id", &id)?;
        let command = self.maybe_text("workload", COMMAND)?.unwrap_or_default();
        let (metric, note) = self.metric(&command)?;
        let kind = self.name_of("kind", &Kind::NAMES)?;
        self.check_kind(kind, &metric)?;
        let is_parameter = kind == Kind::Parameter;
        let better = match self.table.get("better") {
            None if is_parameter => Better::None,
            _ => self.name_of("better", &Better::NAMES)?,
        };
        self.check_better(better, &metric)?;
        let unit = self.maybe_text("unit", "the unit as published")?.unwrap_or_default();
        let published = self.published(is_parameter)?;
        self.check_unit(&unit, &metric, &published)?;
        let real_seconds = self.real_seconds(&metric, &unit, &published)?;
        let baseline = self.maybe_text("baseline", "a policy expression")?;
        let (baseline, workload) = if is_parameter {
            (baseline.unwrap_or_default(), command)
        } else {
            (self.text("baseline", "a policy expression")?, self.text("workload", COMMAND)?)
        };
        Ok(Claim {
            file: self.file.to_owned(),
            id,
            source: self.text("source", "where it was published")?,
            topology: self.text("topology", "a machine, as --topo takes it")?,
            baseline,
            patched: self.text("patched", "a policy expression")?,
            workload,
            metric,
            note,
            unit,
            better,
            real_seconds,
            published,
            kind,
            options: self.options()?,
        })
    }

    /// Names are columns of tables.
    fn check_length(&self, key: &str, name: &str) -> Result<(), Refused> {
        match name.chars().count() {
            ..=LONGEST => Ok(()),
            long => {
                let expected = format!("a name of at most {LONGEST}");
                Err(self.refused(key, &format!("{long} characters"), &expected))
            }
        }
    }

    /// The metric, and what is to be said of its name.
    fn metric(&self, workload: &str) -> Result<(Metric, Option<String>), Refused> {
        let text = self.text("metric", "a metric, such as time")?;
        self.check_length("metric", &text)?;
        let present = present_name(&text, workload);
        let metric =
            Metric::parse(present.as_deref().unwrap_or(&text)).map_err(|unknown| Refused {
                nearest: unknown.nearest.into(),
                ..self.refused("metric", &format!("\"{text}\""), &unknown.expected)
            })?;
        Ok((metric, present.map(|present| note(&text, &present))))
    }

    /// Parameters are computed, everything else is run.
    fn check_kind(&self, kind: Kind, metric: &Metric) -> Result<(), Refused> {
        let found = format!("\"{}\" with the metric {metric}", kind.name());
        match (kind, metric.family.is_parameter()) {
            (Kind::Parameter, false) => {
                Err(self.refused("kind", &found, "\"end_to_end\" or \"mechanism\""))
            }
            (Kind::EndToEnd | Kind::Mechanism, true) => {
                Err(self.refused("kind", &found, "\"parameter\""))
            }
            _ => Ok(()),
        }
    }

    /// More time is never better, more throughput never worse.
    fn check_better(&self, better: Better, metric: &Metric) -> Result<(), Refused> {
        match metric.family.good() {
            Some(good) if better != good && better != Better::None => {
                let found = format!("\"{}\" of {metric}", better.name());
                let expected = format!("\"{}\" or \"none\"", good.name());
                Err(self.refused("better", &found, &expected))
            }
            _ => Ok(()),
        }
    }

    /// Published values have a unit of their metric; of a ratio it does not matter.
    fn check_unit(
        &self,
        unit: &str,
        metric: &Metric,
        published: &Published,
    ) -> Result<(), Refused> {
        let is_value = matches!(published.values, Values::Both { .. });
        match metric.family.units() {
            Some(units) if is_value && metric.family.unit_scale(unit).is_none() => {
                let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
                let expected =
                    format!("one of {} (or a ratio in place of values)", known.join(", "));
                let nearest = close(unit, known).into();
                let refused = self.refused("unit", &format!("\"{unit}\""), &expected);
                Err(Refused { nearest, ..refused })
            }
            _ => Ok(()),
        }
    }

    fn published(&self, is_parameter: bool) -> Result<Published, Refused> {
        let baseline = self.number("baseline_value")?;
        let patched = self.number("patched_value")?;
        let values = match (baseline, patched, self.number("ratio")?) {
            (_, Some(patched), None) if is_parameter => Values::Exactly(patched),
            (_, None, _) if is_parameter => {
                return Err(self.refused("patched_value", "nothing", "what the parameter must be"));
            }
            (_, Some(_), Some(_)) | (Some(_), None, Some(_)) => {
                let found = "a ratio beside a value";
                return Err(self.refused("ratio", found, "either both values or the ratio"));
            }
            (None, None, Some(ratio)) if ratio > 0.0 => Values::Ratio(ratio),
            (None, None, Some(ratio)) => {
                return Err(self.refused("ratio", &ratio.to_string(), "a number above 0"));
            }
            (Some(baseline), Some(patched), None) if baseline > 0.0 && patched >= 0.0 => {
                Values::Both { baseline, patched }
            }
            (Some(baseline), Some(patched), None) => {
                let (key, found, expected) = if baseline > 0.0 {
                    ("patched_value", patched, "a number of at least 0")
                } else {
                    ("baseline_value", baseline, "a number above 0")
                };
                return Err(self.refused(key, &found.to_string(), expected));
            }
            (None, ..) => return Err(self.missing_value("baseline_value")),
            (Some(_), None, None) => return Err(self.missing_value("patched_value")),
        };
        Ok(Published {
            values,
            baseline_std_pct: self.spread("baseline_std_pct")?,
            patched_std_pct: self.spread("patched_std_pct")?,
        })
    }

    /// As it is said, or what is published of a time.
    fn real_seconds(
        &self,
        metric: &Metric,
        unit: &str,
        published: &Published,
    ) -> Result<[Option<f64>; 2], Refused> {
        let key = "real_seconds";
        let expected = "how long the real run took in s, a number above 0, or [baseline, patched]";
        let positive = |value: &Value| match value {
            Value::Float(number) if number.is_finite() && *number > 0.0 => Ok(Some(*number)),
            #[expect(clippy::cast_precision_loss, reason = "measurements have fewer digits")]
            Value::Integer(number) if *number > 0 => Ok(Some(*number as f64)),
            other => Err(self.refused(key, &described(other), expected)),
        };
        match (self.table.get(key), published.values) {
            (Some(Value::Array(both)), _) if both.len() == 2 => {
                Ok([positive(&both[0])?, positive(&both[1])?])
            }
            (Some(value), _) => Ok([positive(value)?; 2]),
            (None, Values::Both { baseline, patched }) if metric.family == Family::Time => {
                let scale = metric.family.unit_scale(unit);
                Ok([baseline, patched].map(|value| scale.map(|scale| value * scale)))
            }
            (None, _) => Ok([None; 2]),
        }
    }

    fn missing_value(&self, key: &str) -> Refused {
        self.refused(key, "nothing", "a number (both values, or ratio in their place)")
    }

    fn spread(&self, key: &str) -> Result<Option<f64>, Refused> {
        match self.number(key)? {
            Some(std) if std < 0.0 => {
                Err(self.refused(key, &std.to_string(), "a number of at least 0"))
            }
            std => Ok(std),
        }
    }

    fn options(&self) -> Result<BTreeMap<String, String>, Refused> {
        let expected = "a table of settings, such as { group = \"container\" }";
        let table = match self.table.get("options") {
            None => return Ok(BTreeMap::new()),
            Some(Value::Table(table)) => table,
            Some(other) => return Err(self.refused("options", &described(other), expected)),
        };
        let option = |(key, value): (&String, &Value)| match value {
            Value::String(text) => Ok((key.clone(), text.clone())),
            Value::Integer(number) => Ok((key.clone(), number.to_string())),
            Value::Boolean(on) => Ok((key.clone(), if *on { "on" } else { "off" }.to_owned())),
            other => {
                let what = "a text, a whole number, true or false";
                Err(self.refused(&format!("options.{key}"), &described(other), what))
            }
        };
        table.iter().map(option).collect()
    }

    fn maybe_text(&self, key: &str, expected: &str) -> Result<Option<String>, Refused> {
        match self.table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
            Some(other) => Err(self.refused(key, &described(other), expected)),
        }
    }

    fn text(&self, key: &str, expected: &str) -> Result<String, Refused> {
        let found = self.maybe_text(key, expected)?;
        found.ok_or_else(|| self.refused(key, "nothing", expected))
    }

    fn number(&self, key: &str) -> Result<Option<f64>, Refused> {
        let number = match self.table.get(key) {
            None => return Ok(None),
            Some(Value::Float(number)) if number.is_finite() => *number,
            #[expect(clippy::cast_precision_loss, reason = "measurements have fewer digits")]
            Some(Value::Integer(number)) => *number as f64,
            Some(other) => return Err(self.refused(key, &described(other), "a number")),
        };
        if number != 0.0 && !MAGNITUDES.contains(&number.abs()) {
            let expected = "0 or a number from 1e-30 to 1e30";
            return Err(self.refused(key, &format!("{number:e}"), expected));
        }
        Ok(Some(number))
    }

    fn name_of<T: Copy>(&self, key: &str, names: &[(&'static str, T)]) -> Result<T, Refused> {
        let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let expected = known.join(", ");
        let text = self.text(key, &expected)?;
        let found = names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        found.ok_or_else(|| Refused {
            nearest: close(&text, known).into(),
            ..self.refused(key, &format!("\"{text}\""), &expected)
        })
    }
}

const COMMAND: &str = "the command that was run, such as \"hackbench -g 10\"";
