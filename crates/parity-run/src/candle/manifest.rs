//! Manifests: one that inherits from its workspace stands for itself, and the derived crate has the dependencies of the candle that it is
//! derived from.

use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike, TomlError, Value, value};

/// The tables of dependencies that a library is compiled with: those of all targets, and those of some.
fn tables(manifest: &mut DocumentMut) -> Vec<&mut dyn TableLike> {
    let mut found = Vec::new();
    for (name, item) in manifest.iter_mut() {
        match (name.get(), item) {
            ("dependencies", item) => found.extend(item.as_table_like_mut()),
            ("target", item) => {
                let targets = item.as_table_like_mut().into_iter();
                let targets = targets.flat_map(|targets| targets.iter_mut());
                let tables = targets.filter_map(|(_, target)| {
                    let target = target.as_table_like_mut()?;
                    target.get_mut("dependencies")?.as_table_like_mut()
                });
                found.extend(tables);
            }
            _ => {}
        }
    }
    found
}

/// A dependency as `{ version = "1", .. }`, however it is written.
fn inline(dependency: &Item) -> InlineTable {
    match dependency.clone().into_value() {
        Ok(Value::InlineTable(table)) => table,
        Ok(version) => InlineTable::from_iter([("version", version)]),
        Err(_) => InlineTable::new(),
    }
}

fn features(dependency: &InlineTable) -> impl Iterator<Item = &Value> {
    let listed = dependency.get("features").and_then(Value::as_array);
    listed.into_iter().flat_map(Array::iter)
}

/// A manifest in which nothing is left to the workspace.
///
/// # Errors
/// What is not TOML.
pub(super) fn resolved(manifest: &str, workspace: &str) -> Result<String, TomlError> {
    let mut manifest: DocumentMut = manifest.parse()?;
    let workspace: DocumentMut = workspace.parse()?;
    let shared = |table: &str, name: &str| workspace.get("workspace")?.get(table)?.get(name).cloned();
    let inherits = |item: &Item| item.get("workspace").and_then(Item::as_bool) == Some(true);
    if let Some(package) = manifest.get_mut("package").and_then(Item::as_table_like_mut)
        && package.get("version").is_some_and(inherits)
        && let Some(version) = shared("package", "version")
    {
        package.insert("version", version);
    }
    for table in tables(&mut manifest) {
        for (name, item) in table.iter_mut().filter(|(_, item)| inherits(item)) {
            let own = inline(item);
            let mut whole = shared("dependencies", name.get())
                .as_ref()
                .map(inline)
                .unwrap_or_default();
            // A crate beside candle-core is taken from crates.io: its version is written beside the path.
            whole.remove("path");
            let all: Array = features(&whole).chain(features(&own)).cloned().collect();
            whole.extend(own.into_iter().filter(|(key, _)| key != "workspace"));
            if !all.is_empty() {
                whole.insert("features", Value::Array(all));
            }
            *item = Item::Value(Value::InlineTable(whole));
        }
    }
    Ok(manifest.to_string())
}

/// Our manifest of the derived crate, with the other candle's dependency where that asks for a version which cargo does not take ours
/// for, or that ours has not.
///
/// # Errors
/// What is not TOML.
pub(super) fn merged(ours: &str, theirs: &str) -> Result<String, TomlError> {
    let mut ours: DocumentMut = ours.parse()?;
    let mut theirs: DocumentMut = theirs.parse()?;
    for table in tables(&mut theirs) {
        for (name, item) in table.iter() {
            let mut wanted = inline(item);
            let mut tables = tables(&mut ours);
            let place = tables.iter_mut().find_map(|table| table.get_mut(name));
            match place {
                Some(place) => {
                    let had = inline(place);
                    if same_versions(requirement(&had), requirement(&wanted)) {
                        continue;
                    }
                    // Our features name what is optional.
                    match had.get("optional") {
                        Some(optional) => wanted.insert("optional", optional.clone()),
                        None => wanted.remove("optional"),
                    };
                    *place = Item::Value(Value::InlineTable(wanted));
                }
                None if wanted.get("optional").and_then(Value::as_bool) == Some(true) => {}
                None => ours["dependencies"][name] = value(wanted),
            }
        }
    }
    Ok(ours.to_string())
}

fn requirement(dependency: &InlineTable) -> &str {
    dependency
        .get("version")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Whether cargo takes one version for both: they have the same first number that is not zero.
fn same_versions(a: &str, b: &str) -> bool {
    let first = |requirement: &str| {
        let numbers = requirement.trim_start_matches(['=', '^', '~', ' ']);
        let mut numbers = numbers.split('.').map(str::to_owned);
        let major = numbers.next().unwrap_or_default();
        let minor = if major == "0" { numbers.next() } else { None };
        (major, minor.unwrap_or_default())
    };
    first(a) == first(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "[package]\nname = \"candle-core\"\nversion = \"0.11.1\"\n\n[dependencies]\n\
        rocm-backend = { path = \"../../rocm-backend\" }\nlibc = \"0.2.147\"\nmkl = { version = \"0.8.1\", optional = true }\n\
        zip = { version = \"9.1.3\", default-features = false }\n\n\
        [target.'cfg(not(x))'.dependencies.tokenizers]\nversion = \"0.23.1\"\nfeatures = [\"fancy-regex\"]\n";

    fn dependency(manifest: &str, name: &str) -> Option<String> {
        let mut manifest: DocumentMut = manifest.parse().unwrap();
        let tables = tables(&mut manifest);
        let found = tables.iter().find_map(|table| table.get(name));
        found.map(|item| inline(item).to_string().replace(' ', ""))
    }

    #[test]
    fn a_dependency_of_another_version_or_of_theirs_alone_is_theirs() {
        let theirs = "[package]\nname = \"candle-core\"\nversion = \"0.11.0\"\n\n[dependencies.libc]\nversion = \"0.2.1\"\noptional = true\n\n\
            [dependencies.mkl]\nversion = \"0.7.0\"\nfeatures = [\"a\"]\n\n[dependencies.zip]\nversion = \"8.6.0\"\n\n\
            [dependencies]\nnew = \"2\"\nperhaps = { version = \"1\", optional = true }\n\n\
            [target.'cfg(y)'.dependencies.tokenizers]\nversion = \"0.22.0\"\nfeatures = [\"onig\"]\n";
        let found = merged(OURS, theirs).unwrap();
        for (name, want) in [
            ("libc", Some("{version=\"0.2.147\"}")),
            ("mkl", Some("{version=\"0.7.0\",features=[\"a\"],optional=true}")),
            ("zip", Some("{version=\"8.6.0\"}")),
            ("new", Some("{version=\"2\"}")),
            ("perhaps", None),
            ("tokenizers", Some("{version=\"0.22.0\",features=[\"onig\"]}")),
            ("rocm-backend", Some("{path=\"../../rocm-backend\"}")),
        ] {
            assert_eq!(dependency(&found, name).as_deref(), want, "{name} in\n{found}");
        }
        // Our version stays: what depends on candle-core asks for it.
        assert!(found.contains("version = \"0.11.1\""), "{found}");
        assert_eq!(merged(OURS, OURS).unwrap(), OURS);
    }

    #[test]
    fn what_is_left_to_the_workspace_is_filled_in() {
        let manifest = "[package]\nname = \"candle-core\"\nversion.workspace = true\n\n[dependencies]\nlibc = { workspace = true }\n\
            half = { workspace = true, features = [\"b\"], optional = true }\nown = \"1\"\n";
        let workspace = "[workspace.package]\nversion = \"0.9.8\"\n\n[workspace.dependencies]\nlibc = \"0.2\"\n\
            half = { path = \"./half\", version = \"2.5\", features = [\"a\"], default-features = false }\n";
        let found = resolved(manifest, workspace).unwrap();
        assert!(found.contains("\nversion = \"0.9.8\"\n"), "{found}");
        assert_eq!(dependency(&found, "libc").as_deref(), Some("{version=\"0.2\"}"));
        let half = dependency(&found, "half").unwrap();
        assert_eq!(
            half,
            "{version=\"2.5\",features=[\"a\",\"b\"],default-features=false,optional=true}"
        );
        assert_eq!(dependency(&found, "own").as_deref(), Some("{version=\"1\"}"));
    }

    #[test]
    fn versions_are_the_same_up_to_the_first_number_that_is_not_zero() {
        for (a, b, want) in [
            ("1.2", "1.9.3", true),
            ("8.6.0", "9.1.3", false),
            ("0.22.0", "0.23.1", false),
            ("0.19.8", "0.19.10", true),
            ("=0.3.1", "0.3", true),
            ("2", "2.5.0", true),
        ] {
            assert_eq!(same_versions(a, b), want, "{a} {b}");
        }
    }
}
