//! Fields of a rule that contradict each other, or that do nothing beside another one.

use chrono::TimeDelta;
use health_model::{Classification, Fault, HealthAction, Policy, Remedy};

use crate::rule::{Condition, CooldownSpec, RetrySpec, Rule};

use super::{Check, Remark};

/// What contradicts itself in a rule.
pub(super) fn check(rule: &Rule, add: &mut impl FnMut(Remark)) {
    let class = rule.classification;
    let odd = |field: &str, value: &str| Remark::warning(Check::Contradiction, field, value);
    let marks =
        matches!(rule.health_action, Some(HealthAction::MarkUnavailable | HealthAction::MarkDegraded));
    if class == Classification::Intermittent && rule.retry == RetrySpec::Nowhere {
        add(odd("retry", "none")
            .say("beside class INTERMITTENT: what passes by itself passes at some time, and none is read")
            .remedy("remove the field, or say where the time stands"));
    }
    if (class.is_never_health() || class == Classification::Working) && rule.retry != RetrySpec::Common {
        add(odd("retry", &retry(&rule.retry))
            .say(format!("is ignored: nobody waits for a failure of class {class} to pass"))
            .remedy("remove the field"));
    }
    if let Some(fault) = rule.fault.filter(|it| !fits_fault(class, *it)) {
        add(odd("fault", fault.as_str())
            .say(format!("speaks against class {class}: {}", meaning(class)))
            .remedy("remove the field, or write another class"));
    }
    if let Some(remedy) = rule.remedy.filter(|it| !fits_remedy(class, *it)) {
        add(odd("remedy", remedy.as_str())
            .say(format!("speaks against class {class}: {}", meaning(class)))
            .remedy("remove the field, or write another class"));
    }
    if !rule.is_health_signal && marks {
        add(odd("healthAction", rule.health_action.map_or("", HealthAction::as_str))
            .say("is ignored: what is no health signal writes nothing")
            .remedy("remove one of healthAction and healthSignal"));
    }
    if !rule.is_health_signal && rule.cooldown != CooldownSpec::Default {
        add(odd("cooldown", &cooldown(&rule.cooldown))
            .say("is ignored: what is no health signal opens no cooldown")
            .remedy("remove one of cooldown and healthSignal"));
    }
    let asks_for_argument =
        rule.conditions.iter().any(|it| *it == Condition::Target(health_model::Target::Argument));
    if asks_for_argument && marks {
        add(odd("healthAction", rule.health_action.map_or("", HealthAction::as_str))
            .say("is ignored: what a call reached for is not the tool, so that no status is written")
            .remedy("remove the field, or ask for target: FIXED"));
    }
    if let CooldownSpec::Base(length) = &rule.cooldown {
        let longest = Policy::default().backoff(class).cap;
        if class != Classification::Working && *length > longest {
            add(Remark::warning(Check::LongCooldown, "cooldown", &cooldown(&rule.cooldown))
                .say(format!("is over the longest window of class {class}, {}", iso(longest)))
                .remedy(format!("write at most {}, or another class", iso(longest))));
        }
        if class == Classification::Working {
            add(odd("cooldown", &cooldown(&rule.cooldown))
                .say("is ignored: class WORKING opens none")
                .remedy("remove the field"));
        }
    }
}

/// Whether a failure of the class can be somebody's fault (DESIGN §5). Only what the class itself denies is told.
fn fits_fault(class: Classification, fault: Fault) -> bool {
    use Fault::{CallerInput, Network, Target, ToolHost, Unknown, Upstream, UserCredential, UserRight};
    match class {
        Classification::UserInput => matches!(fault, CallerInput | Target | Unknown),
        // A scope that is missing is missing in the credential.
        Classification::UserPermission => matches!(fault, UserRight | UserCredential | Target | Unknown),
        Classification::UserSpecificTechnical => matches!(fault, UserCredential | Target | Unknown),
        Classification::TechnicallyBroken | Classification::Intermittent | Classification::Unclear => {
            matches!(fault, Target | ToolHost | Network | Upstream | Unknown)
        }
        Classification::Working => fault == Unknown,
    }
}

/// Whether something can be the thing to do about a failure of the class (DESIGN §5).
fn fits_remedy(class: Classification, remedy: Remedy) -> bool {
    use Remedy::{AskAdmin, AwaitDiagnosis, FixInput, PlanWithout, Reauthenticate, ReopenSession, RetryAt};
    match class {
        Classification::UserInput => matches!(remedy, FixInput | AskAdmin | PlanWithout),
        Classification::UserPermission => matches!(remedy, AskAdmin | Reauthenticate | PlanWithout),
        Classification::UserSpecificTechnical => !matches!(remedy, FixInput | AwaitDiagnosis),
        Classification::TechnicallyBroken => !matches!(remedy, FixInput | Reauthenticate | AwaitDiagnosis),
        Classification::Intermittent => matches!(remedy, RetryAt | ReopenSession | PlanWithout),
        Classification::Unclear => !matches!(remedy, FixInput | Reauthenticate),
        Classification::Working => false,
    }
}

/// What a class says, as far as it contradicts a fault or a remedy.
const fn meaning(class: Classification) -> &'static str {
    match class {
        Classification::TechnicallyBroken => "it is out of order for everybody until it is repaired",
        Classification::UserSpecificTechnical => "this account or credential does not work, the tool does",
        Classification::UserPermission => "the tool works, the caller lacks a right",
        Classification::UserInput => "the tool works, the input does not fit",
        Classification::Intermittent => "it passes by itself",
        Classification::Working => "nothing failed",
        Classification::Unclear => "nobody can tell from the error, so it is looked at",
    }
}

/// What a pack's rule must have.
pub(super) fn check_pack(rule: &Rule, add: &mut impl FnMut(Remark)) {
    if rule.note.trim().is_empty() {
        add(Remark::error(Check::NoteMissing, "note", "")
            .say("is missing: a pack says why")
            .remedy("write in one sentence why the failure is of this class"));
    }
}

/// A rule's cooldown, as one might have written it.
fn cooldown(spec: &CooldownSpec) -> String {
    match spec {
        CooldownSpec::Default => String::new(),
        CooldownSpec::Base(length) => iso(*length),
        CooldownSpec::Header(name) => format!("header:{name}"),
    }
}

/// The place of a retry time, as one might have written it.
fn retry(spec: &RetrySpec) -> String {
    match spec {
        RetrySpec::Common => "common".to_owned(),
        RetrySpec::Nowhere => "none".to_owned(),
        RetrySpec::Header(name) => format!("header:{name}"),
        RetrySpec::Json(pointer, _) => format!("json:{pointer}"),
        RetrySpec::Within(length) => format!("within:{}", iso(*length)),
    }
}

fn iso(length: TimeDelta) -> String {
    match length.num_seconds() {
        it if it % 3_600 == 0 => format!("PT{}H", it / 3_600),
        it if it % 60 == 0 => format!("PT{}M", it / 60),
        it => format!("PT{it}S"),
    }
}
