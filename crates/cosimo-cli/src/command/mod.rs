//! One file per command.

pub(crate) mod bonds;
pub(crate) mod check;
pub(crate) mod convert;
pub(crate) mod explain;
pub(crate) mod info;
pub(crate) mod methods;
pub(crate) mod models;
pub(crate) mod reference;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod validate;
