//! The PostgreSQL adapter: one database (14 or newer) shared by any number of servers.
//!
//! It keeps the promises of [`ports::Store`] and knows nothing of the rules of health. No SQL text leaves this crate, no
//! type of the driver does, and the database's clock is never read. Only [`PostgresStore`] and [`Options`] are public.
//!
//! Invariants:
//! - **A revision is a transaction id.** A document's version is the id of the transaction that wrote it. A commit whose
//!   own id is not above every version that it replaces is a conflict, so versions grow, also over a delete.
//! - **The feed never passes a commit in flight.** See `feed` for the proof, and for why foreign transactions of the same
//!   cluster cannot hold it up.
//! - **Rows are locked in key order**, in sets: a batch is one statement a table, whatever its size.
//! - **A commit is durable when it is answered.** `synchronous_commit = off`, set by anybody, is overridden.
//! - **Text round-trips.** What PostgreSQL cannot hold, the NUL character, is escaped on the way in.
//! - **One epoch, one history.** A database that was restored, copied or promoted gets another epoch when the first
//!   connection to it is made.
//!
//! Reading order:
//! - `options`: what can be configured. `error`: what the driver's errors mean, and what to do about them.
//! - `connection`: the pool, its settings, outages of the database.
//! - `migrate`: the schema and the epoch. `statement`, `row`, `text`: shared pieces of SQL, rows and escapes.
//! - `document`, `commit`, `outage`, `enqueue`, `delete`, `sweep`, `counter`, `rule_layer`, `journal`, `job`: the tables.
//! - `feed`: revisions and changes. `notify`: wake-ups between servers.
//! - `store`: the port, put together.

mod commit;
mod connection;
mod counter;
mod delete;
mod document;
mod enqueue;
mod error;
mod feed;
mod job;
mod journal;
mod migrate;
mod notify;
mod options;
mod outage;
mod row;
mod rule_layer;
mod statement;
mod store;
mod sweep;
#[cfg(test)]
mod tests;
mod text;

pub use options::Options;
pub use store::PostgresStore;
