//! Log messages and warnings of FMUs, printed at the end of a run.

use cosimo::fmi::messages;

/// Most distinct messages printed; a certificate has all.
const SHOWN: usize = 10;

/// Prints nothing if there are no messages.
pub(crate) fn print() {
    let messages = messages();
    if messages.is_empty() {
        return;
    }
    println!("\nlog messages of FMUs");
    for message in messages.iter().take(SHOWN) {
        println!("  {message}");
    }
    if messages.len() > SHOWN {
        println!("  and {} more", messages.len() - SHOWN);
    }
}
