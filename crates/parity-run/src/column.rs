//! A column of a run: a backend's device, and where its worker runs. That is this host, a host that `ssh` reaches, or whatever a
//! command reaches that speaks the protocol on its stdin and stdout. Makes command lines; `parity-exec` starts them.

use std::{fmt, path::PathBuf};

use parity_exec::{Backend, BackendDevice, WorkerCommand};
use parity_model::record::BackendInfo;

use crate::{
    error::Error,
    names,
    settings::{Settings, quoted},
    worker,
};

/// Between a backend's name and a command for a shell, which may hold commas.
const EXEC: &str = "=exec:";

/// A column of the run: a backend's device, and where its worker runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The device.
    pub device: BackendDevice,
    /// Where its worker runs.
    pub place: Place,
}

/// Where a worker runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On this host.
    Here,
    /// A process of the parity on another host.
    Ssh(Host),
    /// What a shell makes of this.
    Exec(String),
}

/// `ssh://[USER@]HOST[:PORT][/PATH/TO/parity]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// As the user wrote it.
    text: String,
    /// User and host, as `ssh` takes them.
    name: String,
    port: Option<u16>,
    /// The program there, quoted for a shell.
    parity: String,
}

impl Column {
    /// The columns that some words ask for, such as `cpu,rocm`, `rocm:gfx942` or `cuda=ssh://gpu7`: the reference first,
    /// then the others, each device once.
    ///
    /// # Errors
    /// A word that names no backend, device or place, or a device that is to run in two places.
    pub fn all<S: AsRef<str>>(lists: &[S]) -> Result<Vec<Column>, Error> {
        let mut columns = vec![Column {
            device: Backend::REFERENCE.into(),
            place: Place::Here,
        }];
        let mut named: Vec<BackendDevice> = vec![];
        for word in lists.iter().flat_map(|list| words(list.as_ref())) {
            let column = Column::parse(word)?;
            let Some(same) = columns.iter_mut().find(|other| other.device == column.device) else {
                named.push(column.device.clone());
                columns.push(column);
                continue;
            };
            if named.contains(&column.device) && *same != column {
                return Err(Error::Settings(format!(
                    "backend {} is to run in two places: name it once, or compare two runs with `parity diff`",
                    column.name()
                )));
            }
            named.push(column.device.clone());
            *same = column;
        }
        Ok(columns)
    }

    fn parse(word: &str) -> Result<Column, Error> {
        let (name, place) = match word.split_once('=') {
            None => (word, Place::Here),
            Some((name, place)) => (name, Place::parse(place)?),
        };
        Ok(Column {
            device: names::device(name)?,
            place,
        })
    }

    /// Its name in tables and records: the device's.
    pub fn name(&self) -> &str {
        self.device.name()
    }

    /// The column before its backend has answered: name and place.
    pub fn info(&self) -> BackendInfo {
        BackendInfo {
            backend: self.name().to_owned(),
            device: String::new(),
            level: String::new(),
            driver: String::new(),
            target: String::new(),
            host: self.place.text(),
            selector: None,
        }
    }

    /// How the column's worker is started.
    ///
    /// # Errors
    /// The running program cannot tell where its own file is.
    pub fn command(&self, settings: &Settings) -> Result<WorkerCommand, Error> {
        let name = self.name();
        let (program, args) = match &self.place {
            Place::Here => return worker::here(&self.device, settings),
            Place::Ssh(_) | Place::Exec(_) if settings.candle.is_some() => {
                return Err(Error::Settings(format!(
                    "backend {name} runs elsewhere, and --candle is for workers on this host: leave one of the two out"
                )));
            }
            Place::Ssh(host) => ("ssh", host.args(name)),
            Place::Exec(command) => ("sh", vec!["-c".to_owned(), command.clone()]),
        };
        Ok(WorkerCommand {
            backend: name.to_owned(),
            program: PathBuf::from(program),
            args,
            env: worker::variables(&self.device),
            host: self.place.text(),
            candle: None,
        })
    }
}

/// The word that asks for the column.
impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.place.text().map_or(Ok(()), |place| write!(f, "={place}"))
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
    fn parse(text: &str) -> Result<Place, Error> {
        let place = if let Some(command) = text.strip_prefix("exec:") {
            (!command.trim().is_empty()).then(|| Place::Exec(command.to_owned()))
        } else {
            text.strip_prefix("ssh://")
                .and_then(|rest| Host::parse(text, rest))
                .map(Place::Ssh)
        };
        place.ok_or_else(|| {
            Error::Settings(format!(
                "a backend cannot run at `{text}`: expected ssh://[USER@]HOST[:PORT][/PATH/TO/parity] or exec:COMMAND"
            ))
        })
    }

    /// The place as the user wrote it; `None` for here.
    pub fn text(&self) -> Option<String> {
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

    /// The command line of the last column.
    #[track_caller]
    fn line(arg: &str) -> String {
        let last = Column::all(&[arg]).unwrap().pop().unwrap();
        let command = last.command(&Settings::default()).unwrap();
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
        let columns = Column::all(&["cuda,rocm=exec:a,b", "cuda"]).unwrap();
        let texts: Vec<_> = columns.iter().map(|column| column.place.text()).collect();
        assert_eq!(texts, [None, None, Some("exec:a,b".to_owned())]);
    }

    #[test]
    fn the_reference_may_run_elsewhere_too_and_a_backend_in_one_place_only() {
        let columns = Column::all(&["cpu=exec:x", "rocm", "rocm"]).unwrap();
        assert_eq!(columns.len(), 2);
        let cards = Column::all(&["rocm,rocm:gfx942,rocm:1,rocm:gfx942"]).unwrap();
        let names: Vec<_> = cards.iter().map(Column::name).collect();
        assert_eq!(names, ["cpu", "rocm", "rocm:gfx942", "rocm:1"]);
        assert_eq!(columns[0].place, Place::Exec("x".to_owned()));
        let error = Column::all(&["rocm,rocm=exec:x"]).unwrap_err();
        assert!(
            error.to_string().contains("rocm is to run in two places"),
            "{error}"
        );
        Column::all(&["cpu,cpu=exec:x"]).unwrap_err();
    }

    #[test]
    fn a_device_that_a_backend_lacks_is_met_with_those_it_has() {
        for (word, known) in [
            (
                "rocm:gfx9",
                "system, soft, nvidia, hsa, gfx1100, gfx1151, gfx1200, gfx1201, gfx1030, gfx942, gfx950, gfx90a, gfx1250, hsa:CARD with such a card, a number from 0",
            ),
            ("rocm:", "system, soft, nvidia, hsa, gfx1100"),
            ("rocm:hsa:", "hsa:CARD with such a card"),
            ("rocm:01", "a number from 0"),
            ("cuda:x", "a number from 0"),
            ("cpu:0", "none, as it has one device"),
        ] {
            let error = Column::all(&[word]).unwrap_err().to_string();
            assert!(
                error.contains("unknown device") && error.contains(known),
                "{word}: {error}"
            );
        }
    }

    #[test]
    fn a_worker_has_the_variables_that_lead_to_its_device() {
        let columns = Column::all(&["rocm:gfx942=ssh://gpu7"]).unwrap();
        let command = columns[1].command(&Settings::default()).unwrap();
        assert!(
            command
                .args
                .ends_with(&["--backend".to_owned(), "rocm:gfx942".to_owned()])
        );
        let mut values = command.env.iter().map(|(_, value)| value.as_str());
        assert!(values.any(|value| value == "gfx942"), "{:?}", command.env);
    }

    #[test]
    fn cards_under_amds_runtime_are_columns_of_their_own() {
        let settings = Settings::default();
        let columns = Column::all(&["rocm:hsa,rocm:hsa:gfx942", "rocm:hsa:gfx90a=ssh://gpu7"]).unwrap();
        let lines: Vec<_> = columns[1..]
            .iter()
            .map(|column| {
                let command = column.command(&settings).unwrap();
                let asked = command.args.last().unwrap().clone();
                let ours = |(name, _): &(String, String)| name.starts_with("ROCM_");
                let env: Vec<_> = command.env.into_iter().filter(ours).collect();
                (asked, env)
            })
            .collect();
        let env = |pairs: &[(&str, &str)]| -> Vec<_> {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            pairs.iter().map(owned).collect()
        };
        let driver = ("ROCM_DRIVER", "hsa");
        let want = [
            ("rocm:hsa", env(&[driver])),
            ("rocm:hsa:gfx942", env(&[driver, ("ROCM_SOFT_DEVICES", "gfx942")])),
            ("rocm:hsa:gfx90a", env(&[driver, ("ROCM_SOFT_DEVICES", "gfx90a")])),
        ];
        assert_eq!(lines, want.map(|(name, env)| (name.to_owned(), env)));
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
            let error = Column::all(&[word]).unwrap_err().to_string();
            assert!(error.contains("expected ssh://"), "{word}: {error}");
        }
    }
}
