//! Right answers where candle gives others: what findings say of them, at single elements. The answers that candle gives are the
//! controls: the oracle's must differ from them.

use parity_model::float::Format;
use parity_model::{Case, HostTensor};

/// The inputs of a case, and its right answer.
fn of(id: &str) -> (Vec<HostTensor>, HostTensor) {
    let case: Case = id.parse().expect("an id");
    let inputs = case.inputs(0);
    let answer = parity_oracle::expected(&case, &inputs).tensor();
    (inputs, answer)
}

fn number(tensor: &HostTensor, i: usize) -> f64 {
    let format = Format::of(tensor.dtype).expect("floats");
    format.decode(tensor.bits(i))
}

#[test]
fn nearest_upsampling_by_49_repeats_each_element_49_times() {
    let (inputs, answer) = of("upsample/upsample_nearest1d(98):f32:[1,1,2]:contiguous:ints(-40,40)");
    assert_ne!(inputs[0].bits(0), inputs[0].bits(1));
    for i in 0..98 {
        assert_eq!(answer.bits(i), inputs[0].bits(i / 49), "{i}");
    }
    // candle multiplies by 2 / 98.
    assert_eq!((49.0_f64 * (2.0 / 98.0)) as usize, 0);
}

#[test]
fn an_id_of_255_is_a_row_where_there_is_one() {
    let rows = |count: usize| {
        let id = format!("indexing/index_select(0):f32,u8:[{count},2],[3]:contiguous,contiguous:ids_none");
        let (inputs, answer) = of(&id);
        assert_eq!(inputs[1].bits(1), 255);
        let row = (count > 255).then(|| [510, 511].map(|i| inputs[0].bits(i)));
        (row, [2, 3].map(|i| answer.bits(i)))
    };
    let (row, answer) = rows(257);
    assert_eq!(Some(answer), row);
    assert_ne!(answer, [0, 0], "candle's answer");
    assert_eq!(rows(255), (None, [0, 0]));
}

#[test]
fn rope_takes_the_first_angles_of_each_batch() {
    let shapes = "[2,1,1,2],[2,3,1],[2,2,1]:contiguous,contiguous,contiguous:uniform(-1,1)";
    for op in ["rope", "rope_i"] {
        let (inputs, answer) = of(&format!("nn/{op}:f64:{shapes}"));
        let turned = |cos: usize, sin: usize| {
            number(&inputs[0], 2) * number(&inputs[1], cos) - number(&inputs[0], 3) * number(&inputs[2], sin)
        };
        let near = |x: f64| (number(&answer, 2) - x).abs() < 1e-12;
        assert!(near(turned(3, 2)), "{op}");
        assert!(!near(turned(1, 1)), "{op}: candle's answer");
    }
}

#[test]
fn the_gradient_of_a_constant_power_is_zero_at_zero() {
    let (inputs, answer) = of("grad/grad_powf(0):f64:[7],[7]:contiguous,contiguous:ints(-1,1)");
    let x: Vec<f64> = (0..7).map(|i| number(&inputs[0], i)).collect();
    assert!(x.contains(&0.0) && x.contains(&1.0), "{x:?}");
    for i in 0..7 {
        assert_eq!(number(&answer, i), 0.0, "{i}");
    }
    let (_, other) = of("grad/grad_powf(2):f64:[7],[7]:contiguous,contiguous:ints(1,2)");
    assert!((0..7).all(|i| number(&other, i) != 0.0));
}

#[test]
fn running_sums_of_integers_wrap() {
    let (inputs, answer) = of("reduce/cumsum(0):u8:[9]:contiguous:any");
    let (mut sum, mut beyond) = (0_u64, false);
    for i in 0..9 {
        sum += inputs[0].bits(i);
        beyond |= sum > 255;
        assert_eq!(answer.bits(i), sum & 255, "{i}");
    }
    assert!(beyond, "no sum was beyond the dtype");
}
