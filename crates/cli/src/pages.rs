//! `simsched report` and `simsched explain`: what kept results say.

use std::io::ErrorKind;
use std::path::Path;

use simsched_pages::Document;

use crate::args::{ExplainArgs, ReportArgs};
use crate::failure::Failure;
use crate::output::{self, Whole};

/// Does what `simsched report` is asked for.
pub(crate) fn report(args: &ReportArgs) -> Result<(), Failure> {
    for file in &args.files {
        output::are_apart(&[("OUT.html", Some(&args.page)), ("RUN.json", Some(file))])?;
    }
    let documents =
        args.files.iter().map(|file| read(file)).collect::<Result<Vec<Document>, Failure>>()?;
    let page = simsched_pages::page(&documents);
    if args.page == Path::new("-") {
        return output::print(&page);
    }
    Whole::begin(&args.page)?.write(&page)
}

/// Does what `simsched explain` is asked for.
pub(crate) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let (base, other) = (read(&args.base)?, read(&args.other)?);
    let told = simsched_pages::explain(&base, &other, args.anyway).map_err(Failure::input)?;
    output::print(&told.text())
}

/// The results in a file.
fn read(path: &Path) -> Result<Document, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => {
            Failure::Input(format!("{}: the file is not text", path.display()))
        }
        _ => Failure::file(path, &error),
    })?;
    simsched_pages::read(&path.display().to_string(), &text).map_err(Failure::input)
}
