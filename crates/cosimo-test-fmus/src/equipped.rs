//! The hooks of one instance: its call log, its fault and its quirk.

use std::ffi::c_void;

use cosimo_core::Spec;
use cosimo_core::registry::{OptionKind, suggest};
use cosimo_export::equipment::{DiscreteStatesUpdate, Equipment, HookEffect, Hooks, ImporterLog};
use cosimo_export::{Design, Version};

use crate::quirk::Quirk;
use crate::sabotage::{DERIVATIVES, FAULT, FAULTS, STEP, Sabotage, strike_call};
use crate::spy::{FILE, Spy};
use crate::{SABOTEUR, harm};

struct TestEquipment {
    version: Version,
    spy: Option<Spy>,
    sabotage: Option<Sabotage>,
    quirk: Option<Quirk>,
}

pub(crate) fn equip(design: &Design, instance: &str) -> Result<Hooks, String> {
    let quirk_named = |name: &String| {
        let quirk = Quirk::ALL.into_iter().find(|quirk| quirk.text() == name);
        quirk.ok_or_else(|| format!("unknown quirk `{name}`"))
    };
    let equipped = TestEquipment {
        version: design.version,
        spy: design.spy.then(|| Spy::new(instance)),
        sabotage: (design.source == SABOTEUR).then(Sabotage::default),
        quirk: design.quirk.as_ref().map(quirk_named).transpose()?,
    };
    let plain = equipped.spy.is_none() && equipped.sabotage.is_none() && equipped.quirk.is_none();
    Ok((!plain).then(|| Box::new(equipped) as Box<dyn Equipment>))
}

/// What some FMUs pass to callbacks instead of the environment: a small integer.
const SMALL: *mut c_void = std::ptr::without_provenance_mut(7);

impl TestEquipment {
    fn fault(&self) -> &str {
        self.sabotage.as_ref().map_or("", |sabotage| &sabotage.fault)
    }
}

impl Equipment for TestEquipment {
    fn before_call(&mut self, function: &str) {
        if self.sabotage.is_some() {
            strike_call(function);
        }
    }

    fn records(&self) -> bool {
        self.spy.is_some()
    }

    fn record(&mut self, function: &str, arguments: &str, outcome: &str) {
        if let Some(spy) = &mut self.spy {
            spy.call(function, arguments, outcome);
        }
    }

    fn warning(&mut self, text: &str) {
        if let Some(spy) = &mut self.spy {
            spy.comment(text);
        }
    }

    fn message_after(&self, function: &str) -> Option<String> {
        let logs = self.quirk == Some(Quirk::SmallEnvironment) && function.ends_with("DoStep");
        logs.then(|| format!("{function}: one message per step"))
    }

    fn environment(&self, given: *mut c_void) -> *mut c_void {
        if self.quirk == Some(Quirk::SmallEnvironment) { SMALL } else { given }
    }

    fn instantiated(&mut self, log: ImporterLog) {
        if self.quirk == Some(Quirk::LateLog) {
            harm::log_later(log);
        }
    }

    fn begin(&mut self) {
        if let Some(sabotage) = &mut self.sabotage {
            *sabotage = Sabotage::default();
        }
    }

    fn resets_parameters(&self) -> bool {
        self.quirk == Some(Quirk::Resets) && self.version == Version::Two
    }

    fn initialized(&mut self) {
        if let Some(spy) = &mut self.spy {
            spy.decide();
        }
    }

    fn check_text(&self, name: &str, text: &str) -> Result<(), String> {
        if name == FAULT.name && !FAULTS.contains(&text) {
            return Err(format!("there is no fault `{text}`; {}", suggest(text, FAULTS.iter().copied())));
        }
        Ok(())
    }

    fn take_text(&mut self, name: &str, text: &str) {
        match (&mut self.spy, &mut self.sabotage) {
            (Some(spy), _) if name == FILE.name => spy.aim(text),
            (_, Some(sabotage)) if name == FAULT.name => sabotage.fault = text.into(),
            _ => {}
        }
    }

    fn before_input(&self) {
        if self.fault() == "input-crash" {
            harm::segfault();
        }
    }

    fn ignores(&self, specs: &[(&'static Spec, f64)], place: usize) -> bool {
        let real = |(spec, _): &(&Spec, f64)| matches!(spec.kind, OptionKind::Number { .. });
        self.quirk == Some(Quirk::Deaf) && specs.iter().position(real) == Some(place)
    }

    fn on_step(&mut self, parameters: &[f64], size: f64, kept: bool) -> HookEffect {
        let deed = self.sabotage.as_mut().map(|sabotage| sabotage.strike(parameters[0], size, STEP));
        match deed.unwrap_or(HookEffect::None) {
            HookEffect::None if self.quirk == Some(Quirk::Hesitates) && !kept => HookEffect::Skip,
            deed => deed,
        }
    }

    fn on_derivatives(&mut self, parameters: &[f64]) -> HookEffect {
        self.sabotage
            .as_mut()
            .map_or(HookEffect::None, |sabotage| sabotage.strike(parameters[0], 0.0, DERIVATIVES))
    }

    fn on_restore(&mut self, parameters: &[f64]) -> bool {
        self.sabotage.as_mut().is_some_and(|sabotage| sabotage.strike_restore(parameters[0]))
    }

    fn on_event(
        &mut self,
        parameters: &[f64],
        time: f64,
        first: bool,
        update: &mut DiscreteStatesUpdate,
        x: &mut [f64],
    ) {
        if let Some(sabotage) = &mut self.sabotage {
            if first {
                sabotage.strike_event(parameters[0], time, update, x);
            }
            sabotage.unsettle(update);
        }
    }

    fn ends_after(&self, parameters: &[f64], steps: u64) -> bool {
        self.fault() == "terminate-completed" && steps as f64 == parameters[0]
    }

    fn more_indicators(&self) -> usize {
        usize::from(self.fault() == "indicators")
    }

    fn shown(&self, value: f64, initializing: bool) -> f64 {
        if self.sabotage.as_ref().is_some_and(|sabotage| sabotage.poisoned) {
            f64::NAN
        } else if self.quirk == Some(Quirk::LateOutputs) && initializing {
            0.0
        } else {
            value
        }
    }

    fn last_time(&self, time: f64, begun: f64, early: bool) -> f64 {
        if self.quirk == Some(Quirk::Ahead) && self.version == Version::Three && !early {
            return begun.next_up();
        }
        self.sabotage.as_ref().map_or(time, |sabotage| time - sabotage.behind)
    }
}
