//! Records which commit is being built, for the provenance of a run: the binary may be moved, so run time is too late.
//!
//! Outside a git checkout nothing is recorded, and a record then says `null`. `-dirty` is as fresh as the last build of
//! this crate: cargo reruns this script when HEAD, the index or this crate's sources change.

use std::{path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    let Some(git_dir) = git(&["rev-parse", "--absolute-git-dir"]) else {
        return;
    };
    for name in ["HEAD", "index", "logs/HEAD"] {
        let path = Path::new(&git_dir).join(name);
        // A path that does not exist would make cargo run the script every time.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return;
    };
    let dirty = git(&["status", "--porcelain"]).is_none_or(|changes| !changes.is_empty());
    println!(
        "cargo::rustc-env=PARITY_COMMIT={commit}{}",
        if dirty { "-dirty" } else { "" }
    );
}

/// What git prints; `None` without git or outside a checkout.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
