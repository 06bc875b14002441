//! Kernel by kernel: what candle's CUDA modules hold and what the compiled code objects hold. Whether a kernel computes
//! the right thing is not said here: see the coverage page.

use std::collections::{BTreeMap, BTreeSet};

use object::{Object, ObjectSymbol, read::elf::ElfFile64};

use crate::{
    facts::count_text,
    gfm::{Table, code},
    markdown::GENERATED,
};

/// The kernels of candle-kernels, a line each: module, name, arguments.
pub(crate) const INVENTORY: &str = include_str!("../../../../rocm-backend/kernels/inventory.txt");

/// Words that name an element type at the end of a kernel's name.
const DTYPES: [&str; 10] = [
    "bf16", "f16", "f32", "f64", "f8_e4m3", "u8", "u32", "i16", "i32", "i64",
];

/// The kernels in one compiled module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeObject {
    /// Module, as the file is called: `unary`.
    pub module: String,
    /// Instruction-set target, e.g. `gfx1100`.
    pub target: String,
    /// Names of its kernels, without duplicates, in order.
    pub kernels: BTreeSet<String>,
}

/// Why a file is no code object.
#[derive(Debug, thiserror::Error)]
pub enum BadCodeObject {
    /// The file is not called `module.target.hsaco`.
    #[error("a code object is called module.target.hsaco, as in unary.gfx1100.hsaco")]
    Name,
    /// The content is no ELF file.
    #[error("not a 64-bit ELF file: {0}")]
    Elf(#[from] object::Error),
    /// An ELF file without kernel descriptors.
    #[error("the file holds no kernel")]
    Empty,
}

impl CodeObject {
    /// Reads the list of kernels from a file's name and content. A kernel is a symbol with a descriptor, `name.kd`.
    ///
    /// # Errors
    /// Another file name, content that is no ELF file, or no kernel in it.
    pub fn read(file_name: &str, elf: &[u8]) -> Result<CodeObject, BadCodeObject> {
        let stem = file_name.strip_suffix(".hsaco").ok_or(BadCodeObject::Name)?;
        let (module, target) = stem.split_once('.').ok_or(BadCodeObject::Name)?;
        let file = ElfFile64::<object::Endianness>::parse(elf)?;
        let names = file.dynamic_symbols().filter_map(|symbol| symbol.name().ok());
        let kernels: BTreeSet<_> = names
            .filter_map(|name| name.strip_suffix(".kd"))
            .map(str::to_owned)
            .collect();
        if kernels.is_empty() {
            return Err(BadCodeObject::Empty);
        }
        Ok(CodeObject {
            module: module.to_owned(),
            target: target.to_owned(),
            kernels,
        })
    }
}

/// Kernel names by module.
type Modules<'a> = BTreeMap<&'a str, BTreeSet<String>>;

pub(crate) fn render(inventory: &str, objects: &[CodeObject]) -> String {
    let candles = inventory_modules(inventory);
    let mut targets: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for object in objects {
        let modules = targets.entry(&object.target).or_default();
        modules.insert(&object.module, object.kernels.clone());
    }
    let mut page = format!(
        "{GENERATED}# Kernels\n\nThe kernels of candle-kernels' CUDA modules (`rocm-backend/kernels/inventory.txt`) and those in the \
         code objects compiled\nfrom `rocm-backend/kernels`, by the names of their symbols; arguments are compared by\n`rocm-backend/tests/kernels_inventory.rs`. A kernel that is there may still \
         compute the wrong thing:\n`coverage.md` says what was executed.\n"
    );
    for (target, ours) in &targets {
        page.push_str(&format!("\n## {target}\n\n{}", summary(&candles, ours)));
        page.push_str(&missing(&candles, ours));
    }
    // The lists are the same for every target unless one lacks a kernel, which the summaries show.
    if let Some((target, ours)) = targets.first_key_value() {
        page.push_str(&inventory_tables(target, &candles, ours));
    }
    page
}

/// Names as ours are spelled: candle writes an 8-bit float in two ways.
fn inventory_modules(inventory: &str) -> Modules<'_> {
    let mut modules = Modules::new();
    for line in inventory.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        if let (Some(module), Some(name)) = (words.next(), words.next()) {
            let name = name.replace("_fp8_e4m3", "_f8_e4m3");
            modules.entry(module).or_default().insert(name);
        }
    }
    modules
}

fn module_names<'a>(candles: &Modules<'a>, ours: &Modules<'a>) -> BTreeSet<&'a str> {
    candles.keys().chain(ours.keys()).copied().collect()
}

fn of<'a>(modules: &'a Modules<'_>, module: &str) -> &'a BTreeSet<String> {
    const NONE: &BTreeSet<String> = &BTreeSet::new();
    modules.get(module).unwrap_or(NONE)
}

fn summary(candles: &Modules<'_>, ours: &Modules<'_>) -> String {
    let mut table = Table::new([
        "module",
        "candle's",
        "of these here",
        "missing",
        "beyond candle's",
        "all here",
    ]);
    let mut sums = [0; 5];
    for module in module_names(candles, ours) {
        let (candles, ours) = (of(candles, module), of(ours, module));
        let here = candles.intersection(ours).count();
        let counts = [
            candles.len(),
            here,
            candles.len() - here,
            ours.len() - here,
            ours.len(),
        ];
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        table.row(std::iter::once(module.to_owned()).chain(counts.map(count_text)));
    }
    table.row(std::iter::once("all".to_owned()).chain(sums.map(count_text)));
    table.render()
}

fn missing(candles: &Modules<'_>, ours: &Modules<'_>) -> String {
    let mut page = String::new();
    for (module, kernels) in candles {
        let names: Vec<_> = kernels
            .difference(of(ours, module))
            .map(|name| code(name))
            .collect();
        if !names.is_empty() {
            page.push_str(&format!("\nMissing in {module}: {}\n", names.join(", ")));
        }
    }
    page
}

/// For every module a row a kernel without its dtypes: which of candle's are here, and which are there beyond.
fn inventory_tables(target: &str, candles: &Modules<'_>, ours: &Modules<'_>) -> String {
    let mut page = format!(
        "\n## Every kernel\n\nAs compiled for {target}; the element types a kernel's name ends in, if any.\n"
    );
    for module in module_names(candles, ours) {
        let (candles, ours) = (of(candles, module), of(ours, module));
        let mut rows: BTreeMap<&str, [Vec<&str>; 3]> = BTreeMap::new();
        for name in candles.union(ours) {
            let (stem, dtypes) = split(name);
            let place = match (candles.contains(name), ours.contains(name)) {
                (true, true) => 0,
                (true, false) => 1,
                (false, _) => 2,
            };
            rows.entry(stem).or_default()[place].push(if dtypes.is_empty() { "yes" } else { dtypes });
        }
        let mut table = Table::new(["kernel", "candle's, here", "candle's, missing", "beyond candle's"]);
        for (stem, dtypes) in &rows {
            let cells = dtypes.iter().map(|dtypes| dtypes.join(" "));
            table.row(std::iter::once(code(stem)).chain(cells));
        }
        page.push_str(&format!("\n### {module}\n\n{}", table.render()));
    }
    page
}

/// `is_i64_f32` is `is` and `i64_f32`.
fn split(name: &str) -> (&str, &str) {
    let mut stem = name;
    while let Some(shorter) = DTYPES
        .iter()
        .find_map(|dtype| stem.strip_suffix(dtype)?.strip_suffix('_'))
    {
        stem = shorter;
    }
    (stem, name[stem.len()..].trim_start_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_in_its_element_types() {
        for (name, parts) in [
            ("uexp_f32", ("uexp", "f32")),
            ("is_i64_f8_e4m3", ("is", "i64_f8_e4m3")),
            ("cast_bf16_f16", ("cast", "bf16_f16")),
            ("dequantize_block_q4_0_f32", ("dequantize_block_q4_0", "f32")),
            ("mul_mat_vec_q4_0_q8_1_cuda1", ("mul_mat_vec_q4_0_q8_1_cuda1", "")),
        ] {
            assert_eq!(split(name), parts);
        }
    }

    #[test]
    fn a_missing_kernel_and_one_beyond_candles_are_told_apart() {
        let object = CodeObject {
            module: "unary".to_owned(),
            target: "gfx1100".to_owned(),
            kernels: ["uexp_f32", "uexp_f8_e4m3", "uexp_i16"].map(str::to_owned).into(),
        };
        let inventory = "# kernels\nunary uexp_f32 u64\nunary uexp_fp8_e4m3 u64\nunary ulog_f32 u64\nsort asort_asc_u8 u64\n";
        let page = render(inventory, &[object]);
        for line in [
            "| sort   |        1 |             0 |       1 |               0 |        0 |",
            "| unary  |        3 |             2 |       1 |               1 |        3 |",
            "| all    |        4 |             2 |       2 |               1 |        3 |",
            "Missing in sort: `asort_asc_u8`",
            "Missing in unary: `ulog_f32`",
            "| `uexp` |    f32 f8_e4m3 |                   |             i16 |",
            "| `ulog` |                |               f32 |                 |",
        ] {
            assert!(
                page.lines().any(|found| found == line),
                "{line}\nis not in\n{page}"
            );
        }
    }

    #[test]
    fn a_file_that_is_no_code_object_is_refused() {
        let refused = |name, elf: &[u8]| CodeObject::read(name, elf).unwrap_err().to_string();
        assert!(refused("unary.so", b"").starts_with("a code object is called"));
        assert!(refused("unary.gfx1100.hsaco", b"text").starts_with("not a 64-bit ELF file"));
    }
}
