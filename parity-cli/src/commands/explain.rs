//! `parity explain`: one case, from its definition to the verdicts, with the elements that decide them.

use std::{
    fmt::Write,
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use parity_exec::Execution;
use parity_model::{
    Case, HostTensor, Outcome, Verdict,
    findings::{Findings, Known},
    op::Role,
    record::{BackendInfo, CaseResult, RunRecord},
};
use parity_oracle::{Difference, Expected, differences, expected, index_of, value_text};
use parity_report::{json, repro, share_text, text::describe, ulp_text};
use parity_run::{Event, Plan, Selection, Session, Settings};

use super::run::verdict;
use crate::{
    args::{ExplainArgs, PageFormat},
    columns::columns,
    exit::{Exit, Failure},
    next,
    output::{formless, put_page},
    settings::settings,
};

/// Elements shown of an input.
const FIRST: usize = 8;
/// Elements shown of an output, for each backend; backends that are wrong in other places add theirs.
const WORST: usize = 5;

pub(crate) fn explain(args: ExplainArgs) -> Result<Exit, Failure> {
    let selection = one_case(&args.case, args.specs.spec_dir)?;
    let settings = settings(args.how, selection, Some(1))?;
    let plan = Plan::load(&settings)?;
    let (page, record) = pages(&settings, &plan)?;
    let next = next::after_explain(&record, settings.findings.as_deref()).unwrap_or_default();
    let page = match args.page.format {
        PageFormat::Text => page + &next,
        PageFormat::Json => json::render(&record).map_err(formless)?,
    };
    put_page(args.page.out.as_deref(), &page)?;
    verdict(&record)
}

/// The case that the user named.
pub(super) fn one_case(id: &str, spec_dir: Option<PathBuf>) -> Result<Selection, Failure> {
    let selection = Selection::of_ids(&[id]).map_err(|error| {
        let help = "`parity list cases --regex REGEX` lists the ids there are";
        Failure::new(Exit::Usage, format!("{error}; {help}"))
    })?;
    Ok(Selection {
        spec_dir,
        ..selection
    })
}

/// Runs the plan's one case; the page about it, and the record.
pub(super) fn pages(settings: &Settings, plan: &Plan) -> Result<(String, RunRecord), Failure> {
    let seen = Mutex::new(Vec::new());
    let finished = plan.run(settings, Session::default(), |event| {
        if let Event::Judged { executions, .. } = event {
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend_from_slice(executions);
        }
    })?;
    let record = finished.record;
    let executions = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut text = String::new();
    for case in &plan.cases {
        let inputs = case.inputs(settings.seed);
        let page = Explanation {
            in_specs: plan.all.contains(case),
            case,
            want: expected(case, &inputs),
            args: views(case, &inputs),
            executions: &executions,
            record: &record,
            findings: &plan.findings,
        };
        text.push_str(&page.render());
    }
    Ok((text, record))
}

/// The arguments as the op sees them.
fn views(case: &Case, inputs: &[HostTensor]) -> Vec<HostTensor> {
    let gather = |(i, input): (usize, &HostTensor)| {
        case.plan(i)
            .map_or_else(|| input.clone(), |plan| plan.gather(input))
    };
    inputs.iter().enumerate().map(gather).collect()
}

/// All there is to say about a case.
struct Explanation<'a> {
    in_specs: bool,
    case: &'a Case,
    want: Expected,
    /// The logical arguments.
    args: Vec<HostTensor>,
    /// One a backend, in the record's order.
    executions: &'a [Execution],
    record: &'a RunRecord,
    findings: &'a Findings,
}

impl Explanation<'_> {
    fn render(&self) -> String {
        let mut page = String::new();
        // Writing to a `String` does not fail.
        let _ = self.write(&mut page);
        page
    }

    fn write(&self, page: &mut String) -> std::fmt::Result {
        self.write_case(page)?;
        self.write_inputs(page)?;
        writeln!(page, "output  {} {:?}", self.want.dtype, self.want.shape)?;
        writeln!(page, "limit   {}", self.want.limit)?;
        self.write_elements(page)?;
        let results = self.record.cases.iter().flat_map(|case| &case.results);
        for (info, result) in self.record.backends.iter().zip(results) {
            self.write_backend(page, info, result)?;
        }
        Ok(())
    }

    fn write_case(&self, page: &mut String) -> std::fmt::Result {
        let op = self.case.op;
        writeln!(page, "case    {}", self.case.id())?;
        writeln!(page, "op      {}/{op}: {}", op.family(), op.definition())?;
        if !self.case.params.is_empty() {
            let last = op.params().last().copied().unwrap_or_default();
            let names = op.params().iter().copied().chain(std::iter::repeat(last));
            let params = names.zip(&self.case.params).map(|(name, value)| {
                let name = name.trim_end_matches("..");
                format!("{name} = {value}")
            });
            writeln!(page, "params  {}", params.collect::<Vec<_>>().join(", "))?;
        }
        let place = match self.in_specs {
            true => format!("tier {}", self.case.tier),
            false => "in no spec, so that its limit is the oracle's own".to_owned(),
        };
        writeln!(page, "specs   {place}; seed {}", self.record.seed)
    }

    fn write_inputs(&self, page: &mut String) -> std::fmt::Result {
        let roles = self.case.op.roles();
        for (i, ((arg, role), view)) in self.case.args.iter().zip(roles).zip(&self.args).enumerate() {
            write!(page, "input   {i}: {} {:?} {}", arg.dtype, arg.shape, arg.layout)?;
            if let Some(plan) = self.case.plan(i) {
                let lies = plan.strided();
                let (dims, strides, offset) = (lies.dims, lies.strides, lies.offset);
                write!(page, ": dims {dims:?}, strides {strides:?}, offset {offset}")?;
                write!(page, ", in a storage of {:?}", plan.base_shape)?;
            }
            let filled = match role {
                Role::Data => self.case.values.to_string(),
                Role::Condition => "a condition, about half of it zero".to_owned(),
                Role::Index => "ids, all in range".to_owned(),
                Role::Blocks => "blocks as bytes, every eighth all zeros".to_owned(),
            };
            let first: Vec<_> = (0..view.len().min(FIRST))
                .map(|place| value_text(view.dtype, view.bits(place)))
                .collect();
            let more = if view.len() > FIRST { ", .." } else { "" };
            writeln!(page, "\n        {filled}: {}{more}", first.join(", "))?;
        }
        Ok(())
    }

    /// The worst elements of every output that has the expected form, next to what they should be.
    fn write_elements(&self, page: &mut String) -> std::fmt::Result {
        let outputs: Vec<_> = self
            .executions
            .iter()
            .map(|execution| self.compare(execution))
            .collect();
        let mut places: Vec<usize> = Vec::new();
        for output in outputs.iter().flatten() {
            let mut worst: Vec<&Difference> = output.iter().collect();
            worst.sort_by(|a, b| {
                let outside_first = a.inside.cmp(&b.inside);
                let used = outside_first.then(b.used.total_cmp(&a.used));
                used.then(b.ulp.total_cmp(&a.ulp))
            });
            let fresh = worst.iter().take(WORST).map(|d| d.place);
            let fresh: Vec<_> = fresh.filter(|place| !places.contains(place)).collect();
            places.extend(fresh);
        }
        if places.is_empty() {
            return Ok(());
        }
        writeln!(
            page,
            "\nWorst elements, {} of {} (error in ULP, share of the limit used; ! is outside)",
            places.len(),
            self.want.elements.len()
        )?;
        let mut rows = vec![self.heading(&outputs)];
        rows.extend(places.iter().map(|place| self.row(*place, &outputs)));
        page.push_str(&columns("  ", &rows));
        Ok(())
    }

    fn compare(&self, execution: &Execution) -> Option<Vec<Difference>> {
        match &execution.outcome {
            Outcome::Ran(output) => differences(&self.want, output),
            Outcome::Refused { .. }
            | Outcome::Crashed { .. }
            | Outcome::TimedOut { .. }
            | Outcome::Missing { .. } => None,
        }
    }

    fn heading(&self, outputs: &[Option<Vec<Difference>>]) -> Vec<String> {
        let mut row = vec!["index"];
        if self.want.elementwise {
            row.push(if self.args.len() == 1 { "input" } else { "inputs" });
        }
        row.extend(["expected", "allowed"]);
        for (info, output) in self.record.backends.iter().zip(outputs) {
            if output.is_some() {
                row.extend([info.backend.as_str(), "error"]);
            }
        }
        row.into_iter().map(str::to_owned).collect()
    }

    fn row(&self, place: usize, outputs: &[Option<Vec<Difference>>]) -> Vec<String> {
        let dtype = self.want.dtype;
        let element = &self.want.elements[place];
        let mut row = vec![format!("{:?}", index_of(place, &self.want.shape))];
        if self.want.elementwise {
            let values = self.args.iter().map(|arg| value_text(arg.dtype, arg.bits(place)));
            row.push(values.collect::<Vec<_>>().join(", "));
        }
        row.push(value_text(dtype, element.bits));
        let allowed = outputs
            .iter()
            .flatten()
            .next()
            .map_or(0.0, |output| output[place].allowed);
        row.push(match (self.want.bitwise, element.limit.ulp > 0.0) {
            (true, _) => "same bits".to_owned(),
            (false, true) => format!("{} = {allowed:.3e}", element.limit),
            (false, false) => element.limit.to_string(),
        });
        for difference in outputs.iter().flatten().map(|output| output[place]) {
            row.push(value_text(dtype, difference.got));
            let outside = if difference.inside { "" } else { " !" };
            row.push(match difference.ulp == 0.0 && difference.inside {
                true => "0".to_owned(),
                false => format!(
                    "{} {}{outside}",
                    ulp_text(difference.ulp),
                    share_text(difference.used)
                ),
            });
        }
        row
    }

    fn write_backend(&self, page: &mut String, info: &BackendInfo, result: &CaseResult) -> std::fmt::Result {
        let backend = &info.backend;
        let role = if *backend == self.record.reference {
            "; the reference"
        } else {
            ""
        };
        writeln!(page, "\n{backend}: {}{role}", describe(info))?;
        writeln!(
            page,
            "  verdict  {}, in {:.1} ms",
            result.verdict.name(),
            result.millis
        )?;
        writeln!(page, "  why      {}", why(result).replace('\n', "\n           "))?;
        if let Some(against) = &result.vs_oracle {
            writeln!(page, "  oracle   {}", distance(against))?;
        }
        if let Some(against) = &result.vs_reference {
            writeln!(page, "  {:8} {}", self.record.reference, distance(against))?;
        }
        if !result.fallbacks.is_empty() {
            writeln!(page, "  on CPU   {}", result.fallbacks.join(", "))?;
        }
        let id = self.case.id();
        let note = result.note.as_deref().unwrap_or_default();
        let about = || self.findings.about(backend, self.case);
        // Of several, the one that the verdict's words are from.
        let said = about().find(|known| note.contains(&known.note()));
        if let Some(known) = said.or_else(|| about().next()) {
            writeln!(page, "  known    {}", place(known))?;
            writeln!(page, "           {}", known.finding.reason)?;
        }
        writeln!(page, "  again    {}", repro(self.record, id.as_str(), backend))
    }
}

/// A row of a finding, with its place.
fn place(known: Known<'_>) -> String {
    let (finding, row) = (known.finding, known.row);
    let before = fs::read(&finding.file).ok();
    let before = before.as_ref().and_then(|text| text.get(..row.span.start));
    let line = before.map_or_else(String::new, |text| {
        format!(":{}", 1 + text.iter().filter(|byte| **byte == b'\n').count())
    });
    let may_pass = if row.may_pass { " (or a pass)" } else { "" };
    format!(
        "`{}` at {}{line} explains {}{may_pass}",
        finding.name,
        finding.file,
        row.verdict.name()
    )
}

/// Why the verdict is what it is.
fn why(result: &CaseResult) -> String {
    match (&result.note, result.verdict) {
        (Some(note), _) => note.trim_end().to_owned(),
        (None, Verdict::Pass) => {
            "dtype and shape are right, and every element is inside its limit".to_owned()
        }
        (None, _) => "no reason was recorded".to_owned(),
    }
}

/// The figures of a comparison.
fn distance(metrics: &parity_model::Metrics) -> String {
    let (outside, elements) = (metrics.outside, metrics.elements);
    let (ulp, abs) = (ulp_text(metrics.max_ulp), metrics.max_abs);
    let rel = metrics.max_rel.map(|rel| format!(", {rel:.3e} relative"));
    let (rel, used) = (rel.unwrap_or_default(), share_text(metrics.limit_used));
    format!(
        "{outside} of {elements} outside; largest error {ulp} ULP, {abs:.3e} absolute{rel}; {used} of a limit used"
    )
}
