//! What every code of an error or a warning means: a page each, carried by the binary. The rules of FMI bring their own
//! words.

#[cfg(feature = "fmi-check")]
use cosimo_fmi_check::{RULES, Rule};
use serde::Serialize;

/// One file per family of codes: a title, then a page below each `## code`.
const FAMILIES: &[&str] = &[
    include_str!("../messages/system.md"),
    include_str!("../messages/override.md"),
    include_str!("../messages/plan.md"),
    include_str!("../messages/check.md"),
    include_str!("../messages/scenario.md"),
    include_str!("../messages/run.md"),
    include_str!("../messages/ssp.md"),
    include_str!("../messages/osp.md"),
];

/// Codes that belong together, in the order in which they are shown.
#[derive(Debug)]
pub struct Family {
    /// What its codes have in common.
    pub title: &'static str,
    /// One page per code.
    pub pages: Vec<MessagePage>,
}

/// The explanation of an error code.
#[derive(Debug, Serialize)]
pub struct MessagePage {
    /// The code, such as `plan/driven-twice`.
    pub code: &'static str,
    /// The first line of the text.
    pub summary: String,
    /// Meaning, example and what to do.
    pub text: String,
}

impl MessagePage {
    fn new(code: &'static str, text: &str) -> MessagePage {
        MessagePage { code, summary: text.lines().next().unwrap_or_default().into(), text: text.into() }
    }
}

/// The page of a code.
pub fn page(code: &str) -> Option<MessagePage> {
    families().into_iter().flat_map(|family| family.pages).find(|page| page.code == code)
}

/// All codes with their pages.
pub fn families() -> Vec<Family> {
    let families = FAMILIES.iter().map(|file| family(file));
    #[cfg(feature = "fmi-check")]
    let families = families.chain([Family {
        title: "An FMU breaks a rule of FMI (`cosimo validate`)",
        pages: RULES.iter().map(of_rule).collect(),
    }]);
    families.collect()
}

fn family(file: &'static str) -> Family {
    let mut parts = file.split("\n## ");
    let title = parts.next().unwrap_or_default().trim_start_matches('#').trim();
    let pages = parts.filter_map(|part| {
        let (code, text) = part.split_once('\n')?;
        Some(MessagePage::new(code, text.trim()))
    });
    Family { title, pages: pages.collect() }
}

#[cfg(feature = "fmi-check")]
fn of_rule(rule: &Rule) -> MessagePage {
    let clauses: Vec<String> = [("FMI 2.0.5", rule.fmi2), ("FMI 3.0.2", rule.fmi3)]
        .iter()
        .filter(|(_, clause)| !clause.is_empty())
        .map(|(version, clause)| format!("{version}, {clause}"))
        .collect();
    let whose = if clauses.is_empty() {
        "This is a limit of Cosimo.".to_owned()
    } else {
        format!("See the standard: {}.", clauses.join("; "))
    };
    MessagePage::new(rule.id, &format!("The rule: {}.\n{whose}\nTo do: {}.", rule.summary, rule.remedy))
}
