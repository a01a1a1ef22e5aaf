//! The benchmark: the product's calls beside bare ones, on one port, by the same clients, in turns.
//!
//! What one run shows is a ratio: how much of what this machine can do with gRPC is left when the product does it. Windows
//! of product and baselines alternate, so that what else happens on the machine meets both; of the ratios of each turn
//! the median counts.
//!
//! - [`codec`]: messages that are encoded without being copied, for both sides.
//! - [`baseline`]: the bare calls.
//! - [`case`]: what is called, and what it is compared with.
//! - [`load`]: clients, windows, what they measured.
//! - [`report`]: the table and the JSON.

pub mod baseline;
pub mod case;
pub mod codec;
pub mod load;
pub mod report;
