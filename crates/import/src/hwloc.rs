//! The XML of hwloc, formats 2.x and 3.0.
//!
//! Source of the format: `hwloc2.dtd` and the section on XML of hwloc's manual. Only what Linux' scheduler
//! sees is read: packages, caches, cores, PUs, NUMA nodes, latencies between these, and kinds of cores.
//! PCI devices, GPUs, groups, dies and what hwloc measures of memory are passed over.

use roxmltree::{Document, Error, Node as Element, ParsingOptions};

use crate::error::{ImportError, at, quoted, whole};
use crate::found::{Cache, Distances, Found, Node};
use crate::known;
use crate::set::{self, Set};

type Result<T> = std::result::Result<T, ImportError>;

/// Reads an XML file.
pub(crate) fn read(text: &str, file: &str) -> Result<Found> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        // What ends too early has no place of its own.
        let is_end = matches!(
            error,
            Error::UnclosedRootNode | Error::NoRootNode | Error::UnexpectedEndOfStream
        );
        let row = if is_end { text.lines().count().max(1) } else { error.pos().row as usize };
        at(file, row, format!("the file is no XML that can be read ({error})"))
    })?;
    let reader = Reader { document: &document, file };
    let root = document.root_element();
    let kind = reader.version(root)?;
    let mut found = Found { kind, ..Found::default() };
    for element in root.descendants().filter(Element::is_element) {
        match element.tag_name().name() {
            "object" => reader.object(element, &mut found)?,
            "distances2" => reader.distances(element, &mut found)?,
            "cpukind" => reader.core_kind(element, &mut found)?,
            "info" => info(element, &mut found),
            _ => {}
        }
    }
    if found.cpus.is_empty() {
        return Err(whole(file, "found no object of type PU, expected one for each CPU"));
    }
    reader.packages_are_alike()?;
    reader.without_numa(&mut found);
    modules(&mut found, file)?;
    let known: Set = found.cpus.clone();
    found.hidden.retain(|cpu| !known.contains(cpu));
    Ok(found)
}

struct Reader<'d, 'x> {
    document: &'d Document<'x>,
    file: &'d str,
}

impl Reader<'_, '_> {
    fn version(&self, root: Element<'_, '_>) -> Result<String> {
        let name = root.tag_name().name();
        let version = root.attribute("version");
        let is_plain = |v: &str| v.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_known =
            version.is_some_and(|v| is_plain(v) && matches!(v.split('.').next(), Some("2" | "3")));
        match version {
            Some(version) if name == "topology" && is_known => Ok(format!("hwloc XML {version}")),
            _ if name != "topology" => Err(self.wrong(
                root,
                format!("found <{name}>, expected <topology version=\"2.0\"> or 3.0 of hwloc's XML"),
            )),
            found => Err(self.wrong(
                root,
                format!(
                    "found hwloc XML of version {}, expected 2.x or 3.0; a newer hwloc converts it: \
                     lstopo -i FILE --of xml",
                    found.map_or_else(|| "1.x (none is given)".to_owned(), quoted)
                ),
            )),
        }
    }

    fn wrong(&self, element: Element<'_, '_>, what: String) -> ImportError {
        at(self.file, self.document.text_pos_at(element.range().start).row, what)
    }

    fn object(&self, element: Element<'_, '_>, found: &mut Found) -> Result<()> {
        let Some(kind) = element.attribute("type") else {
            return Err(self.wrong(element, "found an object without type".to_owned()));
        };
        match kind {
            "Machine" => {
                found.hidden.extend(self.set(element, "complete_cpuset")?);
            }
            "Package" => found.packages.push(self.set(element, "cpuset")?),
            "Core" => found.cores.push(self.set(element, "cpuset")?),
            "PU" => {
                found.cpus.insert(self.number(element)?);
            }
            "NUMANode" => {
                let (number, cpus) = (self.number(element)?, self.set(element, "cpuset")?);
                let subtype = element.attribute("subtype");
                let is_special = subtype.is_some_and(|subtype| subtype != "DRAM");
                found.nodes.get_or_insert_default().push(Node { number, cpus, is_special });
            }
            "Group" if element.attribute("subtype") == Some("Cluster") => {
                found.clusters.push(self.set(element, "cpuset")?);
            }
            "MemCache" => {
                let kib = self.size(element)?.unwrap_or(0);
                note(
                    found,
                    format!(
                        "memory-side caches ({} MiB) are left out: no CPU shares them",
                        kib / 1024
                    ),
                );
            }
            _ => {
                if let Some((level, is_instruction)) = cache_type(kind) {
                    let (cpus, kib) = (self.set(element, "cpuset")?, self.size(element)?);
                    found.caches.push(Cache { level, is_instruction, kib, cpus });
                    let line = element.attribute("cache_linesize").and_then(|t| t.parse().ok());
                    let line = line.filter(|&bytes: &u64| bytes.is_power_of_two() && bytes <= 1024);
                    found.processor.line_bytes = found.processor.line_bytes.or(line);
                }
            }
        }
        Ok(())
    }

    fn set(&self, element: Element<'_, '_>, key: &str) -> Result<Set> {
        let Some(text) = element.attribute(key) else { return Ok(Set::new()) };
        set::mask(text).ok_or_else(|| {
            self.wrong(element, format!("{key} is {}, expected {}", quoted(text), set::MASK))
        })
    }

    fn number(&self, element: Element<'_, '_>) -> Result<u32> {
        let text = element.attribute("os_index").unwrap_or("");
        set::number(text).ok_or_else(|| {
            let kind = element.attribute("type").unwrap_or("object");
            let range = format!("a number from 0 to {}", set::MOST);
            self.wrong(
                element,
                format!("os_index of a {kind} is {}, expected {range}", quoted(text)),
            )
        })
    }

    /// The size of a cache in KiB; zero stands for an unknown one.
    fn size(&self, element: Element<'_, '_>) -> Result<Option<u64>> {
        let Some(text) = element.attribute("cache_size") else { return Ok(None) };
        let bytes: Option<u64> = text.parse().ok().filter(|&bytes| bytes <= 1 << 40);
        let bytes = bytes.ok_or_else(|| {
            self.wrong(
                element,
                format!("cache_size is {}, expected bytes, at most 2^40", quoted(text)),
            )
        })?;
        Ok(Some(bytes / 1024).filter(|&kib| kib > 0))
    }

    /// The latencies between NUMA nodes that the operating system tells; all other tables are of others.
    fn distances(&self, element: Element<'_, '_>, found: &mut Found) -> Result<()> {
        const FROM_OS_LATENCY: u32 = 1 | 4;
        let kind: u32 = element.attribute("kind").and_then(|t| t.parse().ok()).unwrap_or(0);
        let is_nodes = element.attribute("type") == Some("NUMANode");
        let is_os = element.attribute("indexing") != Some("gp");
        if !is_nodes
            || !is_os
            || kind & FROM_OS_LATENCY != FROM_OS_LATENCY
            || found.distances.is_some()
        {
            return Ok(());
        }
        let numbers = |tag: &str| -> Option<Vec<u64>> {
            let texts = element.children().filter(|child| child.has_tag_name(tag));
            let texts = texts.filter_map(|child| child.text());
            texts.flat_map(str::split_whitespace).map(|word| word.parse().ok()).collect()
        };
        let nodes = numbers("indexes").and_then(|indexes| {
            indexes.into_iter().map(|index| u32::try_from(index).ok()).collect::<Option<Vec<_>>>()
        });
        let table = nodes.zip(numbers("u64values"));
        let square =
            |(nodes, values): &(Vec<u32>, Vec<u64>)| nodes.len() * nodes.len() == values.len();
        let Some((nodes, values)) = table.filter(square) else {
            let what =
                "the distances of NUMA nodes are not one number for each pair of the indexes";
            return Err(self.wrong(element, what.to_owned()));
        };
        found.distances = Some(Distances { nodes, values });
        Ok(())
    }

    fn core_kind(&self, element: Element<'_, '_>, found: &mut Found) -> Result<()> {
        let value = |name: &str| {
            let mut infos = element.children().filter(|child| child.has_tag_name("info"));
            infos.find(|info| info.attribute("name") == Some(name))?.attribute("value")
        };
        let mhz: Option<u64> = value("FrequencyMaxMHz").and_then(|text| text.parse().ok());
        if let Some(mhz) = mhz.filter(|mhz| (100..=20_000).contains(mhz)) {
            let (least, most) = found.processor.max_mhz.unwrap_or((mhz, mhz));
            found.processor.max_mhz = Some((least.min(mhz), most.max(mhz)));
        }
        let names = ["CoreType", "LinuxCapacity", "CPUPart"];
        let told = names.into_iter().filter_map(|name| Some(format!("{name} {}", value(name)?)));
        let name = told.collect::<Vec<_>>().join(", ");
        if !name.is_empty() {
            found.kinds.push((name, self.set(element, "cpuset")?));
        }
        Ok(())
    }

    fn packages_are_alike(&self) -> Result<()> {
        let is_package = |e: &Element<'_, '_>| e.attribute("type") == Some("Package");
        let mut first = None;
        for package in self.document.descendants().filter(is_package) {
            let mut infos = package.children().filter(|child| child.has_tag_name("info"));
            let model = infos.find(|info| info.attribute("name") == Some("CPUModel"));
            let Some(model) = model.and_then(|info| info.attribute("value")) else { continue };
            match first {
                None => first = Some(model),
                Some(other) if other == model => {}
                Some(other) => {
                    return Err(self.wrong(
                        package,
                        format!(
                            "packages of different models ({} and {}) are not simulated",
                            quoted(other.trim()),
                            quoted(model.trim())
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    /// What was read from CPUID alone has one node that stands for memory of which nothing is known.
    fn without_numa(&self, found: &mut Found) {
        let backends: Vec<&str> = self
            .document
            .descendants()
            .filter(|e| e.has_tag_name("info") && e.attribute("name") == Some("Backend"))
            .filter_map(|e| e.attribute("value"))
            .collect();
        let is_blind = backends == ["x86"] && found.nodes.as_ref().is_some_and(|n| n.len() == 1);
        if is_blind || found.nodes.as_ref().is_some_and(Vec::is_empty) {
            found.nodes = None;
        }
    }
}

/// Modules of AMD's family 15h: hwloc counts their two cores apart, and Linux takes them for threads of one
/// core (`cu_id` in `match_smt` of `arch/x86/kernel/smpboot.c`). They share the second-level cache.
fn modules(found: &mut Found, file: &str) -> Result<()> {
    let is_apart = |core: &Set| core.len() <= 1;
    if !known::has_modules(&found.processor) || !found.cores.iter().all(is_apart) {
        return Ok(());
    }
    let shared = found.caches.iter().filter(|cache| cache.level == 2 && !cache.is_instruction);
    let modules: Vec<Set> = shared.map(|cache| cache.cpus.clone()).collect();
    let held: Set = modules.iter().flatten().copied().collect();
    if modules.iter().any(|module| module.len() > 2) || !found.cpus.is_subset(&held) {
        let what = "found no second-level caches of one or two CPUs each, expected them: they tell the \
                    modules of this family of AMD, which are cores for Linux";
        return Err(whole(file, what));
    }
    found.cores = modules;
    note(
        found,
        "the two cores of a module of AMD's family 15h, which hwloc counts apart, are threads of one core, \
         as Linux takes them"
            .to_owned(),
    );
    Ok(())
}

fn note(found: &mut Found, note: String) {
    if !found.notes.contains(&note) {
        found.notes.push(note);
    }
}

/// `L3Cache` is the third level, `L1iCache` holds instructions.
fn cache_type(kind: &str) -> Option<(u32, bool)> {
    let name = kind.strip_prefix('L')?.strip_suffix("Cache")?;
    let (level, is_instruction) =
        name.strip_suffix('i').map_or((name, false), |level| (level, true));
    let level = level.parse().ok().filter(|level| (1..=5).contains(level))?;
    Some((level, is_instruction))
}

fn info(element: Element<'_, '_>, found: &mut Found) {
    let (Some(name), Some(value)) = (element.attribute("name"), element.attribute("value")) else {
        return;
    };
    let processor = &mut found.processor;
    let text = || Some(value.trim().to_owned()).filter(|text| !text.is_empty());
    match name {
        "Architecture" => processor.architecture = processor.architecture.take().or_else(text),
        "CPUVendor" => processor.vendor = processor.vendor.take().or_else(text),
        "CPUModel" => processor.name = processor.name.take().or_else(text),
        "CPUFamilyNumber" => processor.family = processor.family.or_else(|| value.parse().ok()),
        "CPUModelNumber" => processor.model = processor.model.or_else(|| value.parse().ok()),
        _ => {}
    }
}
