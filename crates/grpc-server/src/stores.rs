//! Opening the store that a URL names.

use std::path::Path;
use std::sync::Arc;

use ports::{Ids as _, Store, StoreError};
use store_memory::MemoryStore;
use store_postgres::PostgresStore;
use store_sqlite::{SqliteOptions, SqliteStore};

use crate::config::StoreUrl;
use crate::system::SystemIds;

/// Opens it, and brings its schema up to date.
pub(crate) async fn open(url: &StoreUrl) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match url {
        StoreUrl::Memory => Arc::new(MemoryStore::new(SystemIds.next().to_string())),
        StoreUrl::Sqlite(path) => {
            make_folder(path)?;
            Arc::new(SqliteStore::open(path, SqliteOptions::default()).await?)
        }
        StoreUrl::Postgres(url) => {
            Arc::new(PostgresStore::connect(url, store_postgres::Options::default()).await?)
        }
    })
}

/// The folder of the file. What is in it is nobody else's business.
fn make_folder(file: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let Some(folder) = file.parent().filter(|it| !it.as_os_str().is_empty() && !it.is_dir()) else {
        return Ok(());
    };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|source| {
        StoreError::Unavailable {
            reason: format!("the folder `{}` cannot be made", folder.display()),
            source: Some(Box::new(source)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_folder_of_a_new_file_is_made_and_others_cannot_look_in() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a/b/agrajag.db");
        let store = open(&StoreUrl::Sqlite(file.clone())).await.unwrap();
        assert_eq!(store.info().await.unwrap().kind, "sqlite");
        let mode = file.parent().unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
        store.close().await;
    }

    #[tokio::test]
    async fn a_place_that_cannot_be_is_unavailable_and_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        let Err(error) = open(&StoreUrl::Sqlite(dir.path().join("file/agrajag.db"))).await else { panic!() };
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    }
}
