//! `/proc/cpuinfo` and the head lines of `lscpu`: what the CPUs call themselves.

use crate::found::Processor;

/// Reads the lines `key : value` of `/proc/cpuinfo`, of which each architecture has its own.
pub(crate) fn read(text: &str) -> Processor {
    let mut processor = Processor::default();
    let mut is_itanium = false;
    for (key, value) in text.lines().filter_map(pair) {
        match key {
            "vendor_id" => set(&mut processor.vendor, value),
            "cpu family" => processor.family = processor.family.or_else(|| value.parse().ok()),
            "model" => processor.model = processor.model.or_else(|| value.parse().ok()),
            "model name" => set(&mut processor.name, value),
            // Power says what it is under `cpu`.
            "cpu" => set(&mut processor.name, value),
            "CPU implementer" => set(&mut processor.architecture, "aarch64"),
            "arch" if value == "IA-64" => is_itanium = true,
            "isa" if value.starts_with("rv64") => set(&mut processor.architecture, "riscv64"),
            _ => {}
        }
    }
    if processor.architecture.is_none() {
        processor.architecture = architecture(&processor, is_itanium).map(str::to_owned);
    }
    processor
}

/// What the names of the CPUs tell of the architecture.
fn architecture(processor: &Processor, is_itanium: bool) -> Option<&'static str> {
    let is_x86 = |vendor: &str| {
        ["GenuineIntel", "AuthenticAMD", "HygonGenuine", "CentaurHauls", "Shanghai"]
            .contains(&vendor.trim())
    };
    let vendor = processor.vendor.as_deref().unwrap_or("");
    let name = processor.name.as_deref().unwrap_or("");
    if is_itanium {
        Some("ia64")
    } else if vendor.starts_with("IBM/S390") {
        Some("s390x")
    } else if is_x86(vendor) {
        Some("x86_64")
    } else if name.starts_with("POWER") || name.starts_with("PPC") || name.starts_with("Cell") {
        Some("ppc64")
    } else {
        None
    }
}

/// The head lines of `lscpu`, as `Vendor ID:  GenuineIntel`.
pub(crate) fn head(processor: &mut Processor, key: &str, value: &str) {
    match key {
        "Architecture" => set(&mut processor.architecture, value),
        "Vendor ID" => set(&mut processor.vendor, value),
        "Model name" => set(&mut processor.name, value),
        "CPU family" => processor.family = processor.family.or_else(|| value.parse().ok()),
        "Model" => processor.model = processor.model.or_else(|| value.parse().ok()),
        "CPU max MHz" => {
            let mhz = value.split('.').next().and_then(|mhz| mhz.parse().ok());
            processor.max_mhz = processor.max_mhz.or_else(|| mhz.map(|mhz| (mhz, mhz)));
        }
        _ => {}
    }
}

pub(crate) fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim())).filter(|(_, value)| !value.is_empty())
}

fn set(slot: &mut Option<String>, value: &str) {
    slot.get_or_insert_with(|| value.to_owned());
}

/// Fills what is not known from what the CPUs call themselves (hwloc's x86 files name no architecture).
pub(crate) fn complete(processor: &mut Processor) {
    if processor.architecture.is_none() {
        processor.architecture = architecture(processor, false).map(str::to_owned);
    }
}
