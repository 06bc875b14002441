//! The list of kernels read from a module that was really compiled.

use kernel_build::{Target, compile};
use repo_pages::{Arg, CodeObject, Material, Page, Sources, pages};

use crate::common::run;

/// A kernel that candle has, one that it lacks, and a device function, which is not a kernel.
const SOURCE: &str = r#"
extern "C" __attribute__((device, used, noinline)) float helper_f32(float x) { return x + x; }
extern "C" __attribute__((global)) void uexp_f32(float *x) { *x = helper_f32(*x); }
extern "C" __attribute__((global)) void utwice_f32(float *x, short n) { *x += n; }
"#;

fn made_of(objects: &[CodeObject]) -> Vec<Page> {
    let material = Material {
        run: &run(),
        models: None,
        coverage: None,
        objects,
        sources: &Sources::default(),
    };
    pages(&material).unwrap()
}

#[test]
fn the_kernels_of_a_compiled_module_are_compared_with_candles() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("unary.hip"), SOURCE).unwrap();
    // A folder of kernels without a header is taken for a mistake.
    std::fs::write(dir.path().join("none.h"), "").unwrap();
    let targets = Target::parse_list("gfx1100").unwrap();
    compile(dir.path(), &targets, dir.path(), 1).unwrap();
    let elf = std::fs::read(dir.path().join("unary.gfx1100.hsaco")).unwrap();

    let object = CodeObject::read("unary.gfx1100.hsaco", &elf).unwrap();
    assert_eq!(
        (object.module.as_str(), object.target.as_str()),
        ("unary", "gfx1100")
    );
    let names: Vec<_> = object.kernels.keys().collect();
    assert_eq!(names, ["uexp_f32", "utwice_f32"]);
    assert_eq!(object.kernels["utwice_f32"], [Arg::Pointer, Arg::Value(2)]);
    let taken = object.resources["utwice_f32"];
    assert!(taken.vgprs > 0 && taken.sgprs > 0, "{taken:?}");
    assert_eq!((taken.lds, taken.scratch), (0, 0));

    let pages = made_of(&[object]);
    let page = pages.iter().find(|page| page.name == "kernels.md").unwrap();
    let row = |name: &str| {
        let mut lines = page.text.lines();
        let line = lines.find(|line| line.starts_with(&format!("| {name} ")));
        line.unwrap().split('|').map(str::trim).collect::<Vec<_>>()
    };
    assert_eq!(row("unary")[2..7], ["123", "1", "122", "1", "2"]);
    assert!(
        page.text.contains("| unary  | `"),
        "what its kernels take: {}",
        page.text
    );
    assert_eq!(row("`uexp`")[2..5], ["f32", "bf16 f16 f64 f8_e4m3", ""]);
    assert_eq!(row("`utwice`")[2..5], ["", "", "f32"]);
    let page = pages.iter().find(|page| page.name == "signatures.md").unwrap();
    assert!(
        page.text
            .lines()
            .any(|line| line.starts_with("| `utwice_f32` ") && line.contains("| `* 2` "))
    );
}

#[test]
fn without_code_objects_there_is_no_page_that_could_be_taken_for_a_comparison() {
    let pages = made_of(&[]);
    assert!(
        pages
            .iter()
            .all(|page| !["kernels.md", "signatures.md"].contains(&page.name))
    );
}
