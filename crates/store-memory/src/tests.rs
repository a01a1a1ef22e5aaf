//! What the conformance suite does not say: the parts of this store that are its own.

use ports::{Batch, Revision, Store, StoreError};

use crate::MemoryStore;

#[tokio::test]
async fn a_position_that_was_never_given_out_is_of_another_store() {
    let store = MemoryStore::new("e");
    let future = Revision { epoch: "e".to_owned(), position: 1 };
    let error = store.changes(&future, 10).await.expect_err("nothing was committed");
    assert!(matches!(error, StoreError::RevisionTooOld { revision } if revision == future));
}

#[tokio::test]
async fn closing_one_handle_leaves_the_others_open() {
    let store = MemoryStore::new("e");
    let second = store.handle();
    store.close().await;
    assert!(matches!(store.head().await, Err(StoreError::Unavailable { .. })));
    second.commit(&Batch::default()).await.expect("the second handle is open");
    store.handle().head().await.expect("a new handle is open");
}
