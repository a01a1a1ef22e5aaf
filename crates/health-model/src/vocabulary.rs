//! The closed sets of words that every other module speaks.
//!
//! Each enum has a stable upper-case spelling ([`as_str`](Status::as_str), [`FromStr`](std::str::FromStr)) that is
//! used in rule files, stored JSON and metrics. Renaming a variant's spelling breaks stored documents.

use serde::{Deserialize, Serialize};

/// A word that is not in the closed set it was read as.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {set} `{word}`, expected one of {expected}")]
pub struct UnknownWord {
    /// The name of the set, lower case.
    pub set: &'static str,
    /// What was read.
    pub word: String,
    /// The allowed words, separated by commas.
    pub expected: String,
}

macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $set:literal { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// Every word of the set, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The stable spelling.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                Self::ALL.iter().copied().find(|it| it.as_str() == word).ok_or_else(|| UnknownWord {
                    set: $set,
                    word: word.to_owned(),
                    expected: Self::ALL.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}

words! {
    /// The status axis of a document (R5). Ordered by how bad it is.
    Status, "status" {
        /// Usable.
        Ok = "OK",
        /// Works sometimes; a retry is tolerated.
        Degraded = "DEGRADED",
        /// Not usable.
        Down = "DOWN",
    }
}

words! {
    /// What a caller is told: a status, or RETESTING once the expected recovery has passed (R5, R74).
    EffectiveStatus, "state" {
        /// Usable, or nothing is known: unknown means usable.
        Ok = "OK",
        /// Not OK on record, but due: the next call tries naively and a success clears it.
        Retesting = "RETESTING",
        /// Works sometimes.
        Degraded = "DEGRADED",
        /// Not usable.
        Down = "DOWN",
    }
}

words! {
    /// Who is affected (R7), ordered from narrow to wide: the order of the cascade (R22).
    Scope, "scope" {
        /// One session of one user.
        Session = "SESSION",
        /// One user of a tenant, in every project.
        User = "USER",
        /// One project of a tenant.
        Project = "PROJECT",
        /// One tenant.
        Tenant = "TENANT",
        /// Every tenant, for tools of one named provider.
        Global = "GLOBAL",
    }
}

words! {
    /// The vocabulary of diagnoses (R14…R20).
    Classification, "classification" {
        /// Down for everybody in scope.
        TechnicallyBroken = "TECHNICALLY_BROKEN",
        /// This account or credential only: expired, revoked, suspended.
        UserSpecificTechnical = "USER_SPECIFIC_TECHNICAL",
        /// The caller lacks a right. Never a health matter (R3, R16).
        UserPermission = "USER_PERMISSION",
        /// The tool works, the input does not fit. Never a health matter (R17, R138).
        UserInput = "USER_INPUT",
        /// Passes by itself.
        Intermittent = "INTERMITTENT",
        /// Seen to work (R19).
        Working = "WORKING",
        /// Nobody can tell from the error alone: diagnose (R20).
        Unclear = "UNCLEAR",
    }
}

words! {
    /// What the dispatcher knew, synchronously and by program (R9…R13). An input of classification, never its result.
    DispatchCode, "dispatch code" {
        /// In no source of the registry.
        NotRegistered = "NOT_REGISTERED",
        /// Registered, but its backend is silent or gone.
        BackendUnreachable = "BACKEND_UNREACHABLE",
        /// The backend answered, with an error.
        BackendFailed = "BACKEND_FAILED",
        /// The tool exists; recipe or profile excludes it.
        Disallowed = "DISALLOWED",
    }
}

words! {
    /// Where a tool runs.
    ToolKind, "tool kind" {
        /// In a client, registered over its connection.
        Client = "CLIENT",
        /// Behind an MCP server.
        Mcp = "MCP",
        /// Behind an HTTP API.
        Rest = "REST",
        /// In the brain itself.
        Builtin = "BUILTIN",
    }
}

words! {
    /// Whether what failed is part of the tool or came with the call.
    Target, "target" {
        /// The tool always talks to the same endpoint.
        Fixed = "FIXED",
        /// Host, URL, repository, table or file came as an argument: its faults are the input's.
        Argument = "ARGUMENT",
    }
}

words! {
    /// Who owns the credential that the call used.
    CredentialOwner, "credential owner" {
        /// The calling user.
        User = "USER",
        /// The project: one service account for all its users.
        Project = "PROJECT",
        /// The tenant.
        Tenant = "TENANT",
        /// The call used no credential.
        None = "NONE",
    }
}

words! {
    /// Canonical kinds of failure, the same for every runtime (C16).
    FailureKind, "failure kind" {
        /// Nothing listens.
        ConnectRefused = "connect_refused",
        /// The name does not resolve.
        Dns = "dns",
        /// No route or network to the host.
        NetworkUnreachable = "network_unreachable",
        /// The TLS handshake failed: certificate, protocol or name.
        Tls = "tls",
        /// No connection within the limit.
        ConnectTimeout = "connect_timeout",
        /// Connected, but no answer within the limit.
        ReadTimeout = "read_timeout",
        /// A time limit passed, and it is not known which.
        Timeout = "timeout",
        /// The connection broke.
        Reset = "reset",
        /// The peer spoke something else.
        Protocol = "protocol",
        /// The answer could not be decoded.
        Decode = "decode",
        /// The program could not be started.
        NotStarted = "not_started",
        /// The tool's process or connection ended.
        Closed = "closed",
        /// The caller gave up. Not a health signal.
        Cancelled = "cancelled",
        /// The tool itself raised its framework's tool exception.
        ToolException = "tool_exception",
    }
}

words! {
    /// How far the call had come.
    Phase, "phase" {
        /// Starting the tool's process.
        Spawn = "spawn",
        /// Connecting to it.
        Connect = "connect",
        /// Protocol handshake.
        Initialize = "initialize",
        /// Listing its tools.
        List = "list",
        /// The call itself.
        Call = "call",
        /// Getting or refreshing a credential.
        Auth = "auth",
    }
}

words! {
    /// What a 404 is about, where the reporter can tell (C15).
    NotFoundOf, "not found of" {
        /// The tool's endpoint or route.
        Endpoint = "endpoint",
        /// The entity that the call named.
        Entity = "entity",
    }
}

words! {
    /// Whose fault it is.
    Fault, "fault" {
        /// The arguments of the call.
        CallerInput = "CALLER_INPUT",
        /// The user's token, account or quota.
        UserCredential = "USER_CREDENTIAL",
        /// A right that the user lacks.
        UserRight = "USER_RIGHT",
        /// What the call named: a URL, a repository, a file.
        Target = "TARGET",
        /// The process that runs the tool.
        ToolHost = "TOOL_HOST",
        /// The way there.
        Network = "NETWORK",
        /// The service behind the tool.
        Upstream = "UPSTREAM",
        /// Not known.
        Unknown = "UNKNOWN",
    }
}

words! {
    /// What to do about it.
    Remedy, "remedy" {
        /// Change the arguments and call again.
        FixInput = "FIX_INPUT",
        /// Call again, not before `retry_at`.
        RetryAt = "RETRY_AT",
        /// The user must log in again or renew the credential.
        Reauthenticate = "REAUTHENTICATE",
        /// Somebody else must act: grant a right, see to an account or its bill, change a setting.
        AskAdmin = "ASK_ADMIN",
        /// The client that hosts the tool must connect again.
        ReopenSession = "REOPEN_SESSION",
        /// Go on without the tool.
        PlanWithout = "PLAN_WITHOUT",
        /// The failure was handed on to be looked into.
        AwaitDiagnosis = "AWAIT_DIAGNOSIS",
    }
}

words! {
    /// How well a retry time is founded.
    RetryBasis, "retry basis" {
        /// The other side named it.
        Exact = "EXACT",
        /// Known not to be later.
        UpperBound = "UPPER_BOUND",
        /// Computed from defaults and backoff.
        Computed = "COMPUTED",
    }
}

words! {
    /// Whether calling again can do harm.
    RetrySafety, "retry safety" {
        /// The call changes nothing, or never ran.
        Safe = "SAFE",
        /// It may have run: look before calling again.
        VerifyFirst = "VERIFY_FIRST",
        /// It may have run and must not run twice.
        Unsafe = "UNSAFE",
    }
}

words! {
    /// What became of the diagnosis of an unclear failure.
    DiagnosisState, "diagnosis state" {
        /// None is needed.
        None = "NONE",
        /// A job was created.
        Enqueued = "ENQUEUED",
        /// An open job took the signal in.
        Coalesced = "COALESCED",
        /// A fresh diagnosis answers (R200).
        AlreadyDiagnosed = "ALREADY_DIAGNOSED",
        /// A cooldown is active (R99), or the mode writes nothing.
        Suppressed = "SUPPRESSED",
    }
}

words! {
    /// Who set a status.
    Origin, "origin" {
        /// A connection opened or closed, a process was killed (R57, R58).
        Event = "EVENT",
        /// A rule, on a failed call.
        Checker = "CHECKER",
        /// A diagnosis.
        Engine = "ENGINE",
        /// A person.
        Admin = "ADMIN",
        /// A successful call.
        Success = "SUCCESS",
    }
}

words! {
    /// How well an expected recovery is founded; decides who may shorten it (DESIGN §11.1).
    EtaBasis, "eta basis" {
        /// Default or backoff of the classification.
        Computed = "COMPUTED",
        /// The other side named it.
        RetryAfter = "RETRY_AFTER",
        /// A diagnosis estimated it.
        Engine = "ENGINE",
        /// A person set it.
        Admin = "ADMIN",
    }
}

words! {
    /// What a rule does to a status (R118).
    HealthAction, "health action" {
        /// The default of the classification (C4).
        Auto = "auto",
        /// Nothing.
        None = "none",
        /// Status DOWN.
        MarkUnavailable = "markUnavailable",
        /// Status DEGRADED.
        MarkDegraded = "markDegraded",
    }
}

impl EffectiveStatus {
    /// What a status reads while it is not due.
    #[must_use]
    pub const fn of(status: Status) -> Self {
        match status {
            Status::Ok => Self::Ok,
            Status::Degraded => Self::Degraded,
            Status::Down => Self::Down,
        }
    }
}

impl Classification {
    /// Whether the classification is the caller's own doing or right and must never touch a status (R3, R16, R17).
    #[must_use]
    pub const fn is_never_health(self) -> bool {
        matches!(self, Self::UserPermission | Self::UserInput)
    }

    /// The status that a verdict of this class writes by default (C4); `None` writes none.
    #[must_use]
    pub const fn default_status(self) -> Option<Status> {
        match self {
            Self::TechnicallyBroken | Self::UserSpecificTechnical => Some(Status::Down),
            Self::Intermittent => Some(Status::Degraded),
            Self::Working => Some(Status::Ok),
            Self::UserPermission | Self::UserInput | Self::Unclear => None,
        }
    }
}
