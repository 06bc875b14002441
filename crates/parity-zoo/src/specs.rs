//! The specs of `model-specs/`: reading them, and choosing among them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path},
};

use serde::Deserialize;
use zoo_protocol::{Dtype, ModelSpec};

use crate::Error;

/// A file of specs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    model: Vec<ModelSpec>,
}

/// The models of all `*.toml` files of a folder, by file name and then in their order.
///
/// # Errors
/// A folder or file that cannot be read, a spec that is wrong, and two models of one name.
pub fn load(folder: &Path) -> Result<Vec<ModelSpec>, Error> {
    let unread = |why| Error::Read {
        path: folder.to_owned(),
        why,
    };
    let entries = fs::read_dir(folder).map_err(unread)?;
    let mut paths = vec![];
    for entry in entries {
        let path = entry.map_err(unread)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut models: Vec<ModelSpec> = vec![];
    let mut homes = BTreeMap::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|why| Error::Read {
            path: path.clone(),
            why,
        })?;
        let wrong = |why: String| Error::Data {
            path: path.clone(),
            why,
        };
        let file: File = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        for model in file.model {
            if model.dtypes.is_empty() {
                return Err(wrong(format!(
                    "model `{}` has no dtypes; name at least one",
                    model.name
                )));
            }
            if model.input.is_empty() || model.input.contains(&0) {
                return Err(wrong(format!(
                    "model `{}` has an input of shape {:?}; every dimension must be at least 1",
                    model.name, model.input
                )));
            }
            if let Some(words) = unsuited(&model) {
                return Err(wrong(format!("model `{}`: {words}", model.name)));
            }
            if homes.insert(model.name.clone(), path.clone()).is_some() {
                return Err(wrong(format!(
                    "there are two models `{}`; give one another name",
                    model.name
                )));
            }
            models.push(model);
        }
    }
    if models.is_empty() {
        return Err(Error::Nothing(format!("{} has no specs", folder.display())));
    }
    Ok(models)
}

/// What is wrong with a model's text or file, in words.
fn unsuited(model: &ModelSpec) -> Option<String> {
    if let Some(text) = &model.text {
        let (length, wanted) = (text.prompt.len(), model.input.first().copied().unwrap_or(0));
        if length != wanted {
            return Some(format!(
                "its prompt has {length} tokens and its input {wanted}; give both the same number"
            ));
        }
        let (length, wanted) = (text.continuation.len(), model.steps + 1);
        if length != wanted && (length, model.steps) != (0, 0) {
            return Some(format!(
                "its continuation has {length} tokens; {} steps take {wanted}, one for each and one that the last one finds",
                model.steps
            ));
        }
    }
    if model.devices == 0 {
        return Some("it runs on 0 devices; name at least one".to_owned());
    }
    let says_one = |known: &&zoo_protocol::Known| known.outputs.is_empty() != known.refused;
    if let Some(known) = model.known.iter().find(says_one) {
        return Some(format!(
            "`known` of {} names the outputs that are wrong, or says `refused = true`, and not both",
            known.backend
        ));
    }
    if model.is_onnx() != model.calls.is_some() {
        return Some(
            "an `onnx` network has `calls`, which its inputs come from, and no other one has them".to_owned(),
        );
    }
    if model.is_onnx() && model.weights.is_none() {
        return Some("an `onnx` network is in a file: give it `weights`".to_owned());
    }
    let file = model.weights.as_ref()?;
    let files = [Some(&file.file), model.calls.as_ref().map(|calls| &calls.file)];
    for file in files.into_iter().flatten() {
        let is_plain = |part| matches!(part, Component::Normal(_));
        if !Path::new(file).components().all(is_plain) {
            return Some(format!("`{file}` is to be a path below the folder of weights"));
        }
    }
    let is_digest = file.sha256.len() == 64 && file.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    (!is_digest).then(|| format!("`{}` is not a SHA-256, which has 64 hex digits", file.sha256))
}

/// The models of these names (all, where there are none), each with those of its dtypes that are asked for.
///
/// # Errors
/// A name that no model has, and a selection without a model.
pub fn select(models: Vec<ModelSpec>, names: &[String], dtypes: &[Dtype]) -> Result<Vec<ModelSpec>, Error> {
    for name in names {
        if !models.iter().any(|model| model.name == *name) {
            let known: Vec<_> = models.iter().map(|model| model.name.as_str()).collect();
            return Err(Error::Unknown {
                what: "model",
                name: name.clone(),
                known: known.join(", "),
            });
        }
    }
    let mut kept = models;
    kept.retain(|model| names.is_empty() || names.contains(&model.name));
    if !dtypes.is_empty() {
        for model in &mut kept {
            model.dtypes.retain(|dtype| dtypes.contains(dtype));
        }
        kept.retain(|model| !model.dtypes.is_empty());
    }
    if kept.is_empty() {
        return Err(Error::Nothing(
            "none of the models has one of the dtypes asked for".to_owned(),
        ));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Vec<ModelSpec> {
        load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../model-specs")).unwrap()
    }

    #[test]
    fn the_specs_can_be_read_and_are_many() {
        let models = ours();
        let networks: std::collections::BTreeSet<_> =
            models.iter().map(|model| model.architecture.as_str()).collect();
        let configurations: usize = models.iter().map(|model| model.dtypes.len()).sum();
        assert!(networks.len() >= 40, "{} networks", networks.len());
        assert!(configurations >= 60, "{configurations} configurations");
    }

    #[test]
    fn what_is_known_to_be_wrong_has_a_finding() {
        let findings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../findings");
        for known in ours().iter().flat_map(|model| &model.known) {
            let finding = findings.join(&known.finding).join("finding.toml");
            assert!(finding.is_file(), "{}", finding.display());
        }
    }

    #[test]
    fn a_model_and_a_dtype_are_selected_and_what_there_is_not_is_an_error() {
        let chosen = select(ours(), &["llama".to_owned()], &[Dtype::F16]).unwrap();
        assert_eq!((chosen.len(), &chosen[0].dtypes[..]), (1, &[Dtype::F16][..]));
        assert!(matches!(
            select(ours(), &["lama".to_owned()], &[]),
            Err(Error::Unknown { .. })
        ));
        let none = select(ours(), &["llama".to_owned()], &[Dtype::Q4K]);
        assert!(matches!(none, Err(Error::Nothing(_))));
    }

    #[test]
    fn a_file_that_is_wrong_is_an_error_that_names_it() {
        let wrong = [
            (
                "no_dtypes",
                "[[model]]\nname = \"a\"\narchitecture = \"b\"\ninput = [1]\ndtypes = []",
            ),
            (
                "no_input",
                "[[model]]\nname = \"a\"\narchitecture = \"b\"\ninput = []",
            ),
            (
                "short_prompt",
                "[[model]]\nname = \"a\"\narchitecture = \"b\"\ninput = [2]\ntext = { words = \"w\", prompt = [1] }",
            ),
            (
                "short_continuation",
                "[[model]]\nname = \"a\"\narchitecture = \"b\"\ninput = [1]\nsteps = 2\ntext = { words = \"w\", prompt = [1], continuation = [2, 3] }",
            ),
            (
                "no_device",
                "[[model]]\nname = \"a\"\narchitecture = \"b\"\ninput = [1]\ndevices = 0",
            ),
            (
                "nothing_known",
                "[[model]]\nname = \"a\"\narchitecture = \"b\"\ninput = [1]\nknown = [{ backend = \"cuda\", outputs = [], finding = \"f\" }]",
            ),
            (
                "no_digest",
                "[[model]]\nname = \"a\"\narchitecture = \"b\"\ninput = [1]\nweights = { file = \"a.gguf\", sha256 = \"12\" }",
            ),
            (
                "outside",
                "[[model]]\nname = \"a\"\narchitecture = \"b\"\ninput = [1]\nweights = { file = \"../a.gguf\", sha256 = \"0000000000000000000000000000000000000000000000000000000000000000\" }",
            ),
            (
                "no_calls",
                "[[model]]\nname = \"a\"\narchitecture = \"onnx\"\ninput = [1]\nweights = { file = \"a.onnx\", sha256 = \"0000000000000000000000000000000000000000000000000000000000000000\" }",
            ),
            (
                "no_network",
                "[[model]]\nname = \"a\"\narchitecture = \"onnx\"\ninput = [1]\ncalls = { program = \"p 1\", file = \"c\" }",
            ),
            (
                "unknown_field",
                "[[model]]\nname = \"a\"\narchitecture = \"b\"\ninput = [1]\nlimit = 1",
            ),
        ];
        for (name, text) in wrong {
            let dir = std::env::temp_dir().join(format!("parity-zoo-{name}-{}", std::process::id()));
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("x.toml"), text).unwrap();
            let error = load(&dir).unwrap_err().to_string();
            fs::remove_dir_all(&dir).unwrap();
            assert!(error.contains("x.toml"), "{error}");
        }
    }
}
