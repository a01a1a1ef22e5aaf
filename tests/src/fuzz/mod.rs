//! Fuzzing of what reads other people's text: rule files and failures.
//!
//! A driver of our own, on stable Rust and without a build of its own (ADR 0019). It mutates inputs that it starts from,
//! keeps those that make the program answer in a way that was not seen before, and stops at the first finding: a panic, a
//! broken law, or more time than a text of that length may take. Everything follows from the seed, which is printed.
//!
//! - [`target`]: what is run, its laws, and how long it may take.
//! - [`failure`]: a failure as a text that is worth mutating.
//! - [`seeds`]: the inputs to start from: the repository's rows and rules.
//! - [`mutate`]: changes of an input.
//! - [`driver`]: the loop, the clock, and making a finding smaller.

pub mod driver;
pub mod failure;
pub mod mutate;
pub mod seeds;
pub mod target;
