//! The suite that every store passes.

use super::database::TestDatabase;

store_conformance::store_conformance!(TestDatabase::create);
