//! A reader of the change feed, as a server's view is one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use health_model::DocumentKey;
use ports::{Changes, Revision, Store, Versioned};

/// Follows the feed and keeps what it was told.
///
/// It checks what every page must keep to: the place to go on never goes back, no key's version does, and a document
/// carries the version of its change.
pub(crate) struct Follower {
    store: Arc<dyn Store>,
    pub(crate) at: Revision,
    /// What exists, by what the feed said.
    pub(crate) documents: BTreeMap<DocumentKey, Versioned>,
    /// The newest version of each key, also of a delete.
    pub(crate) versions: BTreeMap<DocumentKey, u64>,
}

impl Follower {
    pub(crate) async fn from_head(store: &Arc<dyn Store>) -> Self {
        let at = store.head().await.expect("the store has a head");
        Self { store: Arc::clone(store), at, documents: BTreeMap::new(), versions: BTreeMap::new() }
    }

    /// Reads and keeps one page.
    pub(crate) async fn page(&mut self, limit: usize) -> Changes {
        let page = self.store.changes(&self.at, limit).await.expect("the feed reaches back to this reader");
        assert_eq!(page.next.epoch, self.at.epoch);
        assert!(page.next.position >= self.at.position, "the feed goes forward");
        assert!(
            !page.more || page.next.position > self.at.position,
            "a page that has more after it moves on"
        );
        self.at = page.next.clone();
        for change in &page.changes {
            if let Some(known) = self.versions.insert(change.key.clone(), change.version) {
                assert!(
                    known <= change.version,
                    "`{}` went back from {known} to {}",
                    change.key,
                    change.version
                );
            }
            match &change.document {
                Some(document) => {
                    assert_eq!(document.document.key, change.key);
                    assert_eq!(document.version, change.version);
                    self.documents.insert(change.key.clone(), document.clone());
                }
                None => {
                    self.documents.remove(&change.key);
                }
            }
        }
        page
    }

    /// Reads until there is nothing more at once.
    pub(crate) async fn catch_up(&mut self, limit: usize) {
        while self.page(limit).await.more {}
    }

    /// Reads until `revision` is reached, waiting where nothing has come yet.
    pub(crate) async fn reach(&mut self, revision: &Revision, limit: usize) {
        assert_eq!(revision.epoch, self.at.epoch);
        loop {
            self.catch_up(limit).await;
            if self.at.position >= revision.position {
                return;
            }
            self.store
                .wait_for_changes(&self.at, Duration::from_millis(100))
                .await
                .expect("waiting does not fail");
        }
    }
}
