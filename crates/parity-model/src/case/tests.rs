//! Tests of ids, of what is wrong with them, and of the inputs that follow from them.

use super::*;

#[test]
fn an_id_parses_back_to_its_case() {
    for text in [
        "unary/exp:f32:[2,3]:transposed:uniform(-10,10)",
        "unary/affine(2,-1):u8:[]:contiguous:ints(0,9)",
        "unary/powf(0.5):f8e4m3:[256]:contiguous:exhaustive",
        "binary/add:f16:[3,5],[3,5]:contiguous,broadcast:ints(-9,9)",
        "binary/eq:i64:[0,4],[0,4]:contiguous,sliced:ints(-1,1)",
        "where/where_cond:u8,f32,f32:[3,5],[3,5],[3,5]:contiguous,transposed,broadcast:any",
        "where/where_cond:i64:[4],[4],[4]:contiguous,contiguous,contiguous:any",
        "reduce/sum(0,2):bf16:[2,3,4]:transposed:ints(-4,4)",
        "indexing/gather(1):f16,u32:[2,3],[2,7]:contiguous,contiguous:any",
        "indexing/scatter(0):i64,u8,i64:[5,3],[2,3],[2,3]:contiguous,stepped,contiguous:any",
        "matmul/matmul:f32:[2,3],[3,4]:transposed,contiguous:ints(-4,4)",
        "quantized/dequantize_q2_K:u8:[2,512]:contiguous:any",
        "quantized/qmatmul_q4_0:bf16,u8:[9,64],[33,64]:offset,contiguous:uniform(-1,1)",
        "quantized/embedding_f16:u8,u32:[5,7],[2,3]:contiguous,transposed:any",
        "unary/exp:f32:[2,3]:transposed:uniform(-10,10)@layout",
        "matmul/matmul:f32:[2,3],[3,4]:contiguous,contiguous:ints(-4,4)@batch",
        "unary/exp:i32:[2]:contiguous:ints(0,9)@unsupported",
        "binary/add:f32,f16:[2],[2]:contiguous,contiguous:ints(0,9)@invalid",
        "binary/add:f32:[2],[3]:contiguous,contiguous:ints(0,9)@invalid",
        "indexing/gather(0):f32:[2],[2]:contiguous,contiguous:ints(0,9)@unsupported",
    ] {
        let case: Case = text.parse().unwrap();
        assert_eq!(case.id().as_str(), text);
        assert_eq!(case.id().as_str().parse::<Case>(), Ok(case));
        assert_eq!(text.parse::<CaseId>().unwrap().to_string(), text);
    }
}

#[test]
fn a_bad_id_says_what_is_wrong() {
    for (text, why) in [
        ("unary/exp:f32:[2]", "expected family/op:dtype"),
        ("exp:f32:[2]:contiguous:any", "family is missing"),
        ("unary/expm1:f32:[2]:contiguous:any", "unknown op `expm1`"),
        (
            "binary/exp:f32:[2]:contiguous:any",
            "family `unary`, not `binary`",
        ),
        ("unary/exp:f31:[2]:contiguous:any", "unknown dtype `f31`"),
        ("unary/exp:f32:2:contiguous:any", "not a list of shapes"),
        ("unary/exp:f32:[x]:contiguous:any", "not a dimension"),
        ("unary/exp:f32:[2]:diagonal:any", "unknown layout `diagonal`"),
        ("unary/exp:f32:[2]:transposed:any", "needs rank >= 2"),
        ("unary/exp:f32:[2]:contiguous:all", "invalid value set `all`"),
        ("unary/exp:i32:[2]:contiguous:any", "means nothing for i32"),
        (
            "unary/affine(2):f32:[2]:contiguous:any",
            "takes 2 parameters, not 1",
        ),
        ("unary/affine(2,x):f32:[2]:contiguous:any", "`x` is not a number"),
        ("binary/add:f32:[2]:contiguous:any", "takes 2 arguments"),
        (
            "binary/add:f32:[2],[3]:contiguous,contiguous:any",
            "same logical shape",
        ),
        (
            "indexing/gather(1):f16,f32:[2,3],[2,7]:contiguous,contiguous:any",
            "ids and conditions are integers, not f32",
        ),
        (
            "indexing/scatter(0):f16,u8,f32:[2],[2],[2]:contiguous,contiguous,contiguous:any",
            "all data has one dtype, f16 or f32",
        ),
        (
            "unary/exp:f32,f32:[2]:contiguous:any",
            "one dtype for all of them",
        ),
        ("reduce/max(1):f32:[2]:contiguous:any", "no dimension 1"),
        (
            "quantized/dequantize_q4_2:u8:[32]:contiguous:any",
            "unknown op `dequantize_q4_2`",
        ),
        (
            "quantized/dequantize_q4_0:u8:[33]:contiguous:any",
            "whole blocks of 32",
        ),
        (
            "quantized/dequantize_q4_0:u8:[2,32]:transposed:any",
            "blocks are contiguous",
        ),
        (
            "quantized/dequantize_q4_0:u8:[32]:contiguous:ints(0,9)",
            "filled with `any`",
        ),
        (
            "quantized/qmatmul_q4_0:f32:[1,32],[1,32]:contiguous,contiguous:quants",
            "blocks are bytes, u8, not f32",
        ),
        (
            "quantized/embedding_f32:u32:[0],[0]:contiguous,contiguous:ids_beyond@invalid",
            "blocks are bytes, u8, not u32",
        ),
        (
            "quantized/qmatmul_bf16:bf16,u8:[1,32],[1,32]:contiguous,contiguous:quants",
            "means nothing for bf16: it takes f32",
        ),
        (
            "quantized/qmatmul_q4_0:f32,u8:[1,32],[1,32]:contiguous,contiguous:any",
            "too far apart for the activations",
        ),
        (
            "unary/exp:f32:[2]:contiguous:quants",
            "`quants` is for products with blocks",
        ),
        ("unary/exp:f32:[2]:contiguous:ids_beyond", "`exp` has none"),
        ("unary/exp:f32:[2]:contiguous:any@all", "unknown check `all`"),
        (
            "unary/exp:f32:[2]:contiguous:any@layout",
            "every layout is contiguous",
        ),
        ("unary/exp:f32:[1]:contiguous:any@batch", "[1] of `exp` has none"),
        (
            "unary/exp:f32:[2]:contiguous:any@invalid",
            "nothing is wrong with it",
        ),
        (
            "indexing/gather(0):f32,u8:[9],[9]:contiguous,stepped:ids_beyond@layout",
            "compares outputs, and there is none",
        ),
        (
            "unary/exp:f32:[99999999999,99999999999]:contiguous:any",
            "has more than 4294967296 elements",
        ),
        (
            "copy/repeat(1000000000):f32:[1000]:contiguous:any",
            "the output, [1000000000000], has more than",
        ),
        (
            "indexing/gather(0):f32,u8:[300],[9]:contiguous,contiguous:ids_beyond",
            "needs an id of 300",
        ),
        (
            "indexing/gather(0):f32,u32:[3],[9]:contiguous,contiguous:ids_negative",
            "needs an id of -1",
        ),
    ] {
        let message = text.parse::<Case>().unwrap_err().to_string();
        assert!(message.contains(text) && message.contains(why), "{message}");
    }
    let message = "unary/affine(2.0,1):f32:[2]:contiguous:any"
        .parse::<CaseId>()
        .unwrap_err()
        .to_string();
    assert!(message.contains("spelled `unary/affine(2,1):"), "{message}");
}

#[test]
fn ids_are_in_range_and_conditions_are_both() {
    let case: Case = "indexing/gather(0):f32,u8:[300],[512]:contiguous,contiguous:any"
        .parse()
        .unwrap();
    let ids = &case.inputs(0)[1];
    assert_eq!(ids.dtype, DType::U8);
    assert!(ids.bytes.iter().all(|id| *id < 255), "255 means skip");
    assert!(ids.bytes.contains(&0) && ids.bytes.contains(&254));
    let case: Case = "indexing/gather(0):f32,u8:[9],[5]:contiguous,contiguous:ids_beyond"
        .parse()
        .unwrap();
    assert_eq!(case.inputs(0)[1].bytes.iter().filter(|id| **id == 9).count(), 1);
    assert!(case.must_refuse());
    let case: Case = "where/where_cond:i16,f32,f32:[64],[64],[64]:contiguous,contiguous,contiguous:any"
        .parse()
        .unwrap();
    let condition = &case.inputs(0)[0];
    let truths = (0..64).filter(|i| condition.bits(*i) != 0).count();
    assert!((16..48).contains(&truths), "{truths} of 64");
}

#[test]
fn blocks_are_the_bytes_of_the_weights_and_depend_on_the_id() {
    let case: Case = "quantized/qmatmul_q4_K:f32,u8:[9,512],[3,512]:contiguous,contiguous:quants"
        .parse()
        .unwrap();
    let inputs = case.inputs(0);
    assert_eq!((inputs[0].dtype, inputs[1].dtype), (DType::F32, DType::U8));
    assert_eq!(inputs[1].shape, [3, 2 * 144]);
    assert_eq!(inputs[1].bytes.len(), inputs[1].len());
    assert_eq!(inputs, case.inputs(0));
    assert_ne!(inputs[1], case.inputs(1)[1]);
    assert_eq!(case.result_shape(), [9, 3]);
}

#[test]
fn inputs_lie_under_their_layouts() {
    let case: Case = "binary/add:f32:[3,5],[3,5]:transposed,broadcast:any"
        .parse()
        .unwrap();
    let inputs = case.inputs(0);
    assert_eq!(inputs[0].shape, [5, 3]);
    assert_eq!(inputs[1].shape, [1, 5]);
    assert_eq!(inputs, case.inputs(0));
    assert_ne!(inputs, case.inputs(1));
}

#[test]
fn tiers_are_ordered_and_parse_back() {
    assert!(Tier::Quick < Tier::Ci && Tier::Ci < Tier::Full && Tier::Full < Tier::Slow);
    for tier in Tier::ALL {
        assert_eq!(tier.name().parse(), Ok(tier));
    }
}
