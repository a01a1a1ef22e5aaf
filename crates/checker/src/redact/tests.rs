//! Tests of masking and cutting.

use health_model::failure::Cause;
use proptest::prelude::*;

use super::*;

#[test]
fn secrets_are_masked_and_the_rest_stays() {
    for (text, masked) in [
        ("GET https://bob:hunter2@db.example/x failed", "GET https://[secret]@db.example/x failed"),
        ("https://api.example/x?api_key=abc123&page=2", "https://api.example/x?api_key=[secret]&page=2"),
        (r#"{"password": "p q", "user": "bob"}"#, r#"{"password": "[secret]", "user": "bob"}"#),
        (r#"{\"client_secret\": \"s3\", \"a\": 1}"#, r#"{\"client_secret\": \"[secret]\", \"a\": 1}"#),
        ("Authorization: Bearer abc.def-123\nAccept: */*", "Authorization: [secret]\nAccept: */*"),
        ("header Bearer abcdef123456 rejected", "header Bearer [secret] rejected"),
        ("Basic dXNlcjpwYXNz is wrong", "Basic dXNlcjpwYXNz is wrong"),
        ("Basic dXNlcjpwYXNzMQ== is wrong", "Basic [secret] is wrong"),
        ("Basic authentication failed", "Basic authentication failed"),
        ("Set-Cookie: sid=1; Path=/\nx", "Set-Cookie: [secret]\nx"),
        ("key sk-abcdefghijklmnop1234 is invalid", "key [secret] is invalid"),
        ("AKIAIOSFODNN7EXAMPLE", "[secret]"),
        ("jwt eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM bad", "jwt [secret] bad"),
        ("mail bob.smith+x@mail.example.com.", "mail [e-mail]."),
        ("x-api-key=k1;next", "x-api-key=[secret];next"),
        ("--token abc", "--token abc"),
        ("AWS_SECRET_ACCESS_KEY: wJalr/XUtn", "AWS_SECRET_ACCESS_KEY: [secret]"),
        ("next_page_token: null, max_tokens: 5", "next_page_token: null, max_tokens: 5"),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb",
            "a\n[secret]-----END RSA PRIVATE KEY-----\nb",
        ),
        ("Unexpected token '<', \"<!DOCTYPE\"", "Unexpected token '<', \"<!DOCTYPE\""),
        ("HTTP 401 invalid_token", "HTTP 401 invalid_token"),
        ("a@b and user@host", "a@b and user@host"),
        ("", ""),
        ("é password=ü é", "é password=[secret] é"),
    ] {
        assert_eq!(mask(text), masked, "{text}");
    }
}

#[test]
fn a_cut_text_keeps_its_head_and_its_tail() {
    assert_eq!(cut("short", 10), "short");
    let text = format!("{}{}", "h".repeat(5_000), "t".repeat(5_000));
    let short = cut(&text, 2_048);
    assert!(short.len() <= 2_048, "{}", short.len());
    assert!(short.len() >= 2_000, "{}", short.len());
    let (head, tail) = (short.matches('h').count(), short.chars().rev().take_while(|it| *it == 't').count());
    assert!((1_480..=1_536).contains(&head), "{head}");
    assert!((490..=512).contains(&tail), "{tail}");
    assert!(short.contains(&format!("[{} bytes cut]", 10_000 - head - tail)), "{short}");
}

#[test]
fn a_detail_holds_the_fields_and_no_secret() {
    let failure = Failure {
        http_status: Some(401),
        message: "token=abc rejected".to_owned(),
        causes: vec![Cause { exception_type: Some("E".to_owned()), message: "inner".to_owned(), code: None }],
        body: "x".repeat(100_000),
        ..Failure::default()
    };
    let detail = detail(&failure);
    assert!(
        detail.starts_with("status: 401\nmessage: token=[secret] rejected\ncause: E inner\nbody: xxx"),
        "{detail}"
    );
    assert!(detail.len() <= DETAIL_LIMIT);
}

proptest! {
    #[test]
    fn masking_and_cutting_hold_for_any_text(text in ".{0,400}", limit in 0_usize..300) {
        let masked = mask(&text);
        prop_assert_eq!(mask(&masked), masked.clone(), "masking twice changes nothing");
        prop_assert!(cut(&masked, limit).len() <= limit);
        let _ = excerpt(&text);
    }

    #[test]
    fn no_secret_survives(
        before in "[ a-z:=\"{]{0,12}",
        name in "(password|api_key|client-secret|ACCESS_TOKEN)",
        sign in "(=|: |\": \")",
        secret in "[A-Za-z0-9]{6,20}",
        after in "[ ,;\"}\n][ a-z]{0,10}",
    ) {
        let text = format!("{before} {name}{sign}{secret}Q7{after}");
        prop_assert!(!mask(&text).contains(&format!("{secret}Q7")), "{}", mask(&text));
    }
}
