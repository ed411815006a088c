//! Builds the one piece that Rust cannot say: the variadic loggers of FMI 1.0 and 2.0.

fn main() {
    println!("cargo::rerun-if-changed=shim");
    cc::Build::new().file("shim/logger.c").file("shim/logger1.c").warnings(true).compile("cosimo_fmi_shim");
}
