//! Who made the CPUs of a tree that has no `/proc/cpuinfo`: what only CPUs of one maker show there.
//!
//! Source: `arch/x86/kernel/cpu/match.c` (`modalias`) and `arch/x86/kernel/cpu/common.c`
//! (`cpu_vuln_blacklist` and `cpu_vuln_whitelist`) of Linux 6.12 and 6.18, and the drivers that are named:
//! each looks for its maker before it registers.

use crate::error::quoted;
use crate::found::Processor;
use crate::tree::Tree;

/// Who makes CPUs whose prices are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maker {
    Intel,
    /// And Hygon, whose cores are Zen.
    Amd,
}

impl Maker {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Maker::Intel => "Intel",
            Maker::Amd => "AMD",
        }
    }
}

/// The maker that the processor names.
pub(crate) fn told(processor: &Processor) -> Option<Maker> {
    let name = processor.name.as_deref().unwrap_or("");
    match processor.vendor.as_deref() {
        Some("GenuineIntel") => Some(Maker::Intel),
        Some("AuthenticAMD" | "HygonGenuine") => Some(Maker::Amd),
        // hwloc names no vendor of what it read before its version 1.11.
        None if name.contains("Intel") => Some(Maker::Intel),
        None if name.contains("AMD") => Some(Maker::Amd),
        _ => None,
    }
}

/// The maker that the processor names, or that a sign tells.
pub(crate) fn of(processor: &Processor) -> Option<Maker> {
    told(processor).or(processor.sign)
}

/// Vendor, family and model of `cpu/modalias`, such as `cpu:type:x86,ven0002fam0019mod0001:feature:,0000`.
pub(crate) fn alias(text: &str, processor: &mut Processor) {
    let Some(kind) = text.strip_prefix("cpu:type:").and_then(|rest| rest.split(':').next()) else {
        return;
    };
    if let Some(name) = [("x86", "x86_64"), ("aarch64", "aarch64")]
        .into_iter()
        .find_map(|(known, name)| (kind.split(',').next() == Some(known)).then_some(name))
    {
        processor.architecture.get_or_insert_with(|| name.to_owned());
    }
    let number = |name: &str| {
        let digits = kind.split_once(name)?.1.get(..4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let numbers = (number("ven"), number("fam"), number("mod"));
    let (Some(vendor), Some(family), Some(model)) = numbers else { return };
    if processor.vendor.is_some() {
        return;
    }
    // X86_VENDOR_* of arch/x86/include/asm/processor.h.
    let vendor = match vendor {
        0 => "GenuineIntel",
        2 => "AuthenticAMD",
        9 => "HygonGenuine",
        _ => return,
    };
    processor.vendor = Some(vendor.to_owned());
    (processor.family, processor.model) = (Some(family), Some(model));
}

/// Gaps of one maker's CPUs only, by the names of their files: a text that begins with one of `SHOWN` is
/// of an affected CPU.
const GAPS: &[(&str, Maker)] = &[
    ("spec_rstack_overflow", Maker::Amd),
    ("tsa", Maker::Amd),
    ("gather_data_sampling", Maker::Intel),
    ("indirect_target_selection", Maker::Intel),
    ("reg_file_data_sampling", Maker::Intel),
    ("srbds", Maker::Intel),
];
const SHOWN: [&str; 2] = ["Mitigation", "Vulnerable"];

/// What stands in `spectre_v2` for Intel's CPUs only: AMD's never have the two gaps.
const BRANCHES: [&str; 2] = ["PBRSB-eIBRS: SW sequence", "BHI: BHI_DIS_S"];

/// Whether the file of `cpu/vulnerabilities` is looked at.
pub(crate) fn is_gap(name: &str) -> bool {
    name == "spectre_v2" || GAPS.iter().any(|(gap, _)| *gap == name)
}

/// The maker that the text of a file tells, and the part of it that does.
fn sign<'t>(path: &str, text: &'t str) -> Option<(Maker, &'t str)> {
    let (folder, name) = path.rsplit_once('/')?;
    let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    let maker = match name {
        "scaling_driver" if begins(&["amd-pstate", "amd_pstate"]) => Maker::Amd,
        "scaling_driver" if begins(&["intel_pstate", "intel_cpufreq"]) => Maker::Intel,
        "current_driver" if text == "intel_idle" => Maker::Intel,
        "spectre_v2" => {
            let part = BRANCHES.into_iter().find_map(|part| text.matches(part).next());
            return part.map(|part| (Maker::Intel, part));
        }
        _ if folder.ends_with("vulnerabilities") && begins(&SHOWN) => {
            GAPS.iter().find(|(gap, _)| *gap == name)?.1
        }
        _ => return None,
    };
    Some((maker, text))
}

/// Looks for signs where no vendor is told; what was found is said. Those of AMD are all of Zen.
pub(crate) fn look(tree: &Tree, processor: &mut Processor, notes: &mut Vec<String>) {
    if processor.vendor.is_some() || told(processor).is_some() {
        return;
    }
    let mut signs = tree.files().filter_map(|(path, text)| {
        let (maker, part) = sign(path, text)?;
        Some((maker, format!("{path} says {}", quoted(part))))
    });
    let Some((maker, shown)) = signs.next() else { return };
    let own = format!("{shown}, as on CPUs of {} only", maker.name());
    if let Some((other, shown)) = signs.find(|(other, _)| *other != maker) {
        notes.push(format!("{own}, but {shown}, as on CPUs of {} only", other.name()));
        return;
    }
    notes.push(format!("the maker of the CPUs is told by a sign: {own}"));
    processor.sign = Some(maker);
    processor.architecture.get_or_insert_with(|| "x86_64".to_owned());
}
