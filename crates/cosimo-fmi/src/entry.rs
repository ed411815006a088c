//! The registry entry: sources that end in `.fmu`.

use std::path::Path;
use std::sync::Arc;

use cosimo_core::SourceEntry;
use cosimo_core::registry::{JoinRequest, JoinResult, OpenProblem, OpenRequest, OpenResult, suggest};

use crate::archive::Cache;
use crate::co_simulation::CoSimulationFmu;
use crate::description::{Fmi, FmuUse};
use crate::fmi1::Fmi1Instance;
use crate::fmi2::Fmi2Instance;
use crate::fmi3::Fmi3Instance;
use crate::fmu::Fmu;
use crate::model_exchange::{FmuEquations, Single};
use crate::monolithic;
use crate::parameters::{self, Parameters};
use crate::problem::FileProblem;

/// Sources such as `parts/engine.fmu`, relative to the system file.
pub const FMU: SourceEntry = SourceEntry {
    name: "fmu",
    summary: "a Functional Mock-up Unit: FMI 1.0, 2.0 or 3.0, co-simulation or model exchange",
    claims: |source| source.to_ascii_lowercase().ends_with(".fmu"),
    open,
    parameters: |source, folder| {
        let fmu = Fmu::share(&folder.join(source), &Cache::standard(&crate::fmu::FMU_ARCHIVE));
        fmu.map(|fmu| parameters::known(&fmu.description)).unwrap_or_default()
    },
    models: Vec::new,
    join: Some(join),
};

fn open(request: &OpenRequest<'_>) -> OpenResult {
    let (fmu, usage, parameters) = prepare(request)?;
    // One kind of simulator per version and use, so that all between the engine's call and the FMU's functions is
    // one piece of straight code.
    let name = request.name;
    Ok(match (usage, fmu.description.fmi) {
        (FmuUse::CoSimulation, Fmi::One) => {
            Box::new(CoSimulationFmu::<Fmi1Instance>::new(fmu, parameters, name))
        }
        // Descriptions of such are not opened; nothing gets here.
        (FmuUse::ModelExchange, Fmi::One) => {
            let message = "FMI 1.0 for model exchange is not supported".into();
            return Err(vec![OpenProblem { parameter: None, message, hint: None }]);
        }
        (FmuUse::CoSimulation, Fmi::Two) => {
            Box::new(CoSimulationFmu::<Fmi2Instance>::new(fmu, parameters, name))
        }
        (FmuUse::CoSimulation, Fmi::Three) => {
            Box::new(CoSimulationFmu::<Fmi3Instance>::new(fmu, parameters, name))
        }
        (FmuUse::ModelExchange, Fmi::Two) => {
            Box::new(FmuEquations::<Single<Fmi2Instance>>::of_fmu(fmu, parameters, name))
        }
        (FmuUse::ModelExchange, Fmi::Three) => {
            Box::new(FmuEquations::<Single<Fmi3Instance>>::of_fmu(fmu, parameters, name))
        }
    })
}

fn join(request: &JoinRequest<'_>) -> JoinResult {
    let (mut members, mut problems) = (Vec::new(), Vec::new());
    for (index, member) in request.members.iter().enumerate() {
        match prepare(member) {
            Ok((fmu, _, parameters)) => members.push((fmu, parameters)),
            Err(found) => problems.extend(found.into_iter().map(|problem| (Some(index), problem))),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Box::new(monolithic::join(request, members)?))
}

/// An FMU in the folder of one that is not there, if its name is nearly the same.
fn alike(missing: &Path) -> Option<String> {
    if missing.exists() {
        return None;
    }
    let folder = missing.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.to_ascii_lowercase().ends_with(".fmu"))
        .collect();
    let near = suggest(missing.file_name()?.to_str()?, names.iter().map(String::as_str));
    near.starts_with("did you mean").then_some(near)
}

/// The FMU, loaded for the use that was chosen, and its parameters.
fn prepare(request: &OpenRequest<'_>) -> Result<(Arc<Fmu>, FmuUse, Parameters), Vec<OpenProblem>> {
    let file = request.folder.join(request.source);
    let source = |problem: FileProblem| {
        let (message, hint) = (problem.sentence(), alike(&file).or(problem.hint));
        OpenProblem { parameter: None, message: format!("{}: {message}", request.source), hint }
    };
    let fmu = Fmu::share(&file, &Cache::standard(&crate::fmu::FMU_ARCHIVE))
        .map_err(|problems| problems.into_iter().map(source).collect::<Vec<_>>())?;
    let mut problems = Vec::new();
    let wish = request.joined.then_some(FmuUse::ModelExchange);
    let parameters = parameters::read(&fmu.description, request.parameters, wish).unwrap_or_else(|wrong| {
        problems.extend(wrong);
        Parameters::default()
    });
    let usage = parameters.usage.or(wish).unwrap_or(fmu.description.default_use());
    if problems.is_empty() && request.joined && usage != FmuUse::ModelExchange {
        problems.push(OpenProblem {
            parameter: Some("cosimo.use".into()),
            message: "only FMUs for model exchange can be members of a monolithic group".into(),
            hint: None,
        });
    }
    if problems.is_empty() && fmu.description.offer(usage).is_none() {
        let model = &fmu.description.model_name;
        problems.push(OpenProblem {
            parameter: None,
            message: format!(
                "FMU `{model}` does not support {}, which a monolithic group requires",
                usage.name()
            ),
            hint: Some("remove it from the group, or export it for model exchange".into()),
        });
    }
    if problems.is_empty()
        && let Err(problem) = fmu.load(usage)
    {
        problems.push(source(problem));
    }
    if problems.is_empty() { Ok((fmu, usage, parameters)) } else { Err(problems) }
}
