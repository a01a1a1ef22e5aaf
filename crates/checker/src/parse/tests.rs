//! Tests of the look before parsing, of places, and of what refuses a layer as a whole.

use proptest::prelude::*;

use super::*;

fn layer(text: &str) -> ParsedLayer {
    parse(LayerKind::Tenant, "t.yaml", text)
}

fn shown(layer: &ParsedLayer) -> Vec<String> {
    layer.diagnostics.iter().map(ToString::to_string).collect()
}

#[test]
fn deep_brackets_are_refused_before_they_cost_anything() {
    for text in [
        "[".repeat(400_000),
        format!("patterns: {}", "{a: ".repeat(70)),
        format!("patterns:\n  - &a !t {}", "[".repeat(65)),
        format!("# [\n\"x\": {}", "[".repeat(65)),
        format!("a: |\n  text\nb: {}", "[".repeat(65)),
        format!("- b: |\n    [[[\n  c: {}", "[".repeat(65)),
        format!("? {}", "[".repeat(65)),
    ] {
        let layer = layer(&text);
        assert!(layer.is_refused && layer.rules.is_empty());
        assert!(shown(&layer)[0].contains("nested deeper than 64 levels; flatten it"), "{:?}", shown(&layer));
    }
}

#[test]
fn brackets_in_text_do_not_count() {
    let many = "[{".repeat(100);
    for value in [
        format!("\"{many}\""),
        format!("'{many}'"),
        format!("x {many}"),
        format!("|\n      {many}\n      {many}"),
        format!(">-\n      {many}"),
        format!("x # {many}"),
        format!("\"a \\\" {many}\""),
        format!("'a '' {many}'"),
    ] {
        let text = format!(
            "patterns:\n  - id: a\n    note: {value}\n    match: {{httpStatus: 400}}\n    signature: s\n    classification: UNCLEAR\n"
        );
        let layer = layer(&text);
        assert_eq!(shown(&layer), [""; 0], "{value}");
        assert_eq!(layer.rules.len(), 1, "{value}");
    }
}

#[test]
fn other_depth_is_refused_after_parsing() {
    let mut text = String::from("patterns:\n");
    for level in 0..80 {
        text.push_str(&"  ".repeat(level + 1));
        text.push_str("a:\n");
    }
    assert!(shown(&layer(&text))[0].contains("nested deeper than 64 levels"), "{:?}", shown(&layer(&text)));
    let dashes = format!("patterns: \n{}x", "- ".repeat(200));
    assert!(layer(&dashes).is_refused);
}

#[test]
fn alias_bombs_are_refused() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let inner = format!("*a{}, ", level - 1).repeat(10);
        text.push_str(&format!("a{level}: &a{level} [{}]\n", inner.trim_end_matches(", ")));
    }
    text.push_str("patterns: *a8\n");
    let refused = layer(&text);
    assert!(refused.is_refused, "{:?}", shown(&refused));
    // One long text, many times.
    let long = format!("l: &l \"{}\"\npatterns: [{}]", "x".repeat(200_000), "*l, ".repeat(1_000));
    let refused = layer(&long);
    assert!(refused.is_refused, "{:?}", shown(&refused));
    assert!(layer("patterns: &a [*a]").n_errors() > 0);
}

#[test]
fn a_layer_that_is_none_is_refused_with_its_place() {
    for (text, expected) in [
        ("a: b: c", "t.yaml:1:5: error: not readable as YAML: "),
        ("patterns:\n\t- id: a", "t.yaml:2:1: error: not readable as YAML: "),
        ("patterns: [", "error: not readable as YAML: "),
        ("--- a\n--- b", "error: not readable as YAML: "),
        ("[]", "t.yaml:1:1: error: expected a mapping with the field `patterns`, found a list of 0"),
        ("text", "t.yaml:1:1: error: expected a mapping with the field `patterns`, found the text `text`"),
        (
            "rules: []",
            "unknown field the text `rules`; the fields of a layer are patterns, providers, shadow",
        ),
        ("patterns: {a: 1}", "t.yaml:1:11: error: patterns: expected a list of rules, found a mapping"),
    ] {
        let layer = layer(text);
        assert!(layer.is_refused, "{text}");
        assert!(shown(&layer).iter().any(|it| it.contains(expected)), "{text}: {:?}", shown(&layer));
    }
    let large = layer(&"#".repeat(limits::MAX_FILE_BYTES + 1));
    assert_eq!(
        shown(&large),
        ["t.yaml: error: the layer has 524289 bytes, at most 524288 are read; split it or remove rules"]
    );
    assert!(!layer(&"#".repeat(limits::MAX_FILE_BYTES)).is_refused);
}

/// One mistake is told once, and what is told stands in the order of the text.
#[test]
fn a_misspelt_field_is_not_missing_besides() {
    let text = "patterns:\n  - id: a\n    clasification: USER_INPUT\n    mach: {httpStatus: 403}\n    signature: s\n  - mtch: {}\n    id: b\n    before: 7\n";
    assert_eq!(
        shown(&layer(text)),
        [
            "t.yaml:3:5: error: rule `a`: patterns[0]: unknown field `clasification`; is `classification` meant?",
            "t.yaml:4:5: error: rule `a`: patterns[0]: unknown field `mach`; is `match` meant?",
            "t.yaml:6:5: error: rule `b`: patterns[1]: unknown field `mtch`; is `match` meant?",
            "t.yaml:6:5: error: rule `b`: patterns[1].signature: missing; every rule has it",
            "t.yaml:6:5: error: rule `b`: patterns[1].classification: missing; every rule has it",
            "t.yaml:8:13: error: rule `b`: patterns[1].before: expected a text, found the number `7`; put it in quotes",
        ]
    );
    let refused = layer("patern: []\n");
    assert!(refused.is_refused);
    assert_eq!(shown(&refused), ["t.yaml:1:1: error: unknown field the text `patern`; is `patterns` meant?"]);
}

#[test]
fn an_empty_layer_is_one() {
    assert_eq!(shown(&layer("patterns: []")), [""; 0]);
    assert_eq!(shown(&layer("patterns:")), [""; 0]);
    let empty = layer("# nothing\n");
    assert!(!empty.is_refused);
    assert_eq!(shown(&empty), ["t.yaml: warning: the layer is empty; write `patterns: []` if that is meant"]);
}

#[test]
fn rules_know_their_lines_in_block_and_in_flow_style() {
    let block = "# c\npatterns:\n\n- id: a\n  match: {httpStatus: 400}\n  signature: s\n  classification: UNCLEAR\n  note: |\n    - id: no\n    - id: no\n- id: b\n  match: {httpStatus: 401}\n  signature: s\n  classification: UNCLEAR\n";
    let lines = |text: &str| layer(text).rules.iter().map(|it| it.line).collect::<Vec<_>>();
    assert_eq!(lines(block), [4, 11]);
    let flow = "patterns: [\n {id: a, match: {httpStatus: 400}, signature: s, classification: UNCLEAR},\n {id: b, match: {httpStatus: 401}, signature: s, classification: UNCLEAR}]";
    assert_eq!(lines(flow), [2, 3]);
}

#[test]
fn findings_are_listed_up_to_a_limit() {
    let mut text = String::from("patterns:\n");
    for _ in 0..100 {
        text.push_str("  - 1\n");
    }
    let found = layer(&text).diagnostics;
    assert_eq!(found.len(), limits::MAX_DIAGNOSTICS + 1);
    assert_eq!(found[0].line, 2);
    assert_eq!(found[63].line, 65);
    assert_eq!(found[64].message, "36 further findings are not listed; mend these first");
}

#[test]
fn rules_past_the_limit_are_skipped() {
    let mut text = String::from("patterns:\n");
    for at in 0..=limits::MAX_RULES {
        text.push_str(&format!(
            "  - {{id: r{at}, match: {{httpStatus: 400}}, signature: s, classification: UNCLEAR}}\n"
        ));
    }
    let layer = layer(&text);
    assert_eq!(layer.rules.len(), limits::MAX_RULES);
    assert_eq!(layer.n_errors(), 1);
    assert_eq!(layer.diagnostics[0].field, "patterns[1000]");
    assert_eq!(layer.rules[999].line, 1_001);
}

fn regex_rule(id: &str, list: &str) -> String {
    format!("  - {{id: {id}, match: {{regex: {list}}}, signature: s, classification: UNCLEAR}}\n")
}

#[test]
fn an_expression_is_compiled_once_however_often_it_is_written() {
    let many: Vec<String> = (0..100).map(|it| format!("'abc{it}[a-z]{{1,400}}'")).collect();
    let mut text = format!("patterns:\n{}", regex_rule("r", &format!("&a [{}]", many.join(", "))));
    (0..20).for_each(|it| text.push_str(&regex_rule(&format!("r{it}"), "*a")));
    let layer = layer(&text);
    assert_eq!((shown(&layer), layer.rules.len()), (Vec::new(), 21));
}

#[test]
fn expressions_past_their_number_are_skipped_alone() {
    let list = |from: usize, n: usize| {
        let all: Vec<String> = (from..from + n).map(|it| format!("'abc{it}'")).collect();
        format!("[{}]", all.join(", "))
    };
    let mut text = String::from("patterns:\n");
    (0..4).for_each(|it| text.push_str(&regex_rule(&format!("r{it}"), &list(it * 250, 250))));
    text.push_str(&regex_rule("known", &list(0, 10)));
    text.push_str(&regex_rule("more", &list(999, 2)));
    text.push_str("  - {id: none, match: {httpStatus: 418}, signature: s, classification: UNCLEAR}\n");
    let layer = layer(&text);
    let ids: Vec<&str> = layer.rules.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["r0", "r1", "r2", "r3", "known", "none"]);
    assert_eq!(
        shown(&layer),
        [
            "t.yaml:7:42: error: rule `more`: patterns[5].match.regex[1]: `abc1000` is over the 1000 different expressions that a layer has at most; write it as text, or split the layer"
        ]
    );
}

#[test]
fn expressions_past_their_memory_are_skipped_alone() {
    let list = |from: usize| {
        let all: Vec<String> = (from..from + 100).map(|it| format!("'abc{it}[a-z]{{1,900}}'")).collect();
        format!("[{}]", all.join(", "))
    };
    let mut text = format!("patterns:\n{}", regex_rule("fits", &list(0)));
    text.push_str(&regex_rule("over", &list(100)));
    text.push_str(&regex_rule("after", "['abcdef']"));
    text.push_str(&regex_rule("known", "['abc0[a-z]{1,900}']"));
    let layer = layer(&text);
    let ids: Vec<&str> = layer.rules.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["fits", "known"]);
    let told = shown(&layer);
    assert!(told[0].contains("rule `over`: patterns[1].match.regex["), "{told:?}");
    assert!(
        told[0].ends_with(
            "takes the layer's expressions over 16777216 bytes when compiled; shorten them, bound their repetitions such as {1,400}, or write them as text"
        ),
        "{told:?}"
    );
}

#[test]
fn a_shadow_that_is_tried_is_none() {
    let rule = "patterns:\n  - {id: a, match: {httpStatus: 418}, signature: s, classification: USER_INPUT}\n";
    let plain = layer(rule);
    assert_eq!(plain.clone().tried(), plain);
    let tried = layer(&format!("{rule}shadow: true\n")).tried();
    assert_eq!((tried.is_shadow, tried.n_errors(), &tried.rules), (false, 0, &plain.rules));
    assert_eq!(tried.diagnostics[0].field, "shadow");
}

proptest! {
    /// Whatever the brackets, quotes and blanks: what parses is not deeper than what the look before parsing saw.
    #[test]
    fn the_look_before_parsing_misses_no_depth(text in "[\\[\\]{},:\"'#|>&!a \n-]{0,60}") {
        if let Ok(root) = node::read(&text) {
            let depth = brackets(&root);
            // Block collections do not count there; they are at most one a byte of indentation or dash.
            let block = text.matches(['-', ':', '?']).count();
            let seen = (0..).find(|limit| prescan::line_nested_over(&text, *limit).is_none()).unwrap();
            prop_assert!(seen + block >= depth, "{text:?}: saw {seen}, is {depth}");
        }
    }

    #[test]
    fn no_text_makes_parsing_panic(text in "\\PC{0,200}") {
        let _ = layer(&text);
        let _ = layer(&format!("patterns:\n  - {text}"));
    }
}

fn brackets(node: &Node) -> usize {
    match node {
        Node::List(items) => 1 + items.iter().map(brackets).max().unwrap_or(0),
        Node::Map(entries) => {
            1 + entries.iter().map(|(key, value)| brackets(key).max(brackets(value))).max().unwrap_or(0)
        }
        _ => 0,
    }
}
