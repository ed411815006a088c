//! What the page tells of systems with delayed lines: islands with clocks of their own in place of common steps, and how the
//! delays of both sides of every line went.

use std::io::{self, Write};

use cosimo_engine::lines::{EndTotals, NetTotals};

use crate::escape::Text;
use crate::page::number;

/// Who stepped how often.
pub(crate) fn islands(net: &NetTotals, elapsed: f64, to: &mut impl Write) -> io::Result<()> {
    writeln!(
        to,
        "<section aria-labelledby=steps>\n<h2 id=steps>Steps</h2>\n<p>Lines part the system into islands, each with steps of \
         its own. Steps after which an end of a line moved again are taken back.</p>\n\
         <div class=wide tabindex=0 role=region aria-label=\"Steps of the islands\">\n<table class=numbers>\n<thead><tr>\
         <th scope=col>island</th><th scope=col>steps</th><th scope=col>mean step<br>s</th>\
         <th scope=col>taken back</th><th scope=col>evaluations</th></tr></thead>\n<tbody>"
    )?;
    for island in &net.islands {
        let mean = if island.steps > 0 { number(elapsed / island.steps as f64) } else { "–".into() };
        writeln!(
            to,
            "<tr><th scope=row>{}</th><td>{}</td><td>{mean}</td><td>{}</td><td>{}</td></tr>",
            Text(&island.name),
            island.steps,
            island.taken_back,
            island.evaluations
        )?;
    }
    writeln!(to, "</tbody>\n</table>\n</div>\n</section>")
}

/// How long the delays were, and why.
pub(crate) fn delays(net: &NetTotals, to: &mut impl Write) -> io::Result<()> {
    writeln!(
        to,
        "<section aria-labelledby=lines>\n<h2 id=lines>Lines</h2>\n<p>What enters a line on one side arrives on the other \
         after a delay. Where a side stands still its delay may grow, so that its island can take longer steps; κ is the \
         delay as a multiple of the shortest one.</p>\n\
         <div class=wide tabindex=0 role=region aria-label=\"Delays of the lines\">\n<table class=numbers>\n<thead><tr>\
         <th scope=col>line</th><th scope=col>side</th><th scope=col>mean delay<br>s</th><th scope=col>largest κ</th>\
         <th scope=col>stood still<br>%</th><th scope=col>delay grew<br>times</th><th scope=col>delay shrank<br>times</th>\
         </tr></thead>\n<tbody>"
    )?;
    for line in &net.lines {
        for (side, EndTotals { stats, delay, still, .. }) in ["a", "b"].into_iter().zip(&line.ends) {
            writeln!(
                to,
                "<tr><th scope=row>{}</th><td>{side}</td><td>{}</td><td>{}</td><td>{:.1}</td><td>{}</td><td>{}</td></tr>",
                Text(&line.name),
                number(*delay),
                number(stats.largest),
                100.0 * still,
                stats.grown,
                stats.shrunk
            )?;
        }
    }
    writeln!(
        to,
        "</tbody>\n</table>\n</div>\n<div class=pair>\n<div class=plot id=kappa></div>\n<div class=plot id=still></div>\n\
         </div>\n</section>"
    )
}
