//! Code objects: readers, executables, their symbols, and the kernels that packets name by address.

use std::collections::BTreeMap;
use std::sync::Arc;

use gfx_emu::{CodeObject, Kernel, Placement};

use crate::card::target;
use crate::coverage;
use crate::pools::{Pool, Pools};
use crate::report;
use crate::runtime::Runtime;
use crate::status::{Answer, Status};

/// A loaded code object.
#[derive(Debug)]
pub struct Loaded {
    /// The file, as the emulator has it.
    pub code: CodeObject,
    /// Where it lies in the memory of the card.
    pub placement: Placement,
    /// The number of the card.
    pub card: usize,
    /// Where the program had the file, and its bytes.
    pub file: (u64, u64),
    /// Its digest, where it is noted what is executed of it.
    pub noted: Option<Arc<str>>,
    /// Names of kernels by the address of their descriptor.
    kernels: BTreeMap<u64, String>,
}

impl Loaded {
    fn end(&self) -> u64 {
        self.placement.base() + self.code.image_size()
    }

    fn holds(&self, address: u64) -> bool {
        (self.placement.base()..self.end()).contains(&address)
    }
}

/// What a symbol names.
#[derive(Clone, Debug)]
pub enum Symbol {
    /// A kernel: its code object and name.
    Kernel(Arc<Loaded>, String),
    /// A variable: its code object, name, address and bytes.
    Variable(Arc<Loaded>, String, u64, u64),
}

impl Symbol {
    /// Its name, as the code object has it.
    pub fn name(&self) -> String {
        match self {
            Symbol::Kernel(_, name) => format!("{name}.kd"),
            Symbol::Variable(_, name, ..) => name.clone(),
        }
    }

    /// The code object that it is of.
    pub fn loaded(&self) -> &Loaded {
        match self {
            Symbol::Kernel(loaded, _) | Symbol::Variable(loaded, ..) => loaded,
        }
    }

    /// The kernel, where it is one.
    pub fn kernel(&self) -> Option<&Kernel> {
        match self {
            Symbol::Kernel(loaded, name) => loaded.code.kernel(name),
            Symbol::Variable(..) => None,
        }
    }
}

#[derive(Debug, Default)]
struct Executable {
    objects: Vec<Arc<Loaded>>,
    frozen: bool,
    /// Handles of symbols that were asked for.
    symbols: BTreeMap<String, u64>,
}

/// Everything that was loaded.
#[derive(Debug, Default)]
pub struct Loader {
    last: u64,
    readers: BTreeMap<u64, (u64, Arc<[u8]>)>,
    executables: BTreeMap<u64, Executable>,
    symbols: BTreeMap<u64, Symbol>,
    /// All loaded code objects by their first address.
    images: BTreeMap<u64, Arc<Loaded>>,
}

impl Loader {
    fn handle(&mut self) -> u64 {
        // Not dense, so that a handle of one kind is seldom one of another.
        self.last += 16;
        self.last
    }

    /// Keeps a file that the program has at an address.
    pub fn reader(&mut self, address: u64, file: Arc<[u8]>) -> u64 {
        let handle = self.handle();
        self.readers.insert(handle, (address, file));
        handle
    }

    /// The file of a reader, and where the program had it.
    pub fn file(&self, reader: u64) -> Answer<(u64, Arc<[u8]>)> {
        let found = self.readers.get(&reader).cloned();
        found.ok_or(Status::InvalidCodeObjectReader)
    }

    /// Ends a reader.
    pub fn destroy_reader(&mut self, reader: u64) -> Answer<()> {
        let found = self.readers.remove(&reader);
        found.map(drop).ok_or(Status::InvalidCodeObjectReader)
    }

    /// A new executable, without code objects.
    pub fn executable(&mut self) -> u64 {
        let handle = self.handle();
        self.executables.insert(handle, Executable::default());
        handle
    }

    fn get(&self, executable: u64) -> Answer<&Executable> {
        self.executables.get(&executable).ok_or(Status::InvalidExecutable)
    }

    /// An executable takes no more code objects.
    pub fn freeze(&mut self, executable: u64) -> Answer<()> {
        let found = self.executables.get_mut(&executable);
        found.ok_or(Status::InvalidExecutable)?.frozen = true;
        Ok(())
    }

    /// Whether an executable takes code objects.
    pub fn is_open(&self, executable: u64) -> Answer<()> {
        match self.get(executable)?.frozen {
            false => Ok(()),
            true => Err(Status::FrozenExecutable),
        }
    }

    /// Adds a loaded code object; gives its handle, the address of its image.
    pub fn add(&mut self, executable: u64, loaded: Loaded) -> Answer<u64> {
        let executable = self.executables.get_mut(&executable);
        let executable = executable.ok_or(Status::InvalidExecutable)?;
        let base = loaded.placement.base();
        let loaded = Arc::new(loaded);
        executable.objects.push(Arc::clone(&loaded));
        self.images.insert(base, loaded);
        Ok(base)
    }

    /// Unloads an executable's code objects. A launch that runs keeps what it uses.
    pub fn destroy(&mut self, executable: u64, pools: &mut Pools) -> Answer<()> {
        let removed = self.executables.remove(&executable);
        let removed = removed.ok_or(Status::InvalidExecutable)?;
        for symbol in removed.symbols.values() {
            self.symbols.remove(symbol);
        }
        for object in &removed.objects {
            self.images.remove(&object.placement.base());
            pools.free(object.placement.base())?;
        }
        Ok(())
    }

    /// The handle of a symbol: a kernel's name with `.kd` at its end or without, or a variable's.
    pub fn symbol(&mut self, executable: u64, name: &str) -> Answer<u64> {
        let objects = &self.get(executable)?.objects;
        if let Some(known) = self.get(executable)?.symbols.get(name) {
            return Ok(*known);
        }
        let kernel = name.strip_suffix(".kd").unwrap_or(name);
        let found = objects.iter().find_map(|loaded| {
            let variable = loaded.code.global(name).map(|global| {
                let address = loaded.placement.address(global);
                Symbol::Variable(Arc::clone(loaded), name.to_owned(), address, global.size)
            });
            variable.or_else(|| {
                let kernel = loaded.code.kernel(kernel)?;
                Some(Symbol::Kernel(Arc::clone(loaded), kernel.name.clone()))
            })
        });
        let symbol = found.ok_or(Status::InvalidSymbolName)?;
        let handle = self.handle();
        self.symbols.insert(handle, symbol);
        if let Some(executable) = self.executables.get_mut(&executable) {
            executable.symbols.insert(name.to_owned(), handle);
        }
        Ok(handle)
    }

    /// Names of all symbols of an executable.
    pub fn names(&self, executable: u64) -> Answer<Vec<String>> {
        let objects = &self.get(executable)?.objects;
        let names = objects.iter().flat_map(|loaded| {
            let kernels = loaded.code.kernels().map(|kernel| format!("{}.kd", kernel.name));
            let globals = loaded.code.globals().map(|(name, _)| name.to_owned());
            kernels.chain(globals)
        });
        Ok(names.collect())
    }

    /// What a symbol's handle stands for.
    pub fn known(&self, symbol: u64) -> Answer<Symbol> {
        let found = self.symbols.get(&symbol).cloned();
        found.ok_or(Status::InvalidExecutableSymbol)
    }

    /// Handles of an executable's code objects.
    pub fn objects(&self, executable: u64) -> Answer<Vec<u64>> {
        let objects = &self.get(executable)?.objects;
        Ok(objects.iter().map(|object| object.placement.base()).collect())
    }

    /// The code object of a handle.
    pub fn object(&self, handle: u64) -> Answer<Arc<Loaded>> {
        self.images.get(&handle).cloned().ok_or(Status::InvalidArgument)
    }

    /// All executables.
    pub fn executables(&self) -> Vec<u64> {
        self.executables.keys().copied().collect()
    }

    /// The code object around an address, and the executable that it belongs to.
    pub fn around(&self, address: u64) -> Option<(Arc<Loaded>, u64)> {
        let (base, loaded) = self.images.range(..=address).next_back()?;
        if !loaded.holds(address) {
            return None;
        }
        let owner = self.executables.iter().find(|(_, executable)| {
            let mut bases = executable.objects.iter().map(|object| object.placement.base());
            bases.any(|other| other == *base)
        });
        Some((Arc::clone(loaded), *owner?.0))
    }

    /// The kernel whose descriptor is at an address.
    pub fn kernel_at(&self, address: u64) -> Option<(Arc<Loaded>, String)> {
        let (_, loaded) = self.images.range(..=address).next_back()?;
        let name = loaded.kernels.get(&address)?;
        Some((Arc::clone(loaded), name.clone()))
    }
}

/// Reads a code object and puts it into the memory of a card.
pub fn load(runtime: &Runtime, card: usize, file: (u64, &[u8])) -> Answer<Loaded> {
    let refused = |why: &dyn std::fmt::Display| {
        report::say(&format!(
            "a code object of {} bytes is refused: {why}",
            file.1.len()
        ));
        Status::InvalidCodeObject
    };
    let code = CodeObject::load(file.1).map_err(|why| refused(&why))?;
    let wanted = runtime.cards.get(card).ok_or(Status::InvalidAgent)?;
    if code.target() != target(*wanted) {
        let why = format!("it is for {}, the card is {}", code.target(), wanted.word());
        return Err(refused(&why));
    }
    let noted = coverage::loaded(file.1)?;
    let base = runtime
        .pools()
        .allocate(Pool::Device(card), code.image_size().max(1))?;
    let view = runtime.pools().view();
    let placement = code.place_at(&view, base).map_err(|why| refused(&why))?;
    let kernels = code.kernels();
    let kernels = kernels.map(|kernel| (base + kernel.descriptor_offset, kernel.name.clone()));
    Ok(Loaded {
        kernels: kernels.collect(),
        code,
        placement,
        card,
        file: (file.0, file.1.len() as u64),
        noted,
    })
}
