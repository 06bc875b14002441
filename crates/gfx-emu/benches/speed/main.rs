//! How fast the software GPU is: wave-instructions per second by kernel and by class of instruction, on one and two host
//! threads, on a card with waves of 32 lanes and on one of 64, beside the same algorithm run by the host itself.
//!
//! `cargo bench -p gfx-emu` measures with criterion; its elements are wave-instructions. `cargo bench -p gfx-emu --
//! --table` prints the tables of `reports/performance.md`. Nothing here is a test: what is fast today is on record in that
//! report, and correctness is the tests' business, although every kernel's result is compared with the host's once.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on should stop where it stands"
)]

mod card;
mod host;
mod table;
mod workload;

use criterion::{Criterion, Throughput};
use rayon::{ThreadPool, ThreadPoolBuilder};

use card::Card;
use workload::Workload;

/// Host threads a launch is measured on.
const THREADS: [usize; 2] = [1, 2];

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn measure(criterion: &mut Criterion, card: &mut Card, work: &Workload) {
    let launch = work.prepare(card);
    let instructions = pool(1).install(|| launch.run(card)).instructions;
    let mut group = criterion.benchmark_group(format!("{}/{}", card.name(), work.name));
    group.throughput(Throughput::Elements(instructions));
    group.sample_size(10);
    for threads in THREADS {
        let pool = pool(threads);
        group.bench_function(format!("{threads} thread(s)"), |bencher| {
            bencher.iter(|| pool.install(|| launch.run(card)));
        });
    }
    group.finish();
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let workloads = workload::all();
    if arguments.iter().any(|argument| argument == "--table") {
        let filter = arguments
            .iter()
            .skip(1)
            .find(|argument| !argument.starts_with('-'));
        let kept = workloads
            .iter()
            .filter(|work| filter.is_none_or(|filter| work.name.contains(filter.as_str())));
        table::print(&kept.collect::<Vec<_>>());
        return;
    }
    let mut criterion = Criterion::default().configure_from_args();
    for target in card::TARGETS {
        let mut card = Card::new(target);
        for work in &workloads {
            measure(&mut criterion, &mut card, work);
        }
    }
    criterion.final_summary();
}
