//! `cargo xtask corpus`: see there.

use std::path::PathBuf;
use std::process::ExitCode;

use cosimo_corpus::classes::{CLASSES, Class, Demand};
use cosimo_corpus::measure::{measure, save};
use cosimo_corpus::table::{Tally, head};

const USAGE: &str = "[--seed N] [--count N] [--class NAME] [--only SEED] [--save DIR] [--list KIND]";

/// How the message of a run begins that grew beyond all measure.
const DIVERGED: &str = "diverged";

struct Wish {
    seed: u64,
    count: usize,
    class: Option<&'static Class>,
    only: Option<u64>,
    save: Option<PathBuf>,
    /// Offences of this kind are listed, all of them.
    list: Option<String>,
}

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("expected a whole number, got `{text}`"))
}

fn read(arguments: &[String]) -> Result<Wish, String> {
    let mut wish = Wish { seed: 1, count: 7, class: None, only: None, save: None, list: None };
    for pair in arguments.chunks(2) {
        let [option, value] = pair else {
            return Err(format!("`{}` has no value; expected {USAGE}", pair[0]));
        };
        match option.as_str() {
            "--seed" => wish.seed = number(value)?,
            "--count" => wish.count = number(value)? as usize,
            "--only" => wish.only = Some(number(value)?),
            "--save" => wish.save = Some(value.into()),
            "--list" => wish.list = Some(value.clone()),
            "--class" => {
                let class = CLASSES.iter().find(|class| class.name == *value);
                let names: Vec<&str> = CLASSES.iter().map(|class| class.name).collect();
                wish.class = Some(class.ok_or_else(|| {
                    format!("there is no class `{value}`; expected one of {}", names.join(", "))
                })?);
            }
            _ => return Err(format!("`{option}` is unknown; expected {USAGE}")),
        }
    }
    if wish.only.is_some() && wish.class.is_none() {
        return Err("`--only` needs `--class`".into());
    }
    Ok(wish)
}

fn run(wish: &Wish) -> Result<bool, String> {
    let registry = cosimo::registry();
    let folder = std::env::temp_dir().join(format!("cosimo-corpus-{}", std::process::id()));
    // Shares are asked of all smooth systems together, of smooth and stiff ones, and of all.
    let mut totals = [Demand::Smooth, Demand::Stiff, Demand::Honest].map(|demand| (demand, Tally::default()));
    println!("{}", head());
    let classes = CLASSES.iter().filter(|class| wish.class.is_none_or(|only| only.name == class.name));
    for class in classes {
        let seeds = wish.only.map_or_else(|| class.seeds(wish.seed, wish.count), |only| vec![only]);
        let mut tally = Tally::default();
        for seed in seeds {
            let system = class.system(seed);
            let own = match &wish.save {
                Some(folder) => folder.join(format!("{}-{seed:x}", class.name)),
                None => folder.join(format!("{}-{seed:x}", class.name)),
            };
            if wish.save.is_some() {
                save(&system, &own)?;
            }
            match measure(&system, &own, &registry) {
                Ok(findings) => {
                    if wish.only.is_some() {
                        for finding in &findings {
                            println!("{finding:?}");
                        }
                    }
                    tally.add(&system, &findings);
                }
                // It says so, and there is no error bar to judge.
                Err(failure) if failure.starts_with(DIVERGED) => tally.systems += 1,
                Err(failure) => tally.failures.push(format!("{}: {failure}", system.about())),
            }
            if wish.save.is_none() {
                // What cannot be removed now lies in the folder for temporary things.
                let _ = std::fs::remove_dir_all(&own);
            }
        }
        println!("{}", tally.line(class.name));
        let listed = |kind: &str| wish.only.is_some() || wish.list.as_deref() == Some(kind);
        for offence in tally.offences.iter().filter(|offence| listed(offence.kind)) {
            println!("    {}", offence.text);
        }
        for (demand, total) in &mut totals {
            if class.demand <= *demand {
                total.join(tally.clone());
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    let mut complaints: Vec<String> = Vec::new();
    for ((demand, total), name) in totals.iter().zip(["all smooth", "with stiff", "all"]) {
        if total.systems == 0 && total.failures.is_empty() {
            continue;
        }
        println!("{}", total.line(name));
        let wrong = total.complaints(*demand);
        // What is wrong with a part is wrong with the whole: once is enough.
        complaints.extend(wrong.into_iter().filter(|text| !complaints.contains(text)).collect::<Vec<_>>());
    }
    if !complaints.is_empty() {
        println!("not good enough:");
    }
    for complaint in &complaints {
        println!("{complaint}");
    }
    Ok(complaints.is_empty())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match read(&arguments).and_then(|wish| run(&wish)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
