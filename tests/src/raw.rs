//! Calls with bytes instead of messages: what no generated client would send.

use std::time::Duration;

use prost::bytes::{Buf as _, BufMut as _};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Request, Status};

/// A codec that changes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raw;

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        Ok(Some(bytes.to_vec()))
    }
}

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

/// Calls the method at `path` and reads the first message of its answer, one or many.
///
/// # Errors
///
/// What the server answers.
///
/// # Panics
///
/// If the path is none or nothing answers in `limit`.
pub async fn call(
    channel: Channel,
    path: &str,
    message: Vec<u8>,
    limit: Duration,
) -> Result<Option<Vec<u8>>, Status> {
    let work = async {
        let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(64 << 20);
        grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let path = path.parse().expect("a path");
        let mut stream = grpc.server_streaming(Request::new(message), path, Raw).await?.into_inner();
        stream.message().await
    };
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| panic!("`{path}` did not answer in {limit:?}"))
}
