//! What FMUs logged and returned without failing, at the end of a run.

use cosimo::certificate::message;
use cosimo::fmi::messages;
use serde_json::Value;

/// Kinds of messages that are listed one by one; a certificate has all.
const SHOWN: usize = 10;

/// Prints nothing where there is nothing.
pub(crate) fn print() {
    let messages = messages();
    if messages.is_empty() {
        return;
    }
    println!("\nmessages of FMUs");
    for message in messages.iter().take(SHOWN) {
        println!("  {message}");
    }
    if messages.len() > SHOWN {
        println!("  and {} more kinds", messages.len() - SHOWN);
    }
}

/// Adds them to a summary, where there are any.
pub(crate) fn add(summary: &mut Value) {
    let messages = messages();
    if !messages.is_empty() {
        summary["messages"] = messages.iter().map(message).collect();
    }
}
