//! Which kernels and libraries computed a backend's results, as its own trace tells: who served what, how often, by which
//! path and for which layouts. Derives nothing from names of ops.

use std::collections::{BTreeMap, BTreeSet};

use parity_model::record::{CaseRecord, CaseResult, RunRecord};
use parity_report::agrees;

/// One entry of [`CaseResult::served_by`], taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step<'a> {
    /// A kernel's symbol or a function of a library.
    pub(crate) by: &'a str,
    /// `contiguous` or `strided`; none for what takes no table of strides.
    pub(crate) path: Option<&'a str>,
    /// Whether a model answered.
    pub(crate) by_model: bool,
}

impl<'a> Step<'a> {
    pub(crate) fn parse(text: &'a str) -> Step<'a> {
        let (rest, by_model) = match text.strip_suffix(" (model)") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (by, path) = match rest.rsplit_once(':') {
            Some((by, path)) => (by, Some(path)),
            None => (rest, None),
        };
        Step { by, path, by_model }
    }
}

/// Who provides something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Provider {
    /// A kernel of `rocm-backend/kernels`.
    Kernel,
    RocBlas,
    MiOpen,
    RocRand,
    /// What devices send each other; no case has more than one.
    Rccl,
    /// In the places of rocBLAS, MIOpen and rocRAND, where the backend runs on an NVIDIA GPU.
    CuBlas,
    CuDnn,
    CuRand,
    /// What the HIP runtime does inside the device's memory.
    Runtime,
}

impl Provider {
    /// All that may serve a result of `column`; NVIDIA's are told where they served one.
    pub(crate) fn of_run(run: &RunRecord, column: usize) -> Vec<Provider> {
        let results = run.cases.iter().filter_map(|case| case.results.get(column));
        let steps = results.flat_map(|result| &result.served_by);
        let seen: BTreeSet<Provider> = steps.map(|text| Provider::of(Step::parse(text).by)).collect();
        let all = [
            Provider::Kernel,
            Provider::RocBlas,
            Provider::MiOpen,
            Provider::RocRand,
            Provider::CuBlas,
            Provider::CuDnn,
            Provider::CuRand,
            Provider::Runtime,
        ];
        let is_nvidia =
            |provider: &Provider| matches!(provider, Provider::CuBlas | Provider::CuDnn | Provider::CuRand);
        all.into_iter()
            .filter(|provider| !is_nvidia(provider) || seen.contains(provider))
            .collect()
    }

    /// By the prefix that every function of a library has.
    pub(crate) fn of(name: &str) -> Provider {
        let prefixes = [
            ("rocblas_", Provider::RocBlas),
            ("miopen", Provider::MiOpen),
            ("rocrand_", Provider::RocRand),
            ("nccl", Provider::Rccl),
            ("cublas", Provider::CuBlas),
            ("cudnn", Provider::CuDnn),
            ("curand", Provider::CuRand),
            ("hip", Provider::Runtime),
        ];
        let found = prefixes.iter().find(|(prefix, _)| name.starts_with(prefix));
        found.map_or(Provider::Kernel, |(_, provider)| *provider)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Provider::Kernel => "own kernel",
            Provider::RocBlas => "rocBLAS",
            Provider::MiOpen => "MIOpen",
            Provider::RocRand => "rocRAND",
            Provider::Rccl => "RCCL",
            Provider::CuBlas => "cuBLAS",
            Provider::CuDnn => "cuDNN",
            Provider::CuRand => "cuRAND",
            Provider::Runtime => "HIP runtime",
        }
    }
}

/// What one kernel or function served.
#[derive(Debug, Default)]
pub(crate) struct Service<'a> {
    /// Cases it had a part in.
    pub(crate) cases: usize,
    /// Those of them whose result agrees.
    pub(crate) agreed: usize,
    /// Cases in which it ran without a table of strides, and with one; a case may have both.
    pub(crate) contiguous: usize,
    pub(crate) strided: usize,
    /// The ops of its cases.
    pub(crate) ops: BTreeSet<&'a str>,
    /// How many of its cases have an argument of each layout.
    pub(crate) layouts: BTreeMap<&'a str, usize>,
}

impl<'a> Service<'a> {
    fn count(&mut self, case: &'a CaseRecord, result: &CaseResult, paths: &BTreeSet<&str>) {
        self.cases += 1;
        self.agreed += usize::from(agrees(result.verdict) && result.fallbacks.is_empty());
        self.contiguous += usize::from(paths.contains("contiguous"));
        self.strided += usize::from(paths.contains("strided"));
        self.ops.insert(&case.op);
        for layout in case.layout.split(',').collect::<BTreeSet<_>>() {
            *self.layouts.entry(layout).or_default() += 1;
        }
    }

    pub(crate) fn add(&mut self, other: &Service<'a>) {
        self.cases += other.cases;
        self.agreed += other.agreed;
        self.contiguous += other.contiguous;
        self.strided += other.strided;
        self.ops.extend(&other.ops);
        for (layout, count) in &other.layouts {
            *self.layouts.entry(layout).or_default() += count;
        }
    }
}

/// What served the results of the backend in `column`, by name; empty where the backend does not tell.
pub(crate) fn services(run: &RunRecord, column: usize) -> BTreeMap<&str, Service<'_>> {
    let mut services: BTreeMap<&str, Service<'_>> = BTreeMap::new();
    for case in &run.cases {
        let Some(result) = case.results.get(column) else {
            continue;
        };
        let mut by: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for step in result.served_by.iter().map(|text| Step::parse(text)) {
            by.entry(step.by).or_default().extend(step.path);
        }
        for (name, paths) in by {
            services.entry(name).or_default().count(case, result, &paths);
        }
    }
    services
}

/// The columns whose backend tells what served.
pub(crate) fn telling(run: &RunRecord) -> Vec<usize> {
    let tells = |column: &usize| {
        let mut results = run.cases.iter().filter_map(|case| case.results.get(*column));
        results.any(|result| !result.served_by.is_empty())
    };
    (0..run.backends.len()).filter(tells).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_taken_apart_into_name_path_and_level() {
        let step = |by, path, by_model| Step { by, path, by_model };
        assert_eq!(
            Step::parse("uexp_f32:strided"),
            step("uexp_f32", Some("strided"), false)
        );
        assert_eq!(Step::parse("rope_f32"), step("rope_f32", None, false));
        let gemm = "rocblas_gemm_strided_batched_ex";
        assert_eq!(
            Step::parse("rocblas_gemm_strided_batched_ex (model)"),
            step(gemm, None, true)
        );
        assert_eq!(Provider::of(gemm), Provider::RocBlas);
        assert_eq!(Provider::of("cublasGemmStridedBatchedEx"), Provider::CuBlas);
        assert_eq!(Provider::of("uexp_f32"), Provider::Kernel);
    }
}
