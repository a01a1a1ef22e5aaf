//! Where rules of one's own are: a single file, or a directory with the layers of tenants and projects.
//!
//! Owns how the value of `--rules` is read and where a layer stands in a directory (R104). Parses no rule.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::read;
use crate::error::Error;

/// One byte more than a layer may have, so that whoever parses it says what is wrong.
pub(crate) const MAX_LAYER: u64 = checker::limits::MAX_FILE_BYTES as u64 + 1;

/// Where a layer is, below the folder of its tenant or project (R104).
pub(crate) const LAYER_FILE: &str = "_vance/agrajag/error-patterns.yaml";

/// The project of a call that names none.
pub(crate) const DEFAULT_PROJECT: &str = "default";

/// What `--rules` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RulesPath {
    /// One layer: it lies over everything, as the project's. `-` is standard input.
    File(String),
    /// The layers of tenants and projects: `DIR/TENANT[/PROJECT]/_vance/agrajag/error-patterns.yaml`.
    Directory(PathBuf),
}

/// The value of `--rules`, for clap. Whether a file can be read shows when it is.
pub(crate) fn rules_path(text: &str) -> Result<RulesPath, String> {
    let path = Path::new(text);
    Ok(if path.is_dir() { RulesPath::Directory(path.to_owned()) } else { RulesPath::File(text.to_owned()) })
}

/// A directory of layers for a server of our own: the one that was named, or one made of a single file.
pub(crate) struct Documents {
    path: Option<PathBuf>,
    /// The file that stands in `made`, as it was named.
    file: Option<String>,
    /// Goes with this value.
    _made: Option<TempDir>,
}

impl Documents {
    /// Prepares the directory. A file becomes the layer of this project.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the file cannot be read, [`Error::Failed`] if no directory can be made for it.
    pub(crate) fn of(rules: Option<&RulesPath>, tenant: &str, project: Option<&str>) -> Result<Self, Error> {
        let file = match rules {
            None => return Ok(Self { path: None, file: None, _made: None }),
            Some(RulesPath::Directory(path)) => {
                return Ok(Self { path: Some(path.clone()), file: None, _made: None });
            }
            Some(RulesPath::File(file)) => file,
        };
        let text = read("--rules", file, MAX_LAYER)?;
        let made = lay_out(&text, tenant, project.unwrap_or(DEFAULT_PROJECT)).map_err(|error| {
            Error::failed(
                format!("the rules cannot be laid out: {error}"),
                "make room in the directory for temporary files",
            )
        })?;
        Ok(Self { path: Some(made.path().to_owned()), file: Some(file.clone()), _made: Some(made) })
    }

    /// The directory, if there is any.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    /// The place of a finding, as it was named on the command line.
    pub(crate) fn named(&self, place: String) -> String {
        match &self.file {
            Some(file) if place.ends_with(LAYER_FILE) => file.clone(),
            _ => place,
        }
    }
}

fn lay_out(text: &str, tenant: &str, project: &str) -> std::io::Result<TempDir> {
    // Ids become names of folders: one that is none must not lead out of the directory.
    for id in [tenant, project] {
        if id.is_empty() || id == "." || id == ".." || id.contains('/') {
            return Err(std::io::Error::other(format!("`{id}` can be no name of a folder")));
        }
    }
    let made = tempfile::tempdir()?;
    let path = made.path().join(tenant).join(project).join(LAYER_FILE);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::File::create(path)?.write_all(text.as_bytes())?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stands_where_the_projects_layer_is_read_and_keeps_its_name() {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(b"patterns: []\n").expect("written");
        let name = file.path().to_str().expect("UTF-8");
        let rules = rules_path(name).expect("a path");
        assert_eq!(rules, RulesPath::File(name.to_owned()));
        let documents = Documents::of(Some(&rules), "acme", None).expect("laid out");
        let root = documents.path().expect("a directory");
        let laid = std::fs::read_to_string(root.join("acme/default").join(LAYER_FILE)).expect("there");
        assert_eq!(laid, "patterns: []\n");
        assert_eq!(documents.named(format!("acme/default/{LAYER_FILE}")), name);
        assert_eq!(documents.named("elsewhere".to_owned()), "elsewhere");
        drop(documents);
        assert!(!root.exists(), "it goes with the value");
    }

    #[test]
    fn an_id_does_not_lead_out_of_the_directory() {
        for tenant in ["", ".", "..", "a/../../b"] {
            assert!(lay_out("patterns: []", tenant, "p").is_err(), "{tenant}");
        }
    }
}
