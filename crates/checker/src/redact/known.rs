//! What secrets look like by name and by beginning: tables only.

/// Ends of names whose values are secret, without `_`, `-`, `.` and digits at the end, in lower case.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "jwt",
    "otp",
    "accesskey",
    "accesskeyid",
    "accountkey",
    "apikey",
    "appkey",
    "authkey",
    "encryptionkey",
    "functionskey",
    "licensekey",
    "masterkey",
    "privatekey",
    "secretkey",
    "secretkeybase",
    "servicekey",
    "sessionkey",
    "sharedkey",
    "signingkey",
    "storagekey",
    "subscriptionkey",
    "credential",
    "credentials",
    "sessionid",
    "sessid",
    "signature",
    "connectionstring",
    "authcode",
    "authorizationcode",
    "devicecode",
    "codeverifier",
    "clientassertion",
    "samlresponse",
];

/// The same for names that are too short to be looked for at the end of another word: the last part of a name.
const SHORT_NAMES: &[&str] = &["bearer", "pass", "pat", "psk", "sas", "sig"];

/// Ends of names whose value reaches to the end of the line: headers.
const LINE_NAMES: &[&str] = &["cookie", "cookies", "authorization"];

/// Beginnings of tokens of well-known services, with the least length of such a token.
const TOKEN_BEGINNINGS: &[(&str, usize)] = &[
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("pk_live_", 16),
    ("whsec_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("glsa_", 20),
    ("xoxb-", 12),
    ("xoxp-", 12),
    ("xoxa-", 12),
    ("xoxs-", 12),
    ("xoxe-", 12),
    ("xoxe.", 12),
    ("xapp-", 12),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 16),
    ("GOCSPX-", 20),
    ("npm_", 20),
    ("pypi-", 20),
    ("hf_", 20),
    ("gsk_", 20),
    ("xai-", 20),
    ("nvapi-", 20),
    ("tvly-", 16),
    ("hvs.", 20),
    ("hvb.", 20),
    ("dapi", 36),
    ("SG.", 20),
    ("dop_v1_", 20),
    ("shpat_", 20),
    ("shpss_", 20),
    ("lin_api_", 20),
    ("ntn_", 20),
    ("ATATT", 30),
    ("figd_", 20),
    ("pscale_pw_", 20),
    ("sbp_", 20),
    ("EAAC", 30),
];

/// How far the value behind a name reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// To what ends a word or a quoted text.
    Word,
    /// To the end of the line, as a header does.
    Line,
}

/// Whether the value behind a name is secret, and how far it reaches.
pub(super) fn telling(name: &str) -> Option<Reach> {
    // Names are short: the end of a long word is enough to know it by.
    let end = crate::limits::tail(name, 64).trim_end_matches(|it: char| it.is_ascii_digit());
    let last = end.rsplit(['_', '-', '.']).next().unwrap_or_default();
    let squeezed: String =
        end.chars().filter(|it| !matches!(it, '_' | '-' | '.')).map(|it| it.to_ascii_lowercase()).collect();
    let ends_so = |names: &[&str]| names.iter().any(|it| squeezed.ends_with(it));
    if ends_so(LINE_NAMES) {
        Some(Reach::Line)
    } else if ends_so(SECRET_NAMES) || SHORT_NAMES.iter().any(|it| last.eq_ignore_ascii_case(it)) {
        Some(Reach::Word)
    } else {
        None
    }
}

/// Whether a word is a token by itself.
pub(super) fn is_token(word: &str) -> bool {
    TOKEN_BEGINNINGS.iter().any(|(beginning, least)| word.len() >= *least && word.starts_with(beginning))
        || is_json_web_token(word)
}

/// The first part is the beginning of a JSON object in base64. A token that was cut has fewer parts than three.
fn is_json_web_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.len() >= 20 && word.bytes().any(|it| it == b'.')
}

/// The schemes of an `Authorization` header, with how far the credentials behind them reach.
pub(super) fn scheme(word: &str) -> Option<Reach> {
    const WORD: &[&str] = &["bearer", "basic", "token", "apikey", "dpop", "negotiate", "ntlm"];
    const LINE: &[&str] = &["digest", "aws4-hmac-sha256", "hawk", "oauth", "signature"];
    let is_one = |of: &[&str]| of.iter().any(|it| it.eq_ignore_ascii_case(word));
    if is_one(WORD) {
        Some(Reach::Word)
    } else if is_one(LINE) {
        Some(Reach::Line)
    } else {
        None
    }
}

/// Whether a value behind a telling name says that there is none, or what is wrong with it.
pub(super) fn says_nothing(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "null",
        "none",
        "nil",
        "undefined",
        "true",
        "false",
        "empty",
        "expired",
        "invalid",
        "missing",
        "required",
        "revoked",
    ];
    let value = value.trim_end_matches(['.', '!', ':']);
    value.is_empty() || WORDS.iter().any(|it| it.eq_ignore_ascii_case(value))
}

/// Whether what follows a word such as `Bearer` in prose is a credential and no other word.
pub(super) fn looks_secret(value: &str) -> bool {
    let is_telling = |it: u8| it.is_ascii_digit() || matches!(it, b'=' | b'_' | b'/');
    let n_capitals = value.bytes().skip(1).filter(u8::is_ascii_uppercase).count();
    let is_mixed = n_capitals >= 3 && value.bytes().any(|it| it.is_ascii_lowercase());
    value.len() >= 24 || (value.len() >= 8 && (is_mixed || value.bytes().any(is_telling)))
}
