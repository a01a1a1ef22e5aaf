//! The documents directory: rule layers as files, followed by looking at their stamps.
//!
//! `DIR/TENANT/_vance/agrajag/error-patterns.yaml` is a tenant's layer,
//! `DIR/TENANT/PROJECT/_vance/agrajag/error-patterns.yaml` a project's (R104). Stamps are looked at on a blocking thread,
//! at most a second apart (DESIGN §6: in force within 2 s). What a rule means is none of this module's business.

use std::collections::{BTreeMap, BTreeSet};
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

/// Entries of the documents directory that are looked at for files that are not read, at most.
const MAX_WALKED: usize = 10_000;

/// How deep that look goes: one level below where a project's layer stands.
const MAX_DEPTH: usize = 6;

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
    /// Whether it was looked at before.
    looked: bool,
    /// Files of which it was said that they are not read.
    told: BTreeSet<PathBuf>,
}

impl RulesDir {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, seen: BTreeMap::new(), looked: false, told: BTreeSet::new() }
    }

    /// All layers if any of them is new, changed or gone since the last call; else `None`.
    ///
    /// # Errors
    /// The directory itself cannot be read: what was known stays in force.
    pub(crate) fn poll(&mut self) -> io::Result<Option<Vec<FileLayer>>> {
        let found = find(&self.root)?;
        let stamps: BTreeMap<PathBuf, Stamp> =
            found.iter().map(|(_, path, stamp)| (path.clone(), *stamp)).collect();
        let is_first = !std::mem::replace(&mut self.looked, true);
        if is_first || stamps != self.seen {
            self.warn(&stamps);
        }
        if stamps == self.seen {
            return Ok(None);
        }
        let layers = found.into_iter().map(|(key, path, _)| read(&self.root, key, &path)).collect();
        self.seen = stamps;
        Ok(Some(layers))
    }

    /// Says what looks like a slip: no layer at all, and rule files at places where none is read, each once.
    fn warn(&mut self, read: &BTreeMap<PathBuf, Stamp>) {
        if read.is_empty() {
            tracing::warn!(
                directory = %self.root.display(),
                "the documents directory holds no rule layer; they stand in \
                 `<tenant>/[<project>/]_vance/agrajag/error-patterns.yaml` below it"
            );
        }
        for file in unread(&self.root, read) {
            if !self.told.contains(&file) {
                tracing::warn!(
                    file = %file.display(),
                    "the file is not read; a layer stands in \
                     `<tenant>/[<project>/]_vance/agrajag/error-patterns.yaml` below the documents directory"
                );
                self.told.insert(file);
            }
        }
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

/// YAML files below `root` that are no layer, as far as a bounded walk finds them. Links to folders are not followed,
/// and names that begin with a dot are passed over, as where layers are looked for.
fn unread(root: &Path, read: &BTreeMap<PathBuf, Stamp>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), 0)];
    let mut walked = 0;
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = folder.read_dir() else { continue };
        for entry in entries.flatten() {
            walked += 1;
            if walked > MAX_WALKED {
                return found;
            }
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            } else if !kind.is_dir()
                && path.extension().is_some_and(|it| it == "yaml" || it == "yml")
                && !read.contains_key(&path)
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
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
    fn files_that_are_not_read_are_found_and_told_once() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "acme", b"a");
        put(dir.path(), "acme/essay", b"b");
        fs::write(dir.path().join("error-patterns.yaml"), "c").unwrap();
        fs::write(dir.path().join("acme/rules.yml"), "d").unwrap();
        fs::write(dir.path().join("acme/notes.md"), "e").unwrap();
        put(dir.path(), "acme/essay/deeper", b"f");
        fs::create_dir(dir.path().join("..data")).unwrap();
        fs::write(dir.path().join("..data/hidden.yaml"), "g").unwrap();
        let mut rules = RulesDir::new(dir.path().to_owned());
        assert_eq!(rules.poll().unwrap().unwrap().len(), 2);
        let told: Vec<_> =
            rules.told.iter().map(|it| it.strip_prefix(dir.path()).unwrap().to_owned()).collect();
        let deeper = Path::new("acme/essay/deeper").join(LAYER);
        assert_eq!(told, [deeper, "acme/rules.yml".into(), "error-patterns.yaml".into()]);
        assert_eq!(unread(dir.path(), &rules.seen).len(), 3);
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
