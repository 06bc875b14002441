//! The kernels of candle-kernels' CUDA modules, from `rocm-backend/kernels/inventory.txt`, and those of the compiled code
//! objects, module by module and name by name. Lays nothing out.

use std::collections::{BTreeMap, BTreeSet};

use crate::code_object::{Arg, CodeObject};

/// The kernels of candle-kernels, a line each: module, name, arguments.
pub(crate) const INVENTORY: &str = include_str!("../../../rocm-backend/kernels/inventory.txt");

/// A kernel's place: module and name, as ours is spelled.
pub(crate) type Key<'a> = (&'a str, String);

/// candle's kernels, with their arguments as the inventory has them: `*f32` is a pointer, `f32` a value.
pub(crate) fn candles(inventory: &str) -> BTreeMap<Key<'_>, Vec<&str>> {
    let mut kernels = BTreeMap::new();
    for line in inventory.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        if let (Some(module), Some(name)) = (words.next(), words.next()) {
            // candle writes an 8-bit float in two ways.
            let name = name.replace("_fp8_e4m3", "_f8_e4m3");
            kernels.insert((module, name), words.collect());
        }
    }
    kernels
}

/// The kernels of a target's code objects.
pub(crate) fn ours<'a>(objects: &'a [CodeObject], target: &str) -> BTreeMap<Key<'a>, &'a [Arg]> {
    let of_target = objects.iter().filter(|object| object.target == target);
    let kernels = of_target.flat_map(|object| {
        let module = object.module.as_str();
        let kernels = object.kernels.iter();
        kernels.map(move |(name, args)| ((module, name.clone()), args.as_slice()))
    });
    kernels.collect()
}

/// The targets that were compiled for, in order.
pub(crate) fn targets(objects: &[CodeObject]) -> BTreeSet<&str> {
    objects.iter().map(|object| object.target.as_str()).collect()
}

/// An argument of the inventory as a code object would declare it.
pub(crate) fn declared(argument: &str) -> Arg {
    match argument {
        "u8" | "f8_e4m3" | "bool" => Arg::Value(1),
        "i16" | "f16" | "bf16" => Arg::Value(2),
        "u32" | "i32" | "f32" => Arg::Value(4),
        "u64" | "i64" | "f64" => Arg::Value(8),
        _ => Arg::Pointer,
    }
}
