//! Wire ↔ model, as free functions: nothing here decides, stores or waits.
//!
//! - [`fields`]: collecting what is wrong or odd in a request.
//! - [`time`]: instants and spans.
//! - [`words`]: the closed sets of words.
//! - [`caller`]: who calls, which tool, which key.
//! - [`failure`]: a report of a failed call, as leniently as DESIGN §5 demands.
//! - [`requests`], [`admin`], [`page`]: the requests of the two services.
//! - [`health`], [`verdict`], [`render`], [`notes`], [`rules`], [`rule_yaml`], [`jobs`]: answers.
//! - [`backtest`]: a changed rule layer, tried.

pub(crate) mod admin;
pub(crate) mod backtest;
pub(crate) mod caller;
pub(crate) mod failure;
pub(crate) mod fields;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod notes;
pub(crate) mod page;
pub(crate) mod render;
pub(crate) mod requests;
pub(crate) mod rule_yaml;
pub(crate) mod rules;
pub(crate) mod time;
pub(crate) mod verdict;
pub(crate) mod words;
