//! A validated rule and its match language (R105…R120, DESIGN §6).
//!
//! Owns what a rule *is* and when one of its conditions holds for the [facts](crate::facts) of a failure. How a rule is
//! written down is [`parse`](mod@crate::parse)'s business, which of several rules decides is [`table`](crate::table)'s.
//!
//! The conditions of a rule are a list, all of which must hold. Each is a variant of [`Condition`]: a new kind of test
//! is one more variant. Tests that nest (`not`, `any`) fit as variants that hold conditions.

mod condition;

use chrono::TimeDelta;
use health_model::{Classification, Fault, HealthAction, Remedy};
use serde::Serialize;

pub use crate::retry::Unit as RetryUnit;
pub use condition::{
    BodyShape, Case, Codes, Condition, ExceptionTypes, HeaderTest, JsonTest, KindSet, Needles, Numbers,
    Pattern, PatternError, ProviderNames, Wildcard,
};
pub(crate) use condition::{is_name, shown, text_ends, text_is_boundary};

/// The id of the rule that matches everything and stands last.
pub const FALLBACK_ID: &str = "fallback";

/// Which layer a rule comes from, in the order in which layers are merged (R103, DESIGN §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    /// Ships with the program: the specification's twelve rules.
    Bundled,
    /// Ships with the program: rules for one family of tools or runtimes.
    Pack,
    /// A tenant's.
    Tenant,
    /// A project's.
    Project,
}

impl LayerKind {
    /// The stable spelling, lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bundled => "bundled",
            Self::Pack => "pack",
            Self::Tenant => "tenant",
            Self::Project => "project",
        }
    }
}

impl std::fmt::Display for LayerKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How long a rule's cooldown lasts (R117).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CooldownSpec {
    /// The default of the class (R47…R51).
    #[default]
    Default,
    /// A first length of its own; it grows like the default of the class does.
    Base(TimeDelta),
    /// Until the time that this response header names; the default of the class where it is absent or unreadable.
    Header(String),
}

/// Where a rule's verdict belongs, if it says so. GLOBAL is not among the words: no tenant writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleScope {
    /// With the owner of the credential: the user if the reporter does not say.
    Credential,
    /// At the tool's home scope.
    Home,
    /// The session.
    Session,
    /// The user.
    User,
    /// The project.
    Project,
    /// The tenant.
    Tenant,
}

impl RuleScope {
    /// Every word with its spelling in a rule file.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("credential", Self::Credential),
        ("home", Self::Home),
        ("session", Self::Session),
        ("user", Self::User),
        ("project", Self::Project),
        ("tenant", Self::Tenant),
    ];
}

/// Where a rule stands in the order, if it says so (C14). Without it: right before the fallback (R122).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// Ahead of everything.
    First,
    /// Right before the rule of this id.
    Before(String),
}

/// A validated rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Stable, unique in its layer; the merge key (R107).
    pub id: String,
    /// All must hold, in the order in which they are tested: cheap ones first. Empty matches everything (R114).
    pub conditions: Vec<Condition>,
    /// The short stable name of this kind of error; part of the cooldown key (R115).
    pub signature: String,
    /// The class, or UNCLEAR to escalate (R116).
    pub classification: Classification,
    /// How long the cooldown lasts.
    pub cooldown: CooldownSpec,
    /// What the rule does to the status; `None` = the rule does not say (C4).
    pub health_action: Option<HealthAction>,
    /// Automatic maintenance never changes or removes the rule (R119).
    pub locked: bool,
    /// Audit text; goes to the history of a document that the rule changes (R120).
    pub note: String,
    /// Where it stands.
    pub position: Option<Position>,
    /// Where its verdict belongs.
    pub scope: Option<RuleScope>,
    /// Whose fault it is, where the rule knows better than the table of classes.
    pub fault: Option<Fault>,
    /// What to do, where the rule knows better than the table of classes.
    pub remedy: Option<Remedy>,
    /// Where the time to call again stands, if the rule knows better than the common places.
    pub retry: RetrySpec,
    /// The failure says something of the tool. `false`: the host refused, or this side gave up; nothing is written.
    pub is_health_signal: bool,
    /// The line of the rule in its layer, from 1; 0 = not known.
    pub line: u32,
}

/// Where a rule reads the time to call again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RetrySpec {
    /// Every common place: headers, fields of the body, phrases.
    #[default]
    Common,
    /// Nowhere: what looks like a time is none.
    Nowhere,
    /// A response header.
    Header(String),
    /// A number at a JSON pointer of the body, in a unit.
    Json(String, RetryUnit),
    /// At the latest after this long: the limit's window, of which nobody says when it began.
    Within(TimeDelta),
}

/// The units that a rule file may name, with their spelling.
pub const RETRY_UNITS: &[(&str, RetryUnit)] = &[
    ("milliseconds", RetryUnit::Milliseconds),
    ("seconds", RetryUnit::Seconds),
    ("minutes", RetryUnit::Minutes),
    ("epoch", RetryUnit::Epoch),
];

impl Rule {
    /// Whether the rule matches every failure.
    #[must_use]
    pub fn matches_everything(&self) -> bool {
        self.conditions.is_empty()
    }

    /// What answers if a table has no fallback of its own: unclear, as the bundled one says (R136).
    #[must_use]
    pub fn last_resort() -> Self {
        Self {
            id: FALLBACK_ID.to_owned(),
            conditions: Vec::new(),
            signature: "unclassified".to_owned(),
            classification: Classification::Unclear,
            cooldown: CooldownSpec::Default,
            health_action: None,
            locked: true,
            note: String::new(),
            position: None,
            scope: None,
            fault: None,
            remedy: None,
            retry: RetrySpec::Common,
            is_health_signal: true,
            line: 0,
        }
    }
}
