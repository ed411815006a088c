//! All output of the command: results go to stdout, everything else to stderr.
//!
//! The macros here replace the standard ones in the whole crate. The standard ones panic on write errors; they print texts
//! from input files unescaped, which may control a terminal; and they print to descriptor 1, which FMUs use as well. Here
//! stdout is a duplicate of descriptor 1, made when the command began.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

use cosimo::core::printable;
use cosimo::core::printable::controls;
use serde::Serialize;

use crate::exit;

macro_rules! println {
    () => { $crate::output::print(format_args!("\n")) };
    ($($text:tt)*) => { $crate::output::print(format_args!("{}\n", format_args!($($text)*))) };
}
macro_rules! print {
    ($($text:tt)*) => { $crate::output::print(format_args!($($text)*)) };
}
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::output::print_to_stderr(format_args!("{}\n", format_args!($($text)*))) };
}

struct Stdout {
    to: Mutex<Box<dyn Write + Send>>,
    is_terminal: bool,
}

static STDOUT: OnceLock<Stdout> = OnceLock::new();
/// The first write error on stdout; nothing is written after it.
static WRITE_ERROR: OnceLock<io::Error> = OnceLock::new();

/// To be called before anything is printed.
pub(crate) fn begin() {
    stdout();
    cosimo::fmi::separate_output();
}

fn stdout() -> &'static Stdout {
    STDOUT.get_or_init(|| Stdout { to: Mutex::new(duplicate()), is_terminal: io::stdout().is_terminal() })
}

#[cfg(unix)]
fn duplicate() -> Box<dyn Write + Send> {
    use std::os::fd::AsFd;
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(duplicate) => Box::new(std::fs::File::from(duplicate)),
        Err(_) => Box::new(io::stdout()),
    }
}

#[cfg(not(unix))]
fn duplicate() -> Box<dyn Write + Send> {
    Box::new(io::stdout())
}

/// Whether colours may be used on a terminal (https://no-color.org).
pub(crate) fn colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Whether stdout is a terminal.
pub(crate) fn is_terminal() -> bool {
    stdout().is_terminal
}

/// A result as JSON on stdout.
pub(crate) fn json(value: &impl Serialize) {
    // Structs of numbers and texts can always be written.
    println!("{}", serde_json::to_string_pretty(value).unwrap_or_default());
}

pub(crate) fn print(text: Arguments<'_>) {
    write(&printable(&text.to_string()));
}

pub(crate) fn print_to_stderr(text: Arguments<'_>) {
    write_stderr(&printable(&text.to_string()));
}

/// A line on stdout that may have colours. Texts from input files are escaped already.
pub(crate) fn styled(text: &str) {
    write(&(escape_all_but_colours(text) + "\n"));
}

/// As [`styled`], on stderr.
pub(crate) fn styled_to_stderr(text: &str) {
    write_stderr(&(escape_all_but_colours(text) + "\n"));
}

/// Prints clap's help or error; returns the exit code.
pub(crate) fn clap(stop: &clap::Error) -> u8 {
    let styled = stop.render();
    match stop.use_stderr() {
        true if io::stderr().is_terminal() && colours() => {
            write_stderr(&escape_all_but_colours(&styled.ansi().to_string()))
        }
        true => write_stderr(&printable(&styled.to_string())),
        false if is_terminal() && colours() => write(&styled.ansi().to_string()),
        false => write(&styled.to_string()),
    }
    u8::try_from(stop.exit_code()).unwrap_or(exit::BAD_INPUT)
}

/// Ends the process without exit handlers: those that FMUs registered may crash. A write error on stdout is a
/// failure even if the command succeeded.
pub(crate) fn leave(code: u8) -> ! {
    let code = match WRITE_ERROR.get() {
        Some(cause) => {
            eprintln!("error: cannot write to standard output: {cause}");
            if code == 0 { exit::NO_FILE } else { code }
        }
        None => code,
    };
    cosimo::fmi::leave(code)
}

fn write(text: &str) {
    if WRITE_ERROR.get().is_some() {
        return;
    }
    let mut to = stdout().to.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(cause) = to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        exit_on_broken_pipe(&cause);
        let _ = WRITE_ERROR.set(cause);
    }
}

/// A write error on stderr cannot be reported and must not stop a run.
fn write_stderr(text: &str) {
    if let Err(cause) = io::stderr().write_all(text.as_bytes()) {
        exit_on_broken_pipe(&cause);
    }
}

/// The reader of the output closed the pipe, as `head` does: not an error.
fn exit_on_broken_pipe(cause: &io::Error) {
    if cause.kind() == ErrorKind::BrokenPipe {
        cosimo::fmi::leave(exit::BROKEN_PIPE);
    }
}

/// Colours are escape sequences of one form, `ESC [ numbers m`; all other control characters are escaped.
fn escape_all_but_colours(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(controls) {
        let (before, from) = rest.split_at(place);
        escaped.push_str(before);
        let length = colour(from).unwrap_or(from.chars().next().map_or(0, char::len_utf8));
        let (control, after) = from.split_at(length);
        match colour(from) {
            Some(_) => escaped.push_str(control),
            None => escaped.push_str(&printable(control)),
        }
        rest = after;
    }
    escaped + rest
}

/// The length of the escape sequence for a colour that a text begins with.
fn colour(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\x1b[")?;
    let end = numbers.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    numbers[end..].starts_with('m').then_some("\x1b[".len() + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_colours_passes() {
        for (text, shown) in [
            ("\x1b[1m\x1b[38;5;9merror\x1b[0m: a\n", "\x1b[1m\x1b[38;5;9merror\x1b[0m: a\n"),
            ("\x1b[2J\x1b]0;title\x07", "\\u001b[2J\\u001b]0;title\\u0007"),
            ("\u{9b}1m\u{202e}ü", "\\u009b1m\\u202eü"),
            ("cut \x1b[1", "cut \\u001b[1"),
        ] {
            assert_eq!(escape_all_but_colours(text), shown);
        }
    }
}
