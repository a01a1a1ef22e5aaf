//! Tool results: MCP, Anthropic, OpenAI, LangChain.
//!
//! The APIs of model providers refuse a request that holds a field they do not know, so only MCP and LangChain carry
//! our fields; for the others the answer's own verdict stands beside the rendering.

use health_model::Verdict;
use serde::Serialize;

use super::META_KEY;
use super::fields::{Fields, fields};

/// `CallToolResult` of MCP.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallToolResult<'a> {
    content: [TextContent<'a>; 1],
    is_error: bool,
    /// Wanted from revision 2026-07-28 on; earlier ones allow a result to have more than they name.
    result_type: &'static str,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Debug, Serialize)]
struct TextContent<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Debug)]
struct Meta<'a>(Fields<'a>);

impl Serialize for Meta<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(META_KEY, &self.0)])
    }
}

pub(super) fn mcp(verdict: &Verdict) -> CallToolResult<'_> {
    CallToolResult {
        content: [TextContent { r#type: "text", text: &verdict.model_text }],
        is_error: true,
        result_type: "complete",
        meta: Meta(fields(verdict)),
    }
}

/// A `tool_result` block of the Messages API.
#[derive(Debug, Serialize)]
pub(super) struct ToolResult<'a> {
    r#type: &'static str,
    tool_use_id: &'a str,
    content: &'a str,
    is_error: bool,
}

pub(super) fn anthropic<'a>(verdict: &'a Verdict, call_id: &'a str) -> ToolResult<'a> {
    ToolResult { r#type: "tool_result", tool_use_id: call_id, content: &verdict.model_text, is_error: true }
}

/// A tool message of the Chat Completions API. The API has no mark for an error: the text says it.
#[derive(Debug, Serialize)]
pub(super) struct ChatToolMessage<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    content: &'a str,
}

pub(super) fn openai_chat<'a>(verdict: &'a Verdict, call_id: &'a str) -> ChatToolMessage<'a> {
    ChatToolMessage { role: "tool", tool_call_id: call_id, content: &verdict.model_text }
}

/// A function's output in the Responses API. Its `status` is about the item, not about the call, and is the API's to
/// set.
#[derive(Debug, Serialize)]
pub(super) struct FunctionCallOutput<'a> {
    r#type: &'static str,
    call_id: &'a str,
    output: &'a str,
}

pub(super) fn openai_responses<'a>(verdict: &'a Verdict, call_id: &'a str) -> FunctionCallOutput<'a> {
    FunctionCallOutput { r#type: "function_call_output", call_id, output: &verdict.model_text }
}

/// A ToolMessage of LangChain: the arguments of its constructor. The artifact is not sent to the model.
#[derive(Debug, Serialize)]
pub(super) struct ToolMessage<'a> {
    r#type: &'static str,
    content: &'a str,
    tool_call_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    status: &'static str,
    artifact: Fields<'a>,
}

pub(super) fn langchain<'a>(verdict: &'a Verdict, call_id: &'a str, tool: &'a str) -> ToolMessage<'a> {
    ToolMessage {
        r#type: "tool",
        content: &verdict.model_text,
        tool_call_id: call_id,
        name: tool,
        status: "error",
        artifact: fields(verdict),
    }
}
