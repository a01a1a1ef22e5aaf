//! Tests against a real database: `AGRAJAG_TEST_PG` names a throw-away cluster.

mod contract;
mod database;
mod epoch;
mod feed;
mod outage;
mod rows;
mod schema;
