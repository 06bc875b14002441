//! A wrong op is found, and shrunk to a case that shows what is wrong with it; and a worker that lacks an op says so.
//!
//! `forgets_offset` reads the storage under its argument from the beginning, wherever the view begins: of contiguous views it is wrong
//! for those that `narrow` made, and for no others.

use std::error::Error;

use candle_core::{CpuStorage, CustomOp1, Layout, Shape, Tensor};
use parity_run::own::{DType, OwnOp};
use parity_run::shrink::{Shrinker, rust_test};
use parity_run::{Column, Plan, Selection, Session, Settings, serve_if_asked};

struct ForgetsOffset;

impl CustomOp1 for ForgetsOffset {
    fn name(&self) -> &'static str {
        "forgets_offset"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> candle_core::Result<(CpuStorage, Shape)> {
        let shape = layout.shape().clone();
        let doubled = storage.as_slice::<f32>()?[..shape.elem_count()]
            .iter()
            .map(|x| x + x);
        Ok((CpuStorage::F32(doubled.collect()), shape))
    }
}

fn planted() -> OwnOp {
    OwnOp::new("forgets_offset", "x + x.")
        .data("x")
        .dtypes(&[DType::F32])
        .shape("[..] -> [..]")
        .formula(|call| call.x(0) + call.x(0))
        .call("x0.contiguous()?.apply_op1(ForgetsOffset)?", |x: &[Tensor], _| {
            x[0].contiguous()?.apply_op1(ForgetsOffset)
        })
}

fn settings(id: &str) -> Result<Settings, parity_run::Error> {
    Ok(Settings {
        selection: Selection::of_ids(&[id])?,
        columns: Column::all(&["cpu"])?,
        ..Settings::default()
    })
}

fn failing(settings: &Settings) -> Result<usize, parity_run::Error> {
    Plan::load(settings)?
        .run(settings, Session::default(), |_| {})?
        .failing()
}

fn main() -> Result<(), Box<dyn Error>> {
    // As a worker of its own that lacks what its supervisor has.
    let lacks = std::env::var_os("OWN_OP_LACKS").is_some();
    if !lacks {
        planted().register()?;
    }
    if serve_if_asked()? {
        return Ok(());
    }
    let again = planted().register().map(|()| "twice").unwrap_err().to_string();
    assert!(
        again.contains("`forgets_offset` cannot be registered: it is registered already"),
        "{again}"
    );

    let right = "own/forgets_offset:f32:[5,7]:transposed:uniform(-1,1)";
    assert_eq!(
        failing(&settings(right)?)?,
        0,
        "the control: what is copied begins at 0"
    );
    let wrong = settings("own/forgets_offset:f32:[5,7]:offset:uniform(-1,1)")?;
    assert_eq!(failing(&wrong)?, 1);

    let (mut shrinker, case) = Shrinker::new(wrong)?;
    let mode = shrinker
        .failure_mode(&case)?
        .map_err(|verdict| format!("it is {verdict:?}"))?;
    let smallest = shrinker.smallest(case, &mode, 200, |_, _| Ok::<(), parity_run::Error>(()))?;
    let id = smallest.case.id().to_string();
    assert!(
        id.starts_with("own/forgets_offset:f32:[1]:") || id.starts_with("own/forgets_offset:f32:[]:"),
        "{id}"
    );
    assert!(!id.contains(":contiguous:"), "{id}");
    let test = rust_test(&smallest.case, 0, shrinker.device())?;
    assert!(
        test.contains("x0.contiguous()?.apply_op1(ForgetsOffset)?"),
        "{test}"
    );

    // A worker that knows no such op says that once, and the run does not begin.
    let program = std::env::current_exe()?;
    let mut poor = settings(right)?;
    let worker = format!("exec:OWN_OP_LACKS=1 {} worker --backend cpu", program.display());
    poor.columns = Column::all(&[format!("cpu={worker}")])?;
    let error = failing(&poor).unwrap_err().to_string();
    assert!(
        error.contains("has registered no op `forgets_offset` of its own") && !error.contains('\n'),
        "{error}"
    );
    println!("{id} is the smallest of a planted bug; a worker without the op: {error}");
    Ok(())
}
