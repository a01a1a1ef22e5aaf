//! Flights: one load of a container at a time, and word of changes that arrive during it.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use health_model::ContainerKey;

use super::locked;

/// One load.
#[derive(Default)]
pub(super) struct Flight {
    /// A change arrived since the load began.
    pub(super) dirty: AtomicBool,
    pub(super) turn: tokio::sync::Mutex<()>,
}

/// The loads under way.
pub(super) type FlightTable = Mutex<HashMap<ContainerKey, Arc<Flight>>>;

/// The flights of one load. Leaves the table also where the load is given up half way.
pub(super) struct Flights<'a> {
    table: &'a FlightTable,
    pub(super) entered: Vec<(ContainerKey, Arc<Flight>)>,
}

impl<'a> Flights<'a> {
    pub(super) fn enter(table: &'a FlightTable, keys: impl Iterator<Item = ContainerKey>) -> Self {
        let mut flights = locked(table);
        let entered = keys
            .map(|key| {
                let flight = Arc::clone(flights.entry(key.clone()).or_default());
                (key, flight)
            })
            .collect();
        Self { table, entered }
    }
}

impl Drop for Flights<'_> {
    fn drop(&mut self) {
        let mut table = locked(self.table);
        for (key, flight) in self.entered.drain(..) {
            // The table's own handle and this one: nobody else waits.
            if Arc::strong_count(&flight) <= 2 {
                table.remove(&key);
            }
        }
    }
}
