//! A table as a simulator: values between rows, at jumps and beyond the ends, and tables that cannot be played.

use cosimo_core::recorder::Columns;
use cosimo_core::registry::OpenRequest;
use cosimo_core::{Inputs, Outputs, Setup, Simulator, Source, Time, Unit, Value, Window};
use cosimo_record::{ARROW, FORMATS, Table, Tables, write};

use crate::folder;

fn table(times: &[f64], values: &[f64]) -> Table {
    let names = vec!["time".into(), "u".into()];
    let columns = Columns { names, units: vec!["s".into(), "N".into()] };
    Table { columns, values: vec![times.to_vec(), values.to_vec()] }
}

/// Opens a table, or says all that is wrong with it.
fn opened(name: &str, table: &Table, interpolation: &str) -> Result<Box<dyn Simulator>, Vec<String>> {
    let folder = folder(name);
    write(&folder.join("table.arrow"), &ARROW, table).unwrap();
    let request = OpenRequest {
        name: "table",
        source: "table.arrow",
        folder: &folder,
        parameters: &[("interpolation".into(), Value::Text(interpolation.into()))],
        joined: false,
    };
    let wrong = Tables::new(FORMATS).open(&request);
    wrong.map_err(|problems| problems.into_iter().map(|problem| problem.message).collect())
}

fn instant(seconds: f64) -> Time {
    Time::new(seconds).unwrap()
}

/// Behind a jump of this instant, or before it.
fn at<const N: usize>(playback: &mut dyn Simulator, time: f64, behind: bool) -> [f64; N] {
    let (from, inputs) = (instant(0.0), Inputs::of(&[]));
    playback.initialize(&Setup { start: from, stop: None, stop_at_events: true, rewinds: true }).unwrap();
    playback.do_step(Window { from, to: instant(time), size: time }, &inputs).unwrap();
    if behind {
        playback.set_inputs(instant(time), &inputs).unwrap();
    }
    let mut values = [f64::NAN; N];
    playback.get_outputs(&mut Outputs { values: &mut values, slopes: &mut [] }).unwrap();
    values
}

#[test]
fn between_rows_at_jumps_and_beyond_the_ends() {
    let table = table(&[1.0, 2.0, 2.0, 4.0], &[10.0, 20.0, 0.0, 1.0]);
    let mut line = opened("played-lines", &table, "linear").unwrap();
    let found = [0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0].map(|time| at::<1>(&mut *line, time, true)[0]);
    assert_eq!(found, [10.0, 10.0, 15.0, 0.0, 0.5, 1.0, 1.0]);
    let mut held = opened("played-rows", &table, "hold").unwrap();
    let found = [0.0, 1.9, 2.0, 3.9, 4.0].map(|time| at::<1>(&mut *held, time, true)[0]);
    assert_eq!(found, [10.0, 10.0, 0.0, 0.0, 1.0]);
    assert_eq!(line.interface().outputs[0].unit, Unit::parse("N").ok());
}

#[test]
fn columns_for_discrete_inputs_are_held_and_jump_at_their_rows_only() {
    let names = ["time", "u", "n"].map(String::from).to_vec();
    let columns = Columns { names, units: vec![String::new(); 3] };
    let values = vec![vec![0.0, 1.0, 2.0, 3.0], vec![0.0, 1.0, 2.0, 3.0], vec![0.0, 1.0, 1.0, 0.0]];
    let mut playback = opened("played-discrete", &Table { columns, values }, "linear").unwrap();
    playback.hold_outputs(&[1]);
    let discrete: Vec<bool> = playback.interface().outputs.iter().map(|port| port.discrete).collect();
    assert_eq!(discrete, [false, true]);
    let mut both = |time: f64, behind: bool| at::<2>(&mut *playback, time, behind);
    assert_eq!(both(0.5, true), [0.5, 0.0]);
    assert_eq!((both(1.0, false), both(1.0, true)), ([1.0, 0.0], [1.0, 1.0]));
    assert_eq!((both(2.5, true), both(3.0, true), both(9.0, true)), ([2.5, 1.0], [3.0, 0.0], [3.0, 0.0]));
    let jumps = [0.5, 1.5, 2.0, 3.0].map(|time| {
        at::<2>(&mut *playback, time, true);
        playback.events().unwrap().next_event().unwrap()
    });
    assert_eq!(jumps, [Some(instant(1.0)), Some(instant(3.0)), Some(instant(3.0)), None]);
}

#[test]
fn all_that_is_wrong_with_a_table_comes_at_once() {
    let messages = |name: &str, table: &Table| opened(name, table, "linear").err().unwrap();
    assert_eq!(
        messages("played-wrong", &table(&[0.0, 2.0, 1.0], &[0.0, f64::NAN, 1.0])),
        ["table.arrow: row 2 of column `u` is NaN", "table.arrow: time goes back from 2 s to 1 s in row 3"]
    );
    assert_eq!(messages("played-empty", &table(&[], &[])), ["table.arrow: found 2 columns and 0 rows"]);
    let mut other = table(&[0.0], &[0.0]);
    other.columns.names[0] = "t".into();
    assert_eq!(
        messages("played-timeless", &other),
        ["table.arrow: the first column must be `time`, got `t`"]
    );
}
