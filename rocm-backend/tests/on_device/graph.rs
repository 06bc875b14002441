//! Graphs: work that is captured once and replayed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rocm_backend::ops::{self, Binary, Reduce, Unary};
use rocm_backend::{Buffer, Device, DynBuffer, Error, Graph, Result, View, trace};

use crate::support::{another_device, device};

fn add(x: &DynBuffer, y: &DynBuffer) -> Result<DynBuffer> {
    ops::binary(Binary::Add, x.view(), y.view())
}

fn floats(buffer: &DynBuffer) -> Vec<f32> {
    buffer.download().unwrap()
}

fn captured<T>(device: &Device, f: impl FnOnce() -> Result<T>) -> (Graph, T) {
    device.capture(f).unwrap()
}

/// What a capture of `f` says, and that the device works as ever after it.
#[track_caller]
fn refusal<T>(device: &Device, f: impl FnOnce() -> Result<T>) -> String {
    let error = device.capture(f).err().unwrap();
    assert!(
        matches!(error, Error::Capture(_)) && error.is_invalid(),
        "{error:?}"
    );
    let x = device.upload(&[1.0_f32, 2.0]).unwrap();
    assert_eq!(floats(&add(&x, &x).unwrap()), [2.0, 4.0], "after {error}");
    error.to_string()
}

#[test]
fn a_replay_computes_with_what_the_buffers_hold_now() {
    let device = device();
    let mut x = device.upload(&[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let (graph, sums) = captured(&device, || {
        let twice = add(&x, &x)?;
        let columns = View::new(&twice, &[2, 2], &[1, 2]);
        ops::reduce(Reduce::Sum, columns, &[0])
    });
    assert_eq!(graph.nodes(), 2, "an addition and a sum");
    for scale in [1.0, 10.0, -3.0] {
        x.write(&[1.0, 2.0, 3.0, 4.0].map(|x| x * scale)).unwrap();
        graph.replay().unwrap();
        assert_eq!(floats(&sums), [6.0 * scale, 14.0 * scale]);
    }
}

#[test]
fn a_capture_runs_nothing() {
    let device = device();
    let mut x = device.upload(&[5.0_f32]).unwrap();
    let one = device.upload(&[1.0_f32]).unwrap();
    trace::take(&device);
    let (graph, ()) = captured(&device, || {
        let next = add(&x, &one)?;
        ops::copy(next.view(), x.view_mut())
    });
    assert_eq!(trace::take(&device), []);
    assert_eq!(x.download().unwrap(), [5.0]);
    for wanted in [6.0, 7.0, 8.0] {
        graph.replay().unwrap();
        assert_eq!(
            x.download().unwrap(),
            [wanted],
            "a replay goes on from the one before"
        );
    }
    let steps = trace::take(&device);
    let names: Vec<_> = steps.iter().map(|step| &*step.by).collect();
    assert_eq!(names, ["badd_f32", "hipMemcpyAsync"]);
}

#[test]
fn a_graph_keeps_the_memory_of_its_work() {
    let device = another_device();
    let (graph, sum) = {
        let x = device.upload(&[1.0_f32; 300]).unwrap();
        captured(&device, || {
            let e = ops::unary(Unary::Exp, x.view())?;
            let log = ops::unary(Unary::Log, e.view())?;
            ops::reduce(Reduce::Sum, log.view(), &[0])
        })
    };
    // What the dropped buffers had is not handed out.
    let others: Vec<_> = (0..8).map(|_| device.upload(&[7.0_f32; 300]).unwrap()).collect();
    graph.replay().unwrap();
    assert_eq!(floats(&sum), [300.0]);
    assert!(others.iter().all(|other| other.download().unwrap() == [7.0; 300]));
    drop((others, graph));
    assert_eq!(floats(&sum), [300.0], "a result outlives its graph");
    drop(sum);
    let memory = device.memory().unwrap();
    assert_eq!((memory.live, memory.buffers), (0, 0));
}

#[test]
fn what_is_uploaded_in_a_capture_has_the_same_bytes_in_every_replay() {
    let device = device();
    let mut step = device.upload(&[1_i64]).unwrap();
    let (graph, x) = captured(&device, || {
        let mut x = device.upload(&[10_i64, 20])?;
        // Written by the graph's own work: the next replay begins anew.
        let ids = device.upload(&[1_i64])?;
        ops::scatter_add_set(x.view_mut(), ids.view(), step.view(), 0)?;
        Ok(x)
    });
    for by in [1, 2] {
        step.write(&[by]).unwrap();
        graph.replay().unwrap();
        assert_eq!(x.download().unwrap(), [10, 20 + by]);
    }
}

#[test]
fn a_loop_with_its_state_on_the_device_is_one_graph() {
    let device = device();
    let one = device.upload(&[1_u32]).unwrap();
    let mut position = device.upload(&[0_u32]).unwrap();
    let mut list = device.zeros::<u32>(8).unwrap();
    let (graph, ()) = captured(&device, || {
        // The element at the position becomes the position's square.
        let square = ops::binary(Binary::Mul, position.view(), position.view())?;
        ops::scatter_set(list.view_mut(), position.view(), square.view(), 0)?;
        let next = add(&position, &one)?;
        ops::copy(next.view(), position.view_mut())
    });
    let waits = trace::waits(&device);
    (0..8).for_each(|_| graph.replay().unwrap());
    assert_eq!(list.download().unwrap(), [0, 1, 4, 9, 16, 25, 36, 49]);
    assert_eq!(trace::waits(&device) - waits, 1, "the download");
}

#[test]
fn an_id_that_a_replay_finds_wrong_is_told() {
    let device = device();
    let x = device.upload(&[1.0_f32, 2.0]).unwrap();
    let mut ids = device.upload(&[0_u32]).unwrap();
    let (graph, out) = captured(&device, || ops::index_select(x.view(), ids.view(), 0));
    for (id, wanted) in [(1, Ok(2.0)), (5, Err(5)), (0, Ok(1.0))] {
        ids.write(&[id]).unwrap();
        // The software device tells at once, a card when the host waits.
        let told = graph.replay().and_then(|()| out.download::<f32>());
        match (told, wanted) {
            (Ok(found), Ok(wanted)) => assert_eq!(found, [wanted]),
            (Err(Error::Index { index, bound, .. }), Err(wanted)) => assert_eq!((index, bound), (wanted, 2)),
            (told, wanted) => panic!("{told:?}, expected {wanted:?}"),
        }
    }
}

#[test]
fn what_cannot_be_part_of_a_graph_is_refused_and_ends_the_capture() {
    let device = device();
    let other = another_device();
    let x = device.upload(&[1.0_f32, 2.0]).unwrap();
    let event = other.record().unwrap();
    let download = refusal(&device, || add(&x, &x)?.download::<f32>());
    assert_eq!(
        download,
        "capture of a graph: a wait for the device cannot be part of it"
    );
    let calls: [(&str, &dyn Fn() -> Result<()>); 7] = [
        ("a wait for the device", &|| device.synchronize()),
        ("an event", &|| device.record().map(drop)),
        ("a wait for an event", &|| device.wait(&event)),
        ("a draw of random numbers", &|| {
            ops::rand_uniform(&device, rocm_backend::DType::F32, 4, 0.0, 1.0).map(drop)
        }),
        ("the capture of another graph", &|| {
            device.capture(|| Ok::<_, Error>(())).map(drop)
        }),
        ("a wait for the device", &|| {
            device.zeros::<f32>(4)?.move_to(&other).map(drop)
        }),
        ("work of another stream", &|| {
            other.zeros::<f32>(4)?.move_to(&device).map(drop)
        }),
    ];
    for (what, call) in calls {
        let words = refusal(&device, call);
        assert_eq!(words, format!("capture of a graph: {what} cannot be part of it"));
    }
    let (graph, ()) = captured(&device, || Ok(()));
    assert_eq!(graph.nodes(), 0);
    let words = refusal(&device, || graph.replay());
    assert_eq!(words, "capture of a graph: a replay cannot be part of it");
}

#[test]
fn a_buffer_that_a_graph_uses_stays_on_its_stream() {
    let device = device();
    let x = device.upload(&[1.0_f32, 2.0]).unwrap();
    let (graph, sum) = captured(&device, || add(&x, &x));
    for buffer in [x.untyped(), sum] {
        let error = buffer.move_to(&another_device()).err().unwrap();
        assert_eq!(
            error.to_string(),
            "capture of a graph: move_to: a graph uses the buffer"
        );
    }
    graph.replay().unwrap();
}

#[test]
fn other_threads_are_refused_while_one_captures() {
    let device = device();
    let x: Buffer<f32> = device.upload(&[1.0_f32, 2.0]).unwrap();
    let (graph, sum) = captured(&device, || {
        let refused = std::thread::scope(|scope| scope.spawn(|| add(&x, &x).err()).join().unwrap());
        let words = refused.unwrap().to_string();
        assert!(
            words.contains("another thread captures on this device"),
            "{words}"
        );
        add(&x, &x)
    });
    assert_eq!(graph.nodes(), 1);
    graph.replay().unwrap();
    assert_eq!(floats(&sum), [2.0, 4.0]);
}

#[test]
fn a_panic_ends_a_capture() {
    let device = device();
    let x = device.upload(&[1.0_f32, 2.0]).unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        device.capture::<(), Error>(|| {
            add(&x, &x)?;
            panic!("the caller's own")
        })
    }));
    assert!(caught.is_err());
    assert_eq!(floats(&add(&x, &x).unwrap()), [2.0, 4.0]);
}
