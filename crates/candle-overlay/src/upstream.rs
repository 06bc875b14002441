//! Upstream's own tests, by name: which there are in the pinned releases, and what becomes of each on the ROCm device.

use std::collections::BTreeMap;

use syn::{
    Attribute, ItemFn, ItemMacro, ItemMod,
    parse::Parser as _,
    punctuated::Punctuated,
    spanned::Spanned as _,
    visit::{self, Visit},
};

use crate::{
    derive::{DeriveError, derive_test},
    moved::{self, Fate},
    pristine::{CANDLE_CORE, CANDLE_NN, Release, Source},
};

/// A release, and what its tests use beside it, in upstream's versions.
#[derive(Debug)]
pub struct Suite {
    /// The release that the tests are in.
    pub release: &'static Release,
    /// The name under which they know candle-core.
    pub library: &'static str,
    /// Their `[dependencies]`; `VERSION` is the release's.
    pub dependencies: &'static str,
}

/// candle-core's tests and candle-nn's.
pub const SUITES: [Suite; 2] = [
    Suite {
        release: &CANDLE_CORE,
        library: "candle_core",
        dependencies: r#"
candle-core = "=VERSION"
anyhow = { version = "1", features = ["backtrace"] }
float8 = "0.7"
half = "2.5"
num-traits = "0.2"
rand = "0.9"
safetensors = "0.8"
"#,
    },
    Suite {
        release: &CANDLE_NN,
        library: "candle",
        dependencies: r#"
candle = { package = "candle-core", version = "=VERSION" }
candle-nn = "=VERSION"
anyhow = { version = "1", features = ["backtrace"] }
half = "2.5"
rand = "0.9"
"#,
    },
];

/// Tests that do not run on the ROCm device although they name one: file, name, and the reason.
const OF_THE_CPU: [(&str, &str, &str); 1] = [(
    "bf16_conv_bench",
    "bf16_lfm_op_timings",
    "prints how long ops on 50 million elements take, and asserts nothing",
)];

/// Tests, by file and name, that assert digits of activations rounded as on the CPU, or that a row's product does not depend
/// on the others. The device does both where `ROCM_ACTIVATIONS=cpu` asks for it; else it rounds and multiplies as CUDA.
const ROUNDED_AS_CPU: [(&str, &str); 7] = [
    ("quantized_tests", "quantized_matmul_q2k"),
    ("quantized_tests", "quantized_matmul_q3k"),
    ("quantized_tests", "quantized_matmul_q4k"),
    ("quantized_tests", "quantized_matmul_q5k"),
    ("quantized_tests", "quantized_matmul_q6k"),
    ("quantized_tests", "quantized_matmul_q8k"),
    ("quantized_tests", "qmatmul_batched_rows_match_single_row_cpu"),
];

/// What a release tests.
#[derive(Debug)]
pub struct Tests {
    /// Files for a `tests/` folder, by name: upstream's, with a ROCm variant of what has one for each device, and copies
    /// that are moved to the device; their names end in `_rocm`.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Every test, ordered by file and then as written.
    pub tests: Vec<Test>,
}

/// One of upstream's tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Its file, without `.rs`.
    pub file: String,
    /// Its name as the test harness has it, `module::name`.
    pub name: String,
    /// Why it is not built for the CPU, or is not run there, in upstream's words.
    pub absent: Option<String>,
    /// What tests the same on the ROCm device.
    pub rocm: Twin,
}

impl Test {
    /// The file and the name of its twin, where that is to run with `ROCM_ACTIVATIONS=cpu`.
    pub fn rounded_as_cpu(&self) -> Option<(String, String)> {
        match &self.rocm {
            Twin::Test { file, name, .. }
                if ROUNDED_AS_CPU.contains(&(self.file.as_str(), self.name.as_str())) =>
            {
                Some((file.clone(), name.clone()))
            }
            Twin::Test { .. } | Twin::None(_) => None,
        }
    }
}

/// The test of the ROCm device that one of the CPU became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Twin {
    /// This one.
    Test {
        /// Its file, without `.rs`.
        file: String,
        /// Its name as the test harness has it.
        name: String,
        /// Whether it calls one of candle's functions that work in host memory only.
        calls_host: bool,
    },
    /// None, for this reason.
    None(String),
}

impl Tests {
    /// The tests of `suite`, whose release is `source`.
    ///
    /// # Errors
    /// [`DeriveError`]: a test file is not the Rust that is expected.
    pub fn of(suite: &Suite, source: &Source) -> Result<Tests, DeriveError> {
        let (mut files, mut tests) = (BTreeMap::new(), Vec::new());
        for (path, bytes) in source.files() {
            let Some(name) = path.strip_prefix("tests/") else {
                continue;
            };
            let Some(stem) = name.strip_suffix(".rs") else {
                files.insert(name.to_owned(), bytes.to_vec());
                continue;
            };
            let derived = derive_test(path, bytes)?;
            let text = str::from_utf8(&derived).map_err(|_| DeriveError::NotText {
                file: path.to_owned(),
            })?;
            let found = found(path, text)?;
            let ignored = |test: &str| {
                let mut rows = OF_THE_CPU.iter().filter(|row| row.0 == stem && row.1 == test);
                rows.next().map(|(.., reason)| (*reason).to_owned())
            };
            let moved = moved::on_rocm(path, text, suite.library, &ignored)?;
            let fates = moved.as_ref().map(|moved| &moved.fates);
            tests.extend(found.iter().map(|one| one.test(stem, fates)));
            if let Some(moved) = moved {
                files.insert(format!("{stem}_rocm.rs"), moved.text.into_bytes());
            }
            files.insert(name.to_owned(), derived);
        }
        Ok(Tests { files, tests })
    }
}

/// A test as a file has it.
#[derive(Debug)]
struct Found {
    modules: Vec<String>,
    name: String,
    absent: Option<String>,
    kind: TwinKind,
}

#[derive(Debug)]
enum TwinKind {
    /// A function.
    Plain,
    /// Made for each device; the ROCm one has this name, in the same file.
    Each(String),
    /// Made for each device by a macro of the file's own, which the moved file makes for ROCm.
    Made,
}

impl Found {
    fn test(&self, stem: &str, fates: Option<&BTreeMap<String, Fate>>) -> Test {
        let path = |name: &str| {
            let mut path = self.modules.clone();
            path.push(name.to_owned());
            path.join("::")
        };
        let twin = |file: String, name: &str, calls_host| Twin::Test {
            file,
            name: path(name),
            calls_host,
        };
        let moved = format!("{stem}_rocm");
        let rocm = match (&self.absent, &self.kind, fates) {
            (Some(reason), ..) => Twin::None(reason.clone()),
            (None, TwinKind::Each(name), _) => twin(stem.to_owned(), name, false),
            (None, TwinKind::Made, Some(_)) => twin(moved, &self.name, false),
            (None, TwinKind::Plain, Some(fates)) => match fates.get(&self.name) {
                Some(Fate::Moved { name, calls_host }) => twin(moved, name, *calls_host),
                Some(Fate::Ignored(reason)) => Twin::None(reason.clone()),
                None => Twin::None("is not found in the moved file".to_owned()),
            },
            (None, TwinKind::Plain | TwinKind::Made, None) => Twin::None(moved::NO_DEVICE.to_owned()),
        };
        Test {
            file: stem.to_owned(),
            name: path(&self.name),
            absent: self.absent.clone(),
            rocm,
        }
    }
}

fn found(path: &str, text: &str) -> Result<Vec<Found>, DeriveError> {
    let file = syn::parse_file(text).map_err(|error| DeriveError::Syntax {
        file: path.to_owned(),
        line: error.span().start().line,
        message: error.to_string(),
    })?;
    let mut finder = Finder {
        source: text,
        modules: Vec::new(),
        absent: vec![absent(&file.attrs, text)],
        made: BTreeMap::new(),
        found: Vec::new(),
    };
    finder.visit_file(&file);
    Ok(finder.found)
}

/// Why what has these attributes is not built on this CPU without features, or is not run.
fn absent(attributes: &[Attribute], source: &str) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let text = &source[attribute.span().byte_range()];
        if attribute.path().is_ident("ignore") {
            return Some("upstream ignores it".to_owned());
        }
        let condition = text.trim_start_matches(['#', '!', '[']).trim_end_matches(']');
        let is_false = attribute.path().is_ident("cfg") && condition != "cfg(test)";
        is_false.then(|| format!("upstream builds it under `{condition}`"))
    })
}

struct Finder<'a> {
    source: &'a str,
    modules: Vec<String>,
    /// Of the enclosing file and modules.
    absent: Vec<Option<String>>,
    /// Macros of the file that make tests for each device: which argument names the one of the CPU.
    made: BTreeMap<String, usize>,
    found: Vec<Found>,
}

impl Finder<'_> {
    fn add(&mut self, name: String, attributes: &[Attribute], kind: TwinKind) {
        let own = absent(attributes, self.source);
        self.found.push(Found {
            modules: self.modules.clone(),
            name,
            absent: self.absent.iter().flatten().next().cloned().or(own),
            kind,
        });
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, node: &'ast ItemMod) {
        self.modules.push(node.ident.to_string());
        self.absent.push(absent(&node.attrs, self.source));
        visit::visit_item_mod(self, node);
        self.absent.pop();
        self.modules.pop();
    }

    fn visit_item_fn(&mut self, node: &'ast ItemFn) {
        if node
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("test"))
        {
            self.add(node.sig.ident.to_string(), &node.attrs, TwinKind::Plain);
        }
    }

    fn visit_item_macro(&mut self, node: &'ast ItemMacro) {
        let tokens = node.mac.tokens.clone();
        if let Some(name) = &node.ident {
            if let Some(place) = place_of_the_cpus(&tokens.to_string()) {
                self.made.insert(name.to_string(), place);
            }
            return;
        }
        let arguments: Vec<String> = Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated
            .parse2(tokens)
            .map(|list| {
                let texts = list
                    .iter()
                    .map(|one| self.source[one.span().byte_range()].to_owned());
                texts.collect()
            })
            .unwrap_or_default();
        if node.mac.path.is_ident("test_device") {
            if let [_, cpu, _, _, rocm] = &arguments[..] {
                self.add(cpu.clone(), &node.attrs, TwinKind::Each(rocm.clone()));
            }
        } else if let Some(name) = node.mac.path.get_ident()
            && let Some(&place) = self.made.get(&name.to_string())
            && let Some(cpu) = arguments.get(place)
        {
            self.add(cpu.clone(), &node.attrs, TwinKind::Made);
        }
    }
}

/// Which argument of a macro, its rules given, becomes the name of a test of the CPU: the one that it hands on as the second
/// of `test_device!`.
fn place_of_the_cpus(rules: &str) -> Option<usize> {
    let rules: String = rules.split_whitespace().collect();
    let (matcher, body) = rules.split_once("=>")?;
    let (_, call) = body.split_once("test_device!(")?;
    let cpu = call.split(',').nth(1)?;
    let parameters = matcher.trim_start_matches('(').split(',');
    parameters
        .map(|parameter| parameter.split(':').next().unwrap_or_default())
        .position(|parameter| parameter == cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
        test_device!(f, f_cpu, f_cuda, f_metal, f_rocm);
        macro_rules! each { ($f: ident, $c: ident, $d: expr) => { test_device!($f, $c, $x, $y); } }
        each!(g, g_cpu, DType::F32);
        #[test] #[ignore] fn timed() {}
        #[cfg(test)] mod inner { #[test] fn adds() {} }
        #[cfg(feature = \"metal\")] mod of_metal { #[test] fn adds() {} }
        fn helper() {}
    ";

    #[test]
    fn every_way_in_which_upstream_writes_a_test_is_found() {
        let found = found("tests/x.rs", FILE).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.test("x", None).name, one.absent.as_deref()))
            .collect();
        let want = [
            ("f_cpu", None),
            ("g_cpu", None),
            ("timed", Some("upstream ignores it")),
            ("inner::adds", None),
            (
                "of_metal::adds",
                Some("upstream builds it under `cfg(feature = \"metal\")`"),
            ),
        ];
        assert_eq!(told, want.map(|(name, absent)| (name.to_owned(), absent)));
    }

    #[test]
    fn a_test_for_each_device_has_its_twin_in_the_file_and_a_macros_in_the_moved_one() {
        let found = found("tests/x.rs", FILE).unwrap();
        let fates = BTreeMap::new();
        let twin = |at: usize| match found[at].test("x", Some(&fates)).rocm {
            Twin::Test { file, name, .. } => format!("{file} {name}"),
            Twin::None(reason) => reason,
        };
        assert_eq!(twin(0), "x f_rocm");
        assert_eq!(twin(1), "x_rocm g_cpu");
    }
}
