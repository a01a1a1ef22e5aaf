//! The `agrajag` binary.
fn main() {}
