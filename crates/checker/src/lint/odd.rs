//! Fields of a rule that contradict each other, or that do nothing beside another one.

use chrono::TimeDelta;
use health_model::{Classification, HealthAction, Policy};

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
