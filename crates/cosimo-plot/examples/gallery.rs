//! Prints a figure with everything the crate can draw: `cargo run -p cosimo-plot --example gallery > gallery.svg`.

#![allow(clippy::disallowed_methods, reason = "no number of a run follows from it")]

use cosimo_plot::{Axis, Figure, Panel, Series, Style};

fn main() {
    let times = || (0..=1000).map(|i| f64::from(i) / 100.0);
    let curve = |f: fn(f64) -> f64| times().map(|t| (t, f(t))).collect::<Vec<_>>();
    let motion =
        Panel::new("Velocity of the wheel", Axis::linear("time in s"), Axis::linear("velocity in m/s"))
            .with(Series::new("coupled, step 10 ms", curve(|t| (-0.2 * t).exp() * (3.0 * t).sin())))
            .with(
                Series::new("monolithic", curve(|t| (-0.2 * t).exp() * (3.02 * t).sin() * 0.97))
                    .styled(Style::Dashed),
            )
            .with(
                Series::new(
                    "held input",
                    (0..=40).map(|i| f64::from(i) / 4.0).map(|t| (t, (3.0 * t).sin() * 0.3)).collect(),
                )
                .styled(Style::Steps),
            )
            .with(
                Series::new(
                    "measured",
                    (0..60).map(|i| f64::from(i) / 6.0).map(|t| (t, (t * 1.1).cos() * 0.6)).collect(),
                )
                .styled(Style::Dots),
            );

    let orders = (1..=4).fold(
        Panel::new("Error against step size", Axis::log("step size in s"), Axis::log("largest error in N")),
        |panel, order| {
            let points =
                (0..12).map(|i| 10_f64.powf(-4.0 + f64::from(i) / 4.0)).map(|h| (h, 3.0 * h.powi(order)));
            panel.with(Series::new(format!("order {order}"), points.collect()))
        },
    );

    let noise = (0..1_000_000)
        .map(|i| {
            let t = f64::from(i) * 1e-5;
            let spike = if i == 314_159 { 6e6 } else { 0.0 };
            (t, spike + 1e6 * (t * 2.0).sin() + 4e5 * (f64::from(i) * 12.9898).sin())
        })
        .map(|(t, y)| (t, if (6.0..6.5).contains(&t) { f64::NAN } else { y }))
        .collect();
    let many = Panel::new(
        "A million points with one spike and a gap",
        Axis::linear("time in s"),
        Axis::linear("power in W"),
    )
    .with(Series::new("", noise));

    let palette = (0..9).fold(
        Panel::new("Nine curves <with> \"odd\" & long names", Axis::linear("time in s"), Axis::linear("")),
        |panel, k| {
            let points = times().map(|t| (t, f64::from(k) + 0.4 * (t + f64::from(k)).sin())).collect();
            panel.with(Series::new(format!("simulator{k}.output_velocity"), points))
        },
    );
    let constant = Panel::new("Constant", Axis::linear("time in s"), Axis::linear("temperature in K"))
        .with(Series::new("room", vec![(0.0, 293.15), (10.0, 293.15)]));
    let empty = Panel::new("Empty", Axis::linear("time in s"), Axis::log("residual in W"))
        .with(Series::new("zero", vec![(0.0, 0.0)]));

    let title = "What the plot writer draws";
    print!(
        "{}",
        Figure::new(title, vec![motion, orders, many, palette, constant, empty]).in_columns(2).svg()
    );
}
