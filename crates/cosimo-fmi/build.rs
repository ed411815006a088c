//! Builds the one piece that Rust cannot say: the variadic logger of FMI 2.0.

fn main() {
    println!("cargo::rerun-if-changed=shim/logger.c");
    cc::Build::new().file("shim/logger.c").warnings(true).compile("cosimo_fmi_shim");
}
