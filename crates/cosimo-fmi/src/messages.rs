//! How often FMUs log something and return `warning`, counted over the whole process. A call that returns `ok` costs nothing
//! here.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use crate::log::status_word;

/// Messages of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub component: String,
    pub kind: MessageKind,
    pub count: u64,
    /// The text of the first one; empty for a status that was returned.
    pub first: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageKind {
    /// By the logger, with a status of FMI and a category, which may be empty.
    Logged { status: c_int, category: String },
    /// `warning`, by a function of FMI.
    Returned { function: &'static str },
}

/// Kinds that are told apart. An FMU that makes up a category for each message has all others counted as one.
const MOST: usize = 1000;

static COUNTED: Mutex<BTreeMap<(String, MessageKind), (u64, String)>> = Mutex::new(BTreeMap::new());

#[cold]
pub(crate) fn count(component: &str, kind: MessageKind, text: &str) {
    let mut counted = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut key = (component.to_owned(), kind);
    if counted.len() >= MOST
        && !counted.contains_key(&key)
        && let MessageKind::Logged { category, .. } = &mut key.1
    {
        "other categories".clone_into(category);
    }
    counted.entry(key).or_insert_with(|| (0, text.to_owned())).0 += 1;
}

/// All messages so far, the gravest first, then by component.
pub fn messages() -> Vec<Message> {
    let counted = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let message = |((component, kind), (count, first)): (&(String, MessageKind), &(u64, String))| Message {
        component: component.clone(),
        kind: kind.clone(),
        count: *count,
        first: first.clone(),
    };
    let mut messages: Vec<Message> = counted.iter().map(message).collect();
    messages.sort_by_key(|message| std::cmp::Reverse(message.kind.status()));
    messages
}

impl MessageKind {
    fn status(&self) -> c_int {
        match self {
            MessageKind::Logged { status, .. } => *status,
            MessageKind::Returned { .. } => 1,
        }
    }

    /// The status as FMI spells it.
    pub fn status_word(&self) -> &'static str {
        status_word(self.status())
    }
}

impl std::fmt::Display for Message {
    /// One line, with the beginning of the first message.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 200;
        let Message { component, kind, count, first } = self;
        write!(f, "`{component}`: {count} x {}", kind.status_word())?;
        match kind {
            MessageKind::Returned { function } => return write!(f, " returned by {function}"),
            MessageKind::Logged { category, .. } if !category.is_empty() => write!(f, " ({category})")?,
            MessageKind::Logged { .. } => {}
        }
        let line = first.lines().next().unwrap_or_default();
        let cut: String = line.chars().take(SHOWN).collect();
        let more = if cut.len() < first.trim_end().len() { " ..." } else { "" };
        write!(f, " logged, first: {cut}{more}")
    }
}
