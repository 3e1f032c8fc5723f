//! What goes with the command into a shell: completions and man pages, both from the command line's own
//! description.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use crate::output::{self, Whole};

/// The name of the command.
const NAME: &str = "simsched";

/// Prints what completes command lines in a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut text);
    output::data(&String::from_utf8_lossy(&text))
}

/// Prints the page of simsched, or writes those of all commands.
pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let mut all = Cli::command().disable_help_subcommand(true);
    all.build();
    match &args.output {
        None => output::data(&page(&all, NAME)?),
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
            pages(&all, NAME, folder)
        }
    }
}

/// `simsched-topo-show.1` and the like, for a command and all below it.
fn pages(command: &Command, name: &str, folder: &Path) -> Result<(), Failure> {
    let text = page(command, name)?;
    Whole::begin(&folder.join(format!("{name}.1")))?.write(&text)?;
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    for below in below {
        pages(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(())
}

fn page(command: &Command, name: &str) -> Result<String, Failure> {
    let source = concat!("simsched ", env!("CARGO_PKG_VERSION"));
    let manual = Man::new(command.clone()).title(name).manual("simsched manual").source(source);
    let mut text = Vec::new();
    manual.render(&mut text).map_err(|error| Failure::file(Path::new("man page"), &error))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
