//! Numbers in texts: which of them are HTTP statuses, because the words around them say so.

/// The reason phrases that go with a status, or whole words that they begin with, in lower case; empty = none is known.
const fn reasons(status: u16) -> &'static [&'static str] {
    match status {
        400 => &["bad request"],
        401 => &["unauthorized", "unauthorised", "authorization required", "not authorized"],
        402 => &["payment required"],
        403 => &["forbidden"],
        404 => &["not found", "page not found"],
        405 => &["method not allowed", "not allowed"],
        406 => &["not acceptable"],
        407 => &["proxy authentication"],
        408 => &["request timeout", "request time-out", "request time out", "request timed out"],
        409 => &["conflict"],
        410 => &["gone"],
        411 => &["length required"],
        412 => &["precondition failed"],
        413 => &["payload too large", "request entity too large", "content too large", "request too large"],
        414 => &["uri too long", "request-uri too"],
        415 => &["unsupported media"],
        416 => &["range not satisfiable", "requested range"],
        421 => &["misdirected"],
        422 => &["unprocessable"],
        423 => &["locked"],
        424 => &["failed dependency"],
        425 => &["too early"],
        426 => &["upgrade required"],
        428 => &["precondition required"],
        429 => &["too many requests", "too many", "rate limit", "rate limited", "ratelimit", "ratelimited"],
        431 => &["request header", "request headers"],
        451 => &["unavailable for legal"],
        500 => &["internal server error", "internal error"],
        501 => &["not implemented"],
        502 => &["bad gateway", "proxy error"],
        503 => &[
            "service unavailable",
            "service temporarily",
            "temporarily unavailable",
            "backend fetch failed",
            "first byte timeout",
        ],
        504 => &["gateway timeout", "gateway time-out", "gateway time out", "gateway timed out"],
        505 => &["http version"],
        507 => &["insufficient storage"],
        511 => &["network authentication"],
        520 => &["web server is returning", "web server returned"],
        521 => &["web server is down"],
        522 => &["connection timed out"],
        523 => &["origin is unreachable"],
        524 => &["a timeout occurred"],
        525 => &["ssl handshake failed"],
        526 => &["invalid ssl"],
        529 => &["overloaded", "site is overloaded"],
        _ => &[],
    }
}

/// Whether a number of three digits is an HTTP status where it stands: its own reason phrase follows or stands before it,
/// or the words around it speak of a status.
pub(super) fn is_status(status: u16, before: &str, after: &str, previous: &str, gap: &str) -> bool {
    (400..=599).contains(&status)
        && (has_reason(status, after)
            || is_named(before, after, previous, gap)
            || is_led(status, before, after)
            || is_clients(before, after))
}

/// `404 Not Found`, `503: Service Unavailable`, `404 Client Error`.
fn has_reason(status: u16, after: &str) -> bool {
    let rest = after
        .trim_start_matches([' ', ')', ':', ',', '-', '"', '\'', ']', '<', '>', '(', '.', '|', '\u{2014}']);
    let gap = after.get(..after.len() - rest.len()).unwrap_or_default();
    if gap.len() > 6 {
        return false;
    }
    let behind = |reason: &str| behind_word(rest, reason);
    if ["client error", "server error"].iter().any(|it| behind(it).is_some()) {
        return true;
    }
    reasons(status).iter().any(|reason| {
        behind(reason).is_some_and(|behind| {
            // "409 conflict markers were left": a single small word may be what goes with the next one.
            let is_loose = gap == " " && !reason.contains(' ') && rest.starts_with(char::is_lowercase);
            !(is_loose && counts(behind))
        })
    })
}

/// `HTTP 403`, `status code: 403`, `"code": 403`, `Error 404: …`; never "Error: 404 rows are invalid".
fn is_named(before: &str, after: &str, previous: &str, gap: &str) -> bool {
    /// Nothing but a status is called so.
    const STATUSES: [&str; 9] = [
        "http",
        "statuscode",
        "httpstatus",
        "httpcode",
        "status_code",
        "http_status",
        "httpstatuscode",
        "http_status_code",
        "http_code",
    ];
    /// In a sentence, a count may stand behind these.
    const OTHERS: [&str; 6] = ["status", "code", "error", "error_code", "errorcode", "errno"];
    let is_any = |words: &[&str]| words.iter().any(|it| previous.eq_ignore_ascii_case(it));
    let is_close = gap.len() <= 6 && gap.bytes().all(|it| b" :=(\"'\\[#>-{".contains(&it));
    if !is_close || gap.contains(" -") {
        return false;
    }
    if is_any(&STATUSES) {
        return true;
    }
    let is_response = gap.len() <= 2 && previous.eq_ignore_ascii_case("response");
    if !is_response && !is_any(&OTHERS) {
        return false;
    }
    let is_field = gap.contains(['=', '"', '\'', '\\', '>', '{', '[']);
    is_field || !counts(after) || is_fully_named(before.get(..before.len() - gap.len()).unwrap_or_default())
}

/// Whether the words before say more than "code" or "error": `status code 403`, `HTTP Error 404.15`.
fn is_fully_named(before: &str) -> bool {
    let near = crate::limits::tail(before, 24);
    let mut words = near.rsplit(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    let last = words.next().unwrap_or_default();
    let first = words.next().unwrap_or_default();
    let is = |word: &str, names: &[&str]| names.iter().any(|it| word.eq_ignore_ascii_case(it));
    is(first, &["http"]) || (is(last, &["code"]) && is(first, &["status", "response", "error"]))
}

/// `HTTP/1.1 503`, `responded with 503`, `Too Many Requests (429)`.
fn is_led(status: u16, before: &str, after: &str) -> bool {
    const VERSIONS: [&str; 6] =
        ["http/1.1 ", "http/1.0 ", "http/2 ", "http/2.0 ", "http/3 ", "returned http "];
    const LEADS: [&str; 5] =
        ["returned status ", "responded with ", "responded with a ", "returned error: ", "got status "];
    let near = crate::limits::tail(before, 40).to_ascii_lowercase();
    if VERSIONS.iter().any(|it| near.ends_with(it)) {
        return true;
    }
    if LEADS.iter().any(|it| near.ends_with(it)) {
        return !counts(after);
    }
    let Some(words) = near.strip_suffix('(').map(str::trim_end) else { return false };
    reasons(status).iter().any(|reason| {
        words.strip_suffix(reason).is_some_and(|it| !it.ends_with(|it: char| it.is_alphanumeric()))
    })
}

/// What clients print without a word for it: aiohttp's `401, message='Unauthorized', url=…`, and `[GET /users/{id}][401]` of
/// the Go clients that are generated from OpenAPI.
fn is_clients(before: &str, after: &str) -> bool {
    if after.starts_with(", message=") {
        return true;
    }
    const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    let Some(route) = before.strip_suffix("][").filter(|_| after.starts_with(']')) else { return false };
    let Some((_, route)) = crate::limits::tail(route, 300).rsplit_once('[') else { return false };
    route.split_once(' ').is_some_and(|(method, path)| METHODS.contains(&method) && path.starts_with('/'))
}

/// Whether a number counts what follows it ("429 records are invalid", "403 of 900"), or is a part of a larger one.
fn counts(after: &str) -> bool {
    /// What can follow a status without being counted.
    const FOLLOWING: [&str; 50] = [
        "access",
        "after",
        "and",
        "as",
        "at",
        "because",
        "before",
        "body",
        "but",
        "by",
        "data",
        "description",
        "detail",
        "details",
        "due",
        "during",
        "err",
        "error",
        "for",
        "from",
        "had",
        "has",
        "headers",
        "http",
        "https",
        "if",
        "in",
        "instead",
        "into",
        "is",
        "message",
        "msg",
        "occurred",
        "on",
        "or",
        "reason",
        "received",
        "request",
        "response",
        "returned",
        "since",
        "so",
        "status",
        "then",
        "to",
        "url",
        "was",
        "when",
        "while",
        "with",
    ];
    /// What services say of a call without naming the status again.
    const SAID: [&str; 13] = [
        "access denied",
        "authentication",
        "bad credentials",
        "insufficient",
        "invalid api",
        "invalid credentials",
        "invalid request",
        "invalid token",
        "no such",
        "permission denied",
        "quota exceeded",
        "server error",
        "usage limit",
    ];
    /// What ends like what a client was doing, and tells what is counted.
    const ADJECTIVES: [&str; 6] = ["missing", "existing", "failing", "remaining", "pending", "matching"];
    const UNITS: [&str; 8] = ["KB", "MB", "GB", "TB", "kB", "KiB", "MiB", "GiB"];
    let n_digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = after.chars();
    match rest.next() {
        Some('.' | '/') => return n_digits(rest.as_str()) > 0,
        Some(',') => return n_digits(rest.as_str()) == 3,
        Some('+') => return true,
        Some(' ') => {}
        _ => return false,
    }
    let rest = rest.as_str().trim_start_matches(' ');
    let end = rest.find(|it: char| !it.is_alphabetic()).unwrap_or(rest.len());
    let (word, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
    if UNITS.contains(&word) {
        return true;
    }
    // `err_code=5`, `error="…"`, `https://…` name something.
    if !word.starts_with(char::is_lowercase) || behind.starts_with(['=', '_', '(', '/']) {
        return false;
    }
    let is_doing = word.ends_with("ing") && !ADJECTIVES.contains(&word);
    !is_doing && !FOLLOWING.contains(&word) && !SAID.iter().any(|it| behind_word(rest, it).is_some())
}

/// What stands behind a text's first words, if they are these and end there.
fn behind_word<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let (start, behind) = text.split_at_checked(words.len())?;
    let is_whole = !behind.starts_with(|it: char| it.is_alphanumeric() || it == '_');
    (start.eq_ignore_ascii_case(words) && is_whole).then_some(behind)
}

/// Whether it is the code in a tuple: `(1142, "…")` opens the text, MySQL's `(1146, "Table …")` stands anywhere.
pub(super) fn is_in_tuple(number: &str, from: usize, gap: &str, after: &str) -> bool {
    let has_text = || {
        let rest = after.strip_prefix(", ").unwrap_or_default();
        rest.strip_prefix(['u', 'b']).unwrap_or(rest).starts_with(['"', '\''])
    };
    gap == "(" && from <= 2 || gap.ends_with('(') && number.len() == 4 && has_text()
}

/// Whether it is a code of a type: `DiscordAPIError[50013]`.
pub(super) fn is_of_type(previous: &str, gap: &str) -> bool {
    gap == "[" && ["Error", "Exception"].iter().any(|it| previous.len() > it.len() && previous.ends_with(it))
}
