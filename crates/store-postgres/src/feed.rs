//! Revisions and the change feed.
//!
//! A position is a transaction id. Ids are given out when transactions first write and become visible when they commit,
//! in another order: a reader that went to the highest one it sees would pass over those still in flight. So readers
//! advance below a *horizon*, under which no transaction is in flight.
//!
//! The snapshot's xmin is such a horizon, and the one that is used. But any transaction of any database of the cluster
//! that has written holds it back, for as long as it is open. If it is in the way, a second one is computed from the
//! transactions of this store alone. Each of them begins with [`BEGIN`], or does the same in its only statement: before
//! it has an id it takes a shared advisory lock that names a lower bound of it, the xmax of its snapshot. A reader takes
//! the xmax `h` of a snapshot, then reads the locks, then takes another snapshot for the rows. A transaction of this
//! store with an id below `h` had its lock when `h` was taken. When the locks are read it is still there, with a bound
//! not above its id, or the transaction has ended, and the later snapshot sees all of it (locks are released after a
//! commit is visible). So nothing below the least bound, and below `h`, is in flight.
//!
//! Below the horizon is not enough. A row holds the last write of its key alone: where one below the horizon was
//! followed by one above it, a reader would have gone past the first and have neither. So the last page tells what is
//! visible above the horizon too. It is told again once it is below.
//!
//! Positions are given to readers only from rows, never from horizons: a row is durable once it is visible, an id that
//! was given out and not used may come again after a crash of the database.

use ports::{Change, Changes, Revision, StoreError};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::connection::Database;
use crate::error::log_corrupt;
use crate::row::{DocumentRow, document_columns, signed, unsigned};
use crate::statement::{args, statements};

/// The class of the advisory locks of transactions in flight: one a schema.
macro_rules! lock_class {
    () => {
        "hashtext('agrajag.in_flight.' || current_schema())"
    };
}
pub(crate) use lock_class;

/// Takes the lock of a transaction that has no id yet: class, then the lower 31 bits of the snapshot's xmax.
macro_rules! take_lock {
    () => {
        concat!(
            "pg_advisory_xact_lock_shared(",
            $crate::feed::lock_class!(),
            ",
            (pg_snapshot_xmax(pg_current_snapshot())::text::bigint & 2147483647)::integer)"
        )
    };
}
pub(crate) use take_lock;

/// How far the feed goes, with `$1` = a horizon known to be safe, 0 = none.
macro_rules! extent {
    () => {
        "select s.epoch::text as epoch, s.feed_floor, x.horizon,
            coalesce((select d.revision from document d where d.revision < x.horizon
                order by d.revision desc limit 1), 0) as settled,
            coalesce((select d.revision from document d order by d.revision desc limit 1), 0) as newest
        from store s
        cross join lateral (
            select greatest($1::bigint, pg_snapshot_xmin(pg_current_snapshot())::text::bigint) as horizon
        ) x"
    };
}

statements! {
    /// Begins a transaction that writes documents.
    BEGIN = "begin isolation level read committed; select ", take_lock!();

    /// The horizon of this store's own transactions; none on a standby, where their locks are not seen. Of a bound only the
    /// lower bits are known, and it may be above the xmax taken here: what would be more than 2^30 ids back is ahead.
    OWN_HORIZON = "select case when pg_is_in_recovery() then 0 else least(h.xmax, min(h.xmax - b.distance)) end
        from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as xmax) h
        left join lateral (
            select (h.xmax - l.objid::bigint) & 2147483647 as distance from pg_locks l
            where l.locktype = 'advisory' and l.objsubid = 2
              and l.database = (select oid from pg_database where datname = current_database())
              and l.classid::bigint = (", lock_class!(), "::bigint & 4294967295)
        ) b on b.distance < 1073741824
        group by h.xmax";

    /// How far the feed goes.
    EXTENT = extent!();

    /// The same with the rows after `$2`, `$3` of them and the rest of the last one's transaction.
    CHANGES = "select s.epoch, s.feed_floor, s.horizon, s.settled, s.newest, d.revision is not null, ",
        document_columns!(), " from (", extent!(), ") s
        left join lateral (
            select * from document d where d.revision > $2
            order by d.revision fetch first ($3::bigint) rows with ties
        ) d on true
        order by d.revision, d.tenant_id, d.scope, d.scope_id, d.tool_name";
}

/// How far the feed goes.
#[derive(Debug)]
struct Extent {
    epoch: String,
    /// Below it tombstones may be missing.
    floor: u64,
    horizon: i64,
    /// The last position that readers may go to.
    head: u64,
    /// The last position that is visible; above `head` while something is in flight.
    newest: u64,
}

impl Extent {
    fn read(row: &PgRow) -> Result<Self, sqlx::Error> {
        let floor = unsigned(row.try_get(1)?);
        Ok(Self {
            epoch: row.try_get(0)?,
            floor,
            horizon: row.try_get(2)?,
            head: unsigned(row.try_get(3)?).max(floor),
            newest: unsigned(row.try_get(4)?).max(floor),
        })
    }

    const fn is_held_back(&self) -> bool {
        self.head < self.newest
    }
}

/// The newest revision that a reader can have reached.
pub(crate) async fn head(database: &Database) -> Result<Revision, StoreError> {
    let extent = extent(database, 0).await?;
    let extent = if extent.is_held_back() {
        let horizon = own_horizon(database).await?;
        self::extent(database, horizon).await?
    } else {
        extent
    };
    Ok(Revision { epoch: extent.epoch, position: extent.head })
}

async fn extent(database: &Database, horizon: i64) -> Result<Extent, StoreError> {
    const DOING: &str = "read the head of the change feed";
    let rows = database.read(DOING, EXTENT, args![horizon]).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound);
    row.and_then(Extent::read).map_err(|error| database.target().error(DOING, error))
}

/// See the module. The rows must be read with a later snapshot than this takes.
pub(crate) async fn own_horizon(database: &Database) -> Result<i64, StoreError> {
    const DOING: &str = "read the transactions in flight";
    let rows = database.read(DOING, OWN_HORIZON, args![]).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound);
    row.and_then(|row| row.try_get(0)).map_err(|error| database.target().error(DOING, error))
}

/// A page of the feed.
pub(crate) async fn changes(
    database: &Database,
    after: &Revision,
    limit: usize,
) -> Result<Changes, StoreError> {
    let page = Page::load(database, after, limit, 0).await?.checked(after)?;
    if page.has_more() || !page.extent.is_held_back() {
        return Ok(page.finish());
    }
    let horizon = own_horizon(database).await?;
    let page = Page::load(database, after, limit, horizon).await?.checked(after)?;
    if page.has_more() || !page.extent.is_held_back() || page.rows.len() < limit {
        return Ok(page.finish());
    }
    // The last page, and more is visible than it takes.
    Ok(Page::load(database, after, usize::MAX, horizon).await?.checked(after)?.finish())
}

struct Page {
    extent: Extent,
    /// In the order of their revisions.
    rows: Vec<DocumentRow>,
    /// Where the reader may go on.
    position: u64,
}

impl Page {
    async fn load(
        database: &Database,
        after: &Revision,
        limit: usize,
        horizon: i64,
    ) -> Result<Self, StoreError> {
        const DOING: &str = "read the change feed";
        let rows = database
            .read(DOING, CHANGES, args![horizon, signed(after.position), signed(limit as u64)])
            .await?;
        let read = || {
            let extent = Extent::read(rows.first().ok_or(sqlx::Error::RowNotFound)?)?;
            let mut documents = Vec::with_capacity(rows.len());
            for row in &rows {
                if row.try_get(5)? {
                    documents.push(DocumentRow::read(row, 6)?);
                }
            }
            let settled = documents.iter().map(|it| it.revision).filter(|it| signed(*it) < extent.horizon);
            let position = settled.max().unwrap_or(after.position);
            Ok(Self { extent, rows: documents, position })
        };
        read().map_err(|error| database.target().error(DOING, error))
    }

    /// Refuses a place of another epoch, one whose tombstones may be gone, and one that was never given out: it is of a
    /// history that this store was restored from.
    fn checked(self, after: &Revision) -> Result<Self, StoreError> {
        let Extent { epoch, floor, newest, .. } = &self.extent;
        if after.epoch != *epoch || after.position < *floor || after.position > *newest {
            return Err(StoreError::RevisionTooOld { revision: after.clone() });
        }
        Ok(self)
    }

    const fn has_more(&self) -> bool {
        self.position < self.extent.head
    }

    fn finish(self) -> Changes {
        let more = self.has_more();
        let mut changes = Vec::with_capacity(self.rows.len());
        for row in self.rows {
            match row.decode() {
                Ok(document) => changes.push(Change { key: row.key, document, version: row.revision }),
                Err(error) => {
                    // A copy of what was there before must not be kept: it is told as gone.
                    log_corrupt(&row.key, &error);
                    changes.push(Change { key: row.key, document: None, version: row.revision });
                }
            }
        }
        Changes { changes, next: Revision { epoch: self.extent.epoch, position: self.position }, more }
    }
}
