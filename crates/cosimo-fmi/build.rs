//! Builds the pieces that Rust cannot say: the variadic loggers of FMI 1.0 and 2.0, and how stdout of C is buffered.

fn main() {
    println!("cargo::rerun-if-changed=shim");
    let pieces = ["shim/logger.c", "shim/logger1.c", "shim/printed.c"];
    cc::Build::new().files(pieces).warnings(true).compile("cosimo_fmi_shim");
}
