//! What agents, instruction sets and pools say of themselves. The numbers of attributes are those of AMD's headers `hsa.h`
//! and `hsa_ext_amd.h`.

use gfx_emu::Limits;
use rocm_env::Card;

use crate::queue;
use soft_runtime::card::{isa_name, target, traits};
use soft_runtime::pools::Pool;
use soft_runtime::runtime::Runtime;
use soft_runtime::status::{Answer, Status};

/// A processor of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// The host.
    Host,
    /// The software card with this number.
    Card(usize),
}

impl Agent {
    const HOST: u64 = 0x10;
    const CARD: u64 = 0x20;

    pub(crate) fn handle(self) -> u64 {
        match self {
            Agent::Host => Agent::HOST,
            Agent::Card(card) => Agent::CARD + card as u64,
        }
    }

    /// The agent of a handle.
    pub(crate) fn of(handle: u64, runtime: &Runtime) -> Answer<Agent> {
        Agent::all(runtime)
            .find(|agent| agent.handle() == handle)
            .ok_or(Status::InvalidAgent)
    }

    /// The number of the card of a handle.
    pub(crate) fn card(handle: u64, runtime: &Runtime) -> Answer<usize> {
        match Agent::of(handle, runtime)? {
            Agent::Card(card) => Ok(card),
            Agent::Host => Err(Status::InvalidAgent),
        }
    }

    /// Every agent, the host first.
    pub(crate) fn all(runtime: &Runtime) -> impl Iterator<Item = Agent> + use<> {
        std::iter::once(Agent::Host).chain((0..runtime.cards.len()).map(Agent::Card))
    }

    /// The pools in the memory of an agent.
    pub(crate) fn pools(self) -> Vec<Pool> {
        match self {
            Agent::Host => vec![Pool::HostFine, Pool::HostCoarse],
            Agent::Card(card) => vec![Pool::Device(card), Pool::Lds(card)],
        }
    }
}

/// The bytes of an attribute, as its asker expects them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value(pub(crate) Vec<u8>);

impl Value {
    /// A text in `room` bytes, the rest of them zero.
    fn text(text: &str, room: usize) -> Value {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(room.max(bytes.len() + 1), 0);
        Value(bytes)
    }

    fn words(words: &[u32]) -> Value {
        Value(words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }

    fn zero(bytes: usize) -> Value {
        Value(vec![0; bytes])
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value(vec![u8::from(value)])
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Value {
            fn from(value: $number) -> Value {
                Value(value.to_le_bytes().to_vec())
            }
        }
    )*};
}

numbers! { u16 u32 u64 }

/// The number of the extension of images.
const IMAGES: u32 = 1;

/// `hsa_agent_get_info`.
pub(crate) fn info(runtime: &Runtime, agent: Agent, attribute: u32) -> Answer<Value> {
    match agent {
        Agent::Host => host_info(attribute),
        Agent::Card(card) => {
            let kind = *runtime.cards.get(card).ok_or(Status::InvalidAgent)?;
            card_info(runtime, card, kind, attribute)
        }
    }
}

fn host_info(attribute: u32) -> Answer<Value> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    Ok(match attribute {
        0 | 0xa009 => Value::text("host", 64),
        1 => Value::text("CPU", 64),
        // No kernels; base profile; a CPU.
        2 | 4 | 6 | 17 => 0_u32.into(),
        0xa002 => cores.into(),
        0xa004 | 16 => 0_u32.into(),
        0xa006 => 0_u32.into(),
        0xa011 => Value::text("CPU-XX", 21),
        0xa113 => Agent::Host.handle().into(),
        _ => shared_info(attribute)?,
    })
}

fn card_info(runtime: &Runtime, card: usize, kind: Card, attribute: u32) -> Answer<Value> {
    let traits = traits(kind);
    let number = card as u32 + 1;
    Ok(match attribute {
        0 => Value::text(kind.word(), 64),
        1 => Value::text("AMD", 64),
        // Kernel dispatches; a GPU.
        2 | 17 => 1_u32.into(),
        4 => 0_u32.into(),
        6 => traits.lanes.into(),
        16 | 0xa004 => number.into(),
        19 => isa(card).into(),
        20 => {
            // A bit for each extension. AMD's HIP runtime asks a card without images for nothing about them, and then has no pitch for
            // lines of plain memory either.
            let mut extensions = vec![0; 128];
            extensions[0] = 1 << IMAGES;
            Value(extensions)
        }
        // No images all the same: the elements that they may have in x, y and z, and how many a kernel may use.
        0x3000..=0x3002 | 0x3008..=0x300b => 0_u32.into(),
        0x3003..=0x3006 => Value::zero(8),
        0x3007 => Value::zero(12),
        // Bytes that lines begin at a multiple of.
        0x300c => 256_u32.into(),
        0xa000 => traits.chip.into(),
        0xa002 | 0xa014 => traits.units.into(),
        0xa003 => traits.clock.into(),
        // Bus, device and function of PCI: a bus each.
        0xa006 => (number << 8).into(),
        0xa009 => Value::text(traits.name, 64),
        0xa00a => traits.waves.into(),
        0xa00b => traits.simds.into(),
        0xa011 => Value::text(&format!("GPU-{number:016x}"), 21),
        0xa015 => runtime.pools().available(card).into(),
        0xa107 => traits.family.into(),
        0xa112 => u64::from(number).into(),
        0xa113 => Agent::Host.handle().into(),
        _ => shared_info(attribute)?,
    })
}

/// What all agents answer alike.
fn shared_info(attribute: u32) -> Answer<Value> {
    let side = Limits::DEVICE.workgroup_size as u16;
    Ok(match attribute {
        // Large machine model; rounding to nearest.
        3 => 1_u32.into(),
        5 | 23 => 2_u32.into(),
        7 => Value([side; 3].iter().flat_map(|side| side.to_le_bytes()).collect()),
        8 => Limits::DEVICE.workgroup_size.into(),
        9 => Value::words(&[i32::MAX.cast_unsigned(); 3]),
        10 => u32::MAX.into(),
        11 => 32_u32.into(),
        12 => 128_u32.into(),
        13 => 64_u32.into(),
        14 => queue::MOST.into(),
        15 => 0_u32.into(),
        18 => Value::words(&[32 << 10, 4 << 20, 0, 0]),
        19 => 0_u64.into(),
        20 => Value::zero(128),
        21 | 22 => 1_u16.into(),
        24 => true.into(),
        0xa000 => 0_u32.into(),
        0xa001 => 64_u32.into(),
        0xa003 => 1000_u32.into(),
        0xa005 | 0xa00f => 0_u32.into(),
        0xa007 => 256_u32.into(),
        0xa008 => 1000_u32.into(),
        0xa00a..=0xa00d => 1_u32.into(),
        0xa00e => Value::zero(16),
        // No queues for cooperative launches, no access to memory that was not given to the card.
        0xa010 | 0xa013 => false.into(),
        0xa012 => 1_u32.into(),
        0xa014 => 0_u32.into(),
        0xa015 => 0_u64.into(),
        0xa016 => 1_000_000_000_u64.into(),
        0xa107 => 0_u32.into(),
        0xa108 | 0xa109 => 100_u32.into(),
        0xa10a => 2_u32.into(),
        0xa10b | 0xa110 => 0_u32.into(),
        0xa111 => 1_u32.into(),
        0xa112 => 0_u64.into(),
        0xa114 | 0xa115 => Value::zero(8),
        0xa116 | 0xa117 => (1_u64 << 30).into(),
        _ => return Err(Status::InvalidArgument),
    })
}

/// The handle of a card's instruction set.
pub(crate) fn isa(card: usize) -> u64 {
    0x40 + card as u64
}

/// `hsa_isa_get_info_alt`.
pub(crate) fn isa_info(runtime: &Runtime, isa: u64, attribute: u32) -> Answer<Value> {
    let card = isa.checked_sub(self::isa(0)).ok_or(Status::InvalidIsa)?;
    let card = *runtime.cards.get(card as usize).ok_or(Status::InvalidIsa)?;
    let name = isa_name(card);
    Ok(match attribute {
        // The length counts the zero byte at the end.
        0 => (name.len() as u32 + 1).into(),
        1 => Value::text(&name, 0),
        2 => 1_u32.into(),
        3 => traits(card).lanes.into(),
        4 => traits(card).waves.into(),
        5 => Value(vec![0, 1]),
        6 => Value(vec![1, 0]),
        9 => true.into(),
        12 => shared_info(7)?,
        13 => shared_info(8)?,
        14 => shared_info(9)?,
        16 => u64::from(u32::MAX).into(),
        17 => shared_info(11)?,
        _ => return Err(Status::InvalidArgument),
    })
}

/// Bytes of LDS that a card's workgroups may have.
fn lds_of(runtime: &Runtime, pool: Pool) -> u64 {
    let card = match pool {
        Pool::Lds(card) => runtime.cards.get(card),
        Pool::HostFine | Pool::HostCoarse | Pool::Device(_) => None,
    };
    card.map_or(Limits::DEVICE, |card| Limits::of(target(*card)))
        .lds
        .into()
}

/// `hsa_amd_memory_pool_get_info`.
pub(crate) fn pool_info(runtime: &Runtime, pool: Pool, attribute: u32) -> Answer<Value> {
    let is_device = matches!(pool, Pool::Device(_) | Pool::Lds(_));
    let is_lds = matches!(pool, Pool::Lds(_));
    Ok(match attribute {
        // Memory of a group, or global memory.
        0 => if is_lds { 3_u32 } else { 0 }.into(),
        2 | 16 if is_lds => lds_of(runtime, pool).into(),
        5 if is_lds => false.into(),
        1 => pool.flags().into(),
        2 | 16 => runtime.capacity.into(),
        5 => true.into(),
        6 | 7 | 18 => soft_runtime::host::PAGE.into(),
        15 => (!is_device).into(),
        17 => u32::from(is_device).into(),
        _ => return Err(Status::InvalidArgument),
    })
}

/// `hsa_amd_agent_memory_pool_get_info`.
pub(crate) fn access_info(agent: Agent, pool: Pool, attribute: u32) -> Answer<Value> {
    let hops = u32::from(agent.pools().iter().all(|own| *own != pool));
    Ok(match attribute {
        // The host reaches memory of a card by copies alone, the cards everything.
        0 => {
            let own = agent.pools().contains(&pool);
            let never = matches!(pool, Pool::Lds(_)) || agent == Agent::Host && !own;
            u32::from(!never).into()
        }
        1 => hops.into(),
        // Latency and bandwidth are not known; PCIe, with atomics, coherent.
        2 => Value(
            [
                [0; 16].as_slice(),
                &[1, 1, 1, 0],
                &2_u32.to_le_bytes(),
                &20_u32.to_le_bytes(),
            ]
            .concat()
            .repeat(hops as usize),
        ),
        _ => return Err(Status::InvalidArgument),
    })
}
