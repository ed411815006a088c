//! One file per command.

pub(crate) mod analyse;
pub(crate) mod bonds;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod explain;
pub(crate) mod explain_error;
pub(crate) mod gate;
pub(crate) mod info;
pub(crate) mod methods;
pub(crate) mod models;
pub(crate) mod new;
pub(crate) mod plot;
pub(crate) mod recover;
pub(crate) mod reference;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod validate;
pub(crate) mod verify;
