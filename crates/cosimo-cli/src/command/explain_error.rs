//! `cosimo explain-error`: explains an error code.

use crate::{output, report};
use cosimo::catalogue::families;
use cosimo::core::registry::suggest;

/// Explain an error code, or list all codes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The code in brackets, e.g. plan/driven-twice
    code: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let families = families();
    let pages = families.iter().flat_map(|family| &family.pages);
    let Some(asked) = &args.code else {
        if args.json {
            output::json(&pages.collect::<Vec<_>>());
            return Ok(());
        }
        for family in &families {
            println!("{}", family.title);
            for page in &family.pages {
                println!("  {:<34} {}", page.code, page.summary);
            }
            println!();
        }
        println!("Details: `cosimo explain-error CODE`");
        return Ok(());
    };
    // As it is copied from a message.
    let code = asked.trim_start_matches("error").trim_start_matches("warning");
    let code = code.trim_start_matches('[').trim_end_matches(':').trim_end_matches(']');
    let Some(page) = pages.clone().find(|page| page.code == code) else {
        // The second half of a code, or the beginning of one.
        let meant = |known: &&str| {
            known.split('/').nth(1) == Some(code) || (!code.is_empty() && known.starts_with(code))
        };
        let named = pages.clone().map(|page| page.code).filter(meant);
        let named: Vec<String> = named.map(|known| format!("`{known}`")).collect();
        let near = suggest(code, pages.map(|page| page.code));
        let hint = match named.len() {
            0 if near.starts_with("did you mean") => near,
            1..=8 => format!("did you mean {}?", named.join(" or ")),
            _ => "`cosimo explain-error` without a code lists all of them".into(),
        };
        return Err(report::refused(format!("unknown code `{asked}`"), Some(&hint)));
    };
    if args.json {
        output::json(page);
    } else {
        println!("{}\n\n{}", page.code, page.text);
    }
    Ok(())
}
