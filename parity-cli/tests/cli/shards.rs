//! `parity run --shard` and `parity merge`: parts of a plan, run apart and put together.

use std::fs;

use crate::common::{Run, Specs, parity, timeless, unary};

const OPS: &str = r#""abs", "neg", "exp", "log", "sin", "cos", "sqr", "tanh""#;

fn run(specs: &Specs, name: &str, args: &[&str]) {
    let out = specs.path(name);
    let fixed = [
        "run",
        "--backend",
        "cpu",
        "--format",
        "json",
        "--out",
        out.to_str().unwrap(),
    ];
    specs.parity(&[&fixed, args].concat()).exits(0);
}

fn merge(specs: &Specs, names: &[&str]) -> Run {
    parity(&[&["merge"], names].concat(), &specs.path(""), &[])
}

#[test]
fn merged_shards_are_the_whole_run_but_for_times() {
    let specs = Specs::unary(OPS, "");
    run(&specs, "all.json", &[]);
    for part in ["1/3", "2/3", "3/3"] {
        run(&specs, &format!("{}.json", &part[..1]), &["--shard", part]);
    }
    let merged = merge(&specs, &["3.json", "1.json", "2.json"]).exits(0).stdout;
    let all = fs::read_to_string(specs.path("all.json")).unwrap();
    assert_eq!(timeless(&merged), timeless(&all));
    merge(&specs, &["1.json", "2.json", "3.json", "--out", "merged.json"]).exits(0);
    let stored = fs::read_to_string(specs.path("merged.json")).unwrap();
    assert_eq!(timeless(&stored), timeless(&all));
    assert_ne!(
        timeless(&fs::read_to_string(specs.path("1.json")).unwrap()),
        timeless(&all),
        "a shard is not the whole"
    );
}

#[test]
fn four_shards_balanced_by_time_merge_to_the_whole_run() {
    let specs = Specs::unary(OPS, "");
    run(&specs, "all.json", &[]);
    let times = specs.path("all.json");
    let times = times.to_str().unwrap();
    let names = ["1.json", "2.json", "3.json", "4.json"];
    for name in names {
        let part = format!("{}/4", &name[..1]);
        run(&specs, name, &["--shard", &part, "--times", times]);
    }
    let merged = merge(&specs, &names).exits(0).stdout;
    let all = fs::read_to_string(times).unwrap();
    assert_eq!(timeless(&merged), timeless(&all));
}

#[test]
fn an_incomplete_or_doubled_set_of_shards_is_refused() {
    let specs = Specs::unary(OPS, "");
    run(&specs, "all.json", &[]);
    run(&specs, "1.json", &["--shard", "1/2"]);
    merge(&specs, &["1.json"])
        .exits(65)
        .complains("no record of shard 2/2");
    merge(&specs, &["1.json", "1.json"])
        .exits(65)
        .complains("1.json and 1.json hold the same cases, both of shard 1/2");
    merge(&specs, &["all.json"])
        .exits(65)
        .complains("all.json is a whole run, not a shard");
    merge(&specs, &["1.json", "gone.json"])
        .exits(66)
        .complains("cannot read gone.json");
    merge(&specs, &[]).exits(64).complains("<RUN>");
}

#[test]
fn shards_of_different_runs_are_refused_with_what_differs() {
    let specs = Specs::unary(OPS, "");
    run(&specs, "1.json", &["--shard", "1/2"]);
    let refused = |name: &str, what: &str| {
        let run = merge(&specs, &["1.json", name]).exits(65);
        run.complains(&format!("the {what} differs")).complains(name);
    };
    run(&specs, "seed.json", &["--shard", "2/2", "--seed", "1"]);
    refused("seed.json", "seed");
    run(&specs, "thirds.json", &["--shard", "2/3"]);
    refused("thirds.json", "number of shards");
    run(
        &specs,
        "fewer.json",
        &["--shard", "2/2", "--ops", "abs,neg,exp,log"],
    );
    refused("fewer.json", "selection of cases");
    let text = fs::read_to_string(specs.path("1.json")).unwrap();
    let other = text.replacen("\"parity_version\": \"", "\"parity_version\": \"9", 1);
    fs::write(specs.path("version.json"), other).unwrap();
    refused("version.json", "parity version");
    fs::write(
        specs.path("unary.toml"),
        unary(OPS, r#"limit = { ulp = 3, source = "planted" }"#),
    )
    .unwrap();
    run(&specs, "limits.json", &["--shard", "2/2"]);
    refused("limits.json", "digest of the specs");
}

#[test]
fn a_shard_is_named_by_its_place_among_all() {
    let specs = Specs::unary(OPS, "");
    for bad in ["0/2", "3/2", "2", "a/b"] {
        let run = specs.parity(&["run", "--backend", "cpu", "--shard", bad]);
        run.exits(64)
            .complains(&format!("bad --shard `{bad}`: expected I/N"));
    }
    let page = specs
        .parity(&["run", "--backend", "cpu", "--shard", "1/2"])
        .exits(0)
        .stdout;
    assert!(page.contains(", shard 1/2 of 16"), "{page}");
}
