//! Stability measured on the engine, against spectral radii that were computed from matrices, and against
//! what a long run does.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use crate::common::{DUAL_MASS, DualMass, Made, start, system};
use cosimo::analysis::linalg::Eigen;
use cosimo::analysis::linearise::{exponential, linearise};
use cosimo::analysis::prepared::Prepared;
use cosimo::analysis::stability::{
    Limit, NeutralStepSearch, ProbeMethod, StabilityError, limit, monolithic_growth, neutral,
    radii_without_each_loop, radius,
};
use cosimo::engine::Run;
use cosimo::export::{Variant, Version};
use nalgebra::DMatrix;

/// A few steps on, so that there is a history.
fn probed(input: &str, exchange: &str, correction: &str, size: f64) -> Run {
    let method = format!(
        "input = \"{input}\"\nexchange = \"{exchange}\"\ncorrection = {correction}\nstep = {{ size = {size:?} }}"
    );
    let mut run = DualMass { stop: 1e6, method: &method, ..DUAL_MASS }.start();
    run.allow_divergence();
    for _ in 0..4 {
        run.step().unwrap();
    }
    run
}

const SIZES: [f64; 8] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0];

#[test]
fn the_radius_is_that_of_the_step_matrix() {
    let hold = [0.995013, 0.975315, 0.951268, 0.905137, 0.861684, 0.783097, 0.716415, 0.652572];
    let linear = [0.995012, 0.975299, 0.951138, 0.904078, 0.858093, 0.854976, 1.008934, 1.166599];
    for (input, radii) in [("hold", hold), ("linear", linear)] {
        let mut run = probed(input, "stale", "\"none\"", 0.01);
        for (size, wanted) in SIZES.into_iter().zip(radii) {
            let found = radius(&mut run, size).unwrap();
            assert!((found.radius - wanted).abs() < 6e-7, "{input}, {size} s: {}", found.radius);
            assert_eq!(found.unseen, 0);
        }
    }
}

#[test]
fn neutral_steps_are_where_the_radius_crosses_one() {
    for (input, exchange, wanted) in [
        ("causal", "stale", 1.250163625),
        ("linear", "stale", 0.686555545),
        ("quadratic", "stale", 0.216002293),
        ("hold", "fresh", 1.789506803),
        ("causal", "fresh", 1.444013490),
        ("linear", "fresh", 0.949214217),
        ("quadratic", "fresh", 0.542217995),
    ] {
        let mut run = probed(input, exchange, "\"none\"", 0.01);
        let found = neutral(&mut run, 0.01, 3.0).unwrap();
        assert!((found - wanted).abs() <= 1e-6 * wanted, "{input}, {exchange}: {found}");
    }
}

/// One Euler step per macro step, with the input where it starts or, as in Wu 2018, Eq. (3.10), where it ends.
#[test]
fn neutral_steps_depend_on_where_euler_takes_its_input() {
    for (solver, steps) in [
        ("euler", [0.710811288, 0.736709867, 0.736709867, 0.595398789]),
        ("euler-end", [0.710811288, 0.691059311, 0.542355480, 0.111314595]),
    ] {
        let parameters = format!("solver = \"{solver}\", micro_steps = 1");
        for (input, wanted) in ["hold", "causal", "linear", "quadratic"].into_iter().zip(steps) {
            let method = format!("input = \"{input}\"\nexchange = \"stale\"\nstep = {{ size = 0.01 }}");
            let dual_mass = DualMass { stop: 1e6, method: &method, parameters: &parameters, ..DUAL_MASS };
            let mut run = dual_mass.start();
            for _ in 0..4 {
                run.step().unwrap();
            }
            let found = neutral(&mut run, 0.01, 3.0).unwrap();
            assert!((found - wanted).abs() <= 1e-6 * wanted, "{solver}, {input}: {found}");
        }
    }
}

#[test]
fn held_stale_inputs_are_stable_at_any_size() {
    let mut run = probed("hold", "stale", "\"none\"", 0.01);
    assert!(neutral(&mut run, 0.01, 50.0).is_err());
    assert!((radius(&mut run, 50.0).unwrap().radius - 0.375f64.sqrt()).abs() < 1e-6);
}

/// The growth per step of what changes among everything a step maps onto itself, from two long stretches of one run.
/// Changes, because a memory may hold something that is the same in every step, such as its size.
fn growth(run: &mut Run, expected: f64) -> f64 {
    let length = (300.0 / expected.ln().abs() / 2.5).min(1000.0) as usize; // squares stay within 1e-260..1e260
    let mut cells = vec![0.0; run.island().cells()];
    let mut before = cells.clone();
    run.island().read_cells(&mut before).unwrap();
    let mut stretch = |steps: usize| {
        let mut sum = 0.0;
        for _ in 0..steps {
            run.step().unwrap();
            run.island().read_cells(&mut cells).unwrap();
            let changes = cells.iter().zip(&before).map(|(cell, before)| (cell - before) * (cell - before));
            sum += changes.sum::<f64>().ln() / 2.0;
            before.copy_from_slice(&cells);
        }
        sum / steps as f64
    };
    stretch(length / 2); // until the largest mode is alone
    // Modes turn, so norms are averaged over many turns; the centres of the stretches are `length` apart.
    let first = stretch(length);
    let second = stretch(length);
    ((second - first) / length as f64).exp()
}

/// What was probed is what happens, the memory of corrections included.
#[test]
fn a_long_run_grows_or_decays_by_the_radius() {
    let account = "{ nepce = { form = \"account\", gain = 0.5 } }";
    let paper = "{ nepce = { form = \"paper\", gain = 0.5, feedthrough = \"declared\" } }";
    for (input, exchange, correction, size, unstable) in [
        ("linear", "stale", "\"none\"", 0.8, true),
        ("linear", "stale", account, 0.8, true),
        ("linear", "stale", paper, 0.8, true),
        ("hold", "stale", account, 1.5, true),
        ("hold", "fresh", account, 2.0, true),
        ("taylor", "fresh", account, 1.5, false),
        ("hold", "stale", "\"none\"", 0.5, false),
    ] {
        let mut run = probed(input, exchange, correction, size);
        let wanted = radius(&mut run, size).unwrap().radius;
        let case = format!("{input}, {exchange}, {correction}, {size} s");
        assert_eq!(wanted > 1.0, unstable, "{case}: {wanted}");
        let found = growth(&mut run, wanted);
        assert!((found - wanted).abs() < 1e-3 * wanted, "{case}: grows by {found}, radius {wanted}");
    }
}

#[test]
fn a_correction_moves_the_radius() {
    let plain = radius(&mut probed("hold", "stale", "\"none\"", 0.5), 0.5).unwrap().radius;
    let nepce = "{ nepce = { gain = 0.5 } }";
    let corrected = radius(&mut probed("hold", "stale", nepce, 0.5), 0.5).unwrap().radius;
    assert!((plain - corrected).abs() > 1e-3, "{plain} and {corrected}");
}

/// Probing must leave no trace in the run.
#[test]
fn a_probed_run_goes_on_as_if_nothing_had_happened() {
    for correction in ["\"none\"", "{ nepce = { feedthrough = \"declared\" } }"] {
        let (mut probed_run, mut plain) =
            (probed("linear", "fresh", correction, 0.1), probed("linear", "fresh", correction, 0.1));
        radius(&mut probed_run, 0.3).unwrap();
        for _ in 0..20 {
            probed_run.step().unwrap();
            plain.step().unwrap();
            assert_eq!(crate::common::bits(&probed_run), crate::common::bits(&plain), "{correction}");
        }
    }
}

/// Every combination of the registries with constant steps. Left out are inputs that are no linear map of what they know:
/// `online` chooses its degree by the last errors, `hermite` believes a slope only where differences do not speak against
/// it. Waveform iterations take one repetition, or as many as bring them to the fixed point; Aitken and quasi-Newton get
/// to the same point by factors that are quotients of the data.
#[test]
fn every_fixed_step_combination_grows_as_it_was_probed() {
    let registry = cosimo::registry();
    let mut corrections =
        ["\"none\"", "\"pre-step\"", "{ pre-step = { input = \"mean\" } }"].map(str::to_owned).to_vec();
    for form in ["account", "paper"] {
        for source in ["off", "declared", "difference"] {
            corrections.push(format!(
                "{{ nepce = {{ form = \"{form}\", feedthrough = \"{source}\", gain = 0.5 }} }}"
            ));
        }
    }
    let iterations = [
        "\"once\"",
        "{ waveform = { absolute = 1e250 } }",
        "{ waveform = { relaxation = \"constant\", factor = 0.7, sweeps = 200, relative = 1e-11, absolute = 1e-300 } }",
    ];
    let mut count = 0;
    let mut wrong = Vec::new();
    for partition in registry.partitions.iter().map(|entry| entry.name) {
        for input in registry
            .inputs
            .iter()
            .map(|entry| entry.name)
            .filter(|name| !["online", "hermite"].contains(name))
        {
            for correction in &corrections {
                for (exchange, iteration, size) in [
                    ("stale", iterations[0], 0.8),
                    ("stale", iterations[0], 0.3),
                    ("fresh", iterations[0], 0.8),
                    ("stale", iterations[1], 0.3),
                    ("stale", iterations[2], 0.3),
                ] {
                    let method = format!(
                        "partition = \"{partition}\"\ninput = \"{input}\"\nexchange = \"{exchange}\"\n\
                         correction = {correction}\niteration = {iteration}\nstep = {{ size = {size:?} }}"
                    );
                    let mut run = DualMass { stop: 1e9, method: &method, ..DUAL_MASS }.start();
                    run.allow_divergence();
                    let prepared = (0..4).try_for_each(|_| run.step());
                    // An iteration that does not settle at this size is no map at all.
                    if prepared.is_err() {
                        assert_eq!(iteration, iterations[2], "{method}");
                        continue;
                    }
                    count += 1;
                    let wanted = radius(&mut run, size).unwrap().radius;
                    let found = growth(&mut run, wanted);
                    if (found - wanted).abs() > 0.05 * wanted {
                        wrong.push(format!("{method}\ngrows by {found}, radius {wanted}\n"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 300, "only {count} combinations");
}

/// z+ = e^(AH) z + sum W_j B L y_(n-j), y+ = C z+ + D L sum l_j(1) y_(n-j): Wu 2018, (3.4), (3.8) and (3.13) with its
/// misprints put right, for the degrees of the left and of the right input. Columns are z, y_n, y_(n-1), y_(n-2) with
/// y = (f, x2, v2).
fn propagation(degrees: [usize; 2], size: f64) -> DMatrix<f64> {
    let (m, k, d, kc, dc) = (100.0, 100.0, 100.0, 60.0, 60.0);
    #[rustfmt::skip]
    let a = DMatrix::from_row_slice(4, 4, &[
        0.0, 1.0, 0.0, 0.0,
        -(k + kc) / m, -(d + dc) / m, 0.0, 0.0,
        0.0, 0.0, 0.0, 1.0,
        0.0, 0.0, -k / m, -d / m,
    ]);
    #[rustfmt::skip]
    let b = DMatrix::from_row_slice(4, 3, &[
        0.0, 0.0, 0.0,
        0.0, kc / m, dc / m,
        0.0, 0.0, 0.0,
        1.0 / m, 0.0, 0.0,
    ]);
    let c = DMatrix::from_row_slice(3, 4, &[kc, dc, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let direct = DMatrix::from_row_slice(3, 3, &[0.0, -kc, -dc, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    // M_q = integral of e^(A(H-s)) (s/H)^q ds, out of the exponential of a chain of integrators.
    let mut chain = DMatrix::<f64>::zeros(16, 16);
    chain.view_mut((0, 0), (4, 4)).copy_from(&(&a * size));
    for q in 0..3 {
        chain.view_mut((4 * q, 4 * q + 4), (4, 4)).copy_from(&DMatrix::identity(4, 4));
    }
    let chain = chain.exp();
    let moment = |q: usize| chain.view((0, 4 * q + 4), (4, 4)) * (size * [1.0, 1.0, 2.0][q]);
    let (m0, m1, m2) = (moment(0), moment(1), moment(2));
    let half = (&m1 + &m2) * 0.5;
    let zero = DMatrix::zeros(4, 4);
    let weights = [
        [m0.clone(), zero.clone(), zero.clone()],
        [&m0 + &m1, -&m1, zero],
        [&m0 + &m1 + &half, -(&m1 + &half * 2.0), half],
    ];
    let ends = [[1.0, 0.0, 0.0], [2.0, -1.0, 0.0], [3.0, -3.0, 1.0]];
    let mut step = DMatrix::<f64>::zeros(13, 13);
    step.view_mut((0, 0), (4, 4)).copy_from(&(&a * size).exp());
    for j in 0..3 {
        for column in 0..3 {
            // The force goes to the right, the motion to the left.
            let degree = degrees[usize::from(column == 0)];
            let states = &weights[degree][j] * b.column(column);
            let told = direct.column(column) * ends[degree][j];
            step.view_mut((0, 4 + 3 * j + column), (4, 1)).copy_from(&states);
            step.view_mut((4, 4 + 3 * j + column), (3, 1)).copy_from(&told);
        }
    }
    let states = step.view((0, 0), (4, 13)).into_owned();
    let mut told = step.view_mut((4, 0), (3, 13));
    told += &c * states;
    step.view_mut((7, 4), (6, 6)).copy_from(&DMatrix::identity(6, 6));
    step
}

#[test]
fn probing_finds_the_propagation_matrices_of_the_thesis() {
    let causal = |through: usize, integrated: usize| {
        format!("{{ causal = {{ through = \"{through}\", integrated = \"{integrated}\" }} }}")
    };
    for degrees in [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [2, 1], [1, 2], [2, 2]] {
        let method = format!("input = {}\nstep = {{ size = 0.01 }}", causal(degrees[0], degrees[1]));
        let mut run = DualMass { stop: 1e6, method: &method, ..DUAL_MASS }.start();
        (0..4).for_each(|_| run.step().unwrap());
        for size in SIZES {
            let found = radius(&mut run, size).unwrap().radius;
            let values = propagation(degrees, size).complex_eigenvalues();
            let wanted = values.iter().map(|value| value.norm()).fold(0.0, f64::max);
            assert!((found - wanted).abs() < 1e-8, "{degrees:?}, {size} s: {found} {wanted}");
        }
    }
}

/// FMUs for co-simulation, also those that cannot save their state: by linear models from their answers.
#[test]
fn fmus_that_hide_their_states_are_measured_by_models() {
    let registry = cosimo::registry();
    for (input, sizes) in [("hold", [0.2, 0.5, 1.0]), ("linear", [0.05, 0.1, 0.2])] {
        let method = format!("input = \"{input}\"\nstep = {{ size = 0.01 }}");
        for made in [
            Made::Unit(Version::Two, Variant::Interpolates),
            Made::Unit(Version::Three, Variant::Intermediate),
            Made::Unit(Version::Two, Variant::NoRollback),
        ] {
            // That without rollback holds its inputs.
            if input == "linear" && made == Made::Unit(Version::Two, Variant::NoRollback) {
                continue;
            }
            let mut native = probed(input, "stale", "\"none\"", 0.01);
            let text = DualMass { stop: 1e6, method: &method, made, ..DUAL_MASS }.text();
            let mut models = Prepared::new(&system(&text, &registry), &registry, None, 0.01).unwrap();
            for size in sizes {
                let wanted = radius(&mut native, size).unwrap();
                let found = models.radius(size).unwrap();
                assert_eq!((wanted.how, found.how), (ProbeMethod::States, ProbeMethod::Models));
                let error = (found.radius - wanted.radius).abs();
                assert!(error < 1e-5, "{input}, {made:?}, {size} s: {} {}", found.radius, wanted.radius);
            }
        }
    }
}

#[test]
fn what_cannot_be_measured_is_refused_with_the_reason() {
    let method = "step = { size = 0.01 }";
    let made = Made::Unit(Version::Two, Variant::NoRollback);
    let mut run = DualMass { method, made, ..DUAL_MASS }.start();
    let error = radius(&mut run, 0.01).unwrap_err();
    assert!(matches!(&error, StabilityError::HiddenStates(name) if name == "left"), "{error}");
    let mut run = probed("hold", "stale", "\"none\"", 0.01);
    for size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(radius(&mut run, size), Err(StabilityError::BadSize(_))));
    }
    let alone = "[experiment]\nstop = 1\n[component.a]\nsource = \"native:dual-mass/right\"\nstart = { f = 0.0 }\n[method]\nstep = { size = 0.1 }\n";
    assert!(matches!(radius(&mut start(alone, 1), 0.1), Err(StabilityError::NothingExchanged)));
}

const AROUND: NeutralStepSearch = NeutralStepSearch { from: 1e-3, to: 10.0, factor: 1.1, precision: 1e-6 };

#[test]
fn growth_of_the_system_itself_is_no_fault_of_the_coupling() {
    let text = |lambda: f64| {
        format!(
            "[experiment]\nstop = 10\n[component.first]\nsource = \"native:dahlquist/first\"\n\
             parameters = {{ lambda = {lambda:?}, c = 0.1 }}\n[component.second]\nsource = \"native:dahlquist/second\"\n\
             parameters = {{ mu = -1.0 }}\n[[connection]]\nfrom = \"first.y\"\nto = \"second.u\"\n\
             [[connection]]\nfrom = \"second.y\"\nto = \"first.u\"\n[method]\nstep = {{ size = 0.01 }}\n"
        )
    };
    let registry = cosimo::registry();
    let mut run = start(&text(0.5), 1);
    (0..4).for_each(|_| run.step().unwrap());
    let found = limit(&mut run, &AROUND).unwrap();
    let Limit::System(rate) = found else { panic!("{found:?}") };
    let linear = linearise(&system(&text(0.5), &registry), &registry, &mut run, 0.01).unwrap();
    let exact = monolithic_growth(&linear).unwrap();
    assert!((rate - exact).abs() < 0.02 * exact, "{rate} {exact}");
    let mut run = start(&text(-0.5), 1);
    assert!(!matches!(limit(&mut run, &AROUND).unwrap(), Limit::System(_)));
}

#[test]
fn a_loop_of_gains_above_one_is_stable_at_no_step() {
    let gains = |a: f64| {
        format!(
            "[experiment]\nstop = 1\n[component.first]\nsource = \"native:gain-loop/first\"\nparameters = {{ a = {a:?} }}\n\
             start = {{ u = 0.8 }}\n[component.second]\nsource = \"native:gain-loop/second\"\n[component.lag]\nsource = \"native:gain-loop/lag\"\n\
             [[connection]]\nfrom = \"second.y\"\nto = \"first.u\"\n[[connection]]\nfrom = \"lag.x\"\nto = \"first.w\"\n\
             [[connection]]\nfrom = \"first.y\"\nto = \"second.u\"\n[[connection]]\nfrom = \"second.y\"\nto = \"lag.u\"\n\
             [method]\nstep = {{ size = 0.01 }}\n"
        )
    };
    assert_eq!(limit(&mut start(&gains(-3.0), 1), &AROUND).unwrap(), Limit::Never);
    assert!(!matches!(limit(&mut start(&gains(-1.0), 1), &AROUND).unwrap(), Limit::Never));
}

/// Two pairs beside each other, of which one is stiff.
#[test]
fn the_connection_that_limits_the_step_is_found() {
    let text = crate::common::side_by_side(2, "input = \"linear\"\nstep = { size = 0.1 }")
        .replace("parameters = { kc = 70.0 }", "parameters = { kc = 700.0 }");
    let mut run = start(&text, 1);
    (0..4).for_each(|_| run.step().unwrap());
    let found = neutral(&mut run, 0.01, 2.0).unwrap();
    let mut opened = radii_without_each_loop(&mut run, 1.1 * found).unwrap();
    opened.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let (first, left) = &opened[0];
    assert!(first.inputs.iter().all(|input| *input >= 3) && *left < 1.0, "{opened:?}");
    assert_eq!(first.between, [2, 3]);
    // And everything is connected again.
    assert!(radius(&mut run, 1.1 * found).unwrap().radius > 1.0);
}

#[test]
fn linearising_finds_the_matrices_of_the_models() {
    let registry = cosimo::registry();
    let text = DualMass { method: "input = \"quadratic\"\nstep = { size = 0.1 }", ..DUAL_MASS }.text();
    let mut run = start(&text, 1);
    (0..4).for_each(|_| run.step().unwrap());
    let found = linearise(&system(&text, &registry), &registry, &mut run, 0.1).unwrap();
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
    near(found.a[(1, 0)], -1.6);
    near(found.a[(3, 3)], -1.0);
    near(found.a[(1, 2)], 0.0);
    let named: Vec<String> = found
        .outputs
        .iter()
        .map(|&output| run.layout().ports().path(cosimo::core::PowerVariable::Output(output)))
        .collect();
    assert_eq!(named, ["left.f", "right.v", "right.x"]);
    near(found.b[(3, 0)], 0.01);
    near(found.d[(0, 1)], -60.0);
    near(found.d[(0, 2)], -60.0);
    near(found.c[(0, 0)], 60.0);
    let mut rates: Vec<f64> =
        Eigen::of(&found.monolithic().unwrap()).unwrap().values.iter().map(|value| value.re).collect();
    rates.sort_by(f64::total_cmp);
    for (found, wanted) in rates.into_iter().zip([-1.1, -1.1, -0.5, -0.5]) {
        near(found, wanted);
    }
    // And the step with held inputs follows from them.
    let held = radius(&mut probed("hold", "stale", "\"none\"", 0.01), 0.5).unwrap().radius;
    near(found.held_radius(0.5).unwrap(), held);
    near(exponential(&found.a, 0.0)[(0, 0)], 1.0);
}

/// Two tanks and a pipe whose flow is a root of the difference in pressure, stepped by Euler: h1+ = h1 - H q / A1,
/// h2+ = h2 + H flow(p1 - rho g h2) / A2, p1+ = rho g h1+, q+ = flow(p1 - rho g h2+), by hand differentiated wherever the
/// run has come to.
#[test]
fn a_nonlinear_system_is_linearised_where_it_is() {
    let [a1, a2, rho_g, k, dp0] = [1.0, 0.5, 9810.0, 1e-3, 100.0f64];
    let slope = |dp: f64| {
        let size = dp * dp + dp0 * dp0;
        k * (dp * dp / 2.0 + dp0 * dp0) / size.powf(1.25)
    };
    let flow = |dp: f64| k * dp / (dp * dp + dp0 * dp0).powf(0.25);
    let text = "experiment.stop = 1000.0\ncomponent.first.source = \"native:tanks/first\"\n\
                component.second = { source = \"native:tanks/second-pipe\", parameters = { solver = \"euler\", micro_steps = 1 } }\n\
                connection = [{ from = \"first.p\", to = \"second.p\" }, { from = \"second.q\", to = \"first.q\" }]\n\
                [method]\ninput = \"hold\"\nexchange = \"stale\"\nstep = { size = 0.5 }\n";
    let mut run = start(text, 1);
    let mut radii = Vec::new();
    for _ in 0..3 {
        let (p1, h2) = (run.output("first.p").unwrap(), run.output("second.h").unwrap());
        for size in [0.5, 30.0, 60.0] {
            let end = h2 + size * flow(p1 - rho_g * h2) / a2;
            let (s0, s1) = (slope(p1 - rho_g * h2), slope(p1 - rho_g * end));
            let (grown, kept) = (size * s0 / a2, 1.0 - rho_g * size * s0 / a2);
            #[rustfmt::skip]
            let step = DMatrix::from_row_slice(4, 4, &[
                1.0, 0.0, 0.0, -size / a1,
                0.0, kept, grown, 0.0,
                rho_g, 0.0, 0.0, -rho_g * size / a1,
                0.0, -s1 * rho_g * kept, s1 * (1.0 - rho_g * grown), 0.0,
            ]);
            let wanted = step.complex_eigenvalues().iter().map(|mode| mode.norm()).fold(0.0, f64::max);
            let found = radius(&mut run, size).unwrap().radius;
            assert!(
                (found - wanted).abs() < 1e-5 * wanted,
                "{size} s from {h2} m: {found}, by hand {wanted}"
            );
            radii.push(found);
        }
        (0..2).for_each(|_| run.step().unwrap());
    }
    // Elsewhere it is another system.
    assert!((radii[1] - radii[4]).abs() > 1e-2 * radii[1] && radii[1] > 1.1, "{radii:?}");
}
