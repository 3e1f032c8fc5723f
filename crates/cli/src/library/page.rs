//! Results as one HTML page.

use super::{Compared, Error, Runs};

/// Results that a page shows: those of a simulation, of a comparison, or of a file that was kept.
#[derive(Clone, Debug)]
pub struct Document(simsched_pages::Document);

impl Document {
    /// The document of [`Runs`] or of a [`Compared`].
    #[must_use]
    pub fn of(results: impl Into<Document>) -> Document {
        results.into()
    }

    /// The document of what `simsched run --json` or `simsched compare --json` wrote into a file of this
    /// name.
    ///
    /// # Errors
    /// What is wrong with the text, with the line or the key.
    pub fn read(file: &str, text: &str) -> Result<Document, Error> {
        simsched_pages::read(file, text).map(Document).map_err(Error::input)
    }
}

fn of_json(text: &str) -> Document {
    Document::read("results", text).expect("a page shows every result that is written")
}

impl From<&Runs> for Document {
    fn from(runs: &Runs) -> Document {
        of_json(&runs.to_json())
    }
}

impl From<&Compared> for Document {
    fn from(compared: &Compared) -> Document {
        of_json(&compared.to_json())
    }
}

/// The HTML pages of results.
pub mod pages {
    use super::Document;

    /// One HTML page of these results, with no link to the outside.
    #[must_use]
    pub fn page(documents: &[Document]) -> String {
        let documents: Vec<simsched_pages::Document> =
            documents.iter().map(|document| document.0.clone()).collect();
        simsched_pages::page(&documents)
    }
}
