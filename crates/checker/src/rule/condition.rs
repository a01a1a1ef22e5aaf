//! One condition of a rule: when it holds, what it wanted and what it saw.
//!
//! Conditions read a failure only through [`Facts`], so that a costly fact is computed once and only if asked for.

mod names;
mod shown;
mod text;
mod values;

use health_model::verdict::Evidence;
use health_model::{DispatchCode, FailureKind, NotFoundOf, Phase, Target, ToolKind};

use crate::facts::Facts;
use crate::redact;

pub(crate) use names::is_name;
pub use names::{ExceptionTypes, KindSet};
pub(crate) use shown::shown;
use shown::{all_seen, all_wanted, join};
pub use text::{Case, Needles, Pattern, PatternError};
pub(crate) use text::{ends as text_ends, is_boundary as text_is_boundary};
pub use values::{BodyShape, Codes, HeaderTest, JsonTest, Numbers, ProviderNames, Wildcard};

/// A test of one fact. A rule's conditions are tested in the order of these variants: cheap ones first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `dispatchCode`: one of these.
    DispatchCode(Vec<DispatchCode>),
    /// `toolKind`: one of these.
    ToolKind(Vec<ToolKind>),
    /// `target`: exactly this; a tool that does not say has a fixed one.
    Target(Target),
    /// `phase`: the call had come so far.
    Phase(Vec<Phase>),
    /// `isError`: the tool answered with a result that is flagged as an error, or did not.
    IsError(bool),
    /// `httpStatus`: the reported status is one of these (R109).
    HttpStatus(Numbers),
    /// `httpStatusRange`: from, to, both inclusive (R110).
    HttpStatusRange(u16, u16),
    /// `status`: the innermost HTTP status that the failure names is one of these.
    Status(Numbers),
    /// `schemaViolation`: the reporter's flag (R133, C15).
    SchemaViolation(bool),
    /// `notFoundOf` (R128, C15): `entity` where the reporter says so, `endpoint` where it says so or cannot tell.
    NotFoundOf(NotFoundOf),
    /// `code`: one of these machine codes, in any spelling, stands anywhere in the failure.
    Code(Codes),
    /// `jsonRpcCode`: the code of a JSON-RPC error.
    JsonRpcCode(Numbers),
    /// `grpcStatus`: the gRPC status, by its canonical name.
    GrpcStatus(Vec<String>),
    /// `sqlState`: the SQLSTATE is one of these, or of one of these classes of two characters.
    SqlState(Vec<String>),
    /// `closeCode`: the close code of a WebSocket.
    CloseCode(Numbers),
    /// `exitCode`: the exit code of a process; a signal counts as its negative number.
    ExitCode(Numbers),
    /// `kind`: the canonical kind is one of these.
    Kind(KindSet),
    /// `exceptionType`: one of these (R111).
    ExceptionType(ExceptionTypes),
    /// `errorCode`: exactly one of these machine codes (R113).
    ErrorCode(Vec<String>),
    /// `toolName`: the tool's name fits one of these.
    ToolName(Vec<Wildcard>),
    /// `method`: the HTTP method, RPC or operation fits one of these.
    Method(Vec<Wildcard>),
    /// `header`: one of these response headers is as wanted.
    Header(Vec<HeaderTest>),
    /// `bodyShape`: the body is of one of these shapes.
    BodyShape(Vec<BodyShape>),
    /// `provider`: there is evidence that one of these is behind the tool.
    Provider(ProviderNames),
    /// `bodyContains` (R112) or `text`: one of these is in the message, a cause's message, the error stream or the body.
    Contains(Needles),
    /// `json`: a value of the JSON body is as wanted.
    Json(Vec<JsonTest>),
    /// `regex`: one of these is in the texts that `text` sees.
    Regex(Vec<Pattern>),
    /// `any`: all conditions of one of these hold.
    Any(Vec<Vec<Condition>>),
    /// `not`: these do not all hold.
    Not(Vec<Condition>),
}

impl Condition {
    /// The field of `match`, as written in a rule file.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::DispatchCode(_) => "dispatchCode",
            Self::ToolKind(_) => "toolKind",
            Self::Target(_) => "target",
            Self::Phase(_) => "phase",
            Self::IsError(_) => "isError",
            Self::HttpStatus(_) => "httpStatus",
            Self::HttpStatusRange(..) => "httpStatusRange",
            Self::Status(_) => "status",
            Self::SchemaViolation(_) => "schemaViolation",
            Self::NotFoundOf(_) => "notFoundOf",
            Self::Code(_) => "code",
            Self::JsonRpcCode(_) => "jsonRpcCode",
            Self::GrpcStatus(_) => "grpcStatus",
            Self::SqlState(_) => "sqlState",
            Self::CloseCode(_) => "closeCode",
            Self::ExitCode(_) => "exitCode",
            Self::Kind(_) => "kind",
            Self::ExceptionType(_) => "exceptionType",
            Self::ErrorCode(_) => "errorCode",
            Self::ToolName(_) => "toolName",
            Self::Method(_) => "method",
            Self::Header(_) => "header",
            Self::BodyShape(_) => "bodyShape",
            Self::Provider(_) => "provider",
            Self::Contains(needles) => match needles.case() {
                Case::Exact => "bodyContains",
                Case::Words => "text",
            },
            Self::Json(_) => "json",
            Self::Regex(_) => "regex",
            Self::Any(_) => "any",
            Self::Not(_) => "not",
        }
    }

    /// Whether it holds.
    #[must_use]
    pub fn holds(&self, facts: &Facts<'_>) -> bool {
        let failure = facts.failure();
        match self {
            Self::DispatchCode(codes) => failure.dispatch_code.is_some_and(|it| codes.contains(&it)),
            Self::ToolKind(kinds) => facts.tool().kind.is_some_and(|it| kinds.contains(&it)),
            Self::Target(target) => facts.target() == *target,
            Self::Phase(phases) => failure.phase.is_some_and(|it| phases.contains(&it)),
            Self::IsError(flag) => failure.is_error.unwrap_or(false) == *flag,
            Self::HttpStatus(statuses) => {
                failure.http_status.is_some_and(|it| statuses.contains(i64::from(it)))
            }
            Self::HttpStatusRange(from, to) => failure.http_status.is_some_and(|it| *from <= it && it <= *to),
            Self::Status(statuses) => facts.status().is_some_and(|it| statuses.contains(i64::from(it))),
            Self::SchemaViolation(flag) => failure.schema_violation == *flag,
            Self::NotFoundOf(NotFoundOf::Endpoint) => failure.not_found_of != Some(NotFoundOf::Entity),
            Self::NotFoundOf(NotFoundOf::Entity) => failure.not_found_of == Some(NotFoundOf::Entity),
            Self::Code(codes) => facts.has_code(codes),
            Self::JsonRpcCode(codes) => facts.rpc_codes().iter().any(|it| codes.contains(*it)),
            Self::GrpcStatus(names) => {
                facts.grpc_statuses().iter().any(|it| names.iter().any(|name| name == it))
            }
            Self::SqlState(states) => {
                facts.sql_states().iter().any(|it| states.iter().any(|state| it.starts_with(state.as_str())))
            }
            Self::CloseCode(codes) => facts.close_codes().iter().any(|it| codes.contains(i64::from(*it))),
            Self::ExitCode(codes) => facts.exit_codes().iter().any(|it| codes.contains(*it)),
            Self::Kind(kinds) => facts.kind().is_some_and(|it| kinds.contains(it)),
            Self::ExceptionType(types) => types.hold(facts),
            Self::ErrorCode(codes) => facts.error_codes().any(|it| codes.iter().any(|code| code == it)),
            Self::ToolName(names) => names.iter().any(|it| it.fits_lower(facts.tool_name())),
            Self::Method(names) => {
                let given = failure.method.as_deref().into_iter().chain(failure.operation.as_deref());
                given.into_iter().any(|it| names.iter().any(|name| name.fits(it)))
            }
            Self::Header(tests) => tests.iter().any(|it| it.holds(failure)),
            Self::BodyShape(shapes) => shapes.contains(&facts.body_shape()),
            Self::Provider(names) => facts.has_provider(names),
            Self::Contains(needles) => facts.contains_any(needles),
            Self::Json(tests) => tests.iter().any(|it| {
                it.key().is_none_or(|key| facts.may_have_key(key))
                    && facts.json().is_some_and(|json| it.holds(json))
            }),
            Self::Regex(patterns) => patterns.iter().any(|it| facts.matches(it)),
            Self::Any(branches) => branches.iter().any(|it| it.iter().all(|it| it.holds(facts))),
            Self::Not(conditions) => !conditions.iter().all(|it| it.holds(facts)),
        }
    }

    /// What it looks for, for people.
    #[must_use]
    pub fn wanted(&self) -> String {
        match self {
            Self::DispatchCode(codes) => join(codes.iter().map(|it| it.as_str())),
            Self::ToolKind(kinds) => join(kinds.iter().map(|it| it.as_str())),
            Self::Target(target) => target.to_string(),
            Self::Phase(phases) => join(phases.iter().map(|it| it.as_str())),
            Self::IsError(flag) | Self::SchemaViolation(flag) => flag.to_string(),
            Self::HttpStatus(it)
            | Self::Status(it)
            | Self::JsonRpcCode(it)
            | Self::CloseCode(it)
            | Self::ExitCode(it) => it.to_string(),
            Self::HttpStatusRange(from, to) => format!("{from} to {to}"),
            Self::NotFoundOf(of) => of.to_string(),
            Self::Code(codes) => join(codes.names()),
            Self::GrpcStatus(names) | Self::SqlState(names) | Self::ErrorCode(names) => join(names),
            Self::Provider(names) => join(names.names()),
            Self::Kind(kinds) => join(kinds.iter().map(FailureKind::as_str)),
            Self::ExceptionType(types) => join(types.names()),
            Self::ToolName(names) | Self::Method(names) => {
                join(names.iter().map(|it| format!("`{}`", it.as_str())))
            }
            Self::Header(tests) => join(tests.iter().map(ToString::to_string)),
            Self::BodyShape(shapes) => join(shapes.iter().map(|it| it.as_str())),
            Self::Contains(needles) => join(needles.texts().iter().map(|it| format!("`{it}`"))),
            Self::Json(tests) => join(tests.iter().map(ToString::to_string)),
            Self::Regex(patterns) => join(patterns.iter().map(|it| format!("`{}`", it.as_str()))),
            Self::Any(branches) => {
                let branches: Vec<String> = branches.iter().map(|it| all_wanted(it)).collect();
                branches.join(" or ")
            }
            Self::Not(conditions) => format!("not {}", all_wanted(conditions)),
        }
    }

    /// What the failure has there, for people: cut and masked, since it comes from outside.
    #[must_use]
    pub fn seen(&self, facts: &Facts<'_>) -> String {
        let failure = facts.failure();
        let or_nothing = |it: Option<String>| it.unwrap_or_else(|| "nothing".to_owned());
        let listed = |it: Vec<String>| if it.is_empty() { "nothing".to_owned() } else { it.join(", ") };
        let excerpts = |it: &[&str]| listed(it.iter().map(|it| redact::excerpt(it)).collect());
        match self {
            Self::DispatchCode(_) => or_nothing(failure.dispatch_code.map(|it| it.to_string())),
            Self::ToolKind(_) => or_nothing(facts.tool().kind.map(|it| it.to_string())),
            Self::Target(_) => facts.target().to_string(),
            Self::Phase(_) => or_nothing(failure.phase.map(|it| it.to_string())),
            Self::IsError(_) => or_nothing(failure.is_error.map(|it| it.to_string())),
            Self::HttpStatus(_) | Self::HttpStatusRange(..) => {
                or_nothing(failure.http_status.map(|it| it.to_string()))
            }
            Self::Status(_) => or_nothing(facts.status().map(|it| it.to_string())),
            Self::SchemaViolation(_) => failure.schema_violation.to_string(),
            Self::NotFoundOf(_) => or_nothing(failure.not_found_of.map(|it| it.to_string())),
            Self::Code(codes) => match facts.code_found(codes) {
                Some(code) => code.to_owned(),
                None => excerpts(&facts.error_codes().collect::<Vec<_>>()),
            },
            Self::JsonRpcCode(_) => listed(facts.rpc_codes().iter().map(ToString::to_string).collect()),
            Self::GrpcStatus(_) => listed(facts.grpc_statuses().iter().map(|it| (*it).to_owned()).collect()),
            Self::SqlState(_) => excerpts(facts.sql_states()),
            Self::CloseCode(_) => listed(facts.close_codes().iter().map(ToString::to_string).collect()),
            Self::ExitCode(_) => listed(facts.exit_codes().iter().map(ToString::to_string).collect()),
            Self::Kind(_) => or_nothing(facts.kind().map(|it| it.to_string())),
            Self::ExceptionType(_) => {
                let names = facts.exception_types().map(redact::excerpt).collect::<Vec<_>>();
                match (names.is_empty(), facts.kind()) {
                    (true, None) => "nothing".to_owned(),
                    (true, Some(kind)) => format!("kind {kind}"),
                    (false, None) => join(names),
                    (false, Some(kind)) => format!("{}, kind {kind}", join(names)),
                }
            }
            Self::ErrorCode(_) => excerpts(&facts.error_codes().collect::<Vec<_>>()),
            Self::ToolName(_) => redact::excerpt(&facts.tool().name),
            Self::Method(_) => {
                let given = failure.method.as_deref().into_iter().chain(failure.operation.as_deref());
                excerpts(&given.collect::<Vec<_>>())
            }
            Self::Header(tests) => listed(tests.iter().filter_map(|it| it.seen(failure)).collect()),
            Self::BodyShape(_) => facts.body_shape().as_str().to_owned(),
            Self::Provider(_) => listed(facts.providers().map(str::to_owned).collect()),
            Self::Contains(_) | Self::Regex(_) => {
                format!("none of them in {} bytes of text", facts.text_bytes())
            }
            Self::Json(tests) => match facts.json() {
                Some(json) => listed(tests.iter().filter_map(|it| it.seen(json)).collect()),
                None => "no JSON".to_owned(),
            },
            Self::Any(branches) => {
                // The branch that came furthest says most.
                let nearest = branches.iter().max_by_key(|it| it.iter().filter(|it| it.holds(facts)).count());
                nearest.map(|it| all_seen(it, facts)).unwrap_or_default()
            }
            Self::Not(conditions) => all_seen(conditions, facts),
        }
    }

    /// Why it holds: the field, what it looks for, and what is there.
    #[must_use]
    pub fn evidence(&self, facts: &Facts<'_>) -> Evidence {
        let (field, wanted, seen) = match self {
            Self::Kind(_) => (self.field(), self.wanted(), facts.kind_evidence()),
            Self::ExceptionType(types) if !types.holds_by_name(facts) => {
                (self.field(), self.wanted(), facts.kind_evidence())
            }
            Self::ErrorCode(codes) => {
                let code =
                    facts.error_codes().find(|it| codes.iter().any(|code| code == it)).unwrap_or_default();
                (self.field(), self.wanted(), code.to_owned())
            }
            Self::Contains(needles) => {
                let found =
                    needles.texts().iter().find_map(|it| Some((it, facts.place_of(it, needles.case())?)));
                let seen = found
                    .map_or_else(|| self.wanted(), |(needle, place)| format!("`{needle}` in the {place}"));
                (self.field(), self.wanted(), seen)
            }
            Self::Regex(patterns) => {
                let found = patterns.iter().find_map(|it| {
                    let (place, text) = facts.texts().find(|(_, text)| it.is_in(text))?;
                    // Whether it is secret shows in the text around it.
                    let found = redact::excerpt(&redact::mask_part(text, it.find(text)?));
                    Some(format!("`{found}` in the {place}"))
                });
                (self.field(), self.wanted(), found.unwrap_or_default())
            }
            Self::Any(branches) => {
                let branch = branches.iter().find(|it| it.iter().all(|it| it.holds(facts)));
                let branch = branch.map_or(&[][..], Vec::as_slice);
                let seen: Vec<String> = branch
                    .iter()
                    .map(|it| it.evidence(facts))
                    .map(|it| format!("{} {}", it.field, it.seen))
                    .collect();
                (self.field(), all_wanted(branch), seen.join(" and "))
            }
            _ => (self.field(), self.wanted(), self.seen(facts)),
        };
        Evidence { field: field.to_owned(), expected: shown(wanted), seen: shown(seen) }
    }

    /// Calls `visit` with this condition and with those inside it.
    pub(crate) fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        match self {
            Self::Any(branches) => branches.iter().flatten().for_each(|it| it.visit(visit)),
            Self::Not(conditions) => conditions.iter().for_each(|it| it.visit(visit)),
            _ => {}
        }
    }

    /// As [`Condition::visit`], to change them.
    pub(crate) fn visit_mut(&mut self, visit: &mut impl FnMut(&mut Self)) {
        visit(self);
        match self {
            Self::Any(branches) => branches.iter_mut().flatten().for_each(|it| it.visit_mut(visit)),
            Self::Not(conditions) => conditions.iter_mut().for_each(|it| it.visit_mut(visit)),
            _ => {}
        }
    }
}
