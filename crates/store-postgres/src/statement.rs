//! Shared pieces of SQL, and how statements are declared.
//!
//! Every statement is a constant declared by [`statements!`], which also lists it for the test that prepares each against
//! a migrated database.

/// Declares SQL constants, each made of literals, and in tests a list of them.
macro_rules! statements {
    ($($(#[$meta:meta])* $name:ident = $($piece:expr),+;)+) => {
        $($(#[$meta])* pub(crate) const $name: &str = concat!($($piece),+);)+

        /// The statements of this module, with their names.
        #[cfg(test)]
        pub(crate) const STATEMENTS: &[(&str, &str)] =
            &[$((concat!(module_path!(), "::", stringify!($name)), $name)),+];
    };
}

/// Encodes parameters: `Result<PgArguments, sqlx::Error>`.
macro_rules! args {
    () => {
        Ok::<_, sqlx::Error>(sqlx::postgres::PgArguments::default())
    };
    ($($value:expr),+ $(,)?) => {{
        let encode = || -> Result<sqlx::postgres::PgArguments, sqlx::error::BoxDynError> {
            let mut args = sqlx::postgres::PgArguments::default();
            $(sqlx::Arguments::add(&mut args, $value)?;)+
            Ok(args)
        };
        encode().map_err(sqlx::Error::Encode)
    }};
}

/// Equality of the document key of two relations.
macro_rules! same_key {
    ($a:literal, $b:literal) => {
        concat!(
            $a,
            ".tenant_id = ",
            $b,
            ".tenant_id and ",
            $a,
            ".scope = ",
            $b,
            ".scope and ",
            $a,
            ".scope_id = ",
            $b,
            ".scope_id and ",
            $a,
            ".tool_name = ",
            $b,
            ".tool_name"
        )
    };
}

/// Equality of the document key of a relation with parameters 1 to 4.
macro_rules! key_is {
    ($a:literal) => {
        concat!(
            $a,
            ".tenant_id = $1 and ",
            $a,
            ".scope = $2::text::document_scope and ",
            $a,
            ".scope_id = $3 and ",
            $a,
            ".tool_name = $4"
        )
    };
}

/// The id of the running transaction, given to it if it has none.
macro_rules! own_id {
    () => {
        "pg_current_xact_id()::text::bigint"
    };
}

pub(crate) use {args, key_is, own_id, same_key, statements};
