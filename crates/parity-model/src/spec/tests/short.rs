//! The short forms: classes of dtypes, defaults, rows, sweeps, named parameters, shapes that follow, patterns of layouts.

use super::*;

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
    assert_eq!(files.len(), 1, "a file of sweeps is not a spec");
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
