//! The worker's loop: a device is opened, each job is computed, a panic of a network costs its job alone.

use std::{
    io::{self, Read as _},
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use candle_core::{
    DType, Device, Tensor, rocm,
    rocm_backend::{self, trace},
};
use parity_exec::{Backend, BackendDevice, Runner as _};
use zoo_protocol::{Answer, Job, Output, Reply, Request, Watched, write_reply};

use crate::{
    calls::RecordedCall,
    context::{Context, Outputs},
    networks,
};

/// The most bytes of jobs that are read.
const MAX_REQUEST: u64 = 64 << 20;

/// Serves one request.
pub(crate) fn serve() -> Result<(), String> {
    let mut text = vec![];
    let read = io::stdin().lock().take(MAX_REQUEST).read_to_end(&mut text);
    read.map_err(|why| format!("cannot read the jobs: {why}"))?;
    let request: Request = serde_json::from_slice(&text).map_err(|why| {
        format!("the jobs cannot be read: {why}; `parity model` starts this program, of the same build")
    })?;
    let opened = device(&request.device).and_then(|device| device.open());
    let runner = match opened {
        Ok(runner) => runner,
        Err(why) => return say(&Reply::Unavailable(why)),
    };
    say(&Reply::Ready(runner.info()))?;
    for job in request.jobs {
        if let Some(why) = too_few(&job, runner.device()) {
            say(&Reply::TooFew(why))?;
            continue;
        }
        if let Some(why) = lacks(&job) {
            say(&Reply::Lacks(why))?;
            continue;
        }
        let done = catch_unwind(AssertUnwindSafe(|| compute(job, runner.device())));
        say(&match done {
            Ok(Ok(answer)) => Reply::Done(Box::new(answer)),
            Ok(Err(why)) => Reply::Failed(first_line(&why.to_string())),
            Err(panic) => {
                let words = panic.downcast_ref::<String>().map(String::as_str);
                let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
                Reply::Failed(format!(
                    "panicked: {}",
                    first_line(words.unwrap_or("without words"))
                ))
            }
        })?;
    }
    Ok(())
}

/// candle's errors may have a backtrace below them.
fn first_line(words: &str) -> String {
    words.lines().next().unwrap_or_default().to_owned()
}

fn say(reply: &Reply) -> Result<(), String> {
    write_reply(&mut io::stdout().lock(), reply).map_err(|why| format!("cannot write a reply: {why}"))
}

/// The device of this name.
fn device(name: &str) -> Result<BackendDevice, String> {
    let (word, device) = match name.split_once(':') {
        None => (name, None),
        Some((word, device)) => (word, Some(device)),
    };
    let found = Backend::ALL.into_iter().find(|backend| backend.name() == word);
    let backend = found.ok_or_else(|| format!("unknown backend `{word}`"))?;
    match device {
        None => Ok(backend.into()),
        Some(device) => BackendDevice::new(backend, device).map_err(|error| error.to_string()),
    }
}

/// Why there are not enough devices for a job; none where there are.
fn too_few(job: &Job, device: &Device) -> Option<String> {
    let there = match device {
        Device::Cpu => return None,
        Device::Rocm(_) => rocm_backend::Device::count().unwrap_or(0),
        // Its parts are put on ROCm devices alone.
        Device::Cuda(_) | Device::Metal(_) => 1,
    };
    let wanted = job.spec.devices;
    (wanted > there).then(|| format!("it takes {wanted} devices, and there are {there} that it can use"))
}

/// What the job needs and is not there, in words.
fn lacks(job: &Job) -> Option<String> {
    let calls = |path| crate::calls::load(path, job.spec.steps + 1).err();
    let unread = || job.calls.as_deref().and_then(calls);
    networks::lacks(&job.spec).or_else(|| unread().map(|why| first_line(&why.to_string())))
}

/// Builds the job's network and runs it.
fn compute(job: Job, device: &Device) -> candle_core::Result<Answer> {
    rocm::reset_fallbacks();
    rocm::watch_ops(job.watch);
    let _ = kernels(device);
    let start = Instant::now();
    let context = Context::new(job, device.clone())?;
    let results = networks::run(&context)?;
    let others = others(context.calls(), &results)?;
    let outputs: Vec<Output> = results
        .into_iter()
        .map(|(name, tensor)| output(name, &tensor))
        .collect::<candle_core::Result<_>>()?;
    let seconds = start.elapsed().as_secs_f64();
    let fallbacks = rocm::fallbacks().into_iter();
    Ok(Answer {
        outputs,
        others,
        fallbacks: fallbacks.map(|(op, count)| (op.to_owned(), count)).collect(),
        kernels: kernels(device),
        parameters: context.weights().parameters(),
        seconds,
        ops: rocm::take_watched().into_iter().map(watched).collect(),
    })
}

fn watched(seen: rocm::Watched) -> Watched {
    Watched {
        op: seen.op.to_owned(),
        form: seen.form.to_owned(),
        params: seen.params,
        inputs: seen.inputs,
        strides: seen.strides,
        offsets: seen.offsets,
        dtypes: seen
            .dtypes
            .iter()
            .map(|dtype| dtype.as_str().to_owned())
            .collect(),
        elements: seen.elements,
        device: seen.device,
        cpu: seen.cpu,
        scale: seen.scale,
        drift: seen.drift,
        magnitude: seen.magnitude,
        digest: format!("{:016x}", seen.digest),
        skipped: seen.skipped,
    }
}

/// What the device has executed since the last call, by name. A device that does not tell has its own name here.
fn kernels(device: &Device) -> Vec<String> {
    match device {
        Device::Rocm(rocm) => trace::take(rocm.backend())
            .iter()
            .map(ToString::to_string)
            .collect(),
        Device::Cuda(_) => vec![Backend::Cuda.name().to_owned()],
        Device::Cpu | Device::Metal(_) => vec![],
    }
}

/// What another program has in the place of each result, a row for each call.
fn others(calls: &[RecordedCall], results: &Outputs) -> candle_core::Result<Vec<Output>> {
    if calls.is_empty() {
        return Ok(vec![]);
    }
    let row = |call: &RecordedCall, name: &str| match call.outputs.iter().find(|(known, _)| known == name) {
        Some((_, tensor)) => Ok(tensor.clone()),
        None => candle_core::bail!("the file of calls has no output `{name}`"),
    };
    let other = |(name, _): &(String, Tensor)| {
        let rows = calls.iter().map(|call| row(call, name));
        let rows: Vec<Tensor> = rows.collect::<candle_core::Result<_>>()?;
        output(name.clone(), &Tensor::stack(&rows, 0)?)
    };
    results.iter().map(other).collect()
}

/// A result on the host, every element exact.
fn output(name: String, tensor: &Tensor) -> candle_core::Result<Output> {
    let is_choice = !tensor.dtype().is_float();
    let host = tensor.to_device(&Device::Cpu)?.flatten_all()?;
    Ok(Output {
        name,
        shape: tensor.dims().to_vec(),
        values: host.to_dtype(DType::F64)?.to_vec1()?,
        is_choice,
    })
}
