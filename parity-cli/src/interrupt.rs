//! Ctrl-C: the first asks the run to stop, the second ends the process.

use std::{io, sync::Arc};

use parity_exec::Stop;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

use crate::exit::{Exit, Failure};

/// Has the signals that ask a process to end ask for `stop` instead, once.
pub(crate) fn listen(stop: &Stop) -> Result<(), Failure> {
    let register = |signal| -> io::Result<()> {
        // In this order: the first signal finds the flag down and raises it, the second finds it up.
        flag::register_conditional_shutdown(
            signal,
            Exit::Interrupted.code().into(),
            Arc::clone(stop.flag()),
        )?;
        flag::register(signal, Arc::clone(stop.flag()))?;
        Ok(())
    };
    [SIGINT, SIGTERM]
        .into_iter()
        .try_for_each(register)
        .map_err(|error| Failure::new(Exit::Internal, format!("cannot listen for signals: {error}")))
}
