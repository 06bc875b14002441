//! Where the worker of a backend runs: here, behind `ssh`, or behind any command that speaks the protocol on its stdin
//! and stdout. Makes command lines; starting them is `parity-exec`'s.

use std::path::PathBuf;

use parity_exec::{Backend, WorkerCommand};
use parity_model::record::BackendInfo;

use crate::{
    exit::{Exit, Failure},
    settings::{backend, quoted},
};

/// Between a backend's name and a command for a shell, which may hold commas.
const EXEC: &str = "=exec:";

/// A column of the run: a backend, and where its worker runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Station {
    pub(crate) backend: Backend,
    pub(crate) place: Place,
}

/// Where a worker runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A process of this binary.
    Here,
    /// A process of the parity on another host.
    Ssh(Host),
    /// What a shell makes of this.
    Exec(String),
}

/// `ssh://[USER@]HOST[:PORT][/PATH/TO/parity]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// As the user wrote it.
    text: String,
    /// User and host, as `ssh` takes them.
    name: String,
    port: Option<u16>,
    /// The program there, quoted for a shell.
    parity: String,
}

impl Station {
    /// The columns that the arguments of `--backend` ask for: the reference first, then the others, each once.
    pub(crate) fn all(args: &[String]) -> Result<Vec<Station>, Failure> {
        let mut stations = vec![Station {
            backend: Backend::REFERENCE,
            place: Place::Here,
        }];
        let mut named: Vec<Backend> = vec![];
        for word in args.iter().flat_map(|arg| words(arg)) {
            let station = Station::parse(word)?;
            let Some(same) = stations.iter_mut().find(|other| other.backend == station.backend) else {
                named.push(station.backend);
                stations.push(station);
                continue;
            };
            if named.contains(&station.backend) && *same != station {
                let message = format!(
                    "backend {} is to run in two places: name it once, or compare two runs with `parity diff`",
                    station.backend.name()
                );
                return Err(Failure::new(Exit::Usage, message));
            }
            named.push(station.backend);
            *same = station;
        }
        Ok(stations)
    }

    fn parse(word: &str) -> Result<Station, Failure> {
        let (name, place) = match word.split_once('=') {
            None => (word, Place::Here),
            Some((name, place)) => (name, Place::parse(place)?),
        };
        Ok(Station {
            backend: backend(name)?,
            place,
        })
    }

    /// The column before its backend has answered: name and place.
    pub(crate) fn info(&self) -> BackendInfo {
        BackendInfo {
            backend: self.backend.name().to_owned(),
            device: String::new(),
            level: String::new(),
            driver: String::new(),
            target: String::new(),
            host: self.place.text(),
        }
    }

    /// How the worker is started; `local` says how one is here.
    pub(crate) fn command(
        &self,
        local: impl FnOnce() -> Result<WorkerCommand, Failure>,
    ) -> Result<WorkerCommand, Failure> {
        let name = self.backend.name();
        let (program, args) = match &self.place {
            Place::Here => return local(),
            Place::Ssh(host) => ("ssh", host.args(name)),
            Place::Exec(command) => ("sh", vec!["-c".to_owned(), command.clone()]),
        };
        Ok(WorkerCommand {
            backend: name.to_owned(),
            program: PathBuf::from(program),
            args,
            env: vec![],
            host: self.place.text(),
        })
    }
}

/// The words of a list; a command is one word, with whatever it holds.
fn words(list: &str) -> Vec<&str> {
    let mut words = vec![];
    let mut rest = list;
    while let Some((word, more)) = rest.split_once(',').filter(|(word, _)| !word.contains(EXEC)) {
        words.push(word);
        rest = more;
    }
    words.push(rest);
    words
}

impl Place {
    fn parse(text: &str) -> Result<Place, Failure> {
        let place = if let Some(command) = text.strip_prefix("exec:") {
            (!command.trim().is_empty()).then(|| Place::Exec(command.to_owned()))
        } else {
            text.strip_prefix("ssh://")
                .and_then(|rest| Host::parse(text, rest))
                .map(Place::Ssh)
        };
        place.ok_or_else(|| {
            let message = format!(
                "`{text}` is no place for a backend: expected ssh://[USER@]HOST[:PORT][/PATH/TO/parity] or exec:COMMAND"
            );
            Failure::new(Exit::Usage, message)
        })
    }

    /// The place as the user wrote it; `None` for here.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Place::Here => None,
            Place::Ssh(host) => Some(host.text.clone()),
            Place::Exec(command) => Some(format!("exec:{command}")),
        }
    }
}

impl Host {
    fn parse(text: &str, rest: &str) -> Option<Host> {
        let (authority, path) = match rest.find('/') {
            None => (rest, ""),
            Some(slash) => rest.split_at(slash),
        };
        // A colon inside of brackets belongs to an IPv6 address.
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, Some(port.parse().ok()?)),
            _ => (authority, None),
        };
        let name = name.replace(['[', ']'], "");
        // What begins with a dash would be an option of ssh's.
        let sound = !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace);
        let parity = match path.trim_end_matches('/') {
            "" => "parity".to_owned(),
            path => match path.strip_prefix("/~/") {
                // The shell there knows where home is, and does not look for it inside of quotes.
                Some(path) => format!("~/{}", quoted(path)),
                None => quoted(path),
            },
        };
        sound.then(|| Host {
            text: text.to_owned(),
            name,
            port,
            parity,
        })
    }

    /// The arguments of `ssh`: no terminal, and no question that nobody answers.
    fn args(&self, backend: &str) -> Vec<String> {
        let mut args = ["-T", "-o", "BatchMode=yes"].map(str::to_owned).to_vec();
        if let Some(port) = self.port {
            args.extend(["-p".to_owned(), port.to_string()]);
        }
        args.extend(["--", &self.name, &self.parity, "worker", "--backend", backend].map(str::to_owned));
        args
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stations(args: &[&str]) -> Result<Vec<Station>, Failure> {
        Station::all(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    /// The command line of the last column.
    #[track_caller]
    fn line(arg: &str) -> String {
        let last = stations(&[arg]).unwrap().pop().unwrap();
        let command = last.command(|| panic!("{arg} is not here")).unwrap();
        assert_eq!(command.env, []);
        [command.program.to_str().unwrap().to_owned()]
            .into_iter()
            .chain(command.args)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn the_command_lines_of_ssh_are_those_that_are_documented() {
        assert_eq!(
            line("cuda=ssh://gpu7"),
            "ssh -T -o BatchMode=yes -- gpu7 parity worker --backend cuda"
        );
        assert_eq!(
            line("rocm=ssh://me@gpu7:2222/opt/parity/bin/parity"),
            "ssh -T -o BatchMode=yes -p 2222 -- me@gpu7 /opt/parity/bin/parity worker --backend rocm"
        );
        assert_eq!(
            line("cuda=ssh://[::1]:22/~/my bin/parity"),
            "ssh -T -o BatchMode=yes -p 22 -- ::1 ~/'my bin/parity' worker --backend cuda"
        );
    }

    #[test]
    fn a_command_is_the_shells_commas_and_all() {
        assert_eq!(
            line("cuda,rocm=exec:env A=1,2 parity worker --backend rocm"),
            "sh -c env A=1,2 parity worker --backend rocm"
        );
        let columns = stations(&["cuda,rocm=exec:a,b", "cuda"]).unwrap();
        let texts: Vec<_> = columns.iter().map(|station| station.place.text()).collect();
        assert_eq!(texts, [None, None, Some("exec:a,b".to_owned())]);
    }

    #[test]
    fn the_reference_may_run_elsewhere_too_and_a_backend_in_one_place_only() {
        let columns = stations(&["cpu=exec:x", "rocm", "rocm"]).unwrap();
        assert_eq!(columns.len(), 2);
        assert_eq!(columns[0].place, Place::Exec("x".to_owned()));
        let failure = stations(&["rocm,rocm=exec:x"]).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(
            failure.message.contains("rocm is to run in two places"),
            "{}",
            failure.message
        );
        stations(&["cpu,cpu=exec:x"]).unwrap_err();
    }

    #[test]
    fn what_is_no_place_is_met_with_what_is() {
        for word in [
            "rocm=",
            "rocm=exec: ",
            "rocm=ssh://",
            "rocm=ssh://-oProxyCommand=x",
            "rocm=ssh://a b",
            "rocm=ssh://a:port",
            "rocm=telnet://a",
        ] {
            let failure = stations(&[word]).unwrap_err();
            assert!(
                failure.exit == Exit::Usage && failure.message.contains("expected ssh://"),
                "{word}: {}",
                failure.message
            );
        }
    }
}
