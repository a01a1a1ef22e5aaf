//! Merging layers and the order of rules (R103, R106, R107, R122…R124, C13, C14).

mod support;

use checker::{LayerKind, Options, ParsedLayer, RuleTable, Severity};
use health_model::{Classification, Failure, Tool};
use proptest::prelude::*;
use support::{layer, status};

fn rule(id: &str, rest: &str) -> String {
    format!("  - {{id: {id}, match: {{errorCode: {id}}}, signature: {id}, classification: UNCLEAR{rest}}}\n")
}

fn layer_of(kind: LayerKind, rules: &[String]) -> ParsedLayer {
    let layer = layer(kind, &format!("patterns:\n{}", rules.concat()));
    assert_eq!(layer.diagnostics, []);
    layer
}

fn order(table: &RuleTable) -> Vec<&str> {
    table.entries().iter().map(|it| it.rule.id.as_str()).collect()
}

const BUNDLED: [&str; 12] = [
    "http-401-expired-token",
    "http-401-generic",
    "http-403",
    "http-404-endpoint",
    "http-429",
    "http-5xx",
    "socket-timeout",
    "connect-refused",
    "schema-violation",
    "manual-read-not-found",
    "tool-exception-generic",
    "fallback",
];

/// R122, R123, R124: new rules land right before the fallback, the tenant's before the project's, in their own order.
#[test]
fn new_rules_stand_before_the_fallback() {
    let tenant = layer_of(LayerKind::Tenant, &[rule("t1", ""), rule("t2", "")]);
    let project = layer_of(LayerKind::Project, &[rule("p1", ""), rule("p2", "")]);
    for layers in [[&tenant, &project], [&project, &tenant]] {
        let table = RuleTable::build(layers, Options::BUNDLED);
        let (fallback, others) = BUNDLED.split_last().unwrap();
        let expected = [others, &["t1", "t2", "p1", "p2"], &[*fallback]].concat();
        assert_eq!(order(&table), expected, "the order is the layers', not that in which they are given");
        assert_eq!(table.diagnostics(), []);
    }
}

/// R107, R122: a rule with a known id replaces it whole and in its place; the project's replaces the tenant's (R123).
#[test]
fn a_known_id_is_replaced_whole_in_its_place() {
    let tenant = layer(
        LayerKind::Tenant,
        "patterns:\n  - {id: http-403, match: {httpStatus: 403}, signature: mine, classification: INTERMITTENT}\n",
    );
    let table = RuleTable::build([&tenant], Options::BUNDLED);
    assert_eq!(order(&table), BUNDLED);
    let entry = &table.entries()[2];
    assert_eq!(
        (entry.rule.signature.as_str(), entry.layer, &*entry.source),
        ("mine", LayerKind::Tenant, "tenant.yaml")
    );
    assert!(!entry.rule.locked, "no field of the replaced rule is left");
    let project = layer(
        LayerKind::Project,
        "patterns:\n  - {id: http-403, match: {httpStatus: 403}, signature: ours, classification: UNCLEAR}\n",
    );
    let table = RuleTable::build([&tenant, &project], Options::BUNDLED);
    assert_eq!(table.classify(&Tool::default(), &status(403)).rule().signature, "ours");
}

/// R106, C13: the first rule of the merged list decides.
#[test]
fn the_first_match_decides() {
    let tenant = layer(
        LayerKind::Tenant,
        "patterns:\n  - {id: a, match: {errorCode: E}, signature: a, classification: UNCLEAR}\n  - {id: b, match: {bodyContains: [x]}, signature: b, classification: UNCLEAR}\n",
    );
    let table = RuleTable::build([&tenant], Options::BUNDLED);
    let failure = Failure { error_code: Some("E".to_owned()), body: "x".to_owned(), ..Failure::default() };
    assert_eq!(table.classify(&Tool::default(), &failure).rule().id, "a");
    let forbidden = Failure { http_status: Some(403), ..failure };
    assert_eq!(table.classify(&Tool::default(), &forbidden).rule().id, "http-403");
}

/// C14: `before:` places a rule; several keep their order; `first` is ahead of everything, the higher layer's first.
#[test]
fn before_places_a_rule() {
    let tenant = layer_of(
        LayerKind::Tenant,
        &[
            rule("t1", ", before: http-5xx"),
            rule("t2", ", before: first"),
            rule("t3", ", before: http-5xx"),
            rule("t4", ", before: first"),
            rule("t5", ", before: t6"),
            rule("t6", ", before: fallback"),
            rule("http-403", ", before: first"),
        ],
    );
    let project = layer_of(LayerKind::Project, &[rule("p1", ", before: first"), rule("p2", ", before: t3")]);
    let table = RuleTable::build([&tenant, &project], Options::BUNDLED);
    assert_eq!(
        order(&table),
        [
            "p1",
            "t2",
            "t4",
            "http-403",
            "http-401-expired-token",
            "http-401-generic",
            "http-404-endpoint",
            "http-429",
            "t1",
            "p2",
            "t3",
            "http-5xx",
            "socket-timeout",
            "connect-refused",
            "schema-violation",
            "manual-read-not-found",
            "tool-exception-generic",
            "t5",
            "t6",
            "fallback"
        ]
    );
}

/// C14: places that do not exist, and rules that wait for each other.
#[test]
fn a_place_that_does_not_exist_is_told() {
    let tenant = layer_of(
        LayerKind::Tenant,
        &[rule("a", ", before: nowhere"), rule("b", ", before: c"), rule("c", ", before: b")],
    );
    let table = RuleTable::build([&tenant], Options::BUNDLED);
    assert_eq!(order(&table)[11..], ["a", "b", "c", "fallback"]);
    let told: Vec<String> = table.diagnostics().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "tenant.yaml:2: warning: rule `a`: before: there is no rule `nowhere` to stand before; the rule stands right before the fallback, name one that exists",
            "tenant.yaml:3: warning: rule `b`: before: the rules wait for each other: `b` before `c` before `b`; the rule stands right before the fallback, name another one",
            "tenant.yaml:4: warning: rule `c`: before: the rules wait for each other: `c` before `b` before `c`; the rule stands right before the fallback, name another one",
        ]
    );
}

/// C14: what waits for a rule that finds no place of its own still stands before it, and only what is wrong is named.
#[test]
fn rules_behind_one_without_a_place_find_theirs() {
    let tenant = layer_of(
        LayerKind::Tenant,
        &[
            rule("e", ", before: d"),
            rule("d", ", before: a"),
            rule("a", ", before: nowhere"),
            rule("h", ", before: f"),
            rule("f", ", before: g"),
            rule("g", ", before: f"),
            rule("http-403", ", before: e"),
        ],
    );
    let table = RuleTable::build([&tenant], Options::BUNDLED);
    assert_eq!(order(&table)[10..], ["http-403", "e", "d", "a", "h", "f", "g", "fallback"]);
    let told: Vec<_> = table.diagnostics().iter().map(|it| it.rule_id.as_deref().unwrap()).collect();
    assert_eq!(told, ["a", "f", "g"]);
    // A long circle names its first rules; further findings are counted.
    let circle: Vec<String> =
        (0..100).map(|it| rule(&format!("r{it}"), &format!(", before: r{}", (it + 1) % 100))).collect();
    let table = RuleTable::build([&layer_of(LayerKind::Tenant, &circle)], Options::BUNDLED);
    let told = table.diagnostics();
    assert_eq!(told.len(), 65);
    assert!(
        told[0].message.contains("`r0` before `r1` before") && told[0].message.len() < 300,
        "{}",
        told[0]
    );
    assert_eq!(told[64].message, "36 further rules have no such place; mend those first");
}

/// C14: a chain of a thousand rules, each before the next one.
#[test]
fn a_long_chain_finds_its_order() {
    let mut rules: Vec<String> =
        (0..999).map(|it| rule(&format!("r{it}"), &format!(", before: r{}", it + 1))).collect();
    rules.push(rule("r999", ", before: http-5xx"));
    let table = RuleTable::build([&layer_of(LayerKind::Tenant, &rules)], Options::BUNDLED);
    let expected: Vec<String> = (0..1_000).map(|it| format!("r{it}")).collect();
    assert_eq!(order(&table)[5..1_006], [expected, vec!["http-5xx".to_owned()]].concat());
}

/// C14, R123: where several layers name one of the twelve, or the same rule, the narrower layer's rules stand ahead.
#[test]
fn the_narrower_layer_stands_ahead() {
    let both = "patterns:\n  - {id: ID, before: PLACE, match: {httpStatus: 403}, signature: ID, classification: UNCLEAR}\n";
    let own = |kind, id: &str, place: &str| layer(kind, &both.replace("ID", id).replace("PLACE", place));
    let tenant = own(LayerKind::Tenant, "t1", "socket-timeout");
    let project = own(LayerKind::Project, "p1", "http-404-endpoint");
    let table = RuleTable::build([&tenant, &project], Options::default());
    assert_eq!(order(&table)[..2], ["p1", "t1"]);
    assert_eq!(table.classify(&Tool::default(), &status(403)).rule().id, "p1");
    // A tenant's `first` is no exception, and the store's layer of a tenant stands ahead of its file's.
    let first = own(LayerKind::Tenant, "t0", "first");
    let table = RuleTable::build([&first, &tenant, &project], Options::default());
    assert_eq!(order(&table)[..3], ["p1", "t1", "t0"]);
    let twice = RuleTable::build([&first, &tenant, &project, &project], Options::default());
    assert_eq!(order(&twice), order(&table), "merging a layer twice is merging it once");
    // The same without packs, where the rules stand at the place itself.
    let same = [
        layer_of(LayerKind::Tenant, &[rule("t1", ", before: http-5xx"), rule("t2", ", before: http-5xx")]),
        layer_of(LayerKind::Project, &[rule("p1", ", before: http-5xx"), rule("p2", ", before: http-5xx")]),
    ];
    let table = RuleTable::build(&same, Options::BUNDLED);
    assert_eq!(order(&table)[5..10], ["p1", "p2", "t1", "t2", "http-5xx"]);
}

/// C14, R140: a tenant's *-not-found rule that would never be reached is named, with what hides it and the remedy.
#[test]
fn hidden_rules_are_named() {
    let yaml = "patterns:
  - {id: doc-not-found, match: {exceptionType: [ToolException], bodyContains: [\"Document not found\"]}, signature: doc-not-found, classification: USER_INPUT}
  - {id: bad-gateway, match: {httpStatus: 502}, signature: bad-gateway, classification: INTERMITTENT}
  - {id: timeouts, match: {kind: [read_timeout]}, signature: t, classification: INTERMITTENT}
  - {id: seen, match: {httpStatus: 400, bodyContains: [x]}, signature: s, classification: USER_INPUT}
  - {id: narrower, match: {httpStatus: 400, bodyContains: [\"axb\"], toolKind: [MCP]}, signature: s, classification: USER_INPUT}
";
    let tenant = layer(LayerKind::Tenant, yaml);
    assert_eq!(tenant.diagnostics, []);
    let table = RuleTable::build([&tenant], Options::BUNDLED);
    let told: Vec<(&str, &str)> = table
        .diagnostics()
        .iter()
        .map(|it| {
            assert_eq!((it.severity, it.field.as_str()), (Severity::Warning, "match"));
            (it.rule_id.as_deref().unwrap(), it.message.rsplit_once("before: ").unwrap().1)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("doc-not-found", "tool-exception-generic"),
            ("bad-gateway", "http-5xx"),
            ("timeouts", "socket-timeout"),
            ("narrower", "seen"),
        ]
    );
    let failure = support::typed("x.ToolException", "Document not found: y");
    assert_eq!(table.classify(&Tool::default(), &failure).rule().id, "tool-exception-generic");
    let mended = yaml.replace("id: doc-not-found,", "id: doc-not-found, before: tool-exception-generic,");
    let table = RuleTable::build([&layer(LayerKind::Tenant, &mended)], Options::BUNDLED);
    assert_eq!(table.classify(&Tool::default(), &failure).rule().id, "doc-not-found");
}

/// R105: an error that comes as 200 with a marker.
#[test]
fn a_project_can_express_a_local_oddity() {
    let project = layer(
        LayerKind::Project,
        "patterns:\n  - {id: odd-auth, before: first, match: {httpStatus: 200, bodyContains: ['\"auth\":false']}, signature: odd-auth, classification: USER_SPECIFIC_TECHNICAL}\n",
    );
    let table = RuleTable::build([&project], Options::BUNDLED);
    let failure = Failure { body: r#"{"auth":false}"#.to_owned(), ..status(200) };
    assert_eq!(
        table.classify(&Tool::default(), &failure).rule().classification,
        Classification::UserSpecificTechnical
    );
}

/// DESIGN §6: packs stand before the bundled rules, and can be left out.
#[test]
fn packs_stand_before_the_bundled_rules() {
    let pack = layer_of(LayerKind::Pack, &[rule("k1", ""), rule("k2", "")]);
    let tenant = layer_of(LayerKind::Tenant, &[rule("t1", ""), rule("t2", ", before: first")]);
    let table = RuleTable::build([&tenant, &pack], Options::default());
    let order_of_all = order(&table);
    assert_eq!(order_of_all.first().copied(), Some("t2"));
    let at = order_of_all.iter().position(|it| *it == "k1").unwrap();
    assert_eq!(
        order_of_all[at..at + 3],
        ["k1", "k2", "http-401-expired-token"],
        "behind the packs that ship"
    );
    assert_eq!(at, 1 + checker::packs::layers().iter().map(|it| it.rules.len()).sum::<usize>());
    // What a tenant says of one of the twelve counts before what a pack does; what it says of another rule does not.
    let tenant = layer_of(
        LayerKind::Tenant,
        &[rule("t1", ", before: http-403"), rule("t2", ", before: k2"), rule("t3", ", before: http-429")],
    );
    let table = RuleTable::build([&tenant, &pack], Options::default());
    let order_of_all = order(&table);
    assert_eq!(order_of_all[..2], ["t1", "t3"]);
    let at = order_of_all.iter().position(|it| *it == "k1").unwrap();
    assert_eq!(order_of_all[at..at + 3], ["k1", "t2", "k2"]);
    let tenant = layer_of(LayerKind::Tenant, &[rule("t1", ""), rule("t2", ", before: first")]);
    let without = RuleTable::build([&tenant, &pack], Options { packs: false, ..Options::BUNDLED });
    assert_eq!(order(&without)[..2], ["t2", "http-401-expired-token"]);
}

/// C16: a Java name in a rule matches the same failure of any runtime; in literal mode only itself.
#[test]
fn a_name_stands_for_its_kind() {
    let (kinds, literal) = (
        RuleTable::bundled(Options::BUNDLED),
        RuleTable::bundled(Options { literal: true, ..Options::BUNDLED }),
    );
    let id = |table: &RuleTable, name: &str, message: &str| {
        table.classify(&Tool::default(), &support::typed(name, message)).rule().id.clone()
    };
    for (name, message, expected) in [
        ("java.net.ConnectException", "", "connect-refused"),
        ("ECONNREFUSED", "", "connect-refused"),
        ("ConnectionRefusedError", "", "connect-refused"),
        ("*url.Error", "dial tcp 10.0.0.1:1: connect: connection refused", "connect-refused"),
        ("reqwest::Error", "Connection refused (os error 111)", "connect-refused"),
        ("System.Net.Http.HttpRequestException", "Connection refused (h:80)", "connect-refused"),
        ("java.net.ConnectException", "Connection timed out", "socket-timeout"),
        ("java.net.UnknownHostException", "h: Temporary failure in name resolution", "fallback"),
        ("httpx.ReadTimeout", "", "socket-timeout"),
        ("de.x.ToolException", "", "tool-exception-generic"),
    ] {
        assert_eq!(id(&kinds, name, message), expected, "{name}: {message}");
    }
    assert_eq!(id(&literal, "java.net.ConnectException", "Connection timed out"), "connect-refused");
    assert_eq!(id(&literal, "ECONNREFUSED", "connect ECONNREFUSED h:1"), "fallback");
    assert_eq!(id(&literal, "de.x.ToolException", ""), "tool-exception-generic", "by its last segment");
}

/// A table of a thousand rules answers as its rules do one by one.
#[test]
fn many_rules_share_one_automaton() {
    let mut yaml = String::from("patterns:\n");
    for at in 0..1_000 {
        yaml.push_str(&format!("  - {{id: r{at}, before: first, match: {{bodyContains: [\"needle-{at}-\"]}}, signature: s{at}, classification: UNCLEAR}}\n"));
    }
    let table = RuleTable::build([&layer(LayerKind::Tenant, &yaml)], Options::BUNDLED);
    assert_eq!(table.n_literals(), 1_003);
    for at in [0, 1, 63, 64, 65, 999] {
        let failure = Failure { body: format!("some text needle-{at}- more"), ..Failure::default() };
        assert_eq!(table.classify(&Tool::default(), &failure).rule().id, format!("r{at}"));
    }
}

fn any_layer(kind: LayerKind) -> impl Strategy<Value = ParsedLayer> {
    let ids = prop::sample::subsequence(vec!["a", "b", "c", "d", "http-403", "http-5xx", "fallback"], 0..6);
    let places = prop::collection::vec(
        prop::sample::select(vec![
            "",
            ", before: first",
            ", before: b",
            ", before: http-429",
            ", before: zz",
        ]),
        7,
    );
    (ids, places).prop_map(move |(ids, places)| {
        let rules: String = ids
            .iter()
            .zip(places)
            .map(|(id, place)| match *id {
                "fallback" => {
                    "  - {id: fallback, match: {}, signature: f, classification: UNCLEAR}\n".to_owned()
                }
                id if place.ends_with(id) => rule(id, ""),
                id => rule(id, place),
            })
            .collect();
        layer(kind, &format!("patterns:\n{rules}"))
    })
}

proptest! {
    /// The laws of merging.
    #[test]
    fn merging_keeps_its_laws(tenant in any_layer(LayerKind::Tenant), project in any_layer(LayerKind::Project)) {
        let table = RuleTable::build([&tenant, &project], Options::BUNDLED);
        let ids = order(&table);
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        prop_assert_eq!(unique.len(), ids.len(), "ids stay unique");
        prop_assert_eq!(*ids.last().unwrap(), "fallback", "the fallback stays last");
        prop_assert!(table.entries().last().unwrap().rule.matches_everything());
        for id in BUNDLED {
            prop_assert!(ids.contains(&id), "no rule is lost");
        }
        for rule in &project.rules {
            let entry = table.entries().iter().find(|it| it.rule.id == rule.id).unwrap();
            prop_assert_eq!(entry.layer, LayerKind::Project, "the highest layer wins");
            prop_assert_eq!(&entry.rule.signature, &rule.signature);
        }
        let twice = RuleTable::build([&tenant, &project, &project], Options::BUNDLED);
        prop_assert_eq!(order(&twice), ids, "merging a layer twice is merging it once");
        let alone = RuleTable::build([&tenant], Options::BUNDLED);
        let again = RuleTable::build([&tenant, &layer(LayerKind::Project, "patterns: []")], Options::BUNDLED);
        prop_assert_eq!(order(&alone), order(&again), "an empty layer changes nothing");
    }
}
