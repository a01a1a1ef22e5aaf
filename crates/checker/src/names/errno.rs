//! The names of error numbers: of Linux, of its resolver, and of libuv, which numbers them itself on Windows.

/// The name of an error number of Linux, as the C library spells it.
pub(crate) const fn system(number: i64) -> Option<&'static str> {
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
        101 => "ENETUNREACH",
        103 => "ECONNABORTED",
        104 => "ECONNRESET",
        110 => "ETIMEDOUT",
        111 => "ECONNREFUSED",
        113 => "EHOSTUNREACH",
        122 => "EDQUOT",
        _ => return None,
    })
}

/// The name of an error of `getaddrinfo` of Linux: Python prints `[Errno -3]`.
pub(crate) const fn resolver(number: i64) -> Option<&'static str> {
    Some(match number {
        -2 => "EAI_NONAME",
        -3 => "EAI_AGAIN",
        -4 => "EAI_FAIL",
        -5 => "EAI_NODATA",
        _ => return None,
    })
}

/// The name of an error number as Node, npm and other users of libuv print it: below zero, on Linux the system's own, on
/// Windows libuv's. The resolver's errors have libuv's numbers on both; Node calls its two for an unknown name `ENOTFOUND`.
pub(crate) const fn libuv(number: i64) -> Option<&'static str> {
    Some(match number {
        -3_001 => "EAI_AGAIN",
        -3_004 => "EAI_FAIL",
        -3_007 | -3_008 => "ENOTFOUND",
        -4_031 => "EHOSTDOWN",
        -4_036 => "EFBIG",
        -4_037 => "EXDEV",
        -4_038 => "ETXTBSY",
        -4_039 => "ETIMEDOUT",
        -4_042 => "ESHUTDOWN",
        -4_043 => "EROFS",
        -4_046 => "EPROTO",
        -4_047 => "EPIPE",
        -4_048 => "EPERM",
        -4_051 => "ENOTEMPTY",
        -4_052 => "ENOTDIR",
        -4_053 => "ENOTCONN",
        -4_055 => "ENOSPC",
        -4_056 => "ENONET",
        -4_057 => "ENOMEM",
        -4_058 => "ENOENT",
        -4_061 => "ENFILE",
        -4_062 => "ENETUNREACH",
        -4_063 => "ENETDOWN",
        -4_064 => "ENAMETOOLONG",
        -4_066 => "EMFILE",
        -4_067 => "ELOOP",
        -4_068 => "EISDIR",
        -4_070 => "EIO",
        -4_073 => "EHOSTUNREACH",
        -4_075 => "EEXIST",
        -4_077 => "ECONNRESET",
        -4_078 => "ECONNREFUSED",
        -4_079 => "ECONNABORTED",
        -4_082 => "EBUSY",
        -4_088 => "EAGAIN",
        -4_090 => "EADDRNOTAVAIL",
        -4_091 => "EADDRINUSE",
        -4_092 => "EACCES",
        -199..=-1 => return system(-number),
        _ => return None,
    })
}
