//! A codec over shared messages: nothing is copied before it is encoded, so that a message made beforehand costs nothing
//! but its encoding.

use std::marker::PhantomData;
use std::sync::Arc;

use prost::Message;
use prost::bytes::BufMut as _;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// What is sent.
#[derive(Debug)]
pub enum Outgoing<T> {
    /// A message, encoded each time.
    Message(Arc<T>),
    /// Bytes that were encoded beforehand.
    Encoded(Arc<[u8]>),
}

// By hand, because what is shared need not be clonable itself.
impl<T> Clone for Outgoing<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Message(it) => Self::Message(Arc::clone(it)),
            Self::Encoded(it) => Self::Encoded(Arc::clone(it)),
        }
    }
}

/// Encodes `T` from behind a pointer and decodes `U`.
#[derive(Debug)]
pub struct Shared<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Shared<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Message + 'static, U: Message + Default + 'static> Encoder for Shared<T, U> {
    type Item = Outgoing<T>;
    type Error = Status;

    fn encode(&mut self, item: Outgoing<T>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        match item {
            Outgoing::Message(it) => it.encode(into).map_err(|error| Status::internal(error.to_string())),
            Outgoing::Encoded(it) => {
                into.put_slice(&it);
                Ok(())
            }
        }
    }
}

impl<T: Message + 'static, U: Message + Default + 'static> Decoder for Shared<T, U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        U::decode(from).map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}

impl<T: Message + 'static, U: Message + Default + 'static> Codec for Shared<T, U> {
    type Encode = Outgoing<T>;
    type Decode = U;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self::default()
    }

    fn decoder(&mut self) -> Self {
        Self::default()
    }
}
