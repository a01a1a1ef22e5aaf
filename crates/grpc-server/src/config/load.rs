//! Where settings come from: defaults, then `agrajag.yaml`, then the environment, then flags; the later wins.
//!
//! The environment names a setting by its path in upper case: `limits.max_tools` is `AGRAJAG_LIMITS_MAX_TOOLS`, or
//! `AGRAJAG_LIMITS__MAX_TOOLS`. The names are derived from the settings themselves, so that none can be forgotten.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Config, ConfigError, StoreUrl};

/// The configuration file that is looked for in the working directory if none is named.
pub const DEFAULT_FILE: &str = "agrajag.yaml";

const PREFIX: &str = "AGRAJAG_";

/// Variables with our prefix that are no settings of a server.
const NO_SETTINGS: [&str; 3] = ["AGRAJAG_CONFIG", "AGRAJAG_SERVER", "AGRAJAG_OUTPUT"];

/// What variables of tests begin with: they are no settings either.
const TEST_PREFIX: &str = "AGRAJAG_TEST_";

/// What a configuration is put together from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The file, if one is named: it must exist. Else `AGRAJAG_CONFIG`, else [`DEFAULT_FILE`] if there is one.
    pub file: Option<PathBuf>,
    /// The environment.
    pub env: BTreeMap<String, String>,
    /// Settings of the command line by their path, for example (`listen`, `127.0.0.1:0`), in order.
    pub flags: Vec<(String, String)>,
}

/// A configuration and where it comes from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings, checked.
    pub config: Config,
    /// Where the settings that are not defaults come from, by path.
    pub origins: BTreeMap<String, String>,
    /// What is odd and harmless, for example a variable that is no setting.
    pub warnings: Vec<String>,
    /// The store that is opened: the one that is set, else the default; `None` if the environment has no place for it.
    pub store: Option<StoreUrl>,
}

impl Sources {
    /// The process's own environment and nothing else.
    #[must_use]
    pub fn from_process() -> Self {
        let env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self { env, ..Self::default() }
    }

    /// Puts the configuration together and checks it.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the setting, its value and where it was given.
    pub fn load(&self) -> Result<Loaded, ConfigError> {
        let mut origins = BTreeMap::new();
        let mut warnings = Vec::new();
        let mut tree = match self.read_file()? {
            Some((path, given, config)) => {
                let mut paths = Vec::new();
                leaves(&given, &mut String::new(), &mut |path, _| paths.push(path.to_owned()));
                origins.extend(paths.into_iter().map(|it| (it, format!("file {}", path.display()))));
                to_tree(&config)
            }
            None => to_tree(&Config::default()),
        };
        let settings = self.settings();
        for (name, value) in self.env.iter().filter(|(name, _)| name.starts_with(PREFIX)) {
            if let Some(path) = settings.get(&name.replace("__", "_")) {
                set(&mut tree, path, value, &format!("environment variable {name}"), &mut origins)?;
            } else if !NO_SETTINGS.contains(&name.as_str()) && !name.starts_with(TEST_PREFIX) {
                let meant = nearest(name, settings.keys().map(String::as_str).chain(NO_SETTINGS))
                    .map(|it| format!("; is `{it}` meant?"))
                    .unwrap_or_default();
                warnings.push(format!("environment variable `{name}` is no setting and is ignored{meant}"));
            }
        }
        for (path, value) in &self.flags {
            if !settings.values().any(|it| it == path) {
                return Err(ConfigError::Unknown {
                    field: path.clone(),
                    origin: "the command line".to_owned(),
                });
            }
            set(&mut tree, path, value, "the command line", &mut origins)?;
        }
        let config: Config = serde_json::from_value(tree).map_err(|error| ConfigError::Value {
            field: "configuration".to_owned(),
            value: String::new(),
            origin: "all sources together".to_owned(),
            message: error.to_string(),
        })?;
        config.validate()?;
        let store = config.store_url(&|name| self.env.get(name).cloned()).ok();
        Ok(Loaded { config, origins, warnings, store })
    }

    /// Variable → path of every setting.
    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        leaves(&to_tree(&Config::default()), &mut String::new(), &mut |path, _| {
            let name = format!("{PREFIX}{}", path.replace('.', "_").to_uppercase());
            settings.insert(name, path.to_owned());
        });
        settings
    }

    fn read_file(&self) -> Result<Option<(PathBuf, Value, Config)>, ConfigError> {
        let named = self.file.clone().or_else(|| self.env.get("AGRAJAG_CONFIG").map(PathBuf::from));
        let path = match named {
            Some(path) => path,
            None if Path::new(DEFAULT_FILE).is_file() => PathBuf::from(DEFAULT_FILE),
            None => return Ok(None),
        };
        let text = std::fs::read_to_string(&path)
            .map_err(|source| ConfigError::File { path: path.clone(), source })?;
        let wrong = |error: serde_yaml::Error| ConfigError::Text {
            path: path.clone(),
            message: plain(&error.to_string()),
        };
        if text.lines().all(|it| it.trim().is_empty() || it.trim_start().starts_with('#')) {
            return Ok(Some((path, Value::Object(serde_json::Map::new()), Config::default())));
        }
        let config: Config = serde_yaml::from_str(&text).map_err(wrong)?;
        let given: Value = serde_yaml::from_str(&text).map_err(wrong)?;
        Ok(Some((path, given, config)))
    }
}

impl Loaded {
    /// The configuration as a file that would give the same one, passwords masked, with the origin of every setting
    /// that is not a default behind it, and the path of the default store.
    #[must_use]
    pub fn print(&self) -> String {
        let mut tree = to_tree(&self.config);
        if let (Some(store), Some(url)) = (tree.get_mut("store"), &self.config.store) {
            *store = Value::String(url.to_string());
        }
        let mut text = String::new();
        let mut remarks = self.origins.clone();
        if let (None, Some(store)) = (&self.config.store, &self.store) {
            remarks.insert("store".to_owned(), format!("default: {store}"));
        }
        print(&tree, 0, &mut String::new(), &remarks, &mut text);
        text
    }
}

/// The configuration as a tree that holds every setting, `null` where there is none.
fn to_tree(config: &Config) -> Value {
    serde_json::to_value(config).unwrap_or(Value::Null)
}

/// Calls `visit` with the path of every leaf.
fn leaves(tree: &Value, path: &mut String, visit: &mut dyn FnMut(&str, &Value)) {
    let Value::Object(fields) = tree else { return visit(path, tree) };
    for (name, field) in fields {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(name);
        leaves(field, path, visit);
        path.truncate(length);
    }
}

/// Sets one leaf. The text is read as YAML, so that numbers and booleans come out as such; where the setting wants a
/// text, as that.
fn set(
    tree: &mut Value,
    path: &str,
    text: &str,
    origin: &str,
    origins: &mut BTreeMap<String, String>,
) -> Result<(), ConfigError> {
    let pointer = format!("/{}", path.replace('.', "/"));
    let wanted = match to_tree(&Config::default()).pointer(&pointer) {
        Some(Value::Number(_)) => Some("a whole number is wanted"),
        Some(Value::Bool(_)) => Some("`true` or `false` is wanted"),
        _ => None,
    };
    let mut message = None;
    let read: Option<Value> = serde_yaml::from_str(text).ok();
    for value in [Some(Value::String(text.to_owned())), read].into_iter().flatten() {
        let mut attempt = tree.clone();
        let Some(leaf) = attempt.pointer_mut(&pointer) else { break };
        *leaf = value;
        match serde_json::from_value::<Config>(attempt.clone()) {
            Ok(_) => {
                *tree = attempt;
                origins.insert(path.to_owned(), origin.to_owned());
                return Ok(());
            }
            // What is said of the text as it stands: the other reading is a guess.
            Err(error) => {
                message
                    .get_or_insert_with(|| wanted.map_or_else(|| plain(&error.to_string()), str::to_owned));
            }
        }
    }
    // The store's URL may hold a password, and what is said of it repeats it.
    let masked = checker::redact::mask(text);
    Err(ConfigError::Value {
        field: path.to_owned(),
        message: message.unwrap_or_default().replace(text, &masked),
        value: masked,
        origin: origin.to_owned(),
    })
}

/// What a reader of numbers and words says, without the names of types.
fn plain(message: &str) -> String {
    let mut text = message.to_owned();
    for (from, to) in [
        ("expected usize", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("expected u32", "expected a whole number"),
        ("expected a boolean", "expected `true` or `false`"),
        ("invalid type: string", "found the text"),
        ("invalid type: integer", "found the number"),
        ("invalid type: floating point", "found the number"),
        ("invalid type: map", "found fields"),
        ("invalid type: sequence", "found a list"),
        ("invalid type: unit value", "found nothing"),
        ("expected struct ", "expected the fields of "),
        ("unknown variant", "unknown word"),
    ] {
        text = text.replace(from, to);
    }
    text
}

/// The name that is meant by a wrong one: at most a third of it differs.
fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, name) = names.map(|it| (edits(wrong, it), it)).min()?;
    (distance * 3 <= wrong.len().saturating_sub(PREFIX.len())).then_some(name)
}

/// How many characters have to be put in, taken out or changed to make one text of the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, a) in (1..).zip(from.chars()) {
        let mut before = std::mem::replace(&mut row[0], at);
        for (column, b) in (1..).zip(&to) {
            let change = before + usize::from(a != *b);
            before = row[column];
            row[column] = change.min(before + 1).min(row[column - 1] + 1);
        }
    }
    row[to.len()]
}

fn print(
    tree: &Value,
    depth: usize,
    path: &mut String,
    origins: &BTreeMap<String, String>,
    text: &mut String,
) {
    let Value::Object(fields) = tree else { return };
    for (name, field) in fields {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(name);
        let indent = "  ".repeat(depth);
        // Writing to a string does not fail.
        if field.is_object() {
            let _ = writeln!(text, "{indent}{name}:");
            print(field, depth + 1, path, origins, text);
        } else {
            let value = serde_yaml::to_string(field).unwrap_or_default();
            let origin = origins.get(path.as_str()).map(|it| format!("  # {it}")).unwrap_or_default();
            let _ = writeln!(text, "{indent}{name}: {}{origin}", value.trim_end());
        }
        path.truncate(length);
    }
}
