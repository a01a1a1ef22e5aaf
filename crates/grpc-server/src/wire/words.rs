//! The closed sets of words, in both directions. Each pair is written once, and a test walks all of them.

use agrajag_proto::v1;
use health_model::vocabulary as model;
use health_service::render::Dialect;

/// The direction that only tests need is compiled for them alone: `in` is read from requests, `out` is written to answers.
/// The functions that read answer `None` for UNSPECIFIED and for what this server does not know.
macro_rules! words {
    (@read $(#[$meta:meta])? $to_model:ident $wire:ident $model:ty { $($name:ident $variant:ident)+ }) => {
        $(#[$meta])?
        pub(crate) fn $to_model(word: i32) -> Option<$model> {
            match v1::$wire::try_from(word) {
                $(Ok(v1::$wire::$name) => Some(<$model>::$variant),)+
                _ => None,
            }
        }
    };
    (@write $(#[$meta:meta])? $to_wire:ident $wire:ident $model:ty { $($name:ident $variant:ident)+ }) => {
        $(#[$meta])?
        pub(crate) const fn $to_wire(word: $model) -> v1::$wire {
            match word {
                $(<$model>::$variant => v1::$wire::$name,)+
            }
        }
    };
    (@one both $to_model:ident $to_wire:ident $($rest:tt)+) => {
        words!(@read $to_model $($rest)+);
        words!(@write $to_wire $($rest)+);
    };
    (@one in $to_model:ident $to_wire:ident $($rest:tt)+) => {
        words!(@read $to_model $($rest)+);
        words!(@write #[cfg(test)] $to_wire $($rest)+);
    };
    (@one out $to_model:ident $to_wire:ident $($rest:tt)+) => {
        words!(@read #[cfg(test)] $to_model $($rest)+);
        words!(@write $to_wire $($rest)+);
    };
    ($($way:tt $to_model:ident, $to_wire:ident: $wire:ident <=> $model:ty { $($name:ident = $variant:ident),+ $(,)? })+) => {
        $(words!(@one $way $to_model $to_wire $wire $model { $($name $variant)+ });)+

        #[cfg(test)]
        mod tests {
            use super::*;

            #[test]
            fn every_word_survives_the_wire_and_none_is_missing() {
                $(
                    for &word in <$model>::ALL {
                        assert_eq!($to_model($to_wire(word) as i32), Some(word), stringify!($wire));
                    }
                    let known = (0..64).filter(|it| v1::$wire::try_from(*it).is_ok()).count();
                    let of_the_wire = extra(stringify!($wire));
                    assert_eq!(known, <$model>::ALL.len() + 1 + of_the_wire, "{} has words without a model", stringify!($wire));
                    assert_eq!($to_model(0), None);
                    assert_eq!($to_model(-1), None);
                    assert_eq!($to_model(9_999), None);
                )+
            }

            /// Words that only the wire has.
            fn extra(set: &str) -> usize {
                match set {
                    // NOT_A_SIGNAL is a flag in the model; NONE is an absent basis.
                    "Classification" | "RetryBasis" => 1,
                    _ => 0,
                }
            }
        }
    };
}

words! {
    both status, wire_status: HealthStatus <=> model::Status { Ok = Ok, Degraded = Degraded, Down = Down }
    out state, wire_state: ToolState <=> model::EffectiveStatus {
        Ok = Ok, Retesting = Retesting, Degraded = Degraded, Down = Down,
    }
    both scope, wire_scope: Scope <=> model::Scope {
        Session = Session, User = User, Project = Project, Tenant = Tenant, Global = Global,
    }
    both classification, wire_classification: Classification <=> model::Classification {
        TechnicallyBroken = TechnicallyBroken,
        UserSpecificTechnical = UserSpecificTechnical,
        UserPermission = UserPermission,
        UserInput = UserInput,
        Intermittent = Intermittent,
        Working = Working,
        Unclear = Unclear,
    }
    both dispatch_code, wire_dispatch_code: DispatchCode <=> model::DispatchCode {
        NotRegistered = NotRegistered,
        BackendUnreachable = BackendUnreachable,
        BackendFailed = BackendFailed,
        Disallowed = Disallowed,
    }
    in tool_kind, wire_tool_kind: ToolKind <=> model::ToolKind {
        Client = Client, Mcp = Mcp, Rest = Rest, Builtin = Builtin,
    }
    in target, wire_target: ToolTarget <=> model::Target { Fixed = Fixed, Argument = Argument }
    in credential, wire_credential: CredentialOwner <=> model::CredentialOwner {
        User = User, Project = Project, Tenant = Tenant, None = None,
    }
    in failure_kind, wire_failure_kind: FailureKind <=> model::FailureKind {
        ConnectRefused = ConnectRefused,
        Dns = Dns,
        NetworkUnreachable = NetworkUnreachable,
        Tls = Tls,
        ConnectTimeout = ConnectTimeout,
        ReadTimeout = ReadTimeout,
        Timeout = Timeout,
        Reset = Reset,
        Protocol = Protocol,
        Decode = Decode,
        NotStarted = NotStarted,
        Closed = Closed,
        Cancelled = Cancelled,
        ToolException = ToolException,
    }
    in phase, wire_phase: CallPhase <=> model::Phase {
        Spawn = Spawn, Connect = Connect, Initialize = Initialize, List = List, Call = Call, Auth = Auth,
    }
    in not_found_of, wire_not_found_of: NotFoundOf <=> model::NotFoundOf { Endpoint = Endpoint, Entity = Entity }
    out fault, wire_fault: Fault <=> model::Fault {
        CallerInput = CallerInput,
        UserCredential = UserCredential,
        UserRight = UserRight,
        Target = Target,
        ToolHost = ToolHost,
        Network = Network,
        Upstream = Upstream,
        Unknown = Unknown,
    }
    out remedy, wire_remedy: Remedy <=> model::Remedy {
        FixInput = FixInput,
        RetryAt = RetryAt,
        Reauthenticate = Reauthenticate,
        AskAdmin = AskAdmin,
        ReopenSession = ReopenSession,
        PlanWithout = PlanWithout,
        AwaitDiagnosis = AwaitDiagnosis,
    }
    out retry_basis, wire_retry_basis: RetryBasis <=> model::RetryBasis {
        Exact = Exact, UpperBound = UpperBound, Computed = Computed,
    }
    out retry_safety, wire_retry_safety: RetrySafety <=> model::RetrySafety {
        Safe = Safe, VerifyFirst = VerifyFirst, Unsafe = Unsafe,
    }
    out diagnosis_state, wire_diagnosis_state: DiagnosisState <=> model::DiagnosisState {
        None = None,
        Enqueued = Enqueued,
        Coalesced = Coalesced,
        AlreadyDiagnosed = AlreadyDiagnosed,
        Suppressed = Suppressed,
    }
    both render_dialect, wire_render_dialect: RenderDialect <=> Dialect {
        Mcp = Mcp,
        Anthropic = Anthropic,
        OpenaiChat = OpenaiChat,
        OpenaiResponses = OpenaiResponses,
        Langchain = Langchain,
        ProblemJson = ProblemJson,
    }
    out origin, wire_origin: StatusOrigin <=> model::Origin {
        Event = Event, Checker = Checker, Engine = Engine, Admin = Admin, Success = Success,
    }
    out eta_basis, wire_eta_basis: RecoveryBasis <=> model::EtaBasis {
        Computed = Computed, RetryAfter = RetryAfter, Engine = Engine, Admin = Admin,
    }
}
