//! `simsched report` and `simsched explain`: what kept results say.

use std::path::Path;

use simsched_pages::Document;

use crate::args::{ExplainArgs, ReportArgs};
use crate::bounded;
use crate::failure::Failure;
use crate::output::{self, Whole};

/// Does what `simsched report` is asked for.
pub(crate) fn report(args: &ReportArgs) -> Result<(), Failure> {
    for file in &args.files {
        output::are_apart(&[("OUT.html", Some(&args.page)), ("RUN.json", Some(file))])?;
    }
    is_page(&args.page)?;
    let documents =
        args.files.iter().map(|file| read(file)).collect::<Result<Vec<Document>, Failure>>()?;
    let page = simsched_pages::page(&documents);
    if args.page == Path::new("-") {
        return output::data(&page);
    }
    Whole::begin(&args.page)?.write(&page)
}

/// Whether what stands where the page is to be is named as one, so that no result is taken for it.
fn is_page(path: &Path) -> Result<(), Failure> {
    let name = path.to_string_lossy();
    let is_named = name == "-" || name.ends_with(".html") || name.ends_with(".htm");
    let is_special = std::fs::metadata(path).is_ok_and(|found| !found.is_file());
    if is_named || is_special {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "OUT.html: found '{name}', expected the name of the page, with .html, before the results"
    )))
}

/// Does what `simsched explain` is asked for.
pub(crate) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let (base, other) = (read(&args.base)?, read(&args.other)?);
    let told = simsched_pages::explain(&base, &other, args.anyway).map_err(Failure::input)?;
    output::print(&told.text())
}

/// The results in a file.
fn read(path: &Path) -> Result<Document, Failure> {
    output::inputs::reads(path)?;
    let text = bounded::text(path, bounded::MADE)?;
    simsched_pages::read(&path.display().to_string(), &text).map_err(Failure::input)
}
