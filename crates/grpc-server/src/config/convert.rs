//! Settings as the model, the checker and the service want them.

use chrono::TimeDelta;
use health_model::Policy;
use health_model::policy::{ClearOnSuccess as ModelClearOnSuccess, Promotion};

use super::{ClearOnSuccess, Config, DefaultAction, Mode, Placement, Retention, SurfaceMode};

impl Config {
    /// The constants of the model that are settings.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy {
            history_limit: self.history.limit,
            max_window: self.cooldown.max.delta(),
            max_without_eta: self.down.max_without_eta.delta(),
            clear_on_success: match self.clear_on_success {
                ClearOnSuccess::All => ModelClearOnSuccess::All,
                ClearOnSuccess::Technical => ModelClearOnSuccess::Technical,
                ClearOnSuccess::Signature => ModelClearOnSuccess::Signature,
            },
            promotion: Promotion { users: self.promotion.users, window: self.promotion.window.delta() },
            ..Policy::default()
        }
    }

    /// The settings of the service behind the port.
    #[must_use]
    pub fn service_settings(&self) -> health_service::Settings {
        use health_service::settings as service;
        service::Settings {
            mode: match self.mode {
                Mode::Active => service::Mode::Active,
                Mode::Observe => service::Mode::Observe,
            },
            policy: self.policy(),
            decide: self.decide(),
            surface: match self.surface.mode {
                SurfaceMode::Annotate => service::Surface::Annotate,
                SurfaceMode::Stable => service::Surface::Stable,
                SurfaceMode::Hide => service::Surface::Hide,
                SurfaceMode::Demote => service::Surface::Demote,
            },
            placement: match self.annotation.placement {
                Placement::Block => service::Placement::Block,
                Placement::Description => service::Placement::Description,
                Placement::None => service::Placement::None,
            },
            session_retention: self.session_retention(),
            journal_limit: self.journal.enabled.then_some(self.journal.max_entries),
            watch_limit: self.limits.max_watches,
            ..service::Settings::default()
        }
    }

    /// The constants of deciding that are settings.
    #[must_use]
    pub fn decide(&self) -> checker::Settings {
        checker::Settings {
            default_action: match self.checker.default_action {
                DefaultAction::Auto => checker::DefaultAction::Auto,
                DefaultAction::None => checker::DefaultAction::None,
            },
        }
    }

    /// How long documents of sessions are kept after the last write; `None` = for good.
    #[must_use]
    pub fn session_retention(&self) -> Option<TimeDelta> {
        match self.sessions.retention {
            Retention::After(span) => Some(span.delta()),
            Retention::Never => None,
        }
    }
}
