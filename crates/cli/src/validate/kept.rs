//! `Kept`: measurements in a file, so that a validation that was stopped goes on where it was.
//!
//! A measurement is known by all that it depends on: the very program that runs (its executable), the
//! text of the machine, policy, settings, workload, seed, and what part of the run is measured. What does
//! not agree in all of that is measured anew. The file is replaced as a whole after every run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Map, Value, json};

use super::finding::Finding;
use super::plan::Job;
use crate::bounded;
use crate::cut::Slice;
use crate::extent::Extent;
use crate::failure::Failure;
use crate::identity::{hash, version};
use crate::output::{self, Whole};
use crate::sealed;
use crate::topo;

/// What tells such a file from others.
const MARK: &str = "simsched validate --resume";

/// Measurements that are done.
pub(super) struct Kept {
    path: PathBuf,
    /// Of the executable.
    version: String,
    /// By what they depend on, and the first failure to write them.
    state: Mutex<(BTreeMap<String, Value>, Option<String>)>,
}

impl Kept {
    /// What the file at `path`, and those of `more`, hold of this very version; nothing if there is no such
    /// file yet.
    ///
    /// # Errors
    /// When there is something else, one of `more` is not there, or `path` cannot be written.
    pub(super) fn open(path: &Path, more: &[PathBuf]) -> Result<Kept, Failure> {
        drop(Whole::begin(path)?);
        let version = version()?;
        let mut known = BTreeMap::new();
        for path in more {
            known.extend(read(path, &version)?.ok_or_else(|| {
                let name = path.display();
                Failure::Input(format!("--resume: found no file '{name}', expected measurements"))
            })?);
        }
        known.extend(read(path, &version)?.unwrap_or_default());
        Ok(Kept { path: path.to_owned(), version, state: Mutex::new((known, None)) })
    }

    /// What a run with this key has found, if that answers all that is asked.
    pub(super) fn find(&self, key: &str, job: &Job) -> Option<Finding> {
        let state = self.state.lock().expect("nobody panics while keeping");
        Finding::of_json(state.0.get(key)?).filter(|finding| finding.has(&job.metrics))
    }

    /// Keeps what a run has found.
    pub(super) fn keep(&self, key: String, finding: &Finding) {
        let mut state = self.state.lock().expect("nobody panics while keeping");
        let (known, failure) = &mut *state;
        known.insert(key, finding.to_json());
        if failure.is_some() {
            return;
        }
        let file = json!({ "what": MARK, "version": self.version, "runs": known });
        let text = sealed::seal(&file);
        let written = Whole::begin(&self.path).and_then(|whole| whole.write(&text));
        *failure = written.err().map(|failure| failure.to_string());
    }

    /// Why not all was kept.
    pub(super) fn failure(&self) -> Option<String> {
        self.state.lock().expect("nobody panics while keeping").1.clone()
    }
}

/// What this file holds of `version`; none if there is no such file.
fn read(path: &Path, version: &str) -> Result<Option<BTreeMap<String, Value>>, Failure> {
    let name = path.display();
    if matches!(path.try_exists(), Ok(false)) {
        return Ok(None);
    }
    let text = bounded::text(path, bounded::MADE)?;
    let (theirs, runs) = parse(&text).ok_or_else(|| {
        Failure::Input(format!(
            "--resume: found '{name}', which holds something else, expected measurements or a new file"
        ))
    })?;
    if theirs == version && !sealed::is_whole(&text) {
        let what = "the text has another checksum than it says: it was altered";
        let mend = "without the file all is measured anew";
        return Err(Failure::Input(format!("--resume: {name}: {what}; {mend}")));
    }
    if theirs == version {
        return Ok(Some(runs));
    }
    output::say(&format!("note: {name} is of another version, and begins anew"));
    Ok(Some(BTreeMap::new()))
}

/// The version and the measurements of a file.
fn parse(text: &str) -> Option<(String, BTreeMap<String, Value>)> {
    let file: Map<String, Value> = serde_json::from_str(text).ok()?;
    if file.get("what")? != MARK {
        return None;
    }
    let runs = file.get("runs")?.as_object()?;
    let version = file.get("version")?.as_str()?.to_owned();
    Some((version, runs.iter().map(|(key, run)| (key.clone(), run.clone())).collect()))
}

/// All on which the runs of a job depend, but for the version and the seed.
///
/// # Errors
/// When its machine has gone.
pub(super) fn key(job: &Job) -> Result<String, Failure> {
    let key = &job.key;
    let (machine, _) = topo::text(&key.topology)?;
    let settings: Vec<String> = key.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let part = |slice: Slice| format!("{} after {}", slice.span.get(), slice.warmup.get());
    let part = match job.extent {
        Extent::SinceStart | Extent::Whole => "whole".to_owned(),
        Extent::Part(slice) => part(slice),
        Extent::Quick(slice) => format!("{} or more", part(slice)),
        Extent::Long { limit, warmup } => {
            format!("up to {} after {} or more", limit.get(), warmup.get())
        }
    };
    let file = job.scenario.file_hash();
    let workload = key.workload.iter().chain(&file).map(String::as_str).collect::<Vec<_>>();
    let parts = [
        format!("{} {:016x}", key.topology, hash(machine.as_bytes())),
        key.policy.clone(),
        settings.join(" "),
        workload.join(" "),
        part,
    ];
    Ok(parts.join(" | "))
}
