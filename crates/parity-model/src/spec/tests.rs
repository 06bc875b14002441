//! Tests of the spec reader: each mistake, its message, its place and its help.

mod short;

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
fn a_file_may_list_the_gradients_of_its_family_and_of_no_other() {
    let unary = |op: &str| {
        format!(
            "family = \"unary\"\n[[group]]\nops = [\"{op}\"]\ndtypes = [\"f32\"]\nshapes = [[3]]\n\
             layouts = [\"contiguous\"]\nvalues = [\"ints(1,9)\"]\ntier = \"ci\"\n"
        )
    };
    let cases = expand(&[parse("s.toml", &unary("grad_exp")).unwrap()]).unwrap();
    assert_eq!(
        cases[0].id().as_str(),
        "grad/grad_exp:f32:[3],[3]:contiguous,contiguous:ints(1,9)"
    );
    let messages: Vec<_> = errors(&unary("grad_add"))
        .into_iter()
        .map(|error| error.message)
        .collect();
    assert_eq!(messages, ["`grad_add` is not in the family `unary`"]);
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
        "`shapes` must hold sizes, and -3 is not one",
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
fn what_follows_from_broken_toml_is_not_reported_beside_it() {
    let spoilt = "family = \"unary\"\nfamly = 1\nx = [[1,2}\n\"\"\" ]]\n[[group]] ]]\ndtipes = [\n";
    let messages: Vec<String> = errors(spoilt).into_iter().map(|e| e.message).collect();
    let broken = "missing comma between array elements, expected `,`";
    assert_eq!(messages, ["unknown key `famly`", "unknown key `x`", broken]);
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
    assert_eq!(errors[0].message, "`two words` is not a tag");
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
