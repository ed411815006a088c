//! A record of every call that an importer makes, one line each, with arguments and outcome; refused calls
//! carry their reason. For golden traces, and to see what another tool does with an FMU.
//!
//! The file is named by the parameter `spy_file` or by the environment variable `COSIMO_SPY`; a folder gets one
//! file per instance. Without either nothing is written.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use cosimo_export::equipment::TextParameter;

pub(crate) const FILE: TextParameter = TextParameter {
    name: "spy_file",
    start: "",
    about: "file or folder to write all calls to; the environment variable COSIMO_SPY where empty",
};

#[derive(Debug)]
pub(crate) struct Spy {
    instance: String,
    /// The thread that instantiated it.
    home: usize,
    file: Option<File>,
    /// Lines from before the file was known.
    early: Option<String>,
}

/// A number that no other living thread has: where its own copy of a variable is. The standard library's own
/// would leave a destructor behind in the thread, which runs when the importer has long unloaded this code.
fn this_thread() -> usize {
    thread_local! { static HERE: u8 = const { 0 } }
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

impl Spy {
    pub(crate) fn new(instance: &str) -> Spy {
        let mut spy =
            Spy { instance: instance.into(), home: this_thread(), file: None, early: Some(String::new()) };
        if let Ok(path) = std::env::var("COSIMO_SPY") {
            spy.aim(&path);
        }
        spy
    }

    /// Writes to this file from now on, including earlier lines.
    pub(crate) fn aim(&mut self, path: &str) {
        if path.is_empty() {
            return;
        }
        let mut path = Path::new(path).to_path_buf();
        if path.is_dir() {
            path.push(format!("{}.txt", self.instance.replace(['/', '\\'], "_")));
        }
        self.file = OpenOptions::new().create(true).append(true).open(path).ok();
        if let Some(early) = self.early.take() {
            self.write(&early);
        }
    }

    /// Initialisation is over: no file can be set any more.
    pub(crate) fn decide(&mut self) {
        self.early = None;
    }

    pub(crate) fn call(&mut self, function: &str, arguments: &str, outcome: &str) {
        if self.file.is_some() || self.early.is_some() {
            if this_thread() != self.home {
                self.comment("called from another thread than the one that instantiated it");
            }
            self.line(&format!("{function}({arguments}) {outcome}"));
        }
    }

    /// A call that is accepted here but that other FMUs may refuse, or a violated guarantee.
    pub(crate) fn comment(&mut self, text: &str) {
        self.line(&format!("warning: {text}"));
    }

    fn line(&mut self, text: &str) {
        let line = format!("{} {text}\n", self.instance);
        match &mut self.early {
            Some(early) => *early += &line,
            None => self.write(&line),
        }
    }

    /// In one piece, so that instances can share a file. A full disk must not stop a run.
    fn write(&mut self, text: &str) {
        if let Some(file) = &mut self.file {
            let _ = file.write_all(text.as_bytes());
        }
    }
}
