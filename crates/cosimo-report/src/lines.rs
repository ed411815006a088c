//! The section on transmission lines: the steps of islands, and the delays of both sides of every line.

use std::io::{self, Write};

use cosimo_engine::lines::{EndTotals, LineNetworkTotals};

use crate::escape::HtmlText;
use crate::page::{number, table};

/// The steps of every island.
pub(crate) fn islands(net: &LineNetworkTotals, elapsed: f64, to: &mut impl Write) -> io::Result<()> {
    writeln!(
        to,
        "<section aria-labelledby=steps>\n<h2 id=steps>Steps</h2>\n<p>Lines part the system into islands, each with steps of \
         its own. Steps after which an end of a line moved again are taken back.</p>"
    )?;
    let rows = net.islands.iter().map(|island| {
        let mean = if island.steps > 0 { number(elapsed / island.steps as f64) } else { "–".into() };
        let [steps, back, evaluations] =
            [island.steps, island.taken_back, island.evaluations].map(|count| count.to_string());
        vec![HtmlText(&island.name).to_string(), steps, mean, back, evaluations]
    });
    let heads = "island, steps, mean step<br>s, rolled back, evaluations";
    table("Steps of the islands", "numbers", heads, rows, to)?;
    writeln!(to, "</section>")
}

/// How long the delays were, and why.
pub(crate) fn delays(net: &LineNetworkTotals, to: &mut impl Write) -> io::Result<()> {
    writeln!(
        to,
        "<section aria-labelledby=lines>\n<h2 id=lines>Lines</h2>\n<p>What enters a line on one side arrives on the other \
         after a delay. Where a side stands still its delay may grow, so that its island can take longer steps; κ is the \
         delay as a multiple of the shortest one.</p>"
    )?;
    let rows = net.lines.iter().flat_map(|line| {
        ["a", "b"].into_iter().zip(&line.ends).map(|(side, EndTotals { stats, delay, still, .. })| {
            vec![
                HtmlText(&line.name).to_string(),
                side.to_owned(),
                number(*delay),
                number(stats.largest),
                format!("{:.1}", 100.0 * still),
                stats.grown.to_string(),
                stats.shrunk.to_string(),
            ]
        })
    });
    let heads =
        "line, side, mean delay<br>s, largest κ, steady<br>%, delay grew<br>times, delay shrank<br>times";
    table("Delays of the lines", "numbers", heads, rows, to)?;
    writeln!(
        to,
        "<div class=pair>\n<div class=plot id=kappa></div>\n<div class=plot id=still></div>\n</div>\n</section>"
    )
}
