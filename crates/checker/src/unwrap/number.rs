//! Numbers in texts: which of them are HTTP statuses, because the words around them say so.

/// The beginning of the reason phrase that goes with a status, in lower case; empty = none is known.
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
        408 => &["request time"],
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
        429 => &["too many requests", "too many", "rate limit", "ratelimit"],
        431 => &["request header"],
        451 => &["unavailable for legal"],
        500 => &["internal server error", "internal error"],
        501 => &["not implemented"],
        502 => &["bad gateway", "proxy error"],
        503 => {
            &["service unavailable", "service temporarily", "temporarily unavailable", "backend fetch failed"]
        }
        504 => &["gateway time"],
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
/// or the words before it speak of a status.
pub(super) fn is_status(status: u16, before: &str, after: &str, previous: &str, gap: &str) -> bool {
    if !(400..=599).contains(&status) {
        return false;
    }
    let rest = after
        .trim_start_matches([' ', ')', ':', ',', '-', '"', '\'', ']', '<', '>', '(', '.', '|', '\u{2014}']);
    if after.len() - rest.len() <= 6 {
        let follows = |it: &str| starts_with(rest, it);
        if reasons(status).iter().any(|it| follows(it))
            || starts_with(rest, "client error")
            || starts_with(rest, "server error")
        {
            return true;
        }
    }
    let is_close = gap.len() <= 6 && gap.bytes().all(|it| b" :=(\"'\\[#>-{".contains(&it));
    if is_close && !gap.contains(" -") {
        const WORDS: [&str; 15] = [
            "http",
            "status",
            "code",
            "statuscode",
            "httpstatus",
            "httpcode",
            "status_code",
            "http_status",
            "error",
            "error_code",
            "errorcode",
            "httpstatuscode",
            "http_status_code",
            "http_code",
            "errno",
        ];
        if WORDS.iter().any(|it| previous.eq_ignore_ascii_case(it)) {
            return true;
        }
        if previous.eq_ignore_ascii_case("response") && gap.len() <= 2 {
            return true;
        }
    }
    // `HTTP/1.1 503`, `Too Many Requests (429)`, `returned 503`, `responded with 503`.
    let near = crate::limits::tail(before, 40).to_ascii_lowercase();
    const LEADS: [&str; 11] = [
        "http/1.1 ",
        "http/1.0 ",
        "http/2 ",
        "http/2.0 ",
        "http/3 ",
        "returned status ",
        "responded with ",
        "returned http ",
        "responded with a ",
        "returned error: ",
        "got status ",
    ];
    LEADS.iter().any(|it| near.ends_with(it))
        || near
            .strip_suffix('(')
            .map(str::trim_end)
            .is_some_and(|it| reasons(status).iter().any(|reason| it.ends_with(reason)))
}

fn starts_with(text: &str, word: &str) -> bool {
    text.as_bytes().get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()))
}

/// The name of an error number of Linux, as the C library spells it.
pub(super) const fn errno(number: i64) -> Option<&'static str> {
    Some(match number {
        1 => "EPERM",
        2 => "ENOENT",
        5 => "EIO",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        16 => "EBUSY",
        17 => "EEXIST",
        18 => "EXDEV",
        20 => "ENOTDIR",
        21 => "EISDIR",
        23 => "ENFILE",
        24 => "EMFILE",
        26 => "ETXTBSY",
        27 => "EFBIG",
        28 => "ENOSPC",
        30 => "EROFS",
        32 => "EPIPE",
        36 => "ENAMETOOLONG",
        39 => "ENOTEMPTY",
        40 => "ELOOP",
        98 => "EADDRINUSE",
        99 => "EADDRNOTAVAIL",
        111 => "ECONNREFUSED",
        122 => "EDQUOT",
        _ => return None,
    })
}
