//! How long a spectral radius takes: systems of many states, each probed once.
//!
//! `cargo bench -p cosimo --bench probe`. Without `--bench` the smallest runs once, as a test.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use cosimo::analysis::stability::radius;
use cosimo::engine::{Run, plan};
use cosimo::system::toml;

/// Dual masses beside each other, four states each.
fn pairs(count: usize) -> String {
    let mut text = String::from("[experiment]\nstop = 1000\n[method]\nstep = { size = 0.1 }\n");
    for pair in 0..count {
        let _ = write!(
            text,
            "[component.left{pair}]\nsource = \"native:dual-mass/left-force\"\n\
             [component.right{pair}]\nsource = \"native:dual-mass/right\"\n\
             [[connection]]\nfrom = \"right{pair}.x\"\nto = \"left{pair}.x_far\"\n\
             [[bond]]\na = {{ effort = \"left{pair}.f\", flow = \"left{pair}.v_far\" }}\n\
             b = {{ effort = \"right{pair}.f\", flow = \"right{pair}.v\" }}\n"
        );
    }
    text
}

fn main() {
    let counts: &[usize] =
        if std::env::args().any(|word| word == "--bench") { &[1, 5, 25, 50] } else { &[1] };
    let registry = cosimo::registry();
    for &count in counts {
        let (system, problems) = toml::read(&pairs(count), Path::new("."), &registry);
        assert!(problems.is_empty(), "{problems:?}");
        let Ok(plan) = plan(&system, &registry) else { panic!("the benchmark's system has a fault") };
        let Ok(mut run) = Run::new(plan, 1) else { panic!("the benchmark's system does not start") };
        let start = Instant::now();
        let found = radius(&mut run, 0.1);
        println!("{:>4} states: {:>9.3} ms, {found:?}", 4 * count, start.elapsed().as_secs_f64() * 1e3);
    }
}
