//! `cosimo cache`: lists and shrinks the cache of unpacked FMUs and SSP packages.

use std::time::SystemTime;

use cosimo::fmi::{Cache, FMU_ARCHIVE};
use cosimo::ssp::PACKAGE;

/// Show the cache of unpacked FMUs and SSP packages, or remove entries that are not in use
///
/// Every file is unpacked once per content. Each use compares the copy with hashes taken when it was unpacked; a copy that
/// changed is unpacked again. Beyond 2 GB of each kind, the least recently used entries are removed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List all entries, not only the most recently used
    #[arg(long)]
    all: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Remove the least recently used entries, down to the limit
    Clean {
        /// Remove all entries that are not in use
        #[arg(long, conflicts_with = "max")]
        all: bool,
        /// Limit in bytes of each kind, e.g. `500MB` [default: 2GB]
        #[arg(long, value_name = "SIZE", value_parser = bytes)]
        max: Option<u64>,
    },
}

fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1.0,
        "KB" | "K" => 1e3,
        "MB" | "M" => 1e6,
        "GB" | "G" => 1e9,
        _ => f64::NAN,
    };
    let number = digits.trim().parse::<f64>().unwrap_or(f64::NAN) * factor;
    if number >= 0.0 && number.is_finite() {
        Ok(number as u64)
    } else {
        Err("expected a number of bytes, optionally in kB, MB or GB".into())
    }
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let caches = [Cache::standard(&FMU_ARCHIVE), Cache::standard(&PACKAGE)];
    match &args.action {
        None => show(&caches, if args.all { usize::MAX } else { SHOWN }),
        Some(Action::Clean { all, max }) => {
            for cache in &caches {
                cache.sweep();
                let most = if *all { 0 } else { max.unwrap_or(cache.most) };
                let removed = cache.shrink(most);
                let size: u64 = removed.iter().map(|kept| kept.bytes).sum();
                let left: u64 = cache.kept().iter().map(|kept| kept.bytes).sum();
                println!(
                    "{}: removed {} of {}, {} left",
                    cache.folder.display(),
                    removed.len(),
                    size_text(size),
                    size_text(left)
                );
            }
        }
    }
    Ok(())
}

/// Most entries listed without `--all`.
const SHOWN: usize = 20;

fn show(caches: &[Cache], most: usize) {
    for cache in caches {
        let all = cache.kept();
        let total: u64 = all.iter().map(|kept| kept.bytes).sum();
        println!(
            "{}: {} of at most {} in {} archives",
            cache.folder.display(),
            size_text(total),
            size_text(cache.most),
            all.len()
        );
        for kept in all.iter().take(most) {
            let used = humantime::format_rfc3339_seconds(kept.used.max(SystemTime::UNIX_EPOCH));
            let name = if kept.name.is_empty() { "unknown" } else { &kept.name };
            let in_use = if kept.in_use { ", in use" } else { "" };
            println!(
                "  {:>9}  {used}  {}  {name}{in_use}",
                size_text(kept.bytes),
                &kept.hash[..12.min(kept.hash.len())]
            );
        }
        if all.len() > most {
            println!("  and {} less recently used (`--all`)", all.len() - most);
        }
    }
}

fn size_text(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
