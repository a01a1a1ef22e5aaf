//! What settings may be, where they come from, and what the errors say.

use health_model::Policy;

use super::*;

fn sources(flags: &[(&str, &str)], env: &[(&str, &str)]) -> Sources {
    let pairs = |it: &[(&str, &str)]| {
        it.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    Sources { file: None, env: pairs(env).into_iter().collect(), flags: pairs(flags) }
}

fn with_file(text: &str) -> (tempfile::TempDir, Sources) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("agrajag.yaml");
    std::fs::write(&file, text).unwrap();
    (dir, Sources { file: Some(file), ..Sources::default() })
}

#[test]
fn the_defaults_are_loopback_and_every_range_holds() {
    let loaded = Sources::default().load().unwrap();
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.config.listen.to_string(), "127.0.0.1:4242");
    assert!(loaded.warnings.is_empty() && loaded.origins.is_empty());
    assert_eq!(loaded.config.policy(), Policy::default(), "the settings' defaults are the model's");
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let (_dir, mut sources) =
        with_file("listen: 127.0.0.1:1\nhistory: {limit: 30}\nlimits:\n  max_tools: 10\n");
    let loaded = sources.load().unwrap();
    assert_eq!((loaded.config.listen.port(), loaded.config.history.limit), (1, 30));
    sources.env.insert("AGRAJAG_LISTEN".to_owned(), "127.0.0.1:2".to_owned());
    sources.env.insert("AGRAJAG_LIMITS_MAX_TOOLS".to_owned(), "20".to_owned());
    let loaded = sources.load().unwrap();
    assert_eq!((loaded.config.listen.port(), loaded.config.limits.max_tools), (2, 20));
    sources.flags.push(("listen".to_owned(), "127.0.0.1:3".to_owned()));
    let loaded = sources.load().unwrap();
    assert_eq!((loaded.config.listen.port(), loaded.config.history.limit), (3, 30));
    assert_eq!(loaded.origins["listen"], "the command line");
    assert_eq!(loaded.origins["limits.max_tools"], "environment variable AGRAJAG_LIMITS_MAX_TOOLS");
    assert!(loaded.origins["history.limit"].starts_with("file "));
}

#[test]
fn every_setting_has_a_variable_and_takes_the_value_that_is_printed() {
    let loaded = Sources::default().load().unwrap();
    let printed: serde_json::Value = serde_yaml::from_str(&loaded.print()).unwrap();
    assert_eq!(
        printed,
        serde_json::to_value(Config::default()).unwrap(),
        "the print is a configuration file"
    );
    let (_dir, again) = with_file(&loaded.print());
    assert_eq!(again.load().unwrap().config, Config::default());
}

#[test]
fn texts_numbers_and_switches_come_from_the_environment() {
    let env = [
        ("AGRAJAG_INSECURE", "true"),
        ("AGRAJAG_STORE", "memory:"),
        ("AGRAJAG_MODE", "observe"),
        ("AGRAJAG_SESSIONS_RETENTION", "never"),
        ("AGRAJAG_SHUTDOWN_GRACE", "250ms"),
        ("AGRAJAG_TELEMETRY_LOG", "123"),
        ("AGRAJAG_TYPO", "1"),
        ("AGRAJAG_LIMIT_MAX_TOOLS", "1"),
        ("AGRAJAG_LIMITS__MAX_WATCHES", "7"),
        ("AGRAJAG_TEST_POSTGRES", "anything"),
        ("AGRAJAG_SERVER", "http://127.0.0.1:4242"),
    ];
    let loaded = sources(&[], &env).load().unwrap();
    let config = loaded.config;
    assert!(config.insecure);
    assert_eq!(config.store, Some(StoreUrl::Memory));
    assert_eq!(config.mode, Mode::Observe);
    assert_eq!(config.session_retention(), None);
    assert_eq!(config.shutdown.grace, Span::millis(250));
    assert_eq!(config.telemetry.log, "123", "a setting that is a text stays one");
    assert_eq!(config.limits.max_watches, 7, "two underscores part a path as well");
    assert_eq!(
        loaded.warnings,
        [
            "environment variable `AGRAJAG_LIMIT_MAX_TOOLS` is no setting and is ignored; is `AGRAJAG_LIMITS_MAX_TOOLS` \
             meant?",
            "environment variable `AGRAJAG_TYPO` is no setting and is ignored"
        ]
    );
}

#[test]
fn an_address_that_others_reach_needs_a_word() {
    for address in ["0.0.0.0:4242", "192.168.1.4:1", "[::]:4242"] {
        let error = sources(&[("listen", address)], &[]).load().unwrap_err().to_string();
        assert!(error.starts_with(&format!("`listen` is `{address}`: ")), "{error}");
        assert!(error.contains("--insecure"), "{error}");
        let both = [("listen", address), ("insecure", "true")];
        assert_eq!(sources(&both, &[]).load().unwrap().config.listen.to_string(), address);
    }
    let error = sources(&[("metrics.listen", "0.0.0.0:9")], &[]).load().unwrap_err().to_string();
    assert!(error.starts_with("`metrics.listen` is `0.0.0.0:9`"), "{error}");
    assert!(sources(&[("listen", "[::1]:0")], &[]).load().is_ok());
}

#[test]
fn errors_name_field_value_and_place() {
    let (_dir, sources_with) = with_file("listen: 127.0.0.1:1\nlimts: {}\n");
    let error = sources_with.load().unwrap_err().to_string();
    assert!(error.contains("limts") && error.contains("line 2"), "{error}");

    let (_dir, sources_with) = with_file("limits:\n  max_tools: many\n");
    let error = sources_with.load().unwrap_err().to_string();
    assert!(error.contains("max_tools") && error.contains("line 2"), "{error}");

    let error = sources(&[], &[("AGRAJAG_LIMITS_MAX_TOOLS", "many")]).load().unwrap_err().to_string();
    assert!(
        error.starts_with("`limits.max_tools` cannot be `many` (from environment variable AGRAJAG_LIM"),
        "{error}"
    );

    let error = sources(&[("limits.max_toolz", "1")], &[]).load().unwrap_err().to_string();
    assert!(error.contains("no setting `limits.max_toolz`"), "{error}");

    let error = sources(&[("limits.max_tools", "0")], &[]).load().unwrap_err().to_string();
    assert_eq!(error, "`limits.max_tools` is `0`: choose a value from 1 to 10000");

    let error = sources(&[("documents", "/nowhere/at/all")], &[]).load().unwrap_err().to_string();
    assert!(error.contains("`documents` is `/nowhere/at/all`: there is no such directory"), "{error}");

    let missing = Sources { file: Some("/nowhere/agrajag.yaml".into()), ..Sources::default() };
    assert!(missing.load().unwrap_err().to_string().contains("`/nowhere/agrajag.yaml`"));
}

/// What is wrong with a flag is said in the words of flags, not of a file's syntax.
#[test]
fn errors_say_what_is_wanted_and_name_no_type() {
    for (field, value, told) in [
        ("store", "sqlite:", "a path must follow `sqlite:`"),
        ("listen", "4243", "write ADDRESS:PORT, for example 127.0.0.1:4243"),
        ("metrics.listen", "localhost", "write ADDRESS:PORT, for example 127.0.0.1:4243"),
        ("limits.max_tools", "abc", "a whole number is wanted"),
        ("limits.max_tools", "-1", "a whole number is wanted"),
        ("limits.max_streams_per_connection", "5000000000", "a whole number is wanted"),
        ("insecure", "perhaps", "`true` or `false` is wanted"),
        ("shutdown.grace", "10", "write a whole number and ms, s, m, h or d"),
        ("mode", "asleep", "expected `active` or `observe`"),
    ] {
        let error = sources(&[(field, value)], &[]).load().unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{field}` cannot be `{value}`")), "{error}");
        assert!(error.contains(told), "{error}");
        for word in ["usize", "u32", "map", "variant", "invalid type"] {
            assert!(!error.contains(word), "{error}");
        }
    }
    let (_dir, sources_with) = with_file("limits:\n  max_tools: many\n");
    let error = sources_with.load().unwrap_err().to_string();
    assert!(error.contains("expected a whole number") && !error.contains("usize"), "{error}");
}

#[test]
fn localhost_is_the_loopback_address() {
    let loaded =
        sources(&[("listen", "localhost:4242"), ("metrics.listen", "localhost:0")], &[]).load().unwrap();
    assert_eq!(loaded.config.listen.to_string(), "127.0.0.1:4242");
    assert_eq!(loaded.config.metrics.listen.map(|it| it.to_string()).as_deref(), Some("127.0.0.1:0"));
}

#[test]
fn the_print_names_the_default_store() {
    let loaded = sources(&[], &[("HOME", "/home/a")]).load().unwrap();
    assert!(
        loaded.print().contains("store: null  # default: sqlite:/home/a/.local/share/agrajag/agrajag.db\n"),
        "{}",
        loaded.print()
    );
    assert_eq!(loaded.config.store, None, "it stays a default");
}

#[test]
fn an_empty_file_is_a_configuration() {
    for text in ["", "# nothing yet\n\n", "   \n"] {
        let (_dir, sources) = with_file(text);
        assert_eq!(sources.load().unwrap().config, Config::default());
    }
}

#[test]
fn the_default_store_is_in_the_users_data_directory() {
    let place = |env: &[(&str, &str)]| {
        let env: Vec<(String, String)> =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Config::default()
            .store_url(&move |name| env.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone()))
            .map(|it| it.to_string())
    };
    assert_eq!(place(&[("HOME", "/home/a")]).unwrap(), "sqlite:/home/a/.local/share/agrajag/agrajag.db");
    let both = [("HOME", "/home/a"), ("XDG_DATA_HOME", "/data")];
    assert_eq!(place(&both).unwrap(), "sqlite:/data/agrajag/agrajag.db");
    let relative = [("HOME", "/home/a"), ("XDG_DATA_HOME", "data")];
    assert_eq!(place(&relative).unwrap(), "sqlite:/home/a/.local/share/agrajag/agrajag.db");
    let error = place(&[]).unwrap_err().to_string();
    assert!(error.contains("HOME") && error.contains("--store sqlite:PATH"), "{error}");
}

#[test]
fn stores_are_read_and_their_passwords_never_shown() {
    assert_eq!("memory:".parse(), Ok(StoreUrl::Memory));
    assert_eq!("sqlite:a/b.db".parse(), Ok(StoreUrl::Sqlite("a/b.db".into())));
    assert_eq!("sqlite:///a/b.db".parse(), Ok(StoreUrl::Sqlite("/a/b.db".into())));
    let url: StoreUrl = "postgres://u:se:c@ret@h:5432/d?sslmode=require&password=x".parse().unwrap();
    assert_eq!(url.to_string(), "postgres://u:***@h:5432/d?sslmode=require&password=***");
    assert_eq!(format!("{url:?}"), url.to_string());
    assert_eq!(url.exposed(), "postgres://u:se:c@ret@h:5432/d?sslmode=require&password=x");
    for text in ["", "sqlite:", "mysql://u:pw@h/d", "memory"] {
        let error = text.parse::<StoreUrl>().unwrap_err();
        assert!(error.contains("sqlite:PATH") && !error.contains("pw"), "{error}");
    }
    let mut loaded = Sources::default().load().unwrap();
    loaded.config.store = Some(url);
    assert!(
        !loaded.print().contains("c@ret") && loaded.print().contains("***"),
        "the print masks the password"
    );
}

#[test]
fn spans_are_read_as_people_write_them() {
    for (text, millis) in [
        ("0ms", 0),
        ("250ms", 250),
        ("30s", 30_000),
        ("5m", 300_000),
        ("1h", 3_600_000),
        ("7 d", 604_800_000),
    ] {
        let span: Span = text.parse().unwrap();
        assert_eq!(span.duration().as_millis(), millis, "{text}");
        assert_eq!(span.to_string().parse(), Ok(span), "{text}");
    }
    for text in ["", "5", "s", "-1s", "1.5h", "1 hour", "99999999999999999999s", "40000d"] {
        assert!(text.parse::<Span>().is_err(), "{text}");
    }
}

#[test]
fn a_password_is_shown_neither_in_an_error_nor_in_print() {
    // DESIGN §9
    let sources =
        |store: &str| Sources { flags: vec![("store".to_owned(), store.to_owned())], ..Sources::default() };
    let error = sources("mysql://eve:hunter2@db/agrajag").load().unwrap_err();
    let chain = format!("{error:?} {error}");
    assert!(chain.contains("store") && !chain.contains("hunter2"), "{chain}");
    let loaded = sources("postgres://eve:hunter2@db/agrajag").load().unwrap();
    assert!(!loaded.print().contains("hunter2"), "{}", loaded.print());
}
