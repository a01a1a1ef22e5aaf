//! Stand-ins for the two ports that make a test depend on its surroundings: time and ids.
//!
//! - [`clock`]: a clock that moves only when it is told to.
//! - [`ids`]: ids that follow from a seed.
//!
//! Development only: no crate that ships depends on this one. It knows ports, and nothing of stores or services.

pub mod clock;
pub mod ids;

pub use clock::ManualClock;
pub use ids::SeededIds;
