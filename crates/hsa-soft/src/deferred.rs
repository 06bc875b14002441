//! What happens once signals allow it: the handlers that a program registers, and copies.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use soft_runtime::event;
use soft_runtime::status::{Answer, Status};

/// How often a thread without tasks looks; a new task wakes it.
const IDLE: Duration = Duration::from_millis(200);

/// Something to be done when it is ready.
pub(crate) struct Task {
    /// Whether it can be done now.
    pub(crate) ready: Box<dyn Fn() -> bool + Send>,
    /// Does it; whether it is to be done again when it is ready again.
    pub(crate) act: Box<dyn FnMut() -> bool + Send>,
}

/// A list of tasks and the thread that does them.
pub(crate) struct Worker {
    name: &'static str,
    tasks: Mutex<Vec<Task>>,
    /// Whether a task is being done. Changes under the lock of the tasks.
    acts: AtomicBool,
    started: OnceLock<bool>,
}

/// Handlers of the program. They may take long, and call this library.
pub(crate) static HANDLERS: Worker = Worker::new("software GPU handlers");
/// Copies that wait for signals.
pub(crate) static COPIES: Worker = Worker::new("software GPU copies");

impl Worker {
    const fn new(name: &'static str) -> Worker {
        Worker {
            name,
            tasks: Mutex::new(Vec::new()),
            acts: AtomicBool::new(false),
            started: OnceLock::new(),
        }
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<Task>> {
        // Pushes and removals only: a panic cannot leave it half changed.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task.
    pub(crate) fn add(&'static self, task: Task) -> Answer<()> {
        let started = self.started.get_or_init(|| {
            let thread = std::thread::Builder::new().name(self.name.to_owned());
            thread.spawn(move || self.work()).is_ok()
        });
        if !started {
            return Err(Status::OutOfResources);
        }
        self.tasks().push(task);
        event::tell();
        Ok(())
    }

    fn work(&self) {
        loop {
            let look = match self.tasks().is_empty() {
                true => IDLE,
                false => event::LOOK,
            };
            let ready = event::wait(Some(IDLE), look, || {
                let mut tasks = self.tasks();
                let index = tasks.iter().position(|task| (task.ready)())?;
                self.acts.store(true, SeqCst);
                Some(tasks.remove(index))
            });
            let Some(mut task) = ready else {
                continue;
            };
            // Outside of the lock: what is done may add tasks.
            let again = (task.act)();
            let mut tasks = self.tasks();
            if again {
                tasks.push(task);
            }
            self.acts.store(false, SeqCst);
            drop(tasks);
            event::tell();
        }
    }

    /// Whether no task is being done and none can be. A task that asks does not count itself.
    pub(crate) fn is_idle(&self) -> bool {
        let tasks = self.tasks();
        let is_own = std::thread::current().name() == Some(self.name);
        (is_own || !self.acts.load(SeqCst)) && !tasks.iter().any(|task| (task.ready)())
    }
}
