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
        ("Basic dXNlcjpwYXNz is wrong", "Basic [secret] is wrong"),
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

/// Private keys, whatever stands before them: a name, a quote, a line end that JSON writes as `\n`, nothing.
#[test]
fn private_keys_are_masked_whole() {
    let key = |line_end: &str| {
        format!(
            "-----BEGIN RSA PRIVATE KEY-----{line_end}MIIEhunter2{line_end}abc=={line_end}-----END RSA PRIVATE KEY-----"
        )
    };
    let masked = "[secret]-----END RSA PRIVATE KEY-----";
    for (text, expected) in [
        (format!("private_key={}\nx", key("\n")), format!("private_key={masked}\nx")),
        (format!("PRIVATE_KEY=\"{}\" x", key("\n")), format!("PRIVATE_KEY=\"{masked}\" x")),
        (format!(r#"{{"m": "bad key:\n{}\n"}}"#, key(r"\n")), format!(r#"{{"m": "bad key:\n{masked}\n"}}"#)),
        (format!("x{} y", key(" ")), format!("x{masked} y")),
    ] {
        assert_eq!(mask(&text), expected, "{text}");
        assert_eq!(mask(&expected), expected);
    }
    // The beginning was cut off.
    let cut = "MIIEhunter2hunter2\n  qrstuv==\n-----END RSA PRIVATE KEY-----\nafter";
    assert_eq!(mask(cut), format!("{masked}\nafter"));
    // A certificate is no secret.
    let certificate = "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----";
    assert_eq!(mask(certificate), certificate);
}

/// Headers in requests, environments, texts of JSON and command lines: to the end of the line, or of the text that they
/// stand in.
#[test]
fn headers_are_masked_as_far_as_they_reach() {
    for (text, masked) in [
        ("HTTP_AUTHORIZATION: Bearer 8d7f\nx", "HTTP_AUTHORIZATION: [secret]\nx"),
        ("access_token: Bearer 8d7f, user: x", "access_token: [secret], user: x"),
        ("HTTP_COOKIE: sid=abc123", "HTTP_COOKIE: [secret]"),
        (
            r#"{"m": "GET /\nAuthorization: Bearer 8d7f\nHost: x", "b": 1}"#,
            r#"{"m": "GET /\nAuthorization: [secret]\nHost: x", "b": 1}"#,
        ),
        (r#"{"m": "a\nCookie: sid=abc123", "b": 1}"#, r#"{"m": "a\nCookie: [secret]", "b": 1}"#),
        ("Authorization: Digest username=\"M\", response=\"66\"\nx", "Authorization: [secret]\nx"),
        (
            r#"{"m": "Authorization: Digest username=\"M\", response=\"66\"", "b": 2}"#,
            r#"{"m": "Authorization: [secret]", "b": 2}"#,
        ),
        (
            r#"{"authorization": "Digest u=\"M\", r=\"66\"", "b": 2}"#,
            r#"{"authorization": "[secret]", "b": 2}"#,
        ),
        ("Cookie: prefs=\"dark\"; sid=abcdef\nx", "Cookie: [secret]\nx"),
        (r#"{"Set-Cookie": ["a=b; Path=/", "sid=abc"]}"#, r#"{"Set-Cookie": ["[secret]", "[secret]"]}"#),
        ("cookies={'sid': 'abc'}, url=x", "cookies=[secret], url=x"),
        ("curl -H 'Authorization: Bearer abc' https://x", "curl -H 'Authorization: [secret]' https://x"),
        // What a server asks for is no credential.
        (
            "WWW-Authenticate: Bearer resource_metadata=\"https://x.example/y1\"",
            "WWW-Authenticate: Bearer resource_metadata=\"https://x.example/y1\"",
        ),
        ("Bearer error=invalid_token", "Bearer error=invalid_token"),
        ("Basic realm=\"Access to 1234567\"", "Basic realm=\"Access to 1234567\""),
    ] {
        assert_eq!(mask(text), masked, "{text}");
    }
}

#[test]
fn further_forms_are_masked() {
    for (text, masked) in [
        (r"env:\nghp_abcdefghijklmnop1234\nAKIAIOSFODNN7EXAMPLE", r"env:\n[secret]\n[secret]"),
        (
            "AccountName=a;AccountKey=abc==;EndpointSuffix=x",
            "AccountName=a;AccountKey=[secret];EndpointSuffix=x",
        ),
        ("https://x.example/c?sv=2020&sig=abc%3D&se=1", "https://x.example/c?sv=2020&sig=[secret]&se=1"),
        ("config=a, orig=b", "config=a, orig=b"),
        ("Ocp-Apim-Subscription-Key: abc", "Ocp-Apim-Subscription-Key: [secret]"),
        ("postgres://user:p/ss@host/db", "postgres://[secret]@host/db"),
        ("https://host:8080/path/@scope/pkg", "https://host:8080/path/@scope/pkg"),
        ("DB_PASS=hunter2 API_KEY_2=k", "DB_PASS=[secret] API_KEY_2=[secret]"),
        ("user[secret]=a&user[password]=b", "user[secret]=[secret]&user[password]=[secret]"),
        ("to=x%3Ftoken%3Dabc%26y%3D1&m=bob%40example.com", "to=x%3Ftoken%3D[secret]%26y%3D1&m=[e-mail]"),
        ("<wsse:Password>hunter2</wsse:Password>", "<wsse:Password>[secret]</wsse:Password>"),
        ("run --token abc123def --api-key is", "run --token [secret] --api-key is"),
        (r"Enter password:\nPermission denied", r"Enter password:\nPermission denied"),
        ("Signature: invalid. token: expired", "Signature: invalid. token: expired"),
        (
            "\"secret\": {\"name\": \"x\", \"password\": 12}",
            "\"secret\": {\"name\": \"x\", \"password\": [secret]}",
        ),
        ("password=[secret] token: [[secret], b]", "password=[secret] token: [[secret], [secret]]"),
    ] {
        assert_eq!(mask(text), masked, "{text}");
        assert_eq!(mask(masked), masked);
    }
}

/// Whether a part is secret shows in what stands around it.
#[test]
fn a_part_is_masked_by_the_text_around_it() {
    let text = "x: password=hunter2x was rejected";
    assert_eq!(mask_part(text, &text[12..]), "[secret] was rejected");
    assert_eq!(mask_part(text, &text[14..20]), "[secret]");
    assert_eq!(mask_part(text, &text[..2]), "x:");
    assert_eq!(mask_part(text, "token=from-elsewhere"), "token=[secret]");
}

#[test]
fn a_cut_leaves_no_half_of_a_word_or_a_secret() {
    let text = "one two password=hunter2 three";
    for (limit, head) in [(5, "one "), (4, "one "), (20, "one two "), (24, "one two password=hunter2")] {
        assert_eq!(beginning(text, limit), head, "{limit}");
    }
    assert_eq!(beginning("say \"token\": \"a b c\" x", 17), "say \"token\": \"");
    assert_eq!(beginning(text, 100), text);
    for (limit, tail) in [(5, "three"), (8, " three"), (13, " three"), (20, " three"), (28, &text[3..])] {
        assert_eq!(end(text, limit), tail, "{limit}");
    }
    assert_eq!(end(text, 100), text);
    assert_eq!(end("Cookie: a=1; sid=hunter2\nx", 14), "\nx");
    // What is no word is cut at the limit, between characters.
    assert_eq!(beginning(&"é".repeat(500), 801).len(), 800);
    assert_eq!(end(&"é".repeat(500), 801).len(), 800);
    assert_eq!(beginning("", 0), "");
    assert_eq!(end("ab", 0), "");
}

/// Much of the same costs no more than its length: with a cost of its square this test would take minutes.
#[test]
fn masking_takes_time_linear_to_the_text() {
    for part in [
        "-----BEGIN ",
        "-----BEGIN RSA PRIVATE KEY",
        "AAAAAAAAAAAAAAAAA -----END PRIVATE KEY-----",
        "token=[",
        "cookie:{\n",
        "<token>",
        "://a:b",
        "a@",
        "token='\n",
        "bearer ",
        "token \"",
        "token%20",
        "\\",
    ] {
        let text = part.repeat(500_000 / part.len());
        let _ = mask(&text);
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

/// What texts with secrets are made of, and what comes near it.
const PIECES: &[&str] = &[
    "password",
    "token",
    "api_key",
    "Authorization",
    "HTTP_COOKIE",
    "cookies",
    "client_secret",
    "sig",
    "DB_PASS",
    "foo",
    "--token",
    "=",
    ":",
    ": ",
    "=>",
    "%3D",
    "\": \"",
    "\\\": \\\"",
    "='",
    ":[",
    "=[",
    "={",
    "{",
    "}",
    "[",
    "]",
    " ",
    "\n",
    "\\n",
    "\\r\\n",
    "\\",
    "\"",
    "'",
    "\\\"",
    ",",
    ";",
    "&",
    "%26",
    "%22",
    "%5D",
    "<",
    ">",
    "</",
    "Bearer ",
    "Basic ",
    "Digest ",
    "Token ",
    "ghp_",
    "abcdefghijklmnopqrst",
    "0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOi.eyJzdWIiOi.Sfl",
    "null",
    "invalid",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "-----BEGIN ",
    "-----END ",
    "PRIVATE KEY",
    "-----",
    "://",
    "http",
    "user",
    "bob@example.com",
    "@",
    "%40",
    "host.example",
    "/",
    "?",
    "user:p/ss@host",
    "\\u003d",
    "[secret]",
    "[e-mail]",
    "[secret",
    "secret]",
    "\t",
    "\r",
    "é",
    "realm=\"x\"",
    "n",
    "1",
    "_",
    "-",
    ".",
    "+",
];

/// What stands before a secret, and what behind it.
const FORMS: &[(&str, &str)] = &[
    ("password=", "\n"),
    ("{\"password\": \"", "\", \"b\": 1}"),
    ("{\\\"api_key\\\": \\\"", "\\\", 1}"),
    ("Authorization: Bearer ", "\nHost: x"),
    ("x\\nAuthorization: Bearer ", "\\nHost: x\""),
    ("Authorization: Digest username=\"M\", response=\"", "\", uri=\"/\"\nfoo"),
    ("Cookie: a=1; prefs=\"dark\"; sid=", "; z=2\n"),
    ("ghp_", " is bad"),
    ("\\nghp_", "\\n"),
    ("postgres://user:", "@host/db"),
    ("jwt eyJhbGciOi.", ".abc bad"),
    ("KEY=\"-----BEGIN RSA PRIVATE KEY-----\nMIIE", "\nabc\n-----END RSA PRIVATE KEY-----\" x"),
    ("<password>", "</password>"),
    ("?sig=", "&x=1"),
    ("AccountKey=", ";x"),
    ("token: [\"a\", \"", "\"]"),
    ("with Bearer 1", "; foo"),
    ("access_token%3D", "%26x"),
    ("--api-key 1", " foo"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn masking_twice_changes_nothing(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..12)) {
        let masked = mask(&pieces.concat());
        prop_assert_eq!(mask(&masked), masked, "{:?}", pieces);
    }

    /// Wherever the text is cut before it is masked.
    #[test]
    fn no_part_of_a_secret_survives_a_cut(
        before in proptest::collection::vec(proptest::sample::select(&["the fox ", "\n", "{\"a\": \"b\", ", "x/y ", "= "][..]), 0..20),
        (left, right) in proptest::sample::select(FORMS),
        secret in "[A-Z0-9]{16,40}",
        after in proptest::collection::vec(proptest::sample::select(&["the fox ", "\n", "{\"a\": \"b\", ", "don't "][..]), 0..20),
        at in 0.0..1.0,
    ) {
        let text = format!("{} {left}{secret}{right} {}", before.concat(), after.concat());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share of a short length")]
        let limit = (text.len() as f64 * at) as usize;
        for masked in [mask(&text), mask(beginning(&text, limit)), mask(end(&text, limit))] {
            for n in 0..secret.len() - 4 {
                prop_assert!(!masked.contains(&secret[n..n + 5]), "{text:?} at {limit}: {masked:?}");
            }
        }
        prop_assert!(beginning(&text, limit).len() <= limit && end(&text, limit).len() <= limit);
    }
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
