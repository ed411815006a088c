//! The registry entry: sources that end in `.fmu`.

use cosimo_core::SourceEntry;
use cosimo_core::entry::{OpenProblem, OpenRequest, Opened};

use crate::archive::Cache;
use crate::cosim::Cosim;
use crate::description::{Fmi, Use};
use crate::exchange::Exchange;
use crate::parameters;
use crate::problem::Problem;
use crate::unit::Unit;
use crate::unit2::Unit2;
use crate::unit3::Unit3;

/// Sources such as `parts/engine.fmu`, relative to the system file.
pub const FMU: SourceEntry = SourceEntry {
    name: "fmu",
    summary: "a Functional Mock-up Unit: FMI 2.0 or 3.0, co-simulation or model exchange",
    claims: |source| source.to_ascii_lowercase().ends_with(".fmu"),
    open,
    parameters: |source, folder| {
        let unit = Unit::share(&folder.join(source), &Cache::standard(&crate::unit::UNIT));
        unit.map(|unit| parameters::known(&unit.description)).unwrap_or_default()
    },
    models: Vec::new,
};

fn open(request: &OpenRequest<'_>) -> Opened {
    let file = request.folder.join(request.source);
    let source = |problem: Problem| {
        let (message, hint) = (problem.sentence(), problem.hint);
        OpenProblem { parameter: None, message: format!("{}: {message}", request.source), hint }
    };
    let unit = Unit::share(&file, &Cache::standard(&crate::unit::UNIT))
        .map_err(|problems| problems.into_iter().map(source).collect::<Vec<_>>())?;
    let mut problems = Vec::new();
    let parameters = parameters::read(&unit.description, request.parameters).unwrap_or_else(|wrong| {
        problems.extend(wrong);
        parameters::Parameters::default()
    });
    let usage = parameters.usage.unwrap_or(unit.description.usual());
    if problems.is_empty()
        && let Err(problem) = unit.load(usage)
    {
        problems.push(source(problem));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    // One kind of simulator per version and use, so that all between the engine's call and the unit's functions is
    // one piece of straight code.
    Ok(match (usage, unit.description.fmi) {
        (Use::CoSimulation, Fmi::Two) => Box::new(Cosim::<Unit2>::new(unit, parameters, request.name)),
        (Use::CoSimulation, Fmi::Three) => Box::new(Cosim::<Unit3>::new(unit, parameters, request.name)),
        (Use::ModelExchange, Fmi::Two) => Box::new(Exchange::<Unit2>::new(unit, parameters, request.name)),
        (Use::ModelExchange, Fmi::Three) => Box::new(Exchange::<Unit3>::new(unit, parameters, request.name)),
    })
}
