//! One exact case as a group of a spec file: every list has one element.

use std::{fs, io::ErrorKind, path::Path};

use parity_model::{Case, Check, LimitSpec, op::Role, spec};

use crate::{
    error::Error,
    specs::{SWEEPS, Sources},
};

/// Appends `case` to the spec `file`, which is made if it is not there. `why` is the comment above it.
///
/// # Errors
/// A file that cannot be read or written, and a spec that is wrong or of another family.
pub fn pin(case: &Case, file: &Path, why: &str) -> Result<(), Error> {
    let name = file.display().to_string();
    let mut sources = Sources::default();
    let beside = file.with_file_name(SWEEPS);
    let sweeps = match beside.is_file() {
        true => Some(sources.read(&beside)?.to_owned()),
        false => None,
    };
    let text = match fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            format!(
                "# Cases that were pinned: found by `parity shrink` or taken out of networks.\n\nfamily = \"{}\"\n",
                case.op.family()
            )
        }
        _ => {
            let text = sources.read(file)?.to_owned();
            let specs = read(&name, &text, sweeps.as_deref()).map_err(|errors| sources.failure(errors))?;
            if let Some(spec) = specs.iter().find(|spec| spec.family != case.op.family()) {
                return Err(Error::Settings(format!(
                    "{name} is of the family {}, and {} is of {}: name a file of that family, or a new one",
                    spec.family,
                    case.op,
                    case.op.family()
                )));
            }
            text
        }
    };
    let pinned = format!("{}\n\n# ---- {why}\n{}", text.trim_end(), group(case));
    let wrong = |errors: Vec<spec::SpecError>| {
        let messages: Vec<_> = errors.iter().map(ToString::to_string).collect();
        Error::Internal(format!(
            "the group of {} is wrong: {}",
            case.id(),
            messages.join("; ")
        ))
    };
    let parsed = read(&name, &pinned, sweeps.as_deref()).map_err(wrong)?;
    spec::expand(&parsed).map_err(wrong)?;
    fs::write(file, pinned).map_err(Error::write(file))
}

/// The spec with this text, which may use the sweeps of the file beside it.
fn read(name: &str, text: &str, sweeps: Option<&str>) -> Result<Vec<spec::SpecFile>, Vec<spec::SpecError>> {
    let beside = sweeps.map(|sweeps| (SWEEPS, sweeps));
    let files: Vec<(&str, &str)> = [(name, text)].into_iter().chain(beside).collect();
    spec::read(&files)
}

/// The group whose one case is `case`.
fn group(case: &Case) -> String {
    let mut lines = vec!["[[group]]".to_owned(), format!("ops = [\"{}\"]", case.op)];
    if !case.params.is_empty() {
        let params: Vec<_> = case.params.iter().map(f64::to_string).collect();
        lines.push(format!("params = [[{}]]", params.join(", ")));
    }
    lines.extend(dtypes(case));
    let shapes: Vec<_> = case.args.iter().map(|arg| format!("{:?}", arg.shape)).collect();
    lines.push(match shapes.as_slice() {
        [one] => format!("shapes = [{one}]"),
        each => format!("shapes = [[{}]]", each.join(", ")),
    });
    let layouts: Vec<_> = case.args.iter().map(|arg| arg.layout.to_string()).collect();
    lines.push(format!("layouts = [\"{}\"]", layouts.join(",")));
    lines.push(format!("values = [\"{}\"]", case.values));
    match case.check {
        Check::Value => {}
        check @ (Check::Layout | Check::Batch) => lines.push(format!("checks = [\"{check}\"]")),
        check @ (Check::Invalid | Check::Unsupported) => lines.push(format!("refuses = \"{check}\"")),
    }
    lines.push("tier = \"ci\"".to_owned());
    lines.push("tags = [\"pinned\"]".to_owned());
    match &case.limit {
        LimitSpec::Derived => {}
        LimitSpec::Fixed { ulp, abs, source } => {
            lines.push(format!(
                "limit = {{ ulp = {ulp:?}, abs = {abs:?}, source = {source:?} }}"
            ));
        }
        LimitSpec::Bits { source } => lines.push(format!("limit = {{ bits = true, source = {source:?} }}")),
    }
    if let Some(seconds) = case.timeout {
        lines.push(format!("timeout = {seconds:?}"));
    }
    if case.isolated {
        lines.push("isolated = true".to_owned());
    }
    lines.join("\n") + "\n"
}

/// The dtype of the data and that of ids or a condition; of a case that is there to be refused, that of each argument.
fn dtypes(case: &Case) -> Vec<String> {
    let each: Vec<_> = case.args.iter().map(|arg| arg.dtype.name()).collect();
    if case.check.refusal().is_some() && each.len() > 1 {
        return vec![format!("dtypes = [\"{}\"]", each.join(","))];
    }
    let chosen = |role: &Role| matches!(role, Role::Condition | Role::Index);
    let ids = case.op.roles().iter().position(chosen);
    let ids = ids.map(|i| format!("index_dtypes = [\"{}\"]", each[i]));
    [format!("dtypes = [\"{}\"]", case.dtype)]
        .into_iter()
        .chain(ids)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_a_case_holds_that_case_and_no_other() {
        for id in [
            "unary/relu:f32:[3]:contiguous:nan",
            "unary/affine(2,-0.5):u8:[]:contiguous:ints(0,9)",
            "binary/add:f16:[],[]:contiguous,contiguous:any",
            "reduce/sum(0,2):bf16:[2,3,4]:transposed:ints(-4,4)",
            "where/where_cond:u8,f32,f32:[3,5],[3,5],[3,5]:contiguous,transposed,broadcast:any",
            "indexing/gather(1):f16,i64:[2,3],[2,7]:contiguous,contiguous:any",
            "quantized/qmatmul_q4_0:bf16,u8:[9,64],[33,64]:offset,contiguous:uniform(-1,1)",
            "quantized/embedding_f16:u8,u32:[5,7],[2,3]:contiguous,transposed:any",
            "unary/exp:f32:[2,3]:transposed:any@layout",
            "unary/exp:i32:[2]:contiguous:any@unsupported",
            "binary/add:f32,f16:[2],[2]:contiguous,contiguous:any@invalid",
            "indexing/gather(1):f16,f32:[2,3],[2,7]:contiguous,contiguous:any@invalid",
            "nn/rms_norm(0.00001):f32:[2,8],[8]:contiguous,contiguous:uniform(-1,1)",
        ] {
            let case: Case = id.parse().unwrap();
            let text = format!("family = \"{}\"\n{}", case.op.family(), group(&case));
            let file = spec::parse("a.toml", &text).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
            let cases = spec::expand(&[file]).unwrap();
            assert_eq!(
                cases.iter().map(Case::id).collect::<Vec<_>>(),
                [case.id()],
                "{text}"
            );
        }
    }

    #[test]
    fn a_limit_of_the_specs_goes_with_the_case() {
        let mut case: Case = "unary/relu:f32:[3]:contiguous:nan".parse().unwrap();
        case.limit = LimitSpec::Fixed {
            ulp: 0.5,
            abs: 0.0,
            source: "a \"reason\"".to_owned(),
        };
        let text = format!("family = \"unary\"\n{}", group(&case));
        let file = spec::parse("a.toml", &text).unwrap();
        assert_eq!(file.groups[0].cases[0].limit, case.limit);
    }
}
