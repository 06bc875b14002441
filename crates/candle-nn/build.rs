//! Derives this crate's sources into `gen/`, as `crates/candle-core` does.

fn main() {
    candle_overlay::package::generate(
        &candle_overlay::pristine::CANDLE_NN,
        candle_overlay::front::front,
    );
}
