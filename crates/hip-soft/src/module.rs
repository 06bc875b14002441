//! Modules, their kernels and variables, and what a program's fat binaries register before `main`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use code_object::bundle;
use gfx_emu::Kernel;
use rocm_env::Card;
use rocm_rs::hip::bindings as hip;
use soft_runtime::card::isa_name;
use soft_runtime::loader::{self, Loaded, Symbol};
use soft_runtime::report;

use crate::device;
use crate::error::{self, INVALID_VALUE, Result};
use crate::handles::Table;

/// Every module, and every kernel of one that the program asked for.
pub(crate) static MODULES: Table<Module> = Table::new();
pub(crate) static FUNCTIONS: Table<KernelFunction> = Table::new();

/// A code object in the memory of a card.
pub(crate) struct Module {
    card: usize,
    executable: u64,
}

/// A kernel of a module.
pub(crate) struct KernelFunction {
    /// Keeps the code object loaded.
    module: Arc<Module>,
    loaded: Arc<Loaded>,
    name: String,
}

impl KernelFunction {
    /// Its metadata and code.
    pub(crate) fn kernel(&self) -> Result<&Kernel> {
        let kernel = self.loaded.code.kernel(&self.name);
        kernel.ok_or(hip::hipError_t_hipErrorInvalidDeviceFunction)
    }

    /// The address of its descriptor, by which packets name it.
    pub(crate) fn descriptor(&self, kernel: &Kernel) -> u64 {
        self.loaded.placement.base() + kernel.descriptor_offset
    }

    /// The number of the card that it runs on.
    pub(crate) fn card_number(&self) -> usize {
        self.module.card
    }

    /// The card that it runs on.
    pub(crate) fn card(&self) -> Card {
        let cards = device::runtime().map(|runtime| runtime.cards.get(self.module.card).copied());
        cards.ok().flatten().unwrap_or_default()
    }
}

impl Module {
    /// Loads a file for this thread's card: a code object, or a bundle with one for the card.
    ///
    /// # Errors
    /// A bundle without code for the card, and a file that is neither.
    pub(crate) fn load(file: &[u8]) -> Result<Module> {
        let runtime = device::runtime()?;
        let card = device::current();
        let kind = *runtime
            .cards
            .get(card)
            .ok_or(hip::hipError_t_hipErrorInvalidDevice)?;
        let invalid = |why: &dyn std::fmt::Display| {
            report::say(&format!("a module of {} bytes is refused: {why}", file.len()));
            hip::hipError_t_hipErrorInvalidImage
        };
        let unpacked;
        let code = if bundle::is_bundle(file) {
            unpacked = bundle::unpack(file).map_err(|why| invalid(&why))?;
            let entries = bundle::entries(&unpacked).map_err(|why| invalid(&why))?;
            let fitting = entries
                .iter()
                .filter(|entry| entry.target().is_some_and(|target| fits(target, kind)));
            let best = fitting.max_by_key(|entry| entry.id.len());
            best.ok_or(hip::hipError_t_hipErrorNoBinaryForGpu)?.content
        } else {
            file
        };
        let at = code.as_ptr().addr() as u64;
        let loaded = loader::load(runtime, card, (at, code)).map_err(error::of)?;
        let mut loader = runtime.loader();
        let executable = loader.executable();
        loader.add(executable, loaded).map_err(error::of)?;
        loader.freeze(executable).map_err(error::of)?;
        Ok(Module { card, executable })
    }

    fn symbol(&self, name: &str) -> Result<Symbol> {
        let mut loader = device::runtime()?.loader();
        let symbol = loader.symbol(self.executable, name);
        let symbol = symbol.and_then(|symbol| loader.known(symbol));
        symbol.map_err(error::of)
    }

    /// A kernel of it.
    pub(crate) fn function(self: &Arc<Module>, name: &str) -> Result<KernelFunction> {
        match self.symbol(name)? {
            Symbol::Kernel(loaded, name) => Ok(KernelFunction {
                module: Arc::clone(self),
                loaded,
                name,
            }),
            Symbol::Variable(..) => Err(hip::hipError_t_hipErrorNotFound),
        }
    }

    /// Address and bytes of a variable of it.
    pub(crate) fn variable(&self, name: &str) -> Result<(u64, u64)> {
        match self.symbol(name)? {
            Symbol::Variable(_, _, address, bytes) => Ok((address, bytes)),
            Symbol::Kernel(..) => Err(hip::hipError_t_hipErrorNotFound),
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Ok(runtime) = device::runtime() {
            let mut loader = runtime.loader();
            // Its memory is this module's alone; nothing is left to be told.
            loader.destroy(self.executable, &mut runtime.pools()).ok();
        }
    }
}

/// Whether code for a target runs on a card: the processor is the card's, and no feature is asked for that the card has otherwise.
fn fits(target: &str, card: Card) -> bool {
    let isa = isa_name(card);
    let own: Vec<&str> = isa.split(':').skip(1).collect();
    let mut parts = target.split(':');
    parts.next() == Some(card.word()) && parts.all(|feature| own.contains(&feature))
}

/// Unloads a module, with the handles of its kernels, each of which would keep it.
pub(crate) fn unload(module: usize) -> Result {
    let removed = MODULES.remove(module)?;
    FUNCTIONS.retain(|function| !Arc::ptr_eq(&function.module, &removed));
    Ok(())
}

/// What a program registers of one fat binary.
struct Binary {
    image: Arc<Cow<'static, [u8]>>,
    /// What was loaded of it, by card.
    modules: BTreeMap<usize, Arc<Module>>,
}

/// A variable of a fat binary. The host's address of a managed one, and the memory that both sides share.
#[derive(Clone)]
pub(crate) struct Variable {
    pub(crate) binary: usize,
    pub(crate) name: String,
    pub(crate) shared: Option<u64>,
}

#[derive(Default)]
struct Registry {
    last: usize,
    binaries: BTreeMap<usize, Binary>,
    /// Kernels and variables by the host's address of them.
    functions: BTreeMap<usize, (usize, String)>,
    variables: BTreeMap<usize, Variable>,
    /// Kernels that were found, by the host's address and the card.
    found: BTreeMap<(usize, usize), Arc<KernelFunction>>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

fn registry<T>(act: impl FnOnce(&mut Registry) -> T) -> T {
    // Insertions and removals only: a panic cannot leave it half changed.
    let mut guard: MutexGuard<'_, _> = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    act(guard.get_or_insert_default())
}

/// Registers a fat binary; gives its handle.
pub(crate) fn register(image: Cow<'static, [u8]>) -> usize {
    let image = Arc::new(image);
    registry(|registry| {
        registry.last += 1;
        let modules = BTreeMap::new();
        registry.binaries.insert(registry.last, Binary { image, modules });
        registry.last
    })
}

/// Ends a fat binary, with everything that was registered of it.
pub(crate) fn unregister(binary: usize) {
    let removed = registry(|registry| {
        registry.functions.retain(|_, (of, _)| *of != binary);
        registry.variables.retain(|_, variable| variable.binary != binary);
        let functions = &registry.functions;
        let gone: Vec<_> = registry
            .found
            .extract_if(.., |(host, _), _| !functions.contains_key(host))
            .collect();
        (registry.binaries.remove(&binary), gone)
    });
    let modules = removed.0.iter().flat_map(|binary| binary.modules.values());
    let modules: Vec<_> = modules.cloned().collect();
    FUNCTIONS.retain(|function| !modules.iter().any(|module| Arc::ptr_eq(&function.module, module)));
    // Outside of the lock: unloading takes another.
    drop(removed);
}

/// Registers a kernel of a fat binary.
pub(crate) fn register_function(binary: usize, host: usize, name: String) {
    registry(|registry| registry.functions.insert(host, (binary, name)));
}

/// Registers a variable of a fat binary.
pub(crate) fn register_variable(host: usize, variable: Variable) {
    registry(|registry| registry.variables.insert(host, variable));
}

/// The module of a fat binary on this thread's card, loaded when it is first asked for.
fn module(binary: usize) -> Result<Arc<Module>> {
    let card = device::current();
    let (image, known, shared) = registry(|registry| {
        let found = registry.binaries.get(&binary)?;
        let known = found.modules.get(&card).cloned();
        let shared: Vec<Variable> = registry
            .variables
            .values()
            .filter(|variable| variable.binary == binary && variable.shared.is_some())
            .cloned()
            .collect();
        Some((Arc::clone(&found.image), known, shared))
    })
    .ok_or(hip::hipError_t_hipErrorInvalidDeviceFunction)?;
    if let Some(known) = known {
        return Ok(known);
    }
    // Without the lock: a large file takes its time.
    let module = Arc::new(Module::load(&image)?);
    for variable in shared {
        // The device's variable is a pointer to the shared memory. One that no kernel uses is not there.
        if let (Ok((address, 8)), Some(memory)) = (module.variable(&variable.name), variable.shared) {
            let view = device::runtime()?.pools().view();
            view.write(address, &memory.to_le_bytes())
                .map_err(|_| INVALID_VALUE)?;
        }
    }
    Ok(registry(|registry| match registry.binaries.get_mut(&binary) {
        Some(found) => Arc::clone(found.modules.entry(card).or_insert(module)),
        None => module,
    }))
}

/// The kernel that the host knows by an address: of its stub, or of a handle of [`FUNCTIONS`].
pub(crate) fn function(host: usize) -> Result<Arc<KernelFunction>> {
    if let Ok(function) = FUNCTIONS.get(host) {
        return Ok(function);
    }
    let key = (host, device::current());
    let (found, registered) = registry(|registry| {
        let found = registry.found.get(&key).cloned();
        (found, registry.functions.get(&host).cloned())
    });
    if let Some(found) = found {
        return Ok(found);
    }
    let (binary, name) = registered.ok_or(hip::hipError_t_hipErrorInvalidDeviceFunction)?;
    let function = Arc::new(module(binary)?.function(&name)?);
    registry(|registry| registry.found.insert(key, Arc::clone(&function)));
    Ok(function)
}

/// The address by which the host knows a kernel; of one of a module, a handle.
pub(crate) fn host(function: &Arc<KernelFunction>) -> usize {
    let found = registry(|registry| {
        let mut found = registry.found.iter();
        found
            .find(|(_, known)| Arc::ptr_eq(known, function))
            .map(|((host, _), _)| *host)
    });
    found
        .or_else(|| FUNCTIONS.of(function).ok())
        .unwrap_or_else(|| FUNCTIONS.share(Arc::clone(function)))
}

/// Address and bytes of the variable that the host knows by an address.
pub(crate) fn variable(host: usize) -> Result<(u64, u64)> {
    let found = registry(|registry| registry.variables.get(&host).cloned());
    let found = found.ok_or(hip::hipError_t_hipErrorInvalidSymbol)?;
    module(found.binary)?.variable(&found.name)
}
