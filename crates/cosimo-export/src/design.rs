//! The design of one FMU: a model, its choices, an FMI version and a variant. Written into the FMU as
//! `resources/model.toml`, read back when the FMU is instantiated; a subset of TOML, one string per line.

use std::fmt::Write as _;

use crate::state::fingerprint;

/// An enumeration whose values have names in files: all of them in `ALL`, the name of one by `text`.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* pub enum $enum:ident {
        $($(#[$doc:meta])* $value:ident = $name:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $enum {
            $($(#[$doc])* $value,)*
        }

        impl $enum {
            pub const ALL: [$enum; [$($name),*].len()] = [$($enum::$value),*];

            pub fn text(self) -> &'static str {
                match self {
                    $($enum::$value => $name,)*
                }
            }
        }
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Stand-alone slaves for co-simulation only.
    One,
    Two,
    Three,
}

impl Version {
    /// Versions with initialisation mode, FMU states and model exchange.
    pub const ALL: [Version; 2] = [Version::Two, Version::Three];
    /// FMI 1.0 as well.
    pub const EVERY: [Version; 3] = [Version::One, Version::Two, Version::Three];

    pub fn text(self) -> &'static str {
        match self {
            Version::One => "1.0",
            Version::Two => "2.0",
            Version::Three => "3.0",
        }
    }
}

named! {
    /// The interface type: where the equations are solved.
    pub enum InterfaceType {
        /// In the FMU.
        CoSimulation = "co-simulation",
        /// In the importer.
        ModelExchange = "exchange",
        /// Either; the importer chooses.
        Both = "both",
    }
}

impl InterfaceType {
    /// Whether an FMU of this kind can be used as `one`.
    pub(crate) fn offers(self, one: InterfaceType) -> bool {
        self == one || self == InterfaceType::Both
    }
}

named! {
    /// Capabilities declared in addition to, or fewer than, those of the model.
    pub enum Variant {
        /// All capabilities of the model, with inputs held over a step.
        Plain = "plain",
        /// No FMU state.
        NoRollback = "norollback",
        /// Every step as long as the first.
        FixedStep = "fixedstep",
        /// FMI 1.0 and 2.0 only: accepts derivatives of inputs.
        Interpolates = "interpolates",
        /// FMI 3.0 only: requests inputs inside a step.
        Intermediate = "intermediate",
        /// Model exchange: needs `completedIntegratorStep`.
        Completed = "completed",
        /// Model exchange: the same, and requests an event after every fifth step.
        StepEvents = "stepevents",
        /// Model exchange: an event takes three iterations, and changes states in the second.
        Iterates = "iterates",
        /// Model exchange: no derivatives by states and inputs.
        NoDerivatives = "noderivatives",
    }
}

impl Variant {
    /// For co-simulation.
    pub fn exists_in(self, version: Version) -> bool {
        self.exists_for(InterfaceType::CoSimulation, version)
    }

    pub fn exists_for(self, kind: InterfaceType, version: Version) -> bool {
        if version == Version::One && kind != InterfaceType::CoSimulation {
            return false;
        }
        match self {
            Variant::Plain => true,
            // FMI 1.0 has no FMU state to leave out.
            Variant::NoRollback => version != Version::One,
            Variant::FixedStep => kind == InterfaceType::CoSimulation,
            Variant::Interpolates => kind == InterfaceType::CoSimulation && version != Version::Three,
            Variant::Intermediate => kind == InterfaceType::CoSimulation && version == Version::Three,
            Variant::Completed | Variant::StepEvents | Variant::Iterates | Variant::NoDerivatives => {
                kind == InterfaceType::ModelExchange
            }
        }
    }
}

/// The design of one FMU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    /// Such as `native:quarter-car/wheel`.
    pub source: String,
    /// Parameters that are choices: FMI variables cannot change an interface, so they are fixed here.
    pub choices: Vec<(String, String)>,
    pub version: Version,
    pub kind: InterfaceType,
    pub variant: Variant,
    /// Solves for the efforts of lines that end at it.
    pub line: bool,
    /// Controls the delay of those lines itself; FMI 3.0 only.
    pub kappa: bool,
    /// Writes every call to a file, where the library can (`equipment`).
    pub spy: bool,
    /// A quirk of FMUs from other tools, by name; likewise.
    pub quirk: Option<String>,
}

impl Design {
    pub fn new(source: &str, version: Version) -> Design {
        let (kind, variant) = (InterfaceType::CoSimulation, Variant::Plain);
        Design {
            source: source.into(),
            choices: vec![],
            version,
            kind,
            variant,
            line: false,
            kappa: false,
            spy: false,
            quirk: None,
        }
    }

    /// For model exchange only.
    pub fn exchange(source: &str, version: Version) -> Design {
        Design::new(source, version).kind(InterfaceType::ModelExchange)
    }

    pub fn kind(mut self, kind: InterfaceType) -> Design {
        self.kind = kind;
        self
    }

    pub fn variant(mut self, variant: Variant) -> Design {
        self.variant = variant;
        self
    }

    pub fn choice(mut self, name: &str, word: &str) -> Design {
        self.choices.push((name.into(), word.into()));
        self
    }

    /// For co-simulation only.
    pub fn at_lines(mut self) -> Design {
        self.line = true;
        self
    }

    /// The same, in control of the delays of its ends.
    pub fn stretching_lines(mut self) -> Design {
        (self.line, self.kappa) = (true, true);
        self
    }

    pub fn spying(mut self) -> Design {
        self.spy = true;
        self
    }

    pub fn quirk(mut self, quirk: impl Into<String>) -> Design {
        self.quirk = Some(quirk.into());
        self
    }

    /// `quarter-car-wheel-norollback`, `quarter-car-wheel-exchange`.
    pub fn name(&self) -> String {
        let model = self.source.split_once(':').map_or(self.source.as_str(), |(_, model)| model);
        let mut parts = vec![model.replace('/', "-")];
        let plain = |word: &str| word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
        let (words, others): (Vec<_>, Vec<_>) = self.choices.iter().partition(|(_, word)| plain(word));
        parts.extend(words.into_iter().map(|(_, word)| word.clone()));
        if !others.is_empty() {
            let text: String = others.iter().map(|(name, word)| format!("{name} = {word}\n")).collect();
            parts.push(format!("{:08x}", fingerprint(text.as_bytes()) as u32));
        }
        if self.kind != InterfaceType::CoSimulation {
            parts.push(self.kind.text().into());
        }
        if self.variant != Variant::Plain {
            parts.push(self.variant.text().into());
        }
        if self.line {
            parts.push("line".into());
        }
        if self.kappa {
            parts.push("kappa".into());
        }
        if self.spy {
            parts.push("spy".into());
        }
        parts.extend(self.quirk.clone());
        parts.join("-")
    }

    /// `quarter-car-wheel.fmi2.fmu`.
    pub fn file_name(&self) -> String {
        let version = match self.version {
            Version::One => 1,
            Version::Two => 2,
            Version::Three => 3,
        };
        format!("{}.fmi{version}.fmu", self.name())
    }

    /// The model identifier. In FMI 1.0 it is also the prefix of every function, and one library serves all models.
    pub(crate) fn identifier(&self) -> String {
        if self.version == Version::One {
            return "cosimo".into();
        }
        self.name().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
    }

    /// As the file in the FMU has it.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::from("# Written by Cosimo; the FMU reads it when it is instantiated.\n");
        for (key, value) in [
            ("source", self.source.as_str()),
            ("version", self.version.text()),
            ("kind", self.kind.text()),
            ("variant", self.variant.text()),
            ("line", if self.line { "yes" } else { "no" }),
            ("kappa", if self.kappa { "yes" } else { "no" }),
            ("spy", if self.spy { "yes" } else { "no" }),
        ] {
            let _ = writeln!(text, "{key} = \"{value}\"");
        }
        if let Some(quirk) = &self.quirk {
            let _ = writeln!(text, "quirk = \"{quirk}\"");
        }
        for (name, word) in &self.choices {
            let _ = writeln!(text, "choices.{name} = \"{word}\"");
        }
        text
    }

    /// Reads what `to_text` wrote, and the token that was put after it.
    pub(crate) fn from_text(text: &str) -> Result<(Design, String), String> {
        let mut design = Design::new("", Version::Two);
        let mut token = String::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let parts = line
                .split_once(" = ")
                .and_then(|(key, value)| Some((key, value.strip_prefix('"')?.strip_suffix('"')?)));
            let Some((key, value)) = parts else {
                return Err(format!("expected `key = \"value\"`, got `{line}`"));
            };
            let unknown = || format!("unknown {key} `{value}`");
            match key {
                "source" => design.source = value.into(),
                "version" => {
                    let version = Version::EVERY.into_iter().find(|version| version.text() == value);
                    design.version = version.ok_or_else(unknown)?;
                }
                "kind" => {
                    let kind = InterfaceType::ALL.into_iter().find(|kind| kind.text() == value);
                    design.kind = kind.ok_or_else(unknown)?;
                }
                "variant" => {
                    let variant = Variant::ALL.into_iter().find(|variant| variant.text() == value);
                    design.variant = variant.ok_or_else(unknown)?;
                }
                "line" => design.line = value == "yes",
                "kappa" => design.kappa = value == "yes",
                "spy" => design.spy = value == "yes",
                "quirk" => design.quirk = Some(value.into()),
                "token" => token = value.into(),
                _ => match key.strip_prefix("choices.") {
                    Some(name) => design.choices.push((name.into(), value.into())),
                    None => return Err(format!("unknown key `{key}`")),
                },
            }
        }
        Ok((design, token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for version in Version::EVERY {
            for (variant, kind) in
                Variant::ALL.into_iter().flat_map(|v| InterfaceType::ALL.map(|kind| (v, kind)))
            {
                let design = Design::new("native:quarter-car/wheel-strut", version)
                    .kind(kind)
                    .variant(variant)
                    .choice("displacement", "communicated")
                    .stretching_lines()
                    .spying();
                let text = design.to_text() + "token = \"{1}\"\n";
                assert_eq!(Design::from_text(&text), Ok((design, "{1}".into())));
            }
        }
        let design = Design::new("native:dual-mass/left", Version::Two).quirk("deaf");
        assert_eq!(Design::from_text(&design.to_text()), Ok((design, String::new())));
        assert_eq!(Design::from_text("source"), Err("expected `key = \"value\"`, got `source`".into()));
        assert_eq!(Design::from_text("variant = \"odd\""), Err("unknown variant `odd`".into()));
    }

    #[test]
    fn names_of_files_and_identifiers() {
        let design = Design::new("native:quarter-car/wheel", Version::Three).variant(Variant::NoRollback);
        assert_eq!(design.file_name(), "quarter-car-wheel-norollback.fmi3.fmu");
        assert_eq!(design.identifier(), "quarter_car_wheel_norollback");
        assert_eq!(design.kind(InterfaceType::Both).name(), "quarter-car-wheel-both-norollback");
    }
}
