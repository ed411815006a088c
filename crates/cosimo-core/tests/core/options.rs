use cosimo_core::interface::{Needs, ValueRange};
use cosimo_core::method::StepController;
use cosimo_core::registry::{MethodEntry, Options, Range, Spec, find, number_text, suggest};
use cosimo_core::{SimulatorError, StepError, Time, Value};

#[test]
fn ranges_hold_their_ends() {
    for (range, inside, outside) in [
        (Range::Finite, [-1e300, 1e300], [f64::INFINITY, f64::NAN]),
        (Range::Positive, [1e-300, 5.0], [0.0, -1.0]),
        (Range::NotNegative, [0.0, 5.0], [-1e-300, f64::INFINITY]),
        (Range::Unit, [0.0, 1.0], [-1e-9, 1.0 + 1e-9]),
    ] {
        assert!(inside.iter().all(|number| range.holds(*number)), "{range:?}");
        assert!(!outside.iter().any(|number| range.holds(*number)), "{range:?}");
    }
}

#[test]
fn counts_are_whole_and_within_bounds() {
    let specs = [Spec::count("steps", 4, 2, "")];
    let accepts = |number: f64| {
        Options::resolve("it", &specs, &[("steps".into(), Value::Number(number))])
            .map(|options| options.count("steps"))
    };
    assert_eq!(accepts(2.0).unwrap(), 2);
    assert_eq!(accepts(f64::from(u32::MAX)).unwrap(), u32::MAX as usize);
    for wrong in [1.0, 2.5, f64::from(u32::MAX) + 1.0, f64::NAN] {
        assert!(accepts(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_last_of_equal_keys_counts() {
    let specs = [Spec::number("gain", 0.5, Range::Unit, "", ""), Spec::names("only", "")];
    let names = Value::List(vec!["a".into(), "b".into()]);
    let given =
        [("gain".to_owned(), 0.1.into()), ("gain".to_owned(), 0.2.into()), ("only".to_owned(), names)];
    let options = Options::resolve("it", &specs, &given).unwrap();
    assert_eq!((options.number("gain"), options.names("only")), (0.2, vec!["a".to_owned(), "b".to_owned()]));
    let mixed = [("only".to_owned(), Value::List(vec![1.0.into()]))];
    assert!(Options::resolve("it", &specs, &mixed).is_err());
}

#[test]
fn a_name_is_suggested_up_to_a_quarter_of_its_letters() {
    let known = || ["nepce", "identified", "a"].into_iter();
    assert_eq!(suggest("nepec", known()), "did you mean `nepce`?");
    // One and a quarter of the longer word: two letters of five, three of ten, and no more.
    assert_eq!(suggest("nipcx", known()), "did you mean `nepce`?");
    assert_eq!(suggest("nixcx", known()), "known are `nepce`, `identified`, `a`");
    assert_eq!(suggest("idantafxed", known()), "did you mean `identified`?");
    assert_eq!(suggest("idantafxad", known()), "known are `nepce`, `identified`, `a`");
    // One letter is no near miss of another.
    assert_eq!(suggest("b", known()), "known are `nepce`, `identified`, `a`");
    assert_eq!(suggest("b", [].into_iter()), "there is none to choose from");
    let many: Vec<String> = (0..14).map(|n| format!("number{n:09}")).collect();
    let hint = suggest("x", many.iter().map(String::as_str));
    assert!(hint.contains("`number000000011` and 2 more") && !hint.contains("12"), "{hint}");
    let hint = suggest("x", many[..12].iter().map(String::as_str));
    assert!(hint.ends_with("`number000000011`"), "{hint}");
}

#[test]
fn numbers_are_written_as_people_write_them() {
    for (number, text) in [
        (0.0, "0"),
        (0.001, "0.001"),
        (9.9e-4, "9.9e-4"),
        (-2.5, "-2.5"),
        (999_999.0, "999999"),
        (1e6, "1e6"),
    ] {
        assert_eq!(number_text(number), text);
    }
}

#[test]
fn limits_hold_their_ends() {
    let limits = ValueRange { least: -1.0, largest: 2.0 };
    assert!([-1.0, 0.0, 2.0].iter().all(|value| limits.contains(*value)));
    assert!(![-1.1, 2.1, f64::NAN].iter().any(|value| limits.contains(*value)));
    assert_eq!(limits.to_string(), "from -1 to 2");
    assert_eq!(ValueRange { least: -1.0, ..ValueRange::NONE }.to_string(), "at least -1");
    assert_eq!(ValueRange { largest: 2.0, ..ValueRange::NONE }.to_string(), "at most 2");
}

#[test]
fn needs_are_listed_in_a_fixed_order() {
    let all = Needs { rollback: true, slopes: true, jacobian: true, variable_step: true, bonds: true };
    assert_eq!(
        all.text(),
        ["rollback", "output slopes", "output derivatives", "variable step size", "a power bond"]
    );
    assert!(Needs::NOTHING.text().is_empty());
}

#[test]
fn instants_are_ordered_and_never_nan() {
    assert!(Time::new(f64::NAN).is_none());
    let (early, late) = (Time::new(1.0).unwrap(), Time::new(2.0).unwrap());
    assert!(early < late && early == Time::new(1.0).unwrap() && early.max(late) == late);
    assert_eq!(early.to_string(), "1 s");
}

#[test]
fn entries_are_found_by_name() {
    struct Double;
    impl StepController for Double {
        fn factor(&self, _: &[f64], _: f64, _: u32) -> f64 {
            2.0
        }
    }
    const fn entry(name: &'static str) -> MethodEntry<dyn StepController> {
        MethodEntry {
            name,
            summary: "",
            source: "",
            order: "",
            options: &[],
            needs: |_| Needs::NOTHING,
            build: |_| Box::new(Double),
        }
    }
    static ENTRIES: [MethodEntry<dyn StepController>; 2] = [entry("one"), entry("two")];
    let entries = [&ENTRIES[0], &ENTRIES[1]];
    assert_eq!(find(&entries, "two").map(|entry| entry.name), Some("two"));
    assert!(find(&entries, "three").is_none());
}

#[test]
fn failed_steps_have_hints() {
    let window = crate::window(1.0, 0.4);
    let unstable =
        StepError::NotFinite { simulator: "a".into(), output: "y".into(), window, value: f64::NAN };
    assert!(unstable.hint().contains("try `--step 1.0e-1`"), "{}", unstable.hint());
    let failed = |cause| StepError::Failed { simulator: "a".into(), window, cause };
    assert!(!failed(SimulatorError::new("step", "no")).discarded());
}
