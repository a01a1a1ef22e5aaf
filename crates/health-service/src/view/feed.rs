//! Following the store's change feed. Owns the order of position, changes and heartbeat.

use std::sync::Arc;

use ports::StoreError;

use super::View;

/// Follows the feed until `stop`.
pub(crate) async fn follow(view: Arc<View>, stop: tokio_util::sync::CancellationToken) {
    // What was told last: a store that is away is one line in the log when it goes and one when it is back.
    let mut told: Option<String> = None;
    loop {
        let step = tokio::select! {
            () = stop.cancelled() => return,
            step = follow_once(&view) => step,
        };
        match step {
            Ok(()) => {
                if told.take().is_some() {
                    tracing::info!("the change feed is read again");
                }
                continue;
            }
            Err(StoreError::RevisionTooOld { revision }) => {
                tracing::warn!(%revision, "the change feed no longer knows the view's position; the view is dropped");
                view.reset(None);
            }
            Err(error) => {
                let text = error.to_string();
                if told.as_ref() != Some(&text) {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "the change feed cannot be read"
                    );
                    told = Some(text);
                }
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(view.settings.store_retry) => {}
        }
    }
}

async fn follow_once(view: &View) -> Result<(), StoreError> {
    let limit = view.settings.store_timeout;
    let Some(position) = view.position() else {
        let head = view.timed(limit, view.store.head()).await?;
        view.reset(Some(head.clone()));
        view.advance(head);
        return Ok(());
    };
    let poll = view.settings.feed_poll;
    view.timed(limit + poll, view.store.wait_for_changes(&position, poll)).await?;
    // A page that is not the last may lack a commit whose document was written again since: only at the end of the feed
    // does the view hold everything up to its position.
    let mut from = position;
    loop {
        let page = view.timed(limit, view.store.changes(&from, 1_000)).await?;
        view.apply(&page.changes);
        from = page.next;
        if !page.more {
            view.advance(from);
            return Ok(());
        }
    }
}
