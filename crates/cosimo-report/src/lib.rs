//! One HTML file that tells an engineer whether to believe a coupled run. It needs no network and no other file.
//!
//! While the run goes on, one [`Recording`] keeps the curves of its signals and another those of its books,
//! [`Rejections`] its rejected steps and [`Reasons`] why steps had their size, all in memory that does not grow with the
//! run. Afterwards a [`Report`] gathers them with everything else that is to be told, as plain data, and [`write`] makes
//! the page.

mod books;
mod curves;
mod data;
mod diagram;
mod escape;
mod lines;
mod page;
mod reasons;
mod rejections;
mod results;

pub use books::Books;
pub use curves::{Curves, Recording, Room, Thinning};
pub use diagram::{Delayed, Diagram, Tie, Unit, Wire};
pub use page::{Component, Outcome, Remark, Report, write};
pub use reasons::Reasons;
pub use rejections::Rejections;
pub use results::{NoResults, Results};
