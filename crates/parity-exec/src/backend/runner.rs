//! Runs cases on an open device of candle's: inputs, views, the call, the way back to the host.

use candle_core::{
    Device, Error, Tensor, Var, rocm,
    rocm_backend::{DriverKind, trace, trial},
};
use parity_model::{
    Case, HostTensor, Outcome, Refusal,
    record::{BackendInfo, KernelCost},
};

use super::refusal::{classify, words};
use crate::{
    ops::{self, Scalars},
    protocol::{Covered, Loaded, Mutant},
    tensors::{self, Placement},
    worker::Runner,
};

/// An open candle device.
pub struct CandleRunner {
    device: Device,
    pub(super) info: BackendInfo,
    /// What computed the last result.
    served_by: Vec<String>,
    /// [`Mutant::place`] of the planted one.
    place: u32,
}

impl Runner for CandleRunner {
    fn info(&self) -> BackendInfo {
        self.info.clone()
    }

    fn run(&mut self, case: &Case, seed: u64) -> Outcome {
        rocm::reset_fallbacks();
        self.served_by.clear();
        trial::cross_from(turn(case).wrapping_add(self.place));
        self.compute(case, seed).unwrap_or_else(|why| match why {
            NoResult::Refused(error) => Outcome::Refused {
                refusal: classify(&error),
                message: words(&error),
            },
            NoResult::Misuse(reason) => Outcome::Missing { reason },
        })
    }

    fn fallbacks(&self) -> Vec<String> {
        rocm::fallbacks()
            .into_iter()
            .map(|(op, _)| op.to_owned())
            .collect()
    }

    fn served_by(&self) -> Vec<String> {
        self.served_by.clone()
    }

    fn covered(&mut self) -> (Vec<Covered>, Vec<Loaded>) {
        let covered = trial::take().into_iter().map(|covered| Covered {
            object: covered.object.to_string(),
            kernel: covered.kernel,
            marks: covered
                .marks
                .iter()
                .map(|mark| char::from(b'0' + (mark & 7)))
                .collect(),
        });
        let loaded = trial::take_objects().into_iter().map(|object| Loaded {
            id: object.id.to_string(),
            file: object.file.to_vec(),
        });
        (covered.collect(), loaded.collect())
    }

    fn count(&mut self, on: bool) {
        // What an earlier case left behind is not this one's.
        drop(trial::take_counted());
        trial::count(on);
    }

    fn counted(&mut self) -> Vec<KernelCost> {
        trial::take_counted()
            .into_iter()
            .map(crate::timing::count::cost)
            .collect()
    }

    fn plant(&mut self, mutant: Option<&Mutant>) -> Result<(), String> {
        let is_soft = matches!(&self.device, Device::Rocm(rocm)
            if rocm.backend().info().driver().kind() == DriverKind::Soft);
        if let Some(mutant) = mutant.filter(|_| !is_soft) {
            return Err(format!(
                "no fault can be planted in {}: this device is not one of this program's own software GPUs",
                mutant.kernel
            ));
        }
        self.place = mutant.map_or(0, |mutant| mutant.place);
        trial::plant(mutant.map(|mutant| trial::Mutant {
            object: mutant.object.clone(),
            kernel: mutant.kernel.clone(),
            patch: match &mutant.bytes {
                Some((pc, bytes)) => trial::Patch::Bytes {
                    pc: *pc,
                    bytes: bytes.clone(),
                },
                None => trial::Patch::Flush,
            },
        }));
        Ok(())
    }
}

/// Where the buffers of a case lie on a software GPU: other cases have other places, and a case has the same each time.
fn turn(case: &Case) -> u32 {
    let id = case.id();
    let bytes = id.as_str().bytes();
    bytes.fold(0, |turn, byte| {
        turn.wrapping_mul(31).wrapping_add(u32::from(byte))
    })
}

/// Why a case gave no value.
enum NoResult {
    /// The backend said no.
    Refused(Error),
    /// What ran, or would have run, is not what the case says. Not a refusal: two backends must not agree on it.
    Misuse(String),
}

impl From<Error> for NoResult {
    fn from(error: Error) -> Self {
        NoResult::Refused(error)
    }
}

impl CandleRunner {
    /// The open device, for what is not a case's judged run.
    pub fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn new(device: Device, info: BackendInfo) -> CandleRunner {
        CandleRunner {
            device,
            info,
            served_by: vec![],
            place: 0,
        }
    }

    /// The backend's own words for an error.
    pub(crate) fn words(error: &Error) -> String {
        words(error)
    }

    /// What the device has executed since the last call.
    fn take_trace(&self) -> Vec<String> {
        match &self.device {
            Device::Rocm(rocm) => trace::take(rocm.backend())
                .iter()
                .map(ToString::to_string)
                .collect(),
            _ => vec![],
        }
    }

    /// The output of a case; of one that compares two forms of its call, that of both.
    fn compute(&mut self, case: &Case, seed: u64) -> Result<Outcome, NoResult> {
        let inputs = case.inputs(seed);
        let args = self.views(case, &inputs)?;
        // Uploads and views are not the op's.
        self.take_trace();
        let whole = self.call(case, &args);
        self.served_by = self.take_trace();
        let whole = whole?;
        let Some(parts) = case.parts(&inputs) else {
            return Ok(Outcome::Ran(whole));
        };
        let mut outputs = Vec::with_capacity(parts.calls.len());
        for call in &parts.calls {
            let args = call.iter().enumerate().map(|(i, arg)| self.base(case, i, arg));
            outputs.push(self.call(case, &args.collect::<Result<Vec<_>, Error>>()?)?);
        }
        let both = parts.join(&outputs).and_then(|parts| Case::stack(&whole, &parts));
        both.map(Outcome::Ran).map_err(NoResult::Misuse)
    }

    /// The arguments as the case's layouts say, each compared with what its plan promises.
    fn views(&self, case: &Case, inputs: &[HostTensor]) -> Result<Vec<Tensor>, NoResult> {
        let mut args = Vec::with_capacity(case.args.len());
        for (i, (arg, base)) in case.args.iter().zip(inputs).enumerate() {
            let plan = case.plan(i);
            let planned = plan.as_ref().and_then(Placement::of_plan);
            let (Some(plan), Some(planned)) = (plan, planned) else {
                return Err(NoResult::Misuse(format!(
                    "{} is impossible for the shape {:?}",
                    arg.layout, arg.shape
                )));
            };
            let tensor = tensors::view(self.base(case, i, base)?, &plan)?;
            let found = Placement::of_layout(tensor.layout());
            if !planned.agrees_with(&found) {
                return Err(NoResult::Misuse(format!(
                    "candle built another view: planned {planned}; found {found}"
                )));
            }
            args.push(tensor);
        }
        Ok(args)
    }

    /// The tensor under argument `i`: a variable, where the case asks for the gradient by it.
    fn base(&self, case: &Case, i: usize, base: &HostTensor) -> Result<Tensor, Error> {
        let base = tensors::upload(base, &self.device)?;
        if ops::grad::variable(case) == Some(i) {
            return Ok(Var::from_tensor(&base)?.into_inner());
        }
        Ok(base)
    }

    /// The op on `args`, its output copied to the host. Waits for the device: a kernel that was launched before an error, or for a
    /// result without elements, may fail later. That failure is this case's.
    fn call(&self, case: &Case, args: &[Tensor]) -> Result<HostTensor, NoResult> {
        let result = self.called(case, args);
        // A device that is lost has nothing left to do, and says so of whatever it is asked.
        let is_lost =
            matches!(&result, Err(NoResult::Refused(error)) if classify(error) == Refusal::DeviceFault);
        if !is_lost {
            self.device.synchronize()?;
        }
        result
    }

    fn called(&self, case: &Case, args: &[Tensor]) -> Result<HostTensor, NoResult> {
        let result = ops::apply(Scalars::of(case), args)
            .ok_or_else(|| NoResult::Misuse(format!("{} does not take the case's arguments", case.op)))??;
        let result = match ops::grad::variable(case) {
            // The gradient is that of the tensor under the view.
            Some(by) if !args[by].is_variable() => match case.plan(by) {
                Some(plan) => tensors::view(result, &plan)?,
                None => result,
            },
            Some(_) | None => result,
        };
        if !result.device().same_device(&self.device) {
            let place = result.device().location();
            return Err(NoResult::Misuse(format!(
                "the result lies on {place:?}, not on the device under test"
            )));
        }
        // A tensor whose layout and storage contradict each other is the backend's failure.
        tensors::download(&result)?.map_err(|why| NoResult::Refused(Error::Msg(why)))
    }
}
