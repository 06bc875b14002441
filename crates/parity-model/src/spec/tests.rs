//! Tests of the spec reader: each mistake, its message, its place and its help.

use super::*;
use crate::{LimitSpec, Tier};

const GOOD: &str = r#"family = "binary"

[[group]]
ops = ["add", "lt"]
dtypes = ["f32", "i16"]
shapes = [[2, 3], []]
layouts = ["contiguous", "transposed,broadcast"]
values = ["ints(-9,9)"]
tier = "ci"
skip_impossible = true
"#;

/// What parsing `text` reports.
fn errors(text: &str) -> Vec<SpecError> {
    parse("s.toml", text).expect_err("the text has a mistake")
}

/// Asserts that replacing `from` by `to` in the good text is reported as exactly one error, at `at`.
#[track_caller]
fn check(from: &str, to: &str, at: &str, message: &str, help: &str) {
    assert!(GOOD.contains(from), "the good text has {from}");
    let text = GOOD.replacen(from, to, 1);
    let errors = errors(&text);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!(errors[0].message, message);
    assert_eq!(errors[0].help.as_deref().unwrap_or_default(), help);
    assert!(
        text[errors[0].span.clone()].starts_with(at),
        "it points at {:?}",
        &text[errors[0].span.clone()]
    );
}

#[test]
fn a_good_spec_expands_in_the_order_of_ids() {
    let file = parse("s.toml", GOOD).unwrap();
    let ids: Vec<String> = expand(&[file])
        .unwrap()
        .iter()
        .map(|case| case.id().to_string())
        .collect();
    assert_eq!(
        ids,
        [
            "binary/add:f32:[2,3],[2,3]:contiguous,contiguous:ints(-9,9)",
            "binary/add:f32:[2,3],[2,3]:transposed,broadcast:ints(-9,9)",
            "binary/add:f32:[],[]:contiguous,contiguous:ints(-9,9)",
            "binary/add:i16:[2,3],[2,3]:contiguous,contiguous:ints(-9,9)",
            "binary/add:i16:[2,3],[2,3]:transposed,broadcast:ints(-9,9)",
            "binary/add:i16:[],[]:contiguous,contiguous:ints(-9,9)",
            "binary/lt:f32:[2,3],[2,3]:contiguous,contiguous:ints(-9,9)",
            "binary/lt:f32:[2,3],[2,3]:transposed,broadcast:ints(-9,9)",
            "binary/lt:f32:[],[]:contiguous,contiguous:ints(-9,9)",
            "binary/lt:i16:[2,3],[2,3]:contiguous,contiguous:ints(-9,9)",
            "binary/lt:i16:[2,3],[2,3]:transposed,broadcast:ints(-9,9)",
            "binary/lt:i16:[],[]:contiguous,contiguous:ints(-9,9)",
        ]
    );
}

#[test]
fn tier_and_limit_reach_the_cases() {
    let text = GOOD.replace(
        "tier = \"ci\"",
        "tier = \"slow\"\nlimit = { ulp = 3, source = \"a reason\" }",
    );
    let cases = expand(&[parse("s.toml", &text).unwrap()]).unwrap();
    assert_eq!(cases[0].tier, Tier::Slow);
    assert_eq!(
        cases[0].limit,
        LimitSpec::Fixed {
            ulp: 3.0,
            abs: 0.0,
            source: "a reason".into()
        }
    );
}

#[test]
fn unknown_names_are_underlined_and_the_nearest_is_suggested() {
    check(
        "ops = [\"add\"",
        "ops = [\"ad\"",
        "\"ad\"",
        "unknown op `ad`",
        "did you mean `add`?",
    );
    check(
        "\"i16\"",
        "\"half\"",
        "\"half\"",
        "unknown dtype `half`",
        &format!("expected one of {DTYPES}"),
    );
    check(
        "tier = \"ci\"",
        "tier = \"cii\"",
        "\"cii\"",
        "unknown tier `cii`",
        "did you mean `ci`?",
    );
    check(
        "\"contiguous\"",
        "\"contigous\"",
        "\"contigous\"",
        "unknown layout `contigous`",
        "did you mean `contiguous`?",
    );
}

const DTYPES: &str = "u8, u32, i16, i32, i64, f8e4m3, bf16, f16, f32, f64, floats, ints, all";

#[test]
fn a_misspelt_key_is_unknown_and_the_right_one_missing() {
    let errors = errors(&GOOD.replace("dtypes =", "dtype ="));
    let texts: Vec<_> = errors
        .iter()
        .map(|e| (e.message.as_str(), e.help.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        texts,
        [
            ("missing key `dtypes`", "add dtypes = [\"f32\"]"),
            ("unknown key `dtype`", "did you mean `dtypes`?"),
        ]
    );
}

#[test]
fn an_unknown_family_is_reported_alone() {
    check(
        "\"binary\"",
        "\"binry\"",
        "\"binry\"",
        "unknown op family `binry`",
        "did you mean `binary`?",
    );
}

#[test]
fn an_op_of_another_family_is_refused() {
    let help = "it belongs into a file with family = \"unary\"";
    check(
        "\"lt\"",
        "\"exp\"",
        "\"exp\"",
        "`exp` is not in the family `binary`",
        help,
    );
}

#[test]
fn an_empty_list_and_a_repeated_name_are_refused() {
    let empty = "a group without it would hold no case: name at least one";
    check("[\"f32\", \"i16\"]", "[]", "[]", "`dtypes` is empty", empty);
    let twice = "the cases would be the same: remove one";
    check(
        "\"i16\"]",
        "\"f32\"]",
        "\"f32\"",
        "`dtypes` names this twice",
        twice,
    );
    check(
        "[[2, 3], []]",
        "[[2, 3], [2, 3]]",
        "[2, 3]",
        "`shapes` names this twice",
        twice,
    );
}

#[test]
fn wrong_types_are_named() {
    check(
        "tier = \"ci\"",
        "tier = 3",
        "3",
        "`tier` must be a string, not an integer",
        "",
    );
    check(
        "[[2, 3], []]",
        "[[2, 3.5], []]",
        "3.5",
        "`shapes` must be an integer, not a float",
        "",
    );
    check(
        "[[2, 3], []]",
        "[[2, -3], []]",
        "-3",
        "`shapes` must hold sizes, and -3 is none",
        "sizes are 0 and above",
    );
    check(
        "skip_impossible = true",
        "skip_impossible = 1",
        "1",
        "`skip_impossible` must be a boolean, not an integer",
        "",
    );
}

#[test]
fn impossible_layouts_are_errors_unless_skipped() {
    let help = "skip_impossible = true leaves such combinations out";
    let message = "layout `transposed` is impossible for the shape []: it needs rank >= 2";
    check("skip_impossible = true", "", "[\"contiguous\"", message, help);
}

#[test]
fn with_skip_impossible_every_layout_and_shape_is_still_used() {
    let message = "layout `reversed` is possible for no shape of the group";
    check(
        "\"transposed,broadcast\"",
        "\"reversed\"",
        "[\"contiguous\"",
        message,
        "layout `reversed` is impossible for the shape []: it needs rank >= 3",
    );
    let message = "shape [] is possible in no combination of the group";
    check(
        "\"contiguous\", ",
        "",
        "[[2, 3]",
        message,
        "layout `transposed` is impossible for the shape []: it needs rank >= 2",
    );
}

#[test]
fn a_layout_list_names_one_layout_or_one_an_argument() {
    let help = "name one for all arguments, or one for each; ops with another number of arguments go into another group";
    let three = "\"offset,offset,offset\"";
    check(
        "\"contiguous\"",
        three,
        three,
        "3 layouts are named for 2 arguments",
        help,
    );
}

#[test]
fn values_are_checked_against_spelling_op_and_dtype() {
    check(
        "ints(-9,9)",
        "ints(9)",
        "\"ints(9)\"",
        "invalid value set `ints(9)`",
        "two bounds are needed: (lo,hi)",
    );
    let message =
        "`uniform(0,1)` holds floats, and i16 is an integer dtype: use ints(lo,hi), any or extremes";
    check(
        "ints(-9,9)",
        "uniform(0,1)",
        "[\"uniform",
        message,
        "split the group, or choose other values",
    );
    let message = "`ints(-9,9)` may divide i16 by zero: use nonzero(lo,hi), or divzero to test just that";
    check(
        "\"add\"",
        "\"div\"",
        "[\"ints",
        message,
        "split the group, or choose other values",
    );
}

#[test]
fn parameters_match_the_op() {
    let help = "remove `params`, or give the op a group of its own";
    let errors = errors(&GOOD.replace("tier =", "params = [[1]]\ntier ="));
    let messages: Vec<_> = errors.iter().map(|e| e.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`add` takes 0 parameters, not 1",
            "`lt` takes 0 parameters, not 1"
        ]
    );
    assert_eq!(errors[0].help.as_deref(), Some(help));
    let unary = "family = \"unary\"\n[[group]]\nops = [\"affine\"]\ndtypes = [\"f32\"]\nshapes = [[3]]\n\
                 layouts = [\"contiguous\"]\nvalues = [\"any\"]\ntier = \"ci\"\n";
    let missing = self::errors(unary);
    assert_eq!(missing[0].message, "`affine` takes 2 parameters, not 0");
    assert_eq!(missing[0].help.as_deref(), Some("its parameters are mul, add"));
    assert!(parse("s.toml", &format!("{unary}params = [[2, 0.5]]\n")).is_ok());
}

#[test]
fn an_op_is_not_given_dtypes_that_mean_nothing_to_it() {
    let text = "family = \"unary\"\n[[group]]\nops = [\"exp\"]\ndtypes = [\"f32\", \"u8\"]\nshapes = [[3]]\n\
                layouts = [\"contiguous\"]\nvalues = [\"any\"]\ntier = \"ci\"\n";
    let errors = errors(text);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].message, "`exp` means nothing for u8");
    assert_eq!(
        errors[0].help.as_deref(),
        Some("it takes f8e4m3, bf16, f16, f32, f64")
    );
}

#[test]
fn a_limit_has_a_source_and_a_number() {
    let with = |limit: &str| {
        let text = GOOD.replace("tier =", &format!("limit = {limit}\ntier ="));
        errors(&text).into_iter().map(|e| e.message).collect::<Vec<_>>()
    };
    assert_eq!(with("{ ulp = 3 }"), ["missing key `source`"]);
    assert_eq!(
        with("{ ulp = 3, source = \" \" }"),
        ["`source` must not be empty"]
    );
    assert_eq!(with("{ source = \"x\" }"), ["the limit names no number"]);
    assert_eq!(
        with("{ ulp = -1, source = \"x\" }"),
        ["a limit of -1 is below zero"]
    );
    assert_eq!(
        with("{ ulp = 1, bits = true, source = \"x\" }"),
        ["`bits` leaves no room for `ulp` or `abs`"]
    );
    assert_eq!(
        with("{ ulps = 1, source = \"x\" }"),
        ["the limit names no number", "unknown key `ulps`"]
    );
    assert_eq!(with("3"), ["`limit` must be a table, not an integer"]);
}

#[test]
fn everything_wrong_with_a_file_is_reported_at_once_and_in_order() {
    let text = "famly = \"unary\"\nfamily = \"unary\"\n[[group]]\nops = [\"expp\"]\ndtypes = [\"f31\"]\nshapes = []\n\
                layouts = [\"contiguous\"]\nvalues = [\"any\"]\n[[group]]\nops = [\"sin\"]\ntier = \"never\"\n";
    let messages: Vec<String> = errors(text).into_iter().map(|e| e.message).collect();
    assert_eq!(
        messages,
        [
            "unknown key `famly`",
            "missing key `tier`",
            "unknown op `expp`",
            "unknown dtype `f31`",
            "`shapes` is empty",
            "missing key `dtypes`",
            "missing key `shapes`",
            "missing key `layouts`",
            "missing key `values`",
            "unknown tier `never`",
        ]
    );
}

#[test]
fn broken_toml_is_reported_with_its_place() {
    let errors = errors("family = \"unary\"\n[[group]\n");
    assert!(
        errors
            .iter()
            .any(|e| e.help.as_deref() == Some("the file is not valid TOML here")),
        "{errors:?}"
    );
    assert!(
        errors.iter().all(|e| e.file == "s.toml" && e.span.end <= 26),
        "{errors:?}"
    );
}

#[test]
fn an_empty_file_is_no_spec() {
    let messages: Vec<String> = errors("").into_iter().map(|e| e.message).collect();
    assert_eq!(messages, ["missing key `family`", "missing key `group`"]);
}

#[test]
fn a_case_that_exists_already_is_an_error_that_names_where() {
    let (one, two) = (parse("one.toml", GOOD).unwrap(), parse("two.toml", GOOD).unwrap());
    let errors = expand(&[one, two]).unwrap_err();
    assert_eq!(errors.len(), 12);
    assert_eq!(errors[0].file, "two.toml");
    assert_eq!(
        errors[0].message,
        "case `binary/add:f32:[2,3],[2,3]:contiguous,contiguous:ints(-9,9)` exists already"
    );
    assert_eq!(
        errors[0].help.as_deref(),
        Some("a group before this one, in one.toml, has it: remove it from one of them")
    );
    assert!(GOOD[errors[0].span.clone()].starts_with("[[group]]"));
}

const GATHER: &str = "family = \"indexing\"\n[[group]]\nops = [\"gather\"]\nparams = [[0], [1]]\ndtypes = [\"f32\"]\n\
                      index_dtypes = [\"u8\", \"i64\"]\nshapes = [[[4, 3], [2, 3]], [[5], [7]]]\n\
                      layouts = [\"contiguous\", \"contiguous,stepped\"]\nvalues = [\"any\"]\ntier = \"ci\"\n\
                      skip_impossible = true\n";

#[test]
fn arguments_have_shapes_and_dtypes_of_their_own() {
    let ids: Vec<String> = expand(&[parse("gather.toml", GATHER).unwrap()])
        .unwrap()
        .iter()
        .map(|case| case.id().to_string())
        .collect();
    // Two dtypes of ids, two layouts; [5] has no dimension 1.
    assert_eq!(ids.len(), 12, "{ids:?}");
    assert!(ids.contains(&"indexing/gather(0):f32,u8:[5],[7]:contiguous,stepped:any".to_owned()));
}

#[test]
fn ids_need_integer_dtypes_and_only_ops_with_ids_have_them() {
    let messages = |text: &str| -> Vec<String> {
        let errors = parse("gather.toml", text).unwrap_err();
        errors.into_iter().map(|error| error.message).collect()
    };
    assert_eq!(
        messages(&GATHER.replace("\"i64\"", "\"f16\"")),
        ["ids and conditions are integers, not f16"]
    );
    assert_eq!(
        messages(&GATHER.replace("index_dtypes = [\"u8\", \"i64\"]\n", "")),
        ["`gather` takes ids or a condition, and their dtypes are missing"]
    );
    assert_eq!(
        messages(&GOOD.replace("tier =", "index_dtypes = [\"u8\"]\ntier =")),
        [
            "`add` takes no ids and no condition",
            "`lt` takes no ids and no condition"
        ]
    );
    assert_eq!(
        messages(&GATHER.replace("skip_impossible = true\n", "")),
        ["`gather`: [5] has no dimension 1"]
    );
}

#[test]
fn checks_multiply_the_cases_and_refusals_take_their_place() {
    let with = |keys: &str| {
        let text = GOOD.replace("tier = ", &format!("{keys}\ntier = "));
        let cases = expand(&[parse("s.toml", &text).unwrap()]).unwrap();
        cases.iter().map(|case| case.id().to_string()).collect::<Vec<_>>()
    };
    let ids = with("checks = [\"value\", \"layout\", \"batch\"]");
    assert!(ids.contains(&"binary/add:f32:[2,3],[2,3]:transposed,broadcast:ints(-9,9)@layout".to_owned()));
    assert!(ids.contains(&"binary/lt:i16:[2,3],[2,3]:contiguous,contiguous:ints(-9,9)@batch".to_owned()));
    let layout = ids.iter().filter(|id| id.ends_with("@layout")).count();
    let batch = ids.iter().filter(|id| id.ends_with("@batch")).count();
    assert_eq!(
        (layout, batch),
        (4, 8),
        "contiguous and scalar ones are left out: {ids:#?}"
    );
    let mixed = "family = \"binary\"\n[[group]]\nops = [\"add\"]\ndtypes = [\"f32,f16\"]\nshapes = [[2]]\n\
                 layouts = [\"contiguous\"]\nvalues = [\"ints(1,9)\"]\nrefuses = \"invalid\"\ntier = \"ci\"\n";
    let cases = expand(&[parse("s.toml", mixed).unwrap()]).unwrap();
    assert_eq!(
        cases[0].id().as_str(),
        "binary/add:f32,f16:[2],[2]:contiguous,contiguous:ints(1,9)@invalid"
    );
}

#[test]
fn a_check_or_refusal_that_cannot_be_is_reported() {
    let tier = "tier = \"ci\"\nskip_impossible = true";
    check(
        tier,
        &format!("{tier}\nchecks = [\"value\", \"layouts\"]"),
        "\"layouts\"",
        "unknown check `layouts`",
        "did you mean `layout`?",
    );
    check(
        tier,
        &format!("{tier}\nrefuses = \"value\""),
        "\"value\"",
        "unknown class of refusal `value`",
        "expected one of invalid, unsupported",
    );
    check(
        tier,
        &format!("{tier}\nchecks = [\"value\"]\nrefuses = \"invalid\""),
        "\"invalid\"",
        "what is refused has no output to check",
        "remove `checks` or `refuses`, or make two groups of them",
    );
    let right = GOOD.replace(tier, &format!("{tier}\nrefuses = \"unsupported\""));
    let reported = errors(&right);
    assert!(
        reported
            .iter()
            .all(|error| error.message.contains("nothing is wrong with it")),
        "{reported:#?}"
    );
}

#[test]
fn every_case_of_a_group_is_isolated_or_none_is() {
    let isolated = |text: &str| -> Vec<bool> {
        let cases = expand(&[parse("a.toml", text).unwrap()]).unwrap();
        cases.iter().map(|case| case.isolated).collect()
    };
    let apart = GATHER.replace("tier =", "isolated = true\ntier =");
    assert_eq!(isolated(&apart), [true; 12]);
    assert_eq!(isolated(GATHER), [false; 12]);
    let errors = parse("a.toml", &apart.replace("isolated = true", "isolated = 1")).unwrap_err();
    assert_eq!(errors[0].message, "`isolated` must be a boolean, not an integer");
}

#[test]
fn every_case_of_a_group_has_its_tags_and_a_tag_is_a_word() {
    let tagged = GATHER.replace("tier =", "tags = [\"pinned\", \"gh-12\"]\ntier =");
    let cases = expand(&[parse("a.toml", &tagged).unwrap()]).unwrap();
    assert!(cases.iter().all(|case| case.tags == ["pinned", "gh-12"]));
    let errors = parse("a.toml", &tagged.replace("gh-12", "two words")).unwrap_err();
    assert_eq!(errors[0].message, "`two words` is no tag");
}

#[test]
fn a_group_that_would_not_end_is_reported_and_not_expanded() {
    let shapes: Vec<String> = (1..1200).map(|i| format!("[{i}]")).collect();
    let values: Vec<String> = (1..1000).map(|i| format!("\"ints(0,{i})\"")).collect();
    let text = GOOD
        .replace("[[2, 3], []]", &format!("[{}]", shapes.join(", ")))
        .replace("[\"ints(-9,9)\"]", &format!("[{}]", values.join(", ")));
    let reported = errors(&text);
    assert_eq!(reported.len(), 1, "{reported:#?}");
    assert_eq!(
        reported[0].message,
        "the lists of the group cross to more than 1048576 cases"
    );
}

/// The ids of the cases of a file on its own.
#[track_caller]
fn ids(text: &str) -> Vec<String> {
    let file = parse("s.toml", text).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    let cases = expand(&[file]).unwrap_or_else(|errors| panic!("{errors:#?}"));
    cases.iter().map(|case| case.id().to_string()).collect()
}

/// What is wrong with a file, each as `message [help]` with the text that is underlined.
fn wrong(text: &str) -> Vec<(String, String)> {
    let shown = |error: SpecError| {
        let line = text[error.span].lines().next().unwrap_or_default().to_owned();
        (
            format!("{} [{}]", error.message, error.help.unwrap_or_default()),
            line,
        )
    };
    errors(text).into_iter().map(shown).collect()
}

/// One error of a file: what it says, with what is underlined.
#[track_caller]
fn check_one(text: &str, message: &str, at: &str) {
    let found = wrong(text);
    assert_eq!(found, [(message.to_owned(), at.to_owned())], "{text}");
}

/// A family, and lines that every row of the file has.
fn of(family: &str, rest: &str) -> String {
    format!(
        "family = \"{family}\"\n[defaults]\nlayouts = \"contiguous\"\nvalues = \"any\"\ntier = \"ci\"\nshapes = [[4]]\n{rest}"
    )
}

#[test]
fn a_class_holds_what_each_op_means_something_for() {
    let dtypes = |ops: &str, dtypes: &str, more: &str| -> Vec<String> {
        let text = of(
            "unary",
            &format!("[[group]]\nops = {ops}\ndtypes = {dtypes}\n{more}"),
        );
        let ids = ids(&text);
        ids.iter()
            .map(|id| id.split(':').take(2).collect::<Vec<_>>().join(":"))
            .collect()
    };
    assert_eq!(dtypes("\"relu\"", "\"ints\"", "").len(), 5);
    let floats = ["bf16", "f16", "f32", "f64", "f8e4m3"];
    assert_eq!(
        dtypes("\"exp\"", "\"all\"", ""),
        floats.map(|dtype| format!("unary/exp:{dtype}"))
    );
    assert_eq!(
        dtypes("[\"exp\", \"relu\"]", "[\"ints\", \"f16\"]", "").len(),
        5 + 1 + 1
    );
    assert_eq!(
        dtypes("\"exp\"", "[\"floats\", \"-f8e4m3\", \"-f64\"]", ""),
        ["unary/exp:bf16", "unary/exp:f16", "unary/exp:f32"]
    );
    // What is to be refused as a dtype is what the op means nothing for.
    assert_eq!(dtypes("\"exp\"", "\"all\"", "refuses = \"unsupported\"").len(), 5);
}

#[test]
fn a_class_that_holds_nothing_and_a_word_that_is_none_are_reported() {
    let with = |dtypes: &str| of("unary", &format!("[[group]]\nops = \"exp\"\ndtypes = {dtypes}\n"));
    check_one(
        &with("\"ints\""),
        "the group holds no case [no op of it takes any dtype of it]",
        "[[group]]",
    );
    check_one(
        &with("\"float\""),
        "unknown dtype `float` [did you mean `floats`?]",
        "\"float\"",
    );
    check_one(
        &with("[\"f32\", \"-f16\"]"),
        "there is no class of dtypes to leave one out of [`-f16` goes with `floats`, `ints` or `all`]",
        "[\"f32\", \"-f16\"]",
    );
}

#[test]
fn values_can_go_by_the_dtype() {
    let with = |values: &str| {
        of(
            "unary",
            &format!("[[group]]\nops = \"relu\"\ndtypes = [\"i16\", \"u8\", \"f32\"]\nvalues = {values}\n"),
        )
    };
    assert_eq!(
        ids(&with(
            "{ floats = \"uniform(0,1)\", ints = \"ints(0,9)\", u8 = \"any\" }"
        )),
        [
            "unary/relu:f32:[4]:contiguous:uniform(0,1)",
            "unary/relu:i16:[4]:contiguous:ints(0,9)",
            "unary/relu:u8:[4]:contiguous:any"
        ]
    );
    check_one(
        &with("{ ints = \"any\" }"),
        "`values` has no word for f32 [add one]",
        "{ ints = \"any\" }",
    );
    check_one(
        &with("{ all = \"any\", int = \"any\" }"),
        "unknown dtype `int` [did you mean `ints`?]",
        "int",
    );
}

#[test]
fn a_row_has_from_its_group_and_the_defaults_what_it_leaves_out() {
    let text = of(
        "unary",
        "dtypes = \"f32\"\n[[group]]\nvalues = \"nan\"\ncases = [{ ops = \"exp\" }, { ops = [\"neg\", \"abs\"], shapes = [[5]] }]\n",
    );
    assert_eq!(
        ids(&text),
        [
            "unary/abs:f32:[5]:contiguous:nan",
            "unary/exp:f32:[4]:contiguous:nan",
            "unary/neg:f32:[5]:contiguous:nan"
        ]
    );
    // Refusal takes the place of checks, and checks that of refusal, in the nearest table that has either.
    let checks = text.replace("tier", "checks = [\"value\", \"batch\"]\ntier");
    assert_eq!(ids(&checks).len(), 6);
    check_one(
        &text.replace("{ ops = \"exp\" }", "{ op = \"exp\", ops = \"exp\" }"),
        "unknown key `op` [did you mean `ops`?]",
        "op",
    );
    check_one(
        &text.replace("layouts", "ops = \"exp\"\nlayouts"),
        "unknown key `ops` [expected one of dtypes, index_dtypes, shapes, layouts, values, checks, refuses, tier, \
         skip_impossible, limit, timeout, isolated, tags]",
        "ops",
    );
}

#[test]
fn ops_of_a_family_can_be_named_at_once_less_some() {
    let sorts = of(
        "sort",
        "[[group]]\nops = \"all\"\ndtypes = \"f32\"\nexcept = [\"sort_asc\"]\n",
    );
    assert_eq!(ids(&sorts).len(), 3);
    check_one(
        &sorts.replace("sort_asc", "sort_asd"),
        "`sort_asd` is not among the ops that it is excepted from [did you mean `sort_asc`?]",
        "\"sort_asd\"",
    );
}

/// A sweep of two parts, used by exp and relu.
fn swept(group: &str) -> String {
    of(
        "unary",
        &format!(
            "[sweep.few.sizes]\nshapes = [[], [7]]\n[sweep.few.whole]\ndtypes = [\"u8\", \"f16\"]\nvalues = \"ints(0,9)\"\n\
             [[group]]\nsweep = \"few\"\nops = [\"exp\", \"relu\"]\ndtypes = \"f32\"\n{group}"
        ),
    )
}

#[test]
fn a_sweep_gives_a_group_the_lists_of_each_of_its_parts() {
    assert_eq!(
        ids(&swept("")),
        [
            "unary/exp:f16:[4]:contiguous:ints(0,9)",
            "unary/exp:f32:[7]:contiguous:any",
            "unary/exp:f32:[]:contiguous:any",
            "unary/relu:f16:[4]:contiguous:ints(0,9)",
            "unary/relu:f32:[7]:contiguous:any",
            "unary/relu:f32:[]:contiguous:any",
            "unary/relu:u8:[4]:contiguous:ints(0,9)",
        ]
    );
    assert_eq!(ids(&swept("without = \"sizes\"\n")).len(), 3);
    assert_eq!(
        ids(&swept(
            "with.sizes = { shapes = [[9]], except = \"exp\" }\nwith.whole.dtypes = \"u8\"\n"
        )),
        [
            "unary/relu:f32:[9]:contiguous:any",
            "unary/relu:u8:[4]:contiguous:ints(0,9)"
        ]
    );
}

#[test]
fn sweeps_parts_and_exceptions_that_are_not_there_are_reported() {
    check_one(
        &swept("").replace("sweep = \"few\"", "sweep = \"fev\""),
        "unknown sweep `fev` [did you mean `few`?]",
        "\"fev\"",
    );
    check_one(
        &of("unary", "[[group]]\nsweep = \"few\"\nops = \"exp\"\n"),
        "unknown sweep `few` [no file has a [sweep.NAME.PART]]",
        "\"few\"",
    );
    check_one(
        &swept("without = \"size\"\n"),
        "the sweep has no part `size` [did you mean `sizes`?]",
        "\"size\"",
    );
    check_one(
        &swept("with.size.values = \"any\"\n"),
        "the sweep has no part `size` [did you mean `sizes`?]",
        "size",
    );
    check_one(
        &swept("except = \"rel\"\n"),
        "`rel` is not among the ops that it is excepted from [did you mean `relu`?]",
        "\"rel\"",
    );
    check_one(
        &of(
            "unary",
            "[[group]]\nops = \"exp\"\ndtypes = \"f32\"\nwithout = \"x\"\n",
        ),
        "`without` is about the parts of a sweep, and the group has none [add sweep = \"..\", or remove it]",
        "\"x\"",
    );
    // What does not go together is said where the sweep is used, with the part.
    check_one(
        &swept("with.sizes = { layouts = \"transposed\", shapes = [[7]] }\nwithout = \"whole\"\n"),
        "in `few.sizes`: layout `transposed` is impossible for the shape [7]: it needs rank >= 2 [skip_impossible = true \
         leaves such combinations out]",
        "[[group]]",
    );
}

#[test]
fn files_share_their_sweeps() {
    let sweeps = "[sweep.few.sizes]\nshapes = [[7]]\n";
    let user = of(
        "unary",
        "[[group]]\nsweep = \"few\"\nops = \"exp\"\ndtypes = \"f32\"\n",
    );
    let files = read(&[("sweeps.toml", sweeps), ("unary.toml", &user)]).unwrap();
    assert_eq!(files.len(), 1, "a file of sweeps is no spec");
    assert_eq!(
        expand(&files).unwrap()[0].id().as_str(),
        "unary/exp:f32:[7]:contiguous:any"
    );
    let messages = |errors: Vec<SpecError>| -> Vec<(String, String)> {
        errors
            .into_iter()
            .map(|error| (error.file, error.message))
            .collect()
    };
    let broken = read(&[
        ("sweeps.toml", "[sweep.few.sizes]\nshapes = [7]\n"),
        ("unary.toml", &user),
        ("v.toml", &user),
    ]);
    assert_eq!(
        messages(broken.unwrap_err()),
        [(
            "sweeps.toml".to_owned(),
            "`shapes` must be an array, not an integer".to_owned()
        )],
        "once, however many groups use it"
    );
    let twice = read(&[("a.toml", sweeps), ("b.toml", sweeps)]);
    assert_eq!(
        messages(twice.unwrap_err()),
        [("b.toml".to_owned(), "another file has a sweep `few`".to_owned())]
    );
}

/// A convolution with these parameters.
fn conv(params: &str) -> String {
    of(
        "conv",
        &format!(
            "[[group]]\nops = \"conv1d\"\ndtypes = \"f32\"\nshapes = [[[1, 4, 9], [4, 2, 3]]]\nskip_impossible = true\n{params}\n"
        ),
    )
}

#[test]
fn parameters_have_names() {
    let calls = |params: &str| -> Vec<String> {
        let ids = ids(&conv(params));
        ids.iter()
            .map(|id| id.split(':').next().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(
        calls("params = { padding = [0, 1], groups = 2 }"),
        ["conv/conv1d(0,1,1,2)", "conv/conv1d(1,1,1,2)"]
    );
    assert_eq!(
        calls("params = [{ groups = 2 }, { groups = 2, stride = 2, padding = 1 }]"),
        ["conv/conv1d(0,1,1,2)", "conv/conv1d(1,2,1,2)"]
    );
    let sums = "[[group]]\nops = [\"sum\", \"max\"]\ndtypes = \"f32\"\nshapes = [[2, 3]]\nparams = { dim = [0, 1] }\n\
                [[group]]\nops = \"sum\"\ndtypes = \"f32\"\nshapes = [[2, 3]]\nparams = { dims = [0, 1] }\n";
    let sums: Vec<String> = ids(&of("reduce", sums))
        .iter()
        .map(|id| id[7..].split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(sums, ["max(0)", "max(1)", "sum(0)", "sum(0,1)", "sum(1)"]);
}

#[test]
fn a_parameter_that_an_op_does_not_have_or_lacks_is_reported() {
    check_one(
        &conv("params = { group = 2 }"),
        "`conv1d` has no parameter `group` [did you mean `groups`?]",
        "group",
    );
    check_one(
        &conv("params = { size = 2, groups = 2 }"),
        "`conv1d` has no parameter `size` [expected one of padding, stride, dilation, groups]",
        "size",
    );
    check_one(
        &conv("params = { groups = [[2]] }"),
        "`groups` is one number, or a list of numbers to be taken in turn []",
        "groups",
    );
    let affine = "[[group]]\nops = \"affine\"\ndtypes = \"f32\"\nparams = { mul = 2 }\n";
    check_one(
        &of("unary", affine),
        "`affine` needs the parameter `add` [its parameters are mul, add]",
        "{ mul = 2 }",
    );
    let exp = affine.replace("affine", "exp");
    check_one(
        &of("unary", &exp),
        "`exp` has no parameter `mul` [it has none: remove it, or give the op a group of its own]",
        "mul",
    );
}

#[test]
fn a_gradient_has_its_weight_and_is_by_every_argument() {
    let grad = "[[group]]\nops = \"grad_linear\"\ndtypes = \"f32\"\nshapes = [[[5, 9], [7, 9]]]\n";
    let all = ids(&of("grad", grad));
    let call = |wrt: i32| {
        format!(
            "grad/grad_linear({wrt}):f32:[5,9],[7,9],[7],[5,7]:contiguous,contiguous,contiguous,contiguous:any"
        )
    };
    assert_eq!(all, [call(0), call(1), call(2)]);
    assert_eq!(
        ids(&of("grad", &format!("{grad}params = {{ wrt = 1 }}\n"))),
        [call(1)]
    );
    let wrong = grad.replace("[7, 9]]", "[7, 9], [7], [5, 8]]");
    check_one(
        &of("grad", &wrong),
        "`grad_linear`: the weight has the shape of the result, [5,7], and not [5,8] [skip_impossible = true leaves such \
         combinations out]",
        "[[[5, 9], [7, 9], [7], [5, 8]]]",
    );
}

#[test]
fn shapes_that_follow_from_others_can_be_left_out() {
    let shapes = |family: &str, op: &str, params: &str, shapes: &str| -> String {
        let index = if op == "index_add" || op == "cross_entropy" {
            "index_dtypes = \"u32\"\n"
        } else {
            ""
        };
        let text = format!(
            "[[group]]\nops = \"{op}\"\ndtypes = \"f32\"\nshapes = [{shapes}]\nvalues = \"ints(-4,-1)\"\n{index}{params}"
        );
        ids(&of(family, &text))[0].split(':').nth(2).unwrap().to_owned()
    };
    for (family, op, params, given, all) in [
        (
            "nn",
            "layer_norm",
            "params = { eps = 1 }",
            "[3, 8]",
            "[3,8],[8],[8]",
        ),
        ("nn", "rope_thd", "", "[1, 5, 2, 8]", "[1,5,2,8],[5,4],[5,4]"),
        (
            "layers",
            "conv1d_bias",
            "",
            "[[1, 4, 9], [6, 4, 3]]",
            "[1,4,9],[6,4,3],[6]",
        ),
        (
            "layers",
            "gru_step",
            "",
            "[[2, 3], [2, 4]]",
            "[2,3],[2,4],[12,3],[12,4],[12],[12]",
        ),
        (
            "layers",
            "lstm_step",
            "",
            "[[2, 3], [2, 4]]",
            "[2,3],[2,4],[2,4],[16,3],[16,4],[16],[16]",
        ),
        ("layers", "cross_entropy", "", "[6, 9]", "[6,9],[6]"),
        (
            "indexing",
            "index_add",
            "params = { dim = 1 }",
            "[[4, 5], [7]]",
            "[4,5],[7],[4,7]",
        ),
        ("layers", "mse", "", "[3, 5]", "[3,5],[3,5]"),
    ] {
        assert_eq!(shapes(family, op, params, given), all);
    }
    let attention = "[[group]]\nops = \"attention\"\ndtypes = \"f32\"\nparams = { causal = 0 }\nshapes = [[[1, 2, 5, 8], [1, 2, 5, 8]]]\n";
    check_one(
        &of("layers", attention),
        "`attention`: the shape of argument 2 does not follow from those before it [name the shapes of all arguments]",
        "[[[1, 2, 5, 8], [1, 2, 5, 8]]]",
    );
}

#[test]
fn a_pattern_stands_for_several_layouts() {
    let layouts = |shape: &str, patterns: &str| -> Vec<String> {
        let text =
            format!("[[group]]\nops = \"add\"\ndtypes = \"f32\"\nshapes = [{shape}]\nlayouts = {patterns}\n");
        let ids = ids(&of("binary", &text));
        ids.iter()
            .map(|id| id.split(':').nth(3).unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(
        layouts("[2, 3]", "\"*\"").len(),
        9,
        "those that a matrix can have"
    );
    assert_eq!(layouts("[1]", "\"*\"").len(), 6);
    assert_eq!(
        layouts("[2, 3]", "\"contiguous,{offset,sliced}\""),
        ["contiguous,offset", "contiguous,sliced"]
    );
    assert_eq!(layouts("[2, 3]", "\"offset,..\""), ["offset,contiguous"]);
    assert_eq!(
        layouts("[2, 3]", "[\"*,..\", \"contiguous,*\"]").len(),
        17,
        "both contiguous once"
    );
    let text = "[[group]]\nops = \"add\"\ndtypes = \"f32\"\nlayouts = \"offset,offset,offset,..\"\n";
    check_one(
        &of("binary", text),
        "3 layouts are named for 2 arguments [name one for all arguments, or one for each; ops with another number of arguments \
         go into another group]",
        "\"offset,offset,offset,..\"",
    );
    let text = "[[group]]\nops = \"add\"\ndtypes = \"f32\"\nlayouts = \"{offset,slice},..\"\n";
    check_one(
        &of("binary", text),
        "unknown layout `slice` [did you mean `sliced`?]",
        "\"{offset,slice},..\"",
    );
}
