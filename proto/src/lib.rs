//! The wire format of Agrajag: the `.proto` files of `agrajag.v1` and the Rust code generated from them, nothing else.
//!
//! The files in `proto/agrajag/v1` are the contract and carry the documentation. `cargo xtask codegen` writes
//! `src/generated` from them; the result is committed and compared on every run of the checks, so that a build needs
//! no protoc. Conversions between these types and the model live at the edge, in `grpc-server`.

/// Version 1 of the interface: messages, enums, clients and servers.
pub mod v1 {
    #![allow(missing_docs, unreachable_pub, clippy::all, rustdoc::all, reason = "generated code")]
    include!("generated/agrajag.v1.rs");
}

/// The encoded `google.protobuf.FileDescriptorSet` of every file, with imports and comments: for reflection and for
/// the JSON mapping.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/descriptor.bin");
