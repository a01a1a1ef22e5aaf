//! The enums of the wire as words: for flags (`connect-refused`) and for tables (`CONNECT_REFUSED`).
//!
//! Owns the prefix of each enum and nothing else. A number that this build does not know is shown as a number, so that
//! a later server stays readable.

use agrajag_proto::v1;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// An enum of `agrajag.v1`, with the prefix that its value names carry.
pub(crate) trait WireEnum: Copy + Send + Sync + TryFrom<i32> + 'static {
    /// The prefix, with its underscore.
    const PREFIX: &'static str;

    /// The value's full name in the `.proto` file.
    fn full_name(self) -> &'static str;

    /// Every value but UNSPECIFIED, in the order of the file.
    fn all() -> impl Iterator<Item = Self> {
        (1..).map_while(|number| Self::try_from(number).ok())
    }

    /// The name without prefix: `CONNECT_REFUSED`.
    fn word(self) -> &'static str {
        let name = self.full_name();
        name.strip_prefix(Self::PREFIX).unwrap_or(name)
    }

    /// The word as a flag's value: `connect-refused`.
    fn flag(self) -> String {
        self.word().to_ascii_lowercase().replace('_', "-")
    }
}

/// The word of a number that came over the wire; `-` for UNSPECIFIED, `#17` for one that this build does not know.
pub(crate) fn word<E: WireEnum>(number: i32) -> String {
    match E::try_from(number) {
        Ok(_) if number == 0 => "-".to_owned(),
        Ok(value) => value.word().to_owned(),
        Err(_) => format!("#{number}"),
    }
}

/// A parser of a flag that takes one of the enum's values. Takes the spelling of the `.proto` file too, and any case
/// where the flag says `ignore_case`.
pub(crate) fn choice<E: WireEnum>() -> impl TypedValueParser<Value = E> {
    choice_of(E::all().collect())
}

/// A [`choice`] of some of the values.
pub(crate) fn choice_of<E: WireEnum>(allowed: Vec<E>) -> impl TypedValueParser<Value = E> {
    let values = allowed.into_iter().map(|value| {
        let flag = value.flag();
        let plain = value.word().to_ascii_lowercase();
        let shown = PossibleValue::new(flag.clone());
        if plain == flag { shown } else { shown.alias(plain) }
    });
    PossibleValuesParser::new(values.collect::<Vec<_>>()).try_map(|text| {
        let wanted = text.to_ascii_lowercase().replace('_', "-");
        E::all().find(|value| value.flag() == wanted).ok_or("not one of the allowed values")
    })
}

macro_rules! wire_enums {
    ($($name:ident = $prefix:literal),+ $(,)?) => {
        $(impl WireEnum for v1::$name {
            const PREFIX: &'static str = $prefix;

            fn full_name(self) -> &'static str {
                self.as_str_name()
            }
        })+
    };
}

wire_enums! {
    CallPhase = "CALL_PHASE_",
    Classification = "CLASSIFICATION_",
    CredentialOwner = "CREDENTIAL_OWNER_",
    DiagnosisState = "DIAGNOSIS_STATE_",
    DispatchCode = "DISPATCH_CODE_",
    Durability = "DURABILITY_",
    ErrorReason = "ERROR_REASON_",
    EventOutcome = "EVENT_OUTCOME_",
    FailureKind = "FAILURE_KIND_",
    Fault = "FAULT_",
    HealthStatus = "HEALTH_STATUS_",
    JobState = "JOB_STATE_",
    JobTrigger = "JOB_TRIGGER_",
    NotFoundOf = "NOT_FOUND_OF_",
    Placement = "PLACEMENT_",
    RecoveryBasis = "RECOVERY_BASIS_",
    Remedy = "REMEDY_",
    RenderDialect = "RENDER_DIALECT_",
    RetryBasis = "RETRY_BASIS_",
    RetrySafety = "RETRY_SAFETY_",
    RuleLayerSource = "RULE_LAYER_SOURCE_",
    RuleOrigin = "RULE_ORIGIN_",
    RuleSeverity = "RULE_SEVERITY_",
    Scope = "SCOPE_",
    ServerMode = "SERVER_MODE_",
    StatusOrigin = "STATUS_ORIGIN_",
    SuccessOutcome = "SUCCESS_OUTCOME_",
    SurfaceMode = "SURFACE_MODE_",
    ToolEvent = "TOOL_EVENT_",
    ToolKind = "TOOL_KIND_",
    ToolState = "TOOL_STATE_",
    ToolTarget = "TOOL_TARGET_",
    Visibility = "VISIBILITY_",
    WarningCode = "WARNING_CODE_",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lose_the_prefix_and_unknown_numbers_stay_numbers() {
        assert_eq!(word::<v1::ToolState>(3), "DOWN");
        assert_eq!(word::<v1::ToolState>(0), "-");
        assert_eq!(word::<v1::ToolState>(17), "#17");
    }

    /// A prefix with a typing error would show full names and break the flags of that enum.
    #[test]
    fn every_prefix_is_the_enums_own() {
        fn check<E: WireEnum>() {
            let values: Vec<_> = E::all().collect();
            assert!(!values.is_empty(), "`{}` has no value", E::PREFIX);
            for value in values {
                assert!(
                    value.full_name().starts_with(E::PREFIX),
                    "`{}` lacks `{}`",
                    value.full_name(),
                    E::PREFIX
                );
                assert!(!value.word().is_empty());
            }
        }
        macro_rules! check_all { ($($name:ident),+) => { $(check::<v1::$name>();)+ } }
        check_all!(
            CallPhase,
            Classification,
            CredentialOwner,
            DiagnosisState,
            DispatchCode,
            Durability,
            ErrorReason,
            EventOutcome,
            FailureKind,
            Fault,
            HealthStatus,
            JobState,
            JobTrigger,
            NotFoundOf,
            Placement,
            RecoveryBasis,
            Remedy,
            RenderDialect,
            RetryBasis,
            RetrySafety,
            RuleLayerSource,
            RuleOrigin,
            RuleSeverity,
            Scope,
            ServerMode,
            StatusOrigin,
            SuccessOutcome,
            SurfaceMode,
            ToolEvent,
            ToolKind,
            ToolState,
            ToolTarget,
            Visibility,
            WarningCode
        );
    }

    #[test]
    fn flags_are_lower_case_with_hyphens() {
        let flags: Vec<_> = v1::DispatchCode::all().map(WireEnum::flag).collect();
        assert_eq!(flags, ["not-registered", "backend-unreachable", "backend-failed", "disallowed"]);
    }
}
