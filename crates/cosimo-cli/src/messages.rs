//! What FMUs logged and returned without failing, at the end of a run.

use cosimo::fmi::messages;

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
