//! A verdict in the fixed forms that other programs take as they are: tool results of model APIs and frameworks, and
//! problem details.
//!
//! Pure functions of the verdict and of what the caller says of its call: no clock, no store, no wire. The same input
//! gives the same bytes (C22): keys stand in a fixed order, what is absent is left out, and the only instant is the
//! verdict's own retry time. The words for the model are passed on unchanged. `docs/renderings.md` shows each form.
//!
//! - `fields`: what a program reads, the same in every form that has room for it.
//! - `results`: tool results. `problem`: problem details.

mod fields;
mod problem;
mod results;

use health_model::Verdict;
use serde::Serialize;

/// The prefix of our keys in `_meta` of MCP: the protobuf package. MCP wants labels separated by dots before the slash
/// and reserves those that name MCP itself.
const META_KEY: &str = "agrajag.v1/verdict";

const JSON: &str = "application/json";

/// A form that a verdict can be rendered in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// The result of an MCP tool call.
    Mcp,
    /// A `tool_result` block of Anthropic's Messages API.
    Anthropic,
    /// A message of role `tool` of OpenAI's Chat Completions API.
    OpenaiChat,
    /// A `function_call_output` item of OpenAI's Responses API.
    OpenaiResponses,
    /// A LangChain ToolMessage.
    Langchain,
    /// Problem details after RFC 9457.
    ProblemJson,
}

impl Dialect {
    /// Every dialect, in declaration order.
    pub const ALL: &'static [Self] = &[
        Self::Mcp,
        Self::Anthropic,
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::Langchain,
        Self::ProblemJson,
    ];

    /// The name, as the command line spells it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Langchain => "langchain",
            Self::ProblemJson => "problem-json",
        }
    }

    /// Whether the form answers a call by its id and is of no use without one.
    #[must_use]
    pub const fn needs_call_id(self) -> bool {
        match self {
            Self::Anthropic | Self::OpenaiChat | Self::OpenaiResponses | Self::Langchain => true,
            Self::Mcp | Self::ProblemJson => false,
        }
    }

    /// The media type of the form.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::ProblemJson => "application/problem+json",
            _ => JSON,
        }
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the caller says of the call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// The id that the model gave it; `None` or empty = not said.
    pub id: Option<&'a str>,
    /// The tool's name; empty = not said.
    pub tool: &'a str,
}

/// Why there is no rendering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The form answers a call by its id, and the caller did not say it.
    #[error("a rendering for `{0}` needs the id of the call")]
    NoCallId(Dialect),
}

/// The verdict in the dialect: one JSON object on one line.
///
/// # Errors
///
/// [`Error::NoCallId`] if the dialect [needs an id](Dialect::needs_call_id) and there is none.
pub fn render(dialect: Dialect, verdict: &Verdict, call: Call<'_>) -> Result<String, Error> {
    let id = call.id.filter(|it| !it.is_empty());
    let needed = id.ok_or(Error::NoCallId(dialect));
    Ok(match dialect {
        Dialect::Mcp => json(&results::mcp(verdict)),
        Dialect::Anthropic => json(&results::anthropic(verdict, needed?)),
        Dialect::OpenaiChat => json(&results::openai_chat(verdict, needed?)),
        Dialect::OpenaiResponses => json(&results::openai_responses(verdict, needed?)),
        Dialect::Langchain => json(&results::langchain(verdict, needed?, call.tool)),
        Dialect::ProblemJson => json(&problem::problem(verdict, id)),
    })
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts, numbers and truth values under fixed names are always JSON")
}

#[cfg(test)]
mod tests;
