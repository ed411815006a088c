//! Public types of the core against closed forms.

#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod clocks;
mod couplings;
mod lines;
mod models;
mod options;
mod records;
mod segments;
mod traces;
mod units;

use cosimo_core::{Time, Window};

fn time(seconds: f64) -> Time {
    Time::new(seconds).expect("not NaN")
}

fn window(from: f64, size: f64) -> Window {
    Window { from: time(from), to: time(from + size), size }
}
