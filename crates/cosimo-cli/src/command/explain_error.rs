//! `cosimo explain-error`: what a code in brackets means, and what to do about it.

use cosimo::core::entry::suggest;
use serde_json::{Value, json};

use crate::catalogue::{Page, families};
use crate::{exit, report};

/// Say what the code of an error or a remark means and what to do about it, or list all codes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What stands in brackets, such as plan/driven-twice
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
            println!("{:#}", Value::from(pages.map(as_json).collect::<Vec<_>>()));
            return Ok(());
        }
        for family in &families {
            println!("{}", family.title);
            for page in &family.pages {
                println!("  {:<34} {}", page.code, page.summary());
            }
            println!();
        }
        println!("`cosimo explain-error CODE` shows one in full.");
        return Ok(());
    };
    // As it is copied from a message.
    let code = asked.trim_start_matches("error").trim_start_matches("remark");
    let code = code.trim_start_matches('[').trim_end_matches(':').trim_end_matches(']');
    let Some(page) = pages.clone().find(|page| page.code == code) else {
        let named = pages.clone().map(|page| page.code).filter(|known| known.split('/').nth(1) == Some(code));
        let named: Vec<String> = named.map(|known| format!("`{known}`")).collect();
        let hint = if named.is_empty() {
            suggest(code, pages.map(|page| page.code))
        } else {
            format!("did you mean {}?", named.join(" or "))
        };
        report::error(&format!("no message has the code `{asked}`"), Some(&hint));
        return Err(exit::BAD_INPUT);
    };
    if args.json {
        println!("{:#}", as_json(page));
    } else {
        println!("{}\n\n{}", page.code, page.text);
    }
    Ok(())
}

fn as_json(page: &Page) -> Value {
    json!({ "code": page.code, "summary": page.summary(), "text": page.text })
}
