//! The tables of `reports/performance.md`: the best of many launches, as ratios first.

use std::hint::black_box;
use std::io::Write as _;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use gfx_emu::Compiling;

use crate::card::{Card, TARGETS};
use crate::workload::Workload;
use crate::{THREADS, pool};

/// How long one figure is measured at least, and in how many runs.
const SPAN: Duration = Duration::from_millis(500);
const RUNS: usize = 12;

/// Seconds that this thread ran on a core: what else the machine does counts less than on a clock. Elsewhere a clock.
fn seconds() -> f64 {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }
    #[cfg(not(unix))]
    {
        wall()
    }
}

/// Seconds on a clock.
fn wall() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// The shortest of the runs that fit [`SPAN`], in seconds of `clock`.
fn shortest(clock: fn() -> f64, mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut best = f64::INFINITY;
    let mut runs = 0;
    while runs < RUNS || start.elapsed() < SPAN {
        let start = clock();
        run();
        best = best.min(clock() - start);
        runs += 1;
    }
    best
}

/// Prints one table a card.
pub(crate) fn print(workloads: &[&Workload]) {
    let mut out = std::io::stdout().lock();
    for target in TARGETS {
        let mut card = Card::new(target);
        let head = "| kernel | × reference | × on two threads | of the host's speed | M wave-instr/s | interpreted | × interpreted |";
        writeln!(out, "\n{target}\n\n{head}\n|---|---|---|---|---|---|---|").unwrap();
        for work in workloads {
            writeln!(out, "{}", row(&mut card, work)).unwrap();
        }
    }
}

fn row(card: &mut Card, work: &Workload) -> String {
    let launch = work.prepare(card);
    let instructions = launch.run(card).instructions as f64;
    let run = || {
        launch.run(card);
    };
    let one = pool(THREADS[0]).install(|| shortest(seconds, run));
    let interpreted = pool(THREADS[0]).install(|| {
        shortest(seconds, || {
            launch.run_with(card, Compiling::Off);
        })
    });
    let scaling = {
        let [one, two] = THREADS.map(|threads| pool(threads).install(|| shortest(wall, run)));
        one / two
    };
    let speed = instructions / one;
    let reference = match work.reference {
        Some(reference) if card.lanes() == 32 => format!("{:.2}", speed / 1e6 / reference),
        _ => "–".into(),
    };
    let host = match &work.host {
        Some((compute, _)) => {
            let host = shortest(seconds, || {
                black_box(compute());
            });
            format!("1/{:.0}", one / host)
        }
        None => "–".into(),
    };
    format!(
        "| {} | {reference} | {scaling:.2} | {host} | {:.0} | {:.0} | {:.2} |",
        work.name,
        speed / 1e6,
        instructions / interpreted / 1e6,
        interpreted / one
    )
}
