//! The models that can become an FMU: the native ones and the saboteur. A model is opened anew whenever a
//! parameter changes; numbers and counts may change until initialisation ends, the rest is fixed.

use std::path::Path;

use cosimo_core::entry::{Kind, ModelInfo, OpenRequest};
use cosimo_core::{Simulator, Spec, Value};
use cosimo_models::NATIVE;

use crate::design::Design;
use crate::variables::Text;
use crate::{sabotage, spy};

/// Does what it is told to do wrong.
pub const SABOTEUR: &str = "test:saboteur";

/// All native models but those that are faults themselves; tests export these too.
pub fn sources() -> Vec<String> {
    let models = (NATIVE.models)().into_iter().filter(|model| !model.name.starts_with("faulty/"));
    models.map(|model| format!("native:{}", model.name)).collect()
}

/// A model by name, with what can be set.
#[derive(Debug)]
pub(crate) struct Model {
    source: String,
    pub(crate) summary: &'static str,
    /// What becomes a variable, with its default.
    pub(crate) parameters: Vec<(&'static Spec, f64)>,
    pub(crate) texts: Vec<Text>,
    fixed: Vec<(String, Value)>,
}

impl Model {
    pub(crate) fn of(design: &Design) -> Result<Model, String> {
        let (summary, specs): (_, &'static [Spec]) = if design.source == SABOTEUR {
            (sabotage::SUMMARY, sabotage::PARAMETERS)
        } else {
            let named = |info: &ModelInfo| design.source.strip_prefix("native:") == Some(&info.name);
            match (NATIVE.models)().into_iter().find(named) {
                Some(info) => (info.summary, info.parameters),
                None => return Err(format!("there is no model `{}`", design.source)),
            }
        };
        let parameters = specs
            .iter()
            .filter_map(|spec| match spec.kind {
                Kind::Number { default, .. } => Some((spec, default?)),
                Kind::Count { default, .. } => Some((spec, f64::from(default))),
                _ => None,
            })
            .collect();
        let fixed =
            design.choices.iter().map(|(name, word)| (name.clone(), Value::Text(word.clone()))).collect();
        let mut texts = Vec::new();
        if design.source == SABOTEUR {
            texts.push(sabotage::FAULT);
        }
        if design.spy {
            texts.push(spy::FILE);
        }
        Ok(Model { source: design.source.clone(), summary, parameters, texts, fixed })
    }

    pub(crate) fn defaults(&self) -> Vec<f64> {
        self.parameters.iter().map(|(_, default)| *default).collect()
    }

    /// With one value per parameter.
    pub(crate) fn open(&self, values: &[f64]) -> Result<Box<dyn Simulator>, String> {
        if self.source == SABOTEUR {
            return Ok(Box::new(sabotage::Integrator::default()));
        }
        let mut given = self.fixed.clone();
        for ((spec, _), value) in self.parameters.iter().zip(values) {
            given.push((spec.name.into(), Value::Number(*value)));
        }
        let request =
            OpenRequest { name: "model", source: &self.source, folder: Path::new(""), parameters: &given };
        (NATIVE.open)(&request).map_err(|problems| {
            let messages: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
            messages.join("; ")
        })
    }
}
