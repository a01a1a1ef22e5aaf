//! Messages as JSON and back, by the JSON mapping of proto3: the same text that the server's HTTP endpoints speak.
//!
//! Owns the descriptor pool. Keys come in the order of the field numbers, so that equal answers are equal texts. Knows
//! nothing of what a message means.

use std::sync::LazyLock;

use agrajag_proto::v1;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

/// A message of `agrajag.v1` with its full name.
pub(crate) trait WireMessage: Message + Default {
    /// The full name, for example `agrajag.v1.CheckResponse`.
    const NAME: &'static str;
}

macro_rules! wire_messages {
    ($($name:ident),+ $(,)?) => {
        $(impl WireMessage for v1::$name {
            const NAME: &'static str = concat!("agrajag.v1.", stringify!($name));
        })+

        #[cfg(test)]
        const NAMES: &[&str] = &[$(<v1::$name as WireMessage>::NAME),+];
    };
}

wire_messages! {
    BacktestRulesResponse,
    CheckRequest,
    CheckResponse,
    ClearCooldownResponse,
    ClearDocumentResponse,
    DeleteDocumentsResponse,
    DeleteRuleLayerResponse,
    ExplainResponse,
    GetDocumentResponse,
    GetEffectiveRulesResponse,
    GetInfoResponse,
    ListDocumentsResponse,
    ListJobsResponse,
    ListRuleLayersResponse,
    LookupRequest,
    LookupResponse,
    MarkAvailableResponse,
    MarkDegradedResponse,
    MarkUnavailableResponse,
    PutRuleLayerResponse,
    RecordEventResponse,
    RecordSuccessRequest,
    RecordSuccessResponse,
    ReleaseHoldResponse,
    SetCooldownResponse,
    SetHoldResponse,
    ValidateRulesResponse,
    WatchResponse,
}

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(agrajag_proto::FILE_DESCRIPTOR_SET)
        .expect("the generated descriptor set is well-formed")
});

fn descriptor<M: WireMessage>() -> MessageDescriptor {
    POOL.get_message_by_name(M::NAME).expect("every wire message is in the generated descriptor set")
}

/// The message as JSON: over several lines, or `compact` on one.
pub(crate) fn to_json<M: WireMessage>(message: &M, compact: bool) -> String {
    let mut dynamic = DynamicMessage::new(descriptor::<M>());
    dynamic.transcode_from(message).expect("a message is readable by its own descriptor");
    let text = if compact { serde_json::to_string(&dynamic) } else { serde_json::to_string_pretty(&dynamic) };
    text.expect("a message has only string keys")
}

/// Reads a message from JSON. Unknown fields are errors: a misspelt one would be left out silently.
pub(crate) fn from_json<M: WireMessage>(text: &str) -> Result<M, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let dynamic = DynamicMessage::deserialize(descriptor::<M>(), &mut reader)?;
    reader.end()?;
    Ok(dynamic.transcode_to().expect("a message is readable by its own type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wire_message_is_in_the_descriptor_set() {
        for name in NAMES {
            assert!(POOL.get_message_by_name(name).is_some(), "`{name}` is not in the descriptor set");
        }
    }

    #[test]
    fn keys_are_camel_case_and_in_the_order_of_the_file() {
        let response = v1::LookupResponse {
            tools: vec![v1::ToolHealth {
                tool_name: "jira_search".to_owned(),
                state: v1::ToolState::Down.into(),
                retry_at: Some(prost_types::Timestamp { seconds: 1_796_000_000, nanos: 0 }),
                ..Default::default()
            }],
            revision: "r1".to_owned(),
            stale: true,
            ..Default::default()
        };
        insta::assert_snapshot!(to_json(&response, true), @r#"{"tools":[{"toolName":"jira_search","state":"TOOL_STATE_DOWN","retryAt":"2026-11-30T00:53:20Z"}],"revision":"r1","stale":true}"#);
    }

    #[test]
    fn a_request_is_read_back_and_a_misspelt_field_is_named() {
        let request: v1::CheckRequest =
            from_json(r#"{"tool":{"name":"jira_search"},"failure":{"httpStatus":403}}"#)
                .expect("well-formed");
        assert_eq!(request.failure.and_then(|it| it.http_status), Some(403));
        let error = from_json::<v1::CheckRequest>(r#"{"tool":{"nam":"x"}}"#).expect_err("misspelt");
        assert!(error.to_string().contains("nam"), "{error}");
        from_json::<v1::CheckRequest>("{} {}").expect_err("one object only");
    }
}
