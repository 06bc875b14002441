//! The reader of findings, and what their predicates match.

use super::*;

const RELU: &str = r#"
title = "relu turns NaN into 0"
class = "unexplained"
backends = ["cpu"]
verdict = "mismatch"
reason = "max drops NaN"
matches = [{ op = ["relu"], values = ["nan"] }]
"#;

fn parse(text: &str) -> Result<Findings, Vec<SpecError>> {
    let file = FindingText {
        name: "relu",
        file: "relu/finding.toml",
        text,
    };
    Findings::parse(&[file], &["cpu", "rocm"])
}

/// The finding with other rows.
fn rows(rows: &str) -> Findings {
    let head = RELU.split("matches").next().unwrap();
    parse(&format!("{head}matches = [{rows}]")).unwrap()
}

fn case(id: &str) -> Case {
    id.parse().unwrap()
}

#[test]
fn a_row_explains_its_own_verdict_on_its_own_backend_only() {
    let known = parse(RELU).unwrap();
    let nan = case("unary/relu:f32:[9]:contiguous:nan");
    let apply = |backend, verdict| known.apply(backend, &nan, verdict).0;
    assert_eq!(apply("cpu", Verdict::Mismatch), Verdict::KnownFailure);
    assert_eq!(apply("cpu", Verdict::Pass), Verdict::UnexpectedPass);
    assert_eq!(
        apply("cpu", Verdict::Crash),
        Verdict::Crash,
        "it fails, but not as listed"
    );
    assert_eq!(apply("rocm", Verdict::Mismatch), Verdict::Mismatch);
    assert_eq!(apply("cpu:device", Verdict::Mismatch), Verdict::KnownFailure);
    assert_eq!(apply("cpu2", Verdict::Mismatch), Verdict::Mismatch);
    let other = case("unary/relu:f32:[9]:contiguous:special");
    assert_eq!(known.apply("cpu", &other, Verdict::Pass), (Verdict::Pass, None));
    let entry = known.apply("cpu", &nan, Verdict::Mismatch).1.unwrap();
    assert_eq!(entry.note(), "relu: relu turns NaN into 0");
}

#[test]
fn of_two_rows_the_one_for_the_verdict_explains_it() {
    let known =
        rows(r#"{ op = ["relu"] }, { op = ["relu"], verdict = "unsupported", backends = ["cpu", "rocm"] }"#);
    let nan = case("unary/relu:f32:[9]:contiguous:nan");
    for verdict in [Verdict::Mismatch, Verdict::Unsupported] {
        let (told, entry) = known.apply("cpu", &nan, verdict);
        assert_eq!(
            (told, entry.unwrap().row.verdict),
            (Verdict::KnownFailure, verdict)
        );
    }
    assert_eq!(known.apply("cpu", &nan, Verdict::Pass).0, Verdict::UnexpectedPass);
    assert_eq!(
        known.apply("rocm", &nan, Verdict::Unsupported).0,
        Verdict::KnownFailure
    );
}

#[test]
fn a_pass_of_a_case_that_may_pass_is_a_pass() {
    let known = rows(r#"{ op = ["relu"], may_pass = true }"#);
    let nan = case("unary/relu:f32:[9]:contiguous:nan");
    assert_eq!(known.apply("cpu", &nan, Verdict::Pass).0, Verdict::Pass);
    assert_eq!(
        known.apply("cpu", &nan, Verdict::Mismatch).0,
        Verdict::KnownFailure
    );
    assert_eq!(known.apply("cpu", &nan, Verdict::Timeout).0, Verdict::Timeout);
}

/// A predicate, a case that it means, and one that it does not mean.
const PREDICATES: [(&str, &str, &str); 22] = [
    (
        r#"op = ["relu"]"#,
        "unary/relu:f32:[9]:contiguous:any",
        "unary/gelu:f32:[9]:contiguous:any",
    ),
    (
        r#"op = ["gelu*"]"#,
        "unary/gelu_erf:f32:[9]:contiguous:any",
        "unary/relu:f32:[9]:contiguous:any",
    ),
    (
        r#"family = ["unary"]"#,
        "unary/relu:f32:[9]:contiguous:any",
        "reduce/sum(0):f32:[9]:contiguous:any",
    ),
    (
        r#"op = ["relu"], dtype = ["ints"]"#,
        "unary/relu:u8:[9]:contiguous:any",
        "unary/relu:f16:[9]:contiguous:any",
    ),
    (
        r#"op = ["gather"], index_dtype = ["i64"]"#,
        "indexing/gather(0):f32,i64:[9],[9]:contiguous,contiguous:any",
        "indexing/gather(0):i64,u32:[9],[9]:contiguous,contiguous:any",
    ),
    (
        r#"op = ["add"], dtype = { 1 = ["f16"] }, check = ["invalid"]"#,
        "binary/add:f32,f16:[2],[2]:contiguous,contiguous:any@invalid",
        "binary/add:f16,f32:[2],[2]:contiguous,contiguous:any@invalid",
    ),
    (
        r#"op = ["add"], layout = ["stepped"]"#,
        "binary/add:f32:[2],[2]:contiguous,stepped:any",
        "binary/add:f32:[2],[2]:contiguous,offset:any",
    ),
    (
        r#"op = ["add"], layout = { 0 = ["stepped"] }"#,
        "binary/add:f32:[2],[2]:stepped,contiguous:any",
        "binary/add:f32:[2],[2]:contiguous,stepped:any",
    ),
    (
        r#"op = ["relu"], layout = ["strided"]"#,
        "unary/relu:f32:[2,3]:transposed:any",
        "unary/relu:f32:[2,1]:transposed:any",
    ),
    (
        r#"op = ["relu"], empty = true"#,
        "unary/relu:f32:[2,0]:contiguous:any",
        "unary/relu:f32:[2]:contiguous:any",
    ),
    (
        r#"op = ["relu"], empty = false"#,
        "unary/relu:f32:[2]:contiguous:any",
        "unary/relu:f32:[0]:contiguous:any",
    ),
    (
        r#"op = ["relu"], rank = [0, 2]"#,
        "unary/relu:f32:[]:contiguous:any",
        "unary/relu:f32:[2]:contiguous:any",
    ),
    (
        r#"op = ["relu"], shape = { 0 = [["*", 3]] }"#,
        "unary/relu:f32:[7,3]:contiguous:any",
        "unary/relu:f32:[3,7]:contiguous:any",
    ),
    (
        r#"op = ["relu"], shape = { 0 = [[2, "..", 3]] }"#,
        "unary/relu:f32:[2,3]:contiguous:any",
        "unary/relu:f32:[3]:contiguous:any",
    ),
    (
        r#"op = ["relu"], shape = { 0 = [["..", 0]] }"#,
        "unary/relu:f32:[5,7,0]:contiguous:any",
        "unary/relu:f32:[0,7]:contiguous:any",
    ),
    (
        r#"op = ["relu"], shape = { 0 = [["..", ">8192"]] }"#,
        "unary/relu:f32:[2,8193]:contiguous:any",
        "unary/relu:f32:[2,8192]:contiguous:any",
    ),
    (
        r#"op = ["relu"], values = ["uniform"]"#,
        "unary/relu:f32:[7]:contiguous:uniform(-1,1)",
        "unary/relu:f32:[7]:contiguous:ints(-1,1)",
    ),
    (
        r#"op = ["relu"], values = ["uniform(-1,1)"]"#,
        "unary/relu:f32:[7]:contiguous:uniform(-1,1)",
        "unary/relu:f32:[7]:contiguous:uniform(-1,2)",
    ),
    (
        r#"op = ["affine"], params = { add = [1, 2] }"#,
        "unary/affine(1,2):f32:[7]:contiguous:any",
        "unary/affine(2,3):f32:[7]:contiguous:any",
    ),
    (
        r#"op = ["sum"], params = { dims = [1, [0, 2]] }"#,
        "reduce/sum(0,2):f32:[2,3,4]:contiguous:any",
        "reduce/sum(0):f32:[2,3,4]:contiguous:any",
    ),
    (
        r#"op = ["exp"], check = ["unsupported"]"#,
        "unary/exp:i32:[2]:contiguous:any@unsupported",
        "unary/exp:f32:[2]:contiguous:any",
    ),
    (
        r#"op = ["relu"], except = [{ rank = [1], values = ["nan"] }]"#,
        "unary/relu:f32:[2,3]:contiguous:nan",
        "unary/relu:f32:[3]:contiguous:nan",
    ),
];

#[test]
fn each_key_of_a_predicate_decides() {
    for (predicate, meant, other) in PREDICATES {
        let known = rows(&format!("{{ {predicate} }}"));
        let about = |id: &str| known.about("cpu", &case(id)).count();
        assert_eq!((about(meant), about(other)), (1, 0), "{predicate}");
    }
}

#[test]
fn a_refusal_is_meant_only_where_the_check_says_so() {
    let known = rows(r#"{ op = ["exp"] }"#);
    let refused = case("unary/exp:i32:[2]:contiguous:any@unsupported");
    assert_eq!(known.about("cpu", &refused).count(), 0);
    assert_eq!(
        known
            .about("cpu", &case("unary/exp:f32:[2,3]:transposed:any@layout"))
            .count(),
        1
    );
}

#[test]
fn a_predicate_prints_as_it_is_read() {
    for (predicate, ..) in PREDICATES {
        let read = |text: &str| rows(&format!("{{ {text} }}")).findings[0].rows[0].cases.clone();
        let printed = read(predicate).to_string();
        assert_eq!(read(&printed), read(predicate), "{printed}");
        assert!(
            predicate.contains("ints\"]") || printed == predicate,
            "{printed} is not {predicate}"
        );
    }
}

#[test]
fn a_row_that_matches_no_case_is_stale() {
    let known = parse(RELU).unwrap();
    let stale = known.stale(&[case("unary/relu:f32:[9]:contiguous:any")]);
    assert_eq!(stale.len(), 1);
    assert!(
        RELU[stale[0].span.clone()].starts_with("{ op = "),
        "{:?}",
        stale[0]
    );
    assert!(
        known
            .stale(&[case("unary/relu:f32:[9]:contiguous:nan")])
            .is_empty()
    );
}

/// A spoiled line, and what is said of it.
const WRONG: [(&str, &str, &str); 17] = [
    ("\"unexplained\"", "\"wrong\"", "unknown class `wrong`"),
    ("\"unexplained\"", "\"by design\"", "missing key `fix`"),
    ("reason", "reson", "unknown key `reson`"),
    ("[\"cpu\"]", "[\"cqu\"]", "unknown backend `cqu`"),
    ("verdict = \"mismatch\"", "", "missing key `verdict`"),
    ("\"mismatch\"", "\"pass\"", "unknown verdict `pass`"),
    ("op = [\"relu\"], ", "", "missing key `op`"),
    ("\"relu\"]", "\"rely\"]", "unknown op `rely`"),
    (
        "values = [\"nan\"]",
        "values = [\"non\"]",
        "invalid value set `non`",
    ),
    ("values = [\"nan\"]", "dtype = [\"f33\"]", "unknown dtype `f33`"),
    (
        "values = [\"nan\"]",
        "layout = { 99 = [\"offset\"] }",
        "`99` is not the number of an argument",
    ),
    (
        "values = [\"nan\"]",
        "shape = { 0 = [[\"..\", 2, \"..\"]] }",
        "a second `..` in one shape",
    ),
    (
        "values = [\"nan\"]",
        "shape = { 0 = [[\">x\"]] }",
        "`>x` is not an extent",
    ),
    (
        "values = [\"nan\"]",
        "params = { dim = [0] }",
        "no op of this row has a parameter `dim`",
    ),
    (
        "op = [\"relu\"], ",
        "family = [\"unary\"], verdict = \"crash\", ",
        "a `crash` is excused for ops that are named",
    ),
    (
        "matches = [{ op = [\"relu\"], values = [\"nan\"] }]",
        "matches = []",
        "`matches` is empty",
    ),
    (
        "matches = [{ op = [\"relu\"], values = [\"nan\"] }]",
        "",
        "missing key `matches`",
    ),
];

#[test]
fn every_mistake_in_a_file_is_reported_with_the_nearest_word() {
    for (text, spoiled, says) in WRONG {
        assert!(RELU.contains(text), "{text}");
        let errors = parse(&RELU.replacen(text, spoiled, 1)).unwrap_err();
        let messages: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
        assert!(
            messages.iter().any(|message| message.starts_with(says)),
            "{spoiled}: {messages:?}"
        );
    }
    let errors = parse("title = 3\nclass = \"unexplaned\"\n").unwrap_err();
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert!(
        errors
            .iter()
            .any(|error| error.help.as_deref() == Some("did you mean `unexplained`?")),
        "{errors:?}"
    );
}

#[test]
fn the_name_of_a_folder_is_a_part_of_links_and_paths() {
    let file = |name| FindingText {
        name,
        file: "x",
        text: RELU,
    };
    assert!(Findings::parse(&[file("relu-2")], &["cpu"]).is_ok());
    for name in ["Relu", "2-relus", "re_lu", ""] {
        assert!(Findings::parse(&[file(name)], &["cpu"]).is_err(), "{name}");
    }
}
