//! [`RocmDevice`]: candle's handle on one ROCm device.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, Once, PoisonError},
};

use rocm_backend::environment::{DRIVER, Driver, SOFT_DEVICES};
use rocm_backend::{DynBuffer, Graph, ops};

use super::{RocmError, RocmStorage, dtype};
use crate::{CpuStorage, DType, Device, DeviceLocation, Error, Result, Shape, WithDType};

/// One ROCm device. Clones share it, and so do all devices of one ordinal: tensors that candle finds at one
/// [`DeviceLocation`] can always meet in an op.
#[derive(Clone)]
pub struct RocmDevice {
    backend: rocm_backend::Device,
}

impl RocmDevice {
    /// The device as the backend knows it: its name, target and driver, and memory beside candle's.
    pub fn backend(&self) -> &rocm_backend::Device {
        &self.backend
    }

    /// Captures what `f` submits to the device, and runs none of it; [`Graph::replay`] does, with one call of HIP's for all kernels, so
    /// that a decode step of a language model costs the host next to nothing. The tensors that `f` gives have their elements after
    /// the first replay, and others after the next one.
    ///
    /// Each replay does the same with what the tensors hold that were there before. What should differ between two, as the token and its
    /// position, has to be in a tensor, and to be changed in place: by the graph itself or, between replays, by `Tensor::slice_set`.
    /// Tensors that `f` makes from host data have the data of the capture.
    ///
    /// # Errors
    /// Those of `f`; an error from each call in it that cannot be part of a graph: one that copies to the host, one that runs on the
    /// CPU, and a draw of random numbers.
    pub fn capture<T>(&self, f: impl FnOnce() -> Result<T>) -> Result<(Graph, T)> {
        self.backend.capture(f)
    }

    pub(super) fn upload(&self, host: &CpuStorage) -> Result<RocmStorage> {
        dtype::upload(self, host)
    }

    fn storage(&self, buffer: DynBuffer) -> RocmStorage {
        RocmStorage::new(buffer, self.clone())
    }

    /// What candle-overlay calls in the methods that this file does not have.
    #[allow(dead_code, reason = "of this candle's methods there are none")]
    fn not_implemented(&self, op: &'static str) -> Error {
        Error::Rocm(RocmError::NotImplemented { op }).bt()
    }
}

impl fmt::Debug for RocmDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let software = if is_software(&self.backend) {
            ", software"
        } else {
            ""
        };
        write!(
            f,
            "RocmDevice({}, {}{software})",
            self.backend.ordinal(),
            self.backend.info().target()
        )
    }
}

fn is_software(backend: &rocm_backend::Device) -> bool {
    backend.info().driver().is_software()
}

/// Whether the environment names a software card.
fn is_wished() -> bool {
    let is_card = SOFT_DEVICES.get().is_ok_and(|cards| !cards.0.is_empty());
    is_card || matches!(DRIVER.get(), Ok(Driver::Soft | Driver::Hsa))
}

fn notice(backend: &rocm_backend::Device) -> String {
    format!(
        "candle: there is no AMD GPU; a {} computes what one does, slowly. ROCM_DRIVER=soft asks for it, and this line is left out; \
         Device::new_rocm_hardware is an error instead",
        backend.info().name()
    )
}

impl Device {
    /// As [`Device::new_rocm`], on a GPU and never on the software one.
    ///
    /// # Errors
    /// Those of [`Device::new_rocm`]; one that says so where there is the software GPU alone, under AMD's HIP runtime
    /// too, or `ROCM_DRIVER` asks for it.
    pub fn new_rocm_hardware(ordinal: usize) -> Result<Device> {
        let driver = rocm_backend::driver()?;
        if !driver.is_software() {
            return Device::new_rocm(ordinal);
        }
        let tried = driver.passed_over().to_vec();
        let reason =
            "there is no GPU, but the software one: new_rocm_hardware takes none but a real one".to_owned();
        Err(rocm_backend::Error::Driver { reason, tried }.into())
    }
}

impl crate::backend::BackendDevice for RocmDevice {
    type Storage = RocmStorage;

    fn new(ordinal: usize) -> Result<Self> {
        static OPEN: Mutex<BTreeMap<usize, rocm_backend::Device>> = Mutex::new(BTreeMap::new());
        static TOLD: Once = Once::new();
        // Entries are only ever added whole, so a panic elsewhere cannot have left a broken one.
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let backend = match open.get(&ordinal) {
            Some(backend) => backend.clone(),
            None => {
                let backend = rocm_backend::Device::new(ordinal)?;
                // Who asked for the software GPU knows.
                if is_software(&backend) && !is_wished() {
                    TOLD.call_once(|| eprintln!("{}", notice(&backend)));
                }
                open.insert(ordinal, backend.clone());
                backend
            }
        };
        Ok(RocmDevice { backend })
    }

    fn location(&self) -> DeviceLocation {
        DeviceLocation::Rocm {
            gpu_id: self.backend.ordinal(),
        }
    }

    fn same_device(&self, other: &Self) -> bool {
        self.backend.same(&other.backend)
    }

    fn zeros_impl(&self, shape: &Shape, dtype: DType) -> Result<RocmStorage> {
        let (dtype, len) = (dtype::to_backend(dtype)?, shape.elem_count());
        Ok(self.storage(DynBuffer::zeros(&self.backend, dtype, len)?))
    }

    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<RocmStorage> {
        let (dtype, len) = (dtype::to_backend(dtype)?, shape.elem_count());
        Ok(self.storage(DynBuffer::uninit(&self.backend, dtype, len)?))
    }

    fn storage_from_slice<T: WithDType>(&self, elements: &[T]) -> Result<RocmStorage> {
        self.upload(&T::to_cpu_storage(elements))
    }

    fn storage_from_cpu_storage(&self, host: &CpuStorage) -> Result<RocmStorage> {
        self.upload(host)
    }

    fn storage_from_cpu_storage_owned(&self, host: CpuStorage) -> Result<RocmStorage> {
        self.upload(&host)
    }

    fn rand_uniform(&self, shape: &Shape, dtype: DType, lo: f64, up: f64) -> Result<RocmStorage> {
        let (dtype, len) = (dtype::to_backend(dtype)?, shape.elem_count());
        let buffer = ops::rand_uniform(&self.backend, dtype, len, lo, up)?;
        Ok(self.storage(buffer))
    }

    fn rand_normal(&self, shape: &Shape, dtype: DType, mean: f64, std: f64) -> Result<RocmStorage> {
        let (dtype, len) = (dtype::to_backend(dtype)?, shape.elem_count());
        let buffer = ops::rand_normal(&self.backend, dtype, len, mean, std)?;
        Ok(self.storage(buffer))
    }

    fn set_seed(&self, seed: u64) -> Result<()> {
        self.backend.set_seed(seed);
        Ok(())
    }

    fn get_current_seed(&self) -> Result<u64> {
        Ok(self.backend.seed())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(self.backend.synchronize()?)
    }
}
