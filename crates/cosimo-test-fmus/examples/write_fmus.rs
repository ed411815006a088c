//! Writes all FMUs that tests, benchmarks and people want: every native model in all versions, variants of the
//! quarter car and the dual mass, those at which lines can end, spies of all, the same for model exchange, and the
//! saboteur; or only those whose file name begins with one of the names. `cargo xtask fmus` runs it.

use std::path::Path;
use std::process::ExitCode;

use cosimo_test_fmus::{
    CLOCKS, Design, ECHO, InterfaceType, SABOTEUR, Variant, Version, exchange_sources, is_test_fmu, sources,
    write,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, test_library, folder, names @ ..] = arguments.as_slice() else {
        eprintln!("usage: write_fmus LIBRARY TEST_LIBRARY FOLDER [NAME...]");
        return ExitCode::FAILURE;
    };
    match write_all(Path::new(library), Path::new(test_library), Path::new(folder), names) {
        Ok(count) => {
            println!("{count} FMUs in {folder}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Families of models at which lines can end.
const LINES: [&str; 3] = ["native:spring-mass/", "native:drive-cycle/", "native:robot/"];

fn designs() -> Vec<Design> {
    let mut designs = Vec::new();
    let solved_here = sources();
    for version in Version::ALL {
        for source in &solved_here {
            let varied = source.starts_with("native:quarter-car/") || source.starts_with("native:dual-mass/");
            for variant in Variant::ALL {
                if variant == Variant::Plain || varied && variant.exists_in(version) {
                    let design = Design::new(source, version).variant(variant);
                    designs.extend([design.clone(), design.spying()]);
                }
            }
        }
        for source in exchange_sources() {
            let varied = source.starts_with("native:quarter-car/") || source.starts_with("native:dual-mass/");
            for variant in Variant::ALL {
                let exists = variant.exists_for(InterfaceType::ModelExchange, version);
                // Those with events in all variants: that is what these are about.
                if variant == Variant::Plain || (varied || !solved_here.contains(&source)) && exists {
                    let design = Design::exchange(&source, version).variant(variant);
                    designs.extend([design.clone(), design.spying()]);
                }
            }
            if solved_here.contains(&source) {
                designs.push(Design::new(&source, version).kind(InterfaceType::Both));
            }
        }
        for source in
            solved_here.iter().filter(|source| LINES.iter().any(|family| source.starts_with(family)))
        {
            let design = Design::new(source, version).at_lines();
            designs.extend([design.clone(), design.spying()]);
            if version == Version::Three {
                let design = Design::new(source, version).stretching_lines();
                designs.extend([design.clone(), design.spying()]);
            }
        }
        for strut in ["native:quarter-car/wheel-strut", "native:quarter-car/chassis-strut"] {
            designs.push(Design::new(strut, version).choice("displacement", "communicated"));
        }
        for variant in Variant::ALL.into_iter().filter(|variant| variant.exists_in(version)) {
            designs.push(Design::new(SABOTEUR, version).variant(variant));
        }
        designs.push(Design::exchange(SABOTEUR, version));
        designs.extend([Design::new(ECHO, version), Design::new(ECHO, version).spying()]);
        // Time events in co-simulation; in FMI 3.0 with event mode.
        let stair = Design::new("native:stair", version);
        designs.extend([stair.clone(), stair.clone().variant(Variant::NoRollback), stair.clone().spying()]);
        designs.push(stair.kind(InterfaceType::Both));
    }
    designs.extend([Design::new(CLOCKS, Version::Three), Design::new(CLOCKS, Version::Three).spying()]);
    designs.extend(slaves());
    designs
}

/// FMI 1.0: the models of the papers in all variants, the others plain, and the test FMUs.
fn slaves() -> Vec<Design> {
    let version = Version::One;
    let mut designs = Vec::new();
    for source in sources() {
        let varied = source.starts_with("native:quarter-car/") || source.starts_with("native:dual-mass/");
        for variant in Variant::ALL.into_iter().filter(|variant| variant.exists_in(version)) {
            if variant == Variant::Plain || varied {
                let design = Design::new(&source, version).variant(variant);
                designs.extend([design.clone(), design.spying()]);
            }
        }
    }
    designs.extend(["native:stair", SABOTEUR, ECHO].map(|source| Design::new(source, version)));
    designs
}

fn write_all(library: &Path, test_library: &Path, folder: &Path, names: &[String]) -> Result<usize, String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut designs = designs();
    if !names.is_empty() {
        designs.retain(|design| names.iter().any(|name| design.file_name().starts_with(name.as_str())));
    }
    for design in &designs {
        let library = if is_test_fmu(design) { test_library } else { library };
        write(design, library, &folder.join(design.file_name()))?;
    }
    Ok(designs.len())
}
