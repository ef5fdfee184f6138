//! Links the system's libxslt where it is installed. Elsewhere the program is built without it, and
//! says so when it is started.

use std::process::Command;

/// Looked at again once this appears or changes.
const HEADER: &str = "/usr/include/libxslt/xslt.h";
const PACKAGES: [&str; 3] = ["libxslt", "libexslt", "libxml-2.0"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(libxslt)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={HEADER}");
    for variable in ["PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let Some(flags) = linker_flags() else { return };
    println!("cargo::rustc-cfg=libxslt");
    for flag in flags.split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo::rustc-link-search=native={folder}");
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo::rustc-link-lib=dylib={library}");
        }
    }
}

/// What the linker needs; `None`: the libraries or pkg-config are not installed.
fn linker_flags() -> Option<String> {
    let said = Command::new("pkg-config").arg("--libs").args(PACKAGES).output().ok()?;
    said.status.success().then(|| String::from_utf8_lossy(&said.stdout).into_owned())
}
