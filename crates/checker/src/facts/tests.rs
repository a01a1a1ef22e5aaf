//! Tests of what the rules see.

use health_model::failure::Cause;

use super::*;

fn failure() -> Failure {
    Failure { message: "outer".to_owned(), ..Failure::default() }
}

// R112: not only the top message is seen.
#[test]
fn the_message_every_cause_and_the_body_are_seen() {
    let mut failure = failure();
    failure.causes = vec![Cause { message: "inner one".to_owned(), ..Cause::default() }];
    failure.body = format!("{}needle", "x".repeat(limits::MAX_MATCHED_BYTES - 6));
    let tool = Tool::default();
    let facts = Facts::new(&tool, &failure, false);
    assert_eq!(facts.place_of("outer"), Some("message"));
    assert_eq!(facts.place_of("inner"), Some("causes"));
    assert_eq!(facts.place_of("needle"), Some("body"));
    assert_eq!(facts.place_of("Outer"), None, "compared byte by byte");

    let mut failure = failure.clone();
    failure.body.insert(0, 'x');
    let facts = Facts::new(&tool, &failure, false);
    assert_eq!(facts.place_of("needle"), None, "the body is seen up to 16 KiB");
}

#[test]
fn the_automaton_and_the_plain_search_agree() {
    let mut needles = [
        Needles::new(vec!["ab".to_owned(), "bc".to_owned()]),
        Needles::new(vec!["abc".to_owned()]),
        Needles::new(vec!["zz".to_owned()]),
    ];
    let literals = Literals::build(needles.iter_mut());
    assert_eq!(literals.n_literals(), 4);
    let tool = Tool::default();
    for text in ["", "ab", "xbcx", "abc", "a b c", "zzz"] {
        let failure = Failure { body: text.to_owned(), ..failure() };
        let facts = Facts::new(&tool, &failure, false).with_literals(&literals);
        for needles in &needles {
            let plain = needles.texts().iter().any(|it| text.contains(it.as_str()));
            assert_eq!(facts.contains_any(needles), plain, "{text:?} {needles:?}");
        }
    }
}

// R113
#[test]
fn the_code_of_a_json_body_counts_where_none_was_reported() {
    let tool = Tool::default();
    let codes = |body: &str, reported: Option<&str>| {
        let failure =
            Failure { body: body.to_owned(), error_code: reported.map(str::to_owned), ..Failure::default() };
        Facts::new(&tool, &failure, false).error_codes().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(codes(r#" {"error": {"code": "E1"}}"#, None), ["E1"]);
    assert_eq!(codes(r#"{"error": {"code": -32000}}"#, None), ["-32000"]);
    assert_eq!(codes(r#"{"error": {"code": "E1"}}"#, Some("E2")), ["E2"]);
    assert!(codes(r#"{"error": "E1"}"#, None).is_empty());
    assert!(codes(r#"{"error": {"code": null}}"#, None).is_empty());
    assert!(codes("error.code", None).is_empty());
    assert!(codes(&"{".repeat(100_000), None).is_empty());
}
