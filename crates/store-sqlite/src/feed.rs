//! The change feed.
//!
//! A document and a tombstone stand in the feed once, at the position of their last write; transactions take positions one after
//! the other, so the order of positions is the order of commits. Commits of other processes are noticed by polling.

use std::sync::Arc;
use std::time::Duration;

use ports::{Change, Changes, Revision, StoreError};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection, SqlitePool};
use tokio::sync::{Notify, watch};
use tracing::instrument;

use crate::failure::{Failure, log_skipped};
use crate::rows::{self, signed, unsigned};
use crate::sql;

/// How often the file is asked whether another process wrote (DESIGN §8).
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The head, and the floor: the feed is complete after it.
pub(crate) async fn place(connection: &mut SqliteConnection) -> Result<(Revision, u64), Failure> {
    let row = sqlx::query(sql::LOAD_META).fetch_one(connection).await?;
    let head = Revision { epoch: row.try_get(0)?, position: unsigned(row.try_get(1)?) };
    Ok((head, unsigned(row.try_get(2)?)))
}

#[instrument(name = "db.feed.head", level = "debug", skip_all)]
pub(crate) async fn head(readers: &SqlitePool) -> Result<Revision, Failure> {
    let mut connection = readers.acquire().await?;
    Ok(place(&mut connection).await?.0)
}

#[instrument(name = "db.feed.read", level = "debug", skip_all)]
pub(crate) async fn changes(
    readers: &SqlitePool,
    after: &Revision,
    limit: usize,
) -> Result<Changes, Failure> {
    // All reads see one snapshot.
    let mut tx = readers.begin().await?;
    let (head, floor) = place(&mut tx).await?;
    // A position that was never given out is of a file that this one was restored from.
    if after.epoch != head.epoch || after.position < floor || after.position > head.position {
        return Err(StoreError::RevisionTooOld { revision: after.clone() }.into());
    }
    if after.position == head.position {
        return Ok(Changes { changes: Vec::new(), next: head, more: false });
    }
    // The page ends with the transaction that holds its last row.
    let end: Option<i64> = sqlx::query_scalar(sql::CHANGES_END)
        .bind(signed(after.position))
        .bind(rows::row_count(limit.max(1) - 1))
        .fetch_optional(&mut *tx)
        .await?;
    let end = end.map_or(head.position, unsigned);

    let mut changes: Vec<(u64, Change)> = Vec::new();
    let range = |statement| sqlx::query(statement).bind(signed(after.position)).bind(signed(end));
    for row in range(sql::CHANGED_DOCUMENTS).fetch_all(&mut *tx).await? {
        let (version, revision) = (unsigned(row.try_get(4)?), unsigned(row.try_get(7)?));
        let key = match rows::key(&row, 0, "documents") {
            Ok(key) => key,
            Err(error) => {
                // Nobody who cannot read the key has a copy under it.
                log_skipped(&error);
                continue;
            }
        };
        // A copy of what was there before must not be kept: a document that cannot be read is told as gone.
        let document = rows::document(&row).inspect_err(log_skipped).ok();
        changes.push((revision, Change { key, document, version }));
    }
    for row in range(sql::CHANGED_TOMBSTONES).fetch_all(&mut *tx).await? {
        let (version, revision) = (unsigned(row.try_get(4)?), unsigned(row.try_get(5)?));
        match rows::key(&row, 0, "tombstones") {
            Ok(key) => changes.push((revision, Change { key, document: None, version })),
            Err(error) => log_skipped(&error),
        }
    }
    changes.sort_by_key(|(revision, _)| *revision);
    let changes = changes.into_iter().map(|(_, change)| change).collect();
    let more = end < head.position;
    Ok(Changes { changes, next: Revision { epoch: head.epoch, position: end }, more })
}

/// Tells `head` what other processes committed, for as long as somebody listens to it, until `closed`.
pub(crate) async fn watch_file(
    options: SqliteConnectOptions,
    head: Arc<watch::Sender<u64>>,
    listened: Arc<Notify>,
    mut closed: watch::Receiver<bool>,
) {
    let mut connection: Option<(SqliteConnection, Option<i64>)> = None;
    loop {
        let pause = async {
            if head.receiver_count() == 0 {
                listened.notified().await;
            } else {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            () = pause => {}
            _ = closed.wait_for(|it| *it) => break,
        }
        let step = async {
            let (mut open, last) = match connection.take() {
                Some(it) => it,
                None => (options.connect().await?, None),
            };
            let version: i64 = sqlx::query_scalar(sql::DATA_VERSION).fetch_one(&mut open).await?;
            if last != Some(version) {
                let position = place(&mut open).await?.0.position;
                head.send_if_modified(|it| std::mem::replace(it, position.max(*it)) < position);
            }
            connection = Some((open, Some(version)));
            Ok::<_, Failure>(())
        };
        if let Err(error) = step.await {
            // The next step connects again; readers of the feed poll all the same.
            tracing::debug!(?error, "asking the file for changes failed");
        }
    }
    if let Some((connection, _)) = connection {
        let _ = connection.close().await;
    }
}
