//! What an entry holds and what it does not.

use std::sync::Arc;

use chrono::TimeDelta;
use health_model::failure::Cause;
use health_model::vocabulary::{
    Classification, CredentialOwner, DiagnosisState, DispatchCode, FailureKind, Fault, NotFoundOf, Phase,
    Remedy, RetrySafety, Scope, Target, ToolKind,
};
use health_model::{Caller, Failure, Instant, Tool, Verdict};
use ports::journal::MAX_FAILURE_BYTES;
use uuid::Uuid;

use super::record::{self, RecordError, RecordedVerdict};
use super::{Journal, Noted, QUEUE_BYTES, QUEUE_LIMIT};

fn caller() -> Caller {
    Caller {
        tenant_id: "acme".to_owned(),
        project_id: "essay".to_owned(),
        user_id: Some("alice.smith".to_owned()),
        session_id: Some("sess-4711".to_owned()),
        locale: Some("de".to_owned()),
    }
}

fn tool() -> Tool {
    Tool {
        name: "jira_search".to_owned(),
        kind: Some(ToolKind::Mcp),
        declared_home_scope: Some(Scope::Tenant),
        provider: Some("atlassian".to_owned()),
        target: Some(Target::Argument),
    }
}

/// Every field says something.
fn full() -> Failure {
    Failure {
        dispatch_code: Some(DispatchCode::BackendFailed),
        http_status: Some(429),
        headers: vec![("retry-after".to_owned(), "20".to_owned()), ("date".to_owned(), "x".to_owned())],
        content_type: Some("application/json".to_owned()),
        exception_type: Some("ToolException".to_owned()),
        causes: vec![Cause {
            exception_type: Some("ECONNRESET".to_owned()),
            message: "socket hang up".to_owned(),
            code: Some("E1".to_owned()),
        }],
        kind: Some(FailureKind::Reset),
        error_code: Some("rate_limited".to_owned()),
        json_rpc_code: Some(-32_603),
        grpc_status: Some("RESOURCE_EXHAUSTED".to_owned()),
        sql_state: Some("53300".to_owned()),
        is_error: Some(true),
        schema_violation: true,
        not_found_of: Some(NotFoundOf::Entity),
        phase: Some(Phase::Call),
        syscall: Some("connect".to_owned()),
        exit_code: Some(-9),
        stderr_tail: Some("Killed".to_owned()),
        message: "too many requests".to_owned(),
        body: "{\"error\":{\"code\":\"slow_down\"}}".to_owned(),
        target_host: Some("api.example".to_owned()),
        method: Some("GET".to_owned()),
        operation: Some("search".to_owned()),
        credential: Some(CredentialOwner::Tenant),
        idempotent: Some(true),
        read_only: Some(false),
        may_have_run: Some(true),
        attempt: 0,
        elapsed: None,
        occurred_at: None,
    }
}

fn verdict() -> RecordedVerdict {
    RecordedVerdict {
        classification: Classification::Intermittent,
        rule_id: "http-429".to_owned(),
        signature: "http-429".to_owned(),
    }
}

fn noted(failure: Failure) -> Noted {
    Noted {
        caller: caller(),
        tool: tool(),
        failure: Arc::new(failure),
        at: Instant::UNIX_EPOCH,
        verdict: verdict(),
    }
}

fn write(failure: Failure) -> String {
    record::write(&noted(failure)).expect("an entry")
}

/// The failure as it is read back; whether it was cut.
fn kept(failure: Failure) -> (Failure, bool) {
    let record = record::read(&write(failure)).expect("an entry");
    let is_cut = record.is_cut;
    (record.into_parts().1, is_cut)
}

#[test]
fn every_field_that_rules_see_comes_back() {
    let content = write(full());
    let record = record::read(&content).expect("an entry");
    assert_eq!(record.verdict, verdict());
    assert!(!record.is_cut);
    assert_eq!(record.into_parts(), (tool(), full()));
    assert_eq!(kept(Failure::default()), (Failure::default(), false));
}

/// DESIGN §9: what an entry is, so that a change of it is noticed; readers of released programs know format 1.
#[test]
fn an_entry_of_format_1_reads_as_it_was_written() {
    let content = include_str!("v1.json").trim_end();
    assert_eq!(write(full()), content);
    assert_eq!(record::read(content).expect("an entry").into_parts(), (tool(), full()));
    let newer = content.replacen("{\"format\":1", "{\"format\":2,\"more\":[]", 1);
    assert!(matches!(record::read(&newer), Err(RecordError::TooNew { found: 2 })));
    for odd in ["", "{}", "[1]", "{\"format\":1}", "{\"format\":1,\"tool\":7}"] {
        assert!(matches!(record::read(odd), Err(RecordError::Malformed(_))), "{odd}");
    }
}

/// DESIGN §9, §2.6: no secret and no person, wherever they stand; what only times one call is left out.
#[test]
fn secrets_users_and_sessions_are_not_kept() {
    let secret = "hunter2-hunter2";
    let failure = Failure {
        message: format!("password={secret} for alice.smith in sess-4711"),
        body: format!("{{\"api_key\": \"{secret}\", \"user\": \"alice.smith\"}}"),
        stderr_tail: Some(format!("Authorization: Bearer {secret}")),
        headers: vec![
            ("set-cookie".to_owned(), format!("sid={secret}; Path=/")),
            ("x-user".to_owned(), "alice.smith".to_owned()),
            ("x-api-key".to_owned(), secret.to_owned()),
        ],
        causes: vec![Cause {
            message: format!("https://bob:{secret}@host/ said no to bob@example.com"),
            ..Cause::default()
        }],
        operation: Some("of alice.smith".to_owned()),
        attempt: 3,
        elapsed: Some(TimeDelta::milliseconds(1_234)),
        occurred_at: Some(Instant::UNIX_EPOCH),
        ..full()
    };
    let content = write(failure.clone());
    for word in [secret, "alice.smith", "sess-4711", "bob@example.com", "1234", "1970", "acme", "attempt"] {
        assert!(!content.contains(word), "{word}: {content}");
    }
    let (kept, _) = kept(failure);
    assert_eq!(kept.message, "password=[secret] for [user] in [session]");
    assert_eq!(kept.operation.as_deref(), Some("of [user]"));
    assert_eq!(kept.headers[1], ("x-user".to_owned(), "[user]".to_owned()));
    assert_eq!((kept.attempt, kept.elapsed, kept.occurred_at), (0, None, None));
}

/// DESIGN §9: texts are longer than what rules see, and are cut before they are masked: where no secret and no id is.
#[test]
fn half_a_secret_and_half_an_id_are_not_kept() {
    const LIMIT: usize = checker::limits::MAX_MATCHED_BYTES;
    for shift in 0..40 {
        let filler = |n: usize| "fill ".repeat(n / 5 + 1)[..n].to_owned();
        let failure = Failure {
            message: format!("{} password='p hunter2hunter2' z", filler(LIMIT - shift)),
            body: format!("{} alice.smith z", filler(LIMIT - shift)),
            stderr_tail: Some(format!("password=hunter2hunter2\n{}", filler(LIMIT - shift))),
            ..Failure::default()
        };
        let content = write(failure);
        for part in ["hunt", "unter", "ter2", "alice", "smith"] {
            assert!(!content.contains(part), "{shift} {part}: {content}");
        }
    }
}

/// An id is a word of its own, or no id; a short one is in every number.
#[test]
fn an_id_inside_another_word_stays() {
    let mut noted =
        noted(Failure { message: "alice malice Alice alice2 (alice) 42".to_owned(), ..Failure::default() });
    noted.caller.user_id = Some("alice".to_owned());
    noted.caller.session_id = Some("42".to_owned());
    let record = record::read(&record::write(&noted).expect("an entry")).expect("an entry");
    assert_eq!(record.into_parts().1.message, "[user] malice Alice alice2 ([user]) 42");
}

/// 8 KiB, whatever comes: long bodies, texts that grow when they are written as JSON, many headers and causes.
#[test]
fn an_entry_has_at_most_eight_kibibytes() {
    let cause = |n: usize| Cause {
        exception_type: Some("\u{1}".repeat(n)),
        message: "ä".repeat(n),
        code: Some("\"".repeat(n)),
    };
    let long = "\u{0}\"\\\n".repeat(5_000);
    let failures = [
        Failure { body: "x".repeat(3_000_000), ..full() },
        Failure { body: long.clone(), message: long.clone(), stderr_tail: Some(long.clone()), ..full() },
        Failure { headers: vec![("h".repeat(900), "v".repeat(900)); 300], ..full() },
        Failure { causes: vec![cause(5_000); 40], ..full() },
        Failure {
            operation: Some(long.clone()),
            method: Some(long.clone()),
            target_host: Some(long.clone()),
            error_code: Some(long.clone()),
            exception_type: Some(long.clone()),
            content_type: Some(long),
            ..full()
        },
    ];
    for failure in failures {
        let content = write(failure.clone());
        assert!(content.len() <= MAX_FAILURE_BYTES, "{} bytes", content.len());
        let (kept, is_cut) = kept(failure);
        assert!(is_cut);
        assert_eq!((kept.http_status, kept.json_rpc_code), (Some(429), Some(-32_603)));
        assert!(kept.body.len() <= 4_096 && kept.message.len() <= 4_096);
    }
    let (kept, is_cut) = kept(Failure { body: "x".repeat(4_096), ..full() });
    assert_eq!((kept.body.len(), is_cut), (4_096, false), "what fits is kept whole");
    let mut nameless = noted(full());
    nameless.tool.name = "\u{0}".repeat(2_000);
    assert_eq!(record::write(&nameless), None);
}

/// A secret that would be cut in two is masked first.
#[test]
fn a_cut_leaves_no_half_of_a_secret() {
    let token = format!("sk-{}", "abcd1234".repeat(8));
    for before in (2_900..3_100).step_by(7) {
        let body = format!("{} {token} {}", "x".repeat(before), "y".repeat(9_000));
        assert!(!write(Failure { body, ..Failure::default() }).contains("abcd1234"), "{before}");
    }
}

fn note(journal: &Journal, failure: &Arc<Failure>) {
    // What is answered does not matter for what is kept of it.
    let verdict = Verdict {
        classification: Classification::Intermittent,
        signature: "http-503".to_owned(),
        rule_id: "http-503".to_owned(),
        evidence: Vec::new(),
        dispatch_code: None,
        fault: Fault::Upstream,
        remedy: Remedy::RetryAt,
        retry_at: None,
        retry_basis: None,
        retry_safety: RetrySafety::Safe,
        scope: None,
        cooldown: None,
        diagnosis: DiagnosisState::None,
        model_text: String::new(),
        user_hint: None,
        is_health_signal: true,
    };
    journal.note(&caller(), &tool(), failure, &verdict, Instant::UNIX_EPOCH);
}

/// Failures that are alike are one entry, and lost ones are those that no entry could hold.
#[test]
fn alike_ones_are_no_loss() {
    let journal = Journal::new(Some(10), Uuid::nil());
    let mut nameless = noted(full());
    nameless.tool.name = "\u{0}".repeat(2_000);
    let other = noted(Failure { http_status: Some(503), ..full() });
    let (entries, n_unfit) = journal.entries(vec![noted(full()), nameless, noted(full()), other]);
    assert_eq!((entries.len(), n_unfit), (2, 1));
}

#[test]
fn what_is_too_much_is_dropped_and_counted() {
    let dropped = |it: &Journal| it.dropped.load(std::sync::atomic::Ordering::Relaxed);
    let journal = Journal::new(Some(10), Uuid::max());
    let small = Arc::new(Failure { http_status: Some(503), ..Failure::default() });
    for _ in 0..QUEUE_LIMIT + 3 {
        note(&journal, &small);
    }
    assert_eq!((journal.take().len(), dropped(&journal)), (QUEUE_LIMIT, 3));
    let large = Arc::new(Failure { body: "x".repeat(QUEUE_BYTES / 2), ..Failure::default() });
    for _ in 0..3 {
        note(&journal, &large);
    }
    assert_eq!((journal.take().len(), dropped(&journal)), (2, 4));
    note(&journal, &large);
    assert_eq!(journal.take().len(), 1, "what was taken makes room");
    assert_eq!(journal.next_id(), Uuid::max());
    assert_eq!(journal.next_id(), Uuid::nil(), "ids go round");

    let off = Journal::new(None, Uuid::nil());
    note(&off, &small);
    assert_eq!((off.take().len(), dropped(&off)), (0, 0));
}
