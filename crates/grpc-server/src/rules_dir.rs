//! The documents directory: rule layers as files, followed by looking at their stamps.
//!
//! `DIR/TENANT/_vance/agrajag/error-patterns.yaml` is a tenant's layer,
//! `DIR/TENANT/PROJECT/_vance/agrajag/error-patterns.yaml` a project's (R104). Stamps are looked at on a blocking thread,
//! at most a second apart (DESIGN §6: in force within 2 s). What a rule means is none of this module's business.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use health_service::rules::FileLayer;
use ports::RuleLayerKey;
use tokio_util::sync::CancellationToken;

/// Where a layer is, below the folder of its tenant or project.
const LAYER: &str = "_vance/agrajag/error-patterns.yaml";

/// The folder that belongs to no project.
const OWN_FOLDER: &str = "_vance";

/// A file is not read beyond this; whoever reads the text refuses it as too long (DESIGN §6: 512 KiB).
const MAX_BYTES: u64 = checker::limits::MAX_FILE_BYTES as u64 + 1;

/// What tells that a file is another one than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Follows one directory.
#[derive(Debug)]
pub(crate) struct RulesDir {
    root: PathBuf,
    seen: BTreeMap<PathBuf, Stamp>,
}

impl RulesDir {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, seen: BTreeMap::new() }
    }

    /// All layers if any of them is new, changed or gone since the last call; else `None`.
    ///
    /// # Errors
    /// The directory itself cannot be read: what was known stays in force.
    pub(crate) fn poll(&mut self) -> io::Result<Option<Vec<FileLayer>>> {
        let found = find(&self.root)?;
        let stamps: BTreeMap<PathBuf, Stamp> =
            found.iter().map(|(_, path, stamp)| (path.clone(), *stamp)).collect();
        if stamps == self.seen {
            return Ok(None);
        }
        let layers = found.into_iter().map(|(key, path, _)| read(&self.root, key, &path)).collect();
        self.seen = stamps;
        Ok(Some(layers))
    }

    /// Looks until `stop` and hands every change to `take`.
    pub(crate) async fn follow(
        mut self,
        every: Duration,
        stop: CancellationToken,
        take: impl Fn(Vec<FileLayer>) + Send + Clone + 'static,
    ) {
        let mut told = String::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(every) => {}
            }
            let take = take.clone();
            // Reading and compiling may take long: neither is done where requests are served.
            let look = tokio::task::spawn_blocking(move || {
                let looked = self.poll().map(|layers| layers.map(take).is_some());
                (self, looked)
            });
            let looked = match look.await {
                Ok((this, looked)) => {
                    self = this;
                    looked
                }
                Err(error) => {
                    return tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "the documents directory is not followed any more"
                    );
                }
            };
            match looked {
                Ok(_) => told.clear(),
                Err(error) if told != error.to_string() => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        directory = %self.root.display(),
                        "the documents directory cannot be read; the rules that were read stay in force"
                    );
                    told = error.to_string();
                }
                Err(_) => {}
            }
        }
    }
}

fn find(root: &Path) -> io::Result<Vec<(RuleLayerKey, PathBuf, Stamp)>> {
    let mut found = Vec::new();
    for (tenant_id, tenant) in folders(root)? {
        let key = RuleLayerKey { tenant_id: tenant_id.clone(), project_id: None };
        found.extend(layer(key, &tenant));
        // A tenant's folder that cannot be listed must not hide the other tenants'.
        let Ok(projects) = folders(&tenant) else { continue };
        for (project_id, project) in projects.into_iter().filter(|(name, _)| name != OWN_FOLDER) {
            let key = RuleLayerKey { tenant_id: tenant_id.clone(), project_id: Some(project_id) };
            found.extend(layer(key, &project));
        }
    }
    Ok(found)
}

/// The folders below `dir` by name. Names that are no UTF-8 can be no ids.
fn folders(dir: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut folders = Vec::new();
    for entry in dir.read_dir()? {
        let entry = entry?;
        let path = entry.path();
        if let Some(name) =
            entry.file_name().to_str().filter(|it| !it.starts_with('.') && path.is_dir() && !it.is_empty())
        {
            folders.push((name.to_owned(), path));
        }
    }
    folders.sort();
    Ok(folders)
}

fn layer(key: RuleLayerKey, folder: &Path) -> Option<(RuleLayerKey, PathBuf, Stamp)> {
    let path = folder.join(LAYER);
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let stamp = Stamp {
        inode: metadata.ino(),
        size: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    };
    Some((key, path, stamp))
}

fn read(root: &Path, key: RuleLayerKey, path: &Path) -> FileLayer {
    use io::Read as _;
    let mut bytes = Vec::new();
    let text = std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes))
        .map_err(|error| format!("cannot be read: {error}"))
        .and_then(|_| {
            // A text that is cut may end inside a character; it is refused for its length all the same.
            if bytes.len() as u64 == MAX_BYTES {
                return Ok(String::from_utf8_lossy(&bytes).into_owned());
            }
            String::from_utf8(std::mem::take(&mut bytes))
                .map_err(|error| format!("is no UTF-8 at byte {}", error.utf8_error().valid_up_to()))
        });
    let path = path.strip_prefix(root).unwrap_or(path).display().to_string();
    FileLayer { key, path, text }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn put(root: &Path, folder: &str, text: &[u8]) {
        let file = root.join(folder).join(LAYER);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn names(layers: &[FileLayer]) -> Vec<(String, Option<String>)> {
        layers.iter().map(|it| (it.key.tenant_id.clone(), it.key.project_id.clone())).collect()
    }

    /// R104: the paths of tenant and project layers.
    #[test]
    fn layers_are_found_by_tenant_and_project() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "acme", b"a");
        put(dir.path(), "acme/essay", b"b");
        put(dir.path(), "beta/web", b"c");
        put(dir.path(), ".hidden", b"d");
        fs::write(dir.path().join("README"), "no folder").unwrap();
        let layers = RulesDir::new(dir.path().to_owned()).poll().unwrap().unwrap();
        let owned = |tenant: &str, project: Option<&str>| (tenant.to_owned(), project.map(str::to_owned));
        assert_eq!(
            names(&layers),
            [owned("acme", None), owned("acme", Some("essay")), owned("beta", Some("web"))]
        );
        assert_eq!(layers[1].path, "acme/essay/_vance/agrajag/error-patterns.yaml");
        assert_eq!(layers[1].text.as_deref(), Ok("b"));
    }

    /// R121: hot reload. Nothing is read twice, and every kind of change is seen.
    #[test]
    fn only_changes_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut rules = RulesDir::new(dir.path().to_owned());
        assert_eq!(rules.poll().unwrap(), None, "an empty directory is what nothing looks like");
        put(dir.path(), "acme", b"one");
        assert_eq!(rules.poll().unwrap().unwrap().len(), 1);
        assert_eq!(rules.poll().unwrap(), None);
        // Same length, written in place: the stamps of time tell.
        put(dir.path(), "acme", b"two");
        assert_eq!(rules.poll().unwrap().unwrap()[0].text.as_deref(), Ok("two"));
        // Replaced by another file, as editors do.
        let file = dir.path().join("acme").join(LAYER);
        fs::write(file.with_extension("new"), "six").unwrap();
        fs::rename(file.with_extension("new"), &file).unwrap();
        assert_eq!(rules.poll().unwrap().unwrap()[0].text.as_deref(), Ok("six"));
        fs::remove_file(file).unwrap();
        assert_eq!(rules.poll().unwrap(), Some(Vec::new()));
    }

    #[test]
    fn what_cannot_be_read_is_said_and_hides_nothing() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "acme", b"\xff\xfe");
        put(dir.path(), "beta", &vec![b'#'; 10 << 20]);
        put(dir.path(), "good", b"x");
        fs::create_dir_all(dir.path().join("odd").join(LAYER)).unwrap();
        let layers = RulesDir::new(dir.path().to_owned()).poll().unwrap().unwrap();
        assert_eq!(layers.len(), 3);
        assert!(layers[0].text.as_ref().unwrap_err().contains("UTF-8 at byte 0"));
        assert_eq!(layers[1].text.as_ref().unwrap().len() as u64, MAX_BYTES, "10 MB are not read");
        assert_eq!(layers[2].text.as_deref(), Ok("x"));
    }

    #[test]
    fn a_directory_that_vanishes_is_an_error_and_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("documents");
        let mut rules = RulesDir::new(root.clone());
        assert!(rules.poll().is_err());
        put(&root, "acme", b"x");
        assert_eq!(rules.poll().unwrap().unwrap().len(), 1);
    }
}
