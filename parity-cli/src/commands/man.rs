//! `parity man`: the manual pages, made of the command line's own descriptions.

use std::fs;

use crate::{
    args::{ManArgs, manual},
    exit::{Exit, Failure},
    output::{print, write},
};

pub(crate) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let pages = manual().map_err(|error| {
        Failure::new(
            Exit::Internal,
            format!("the manual pages cannot be rendered: {error}"),
        )
    })?;
    let Some(dir) = &args.out else {
        pages.first().map_or(Ok(()), |page| print(&page.text))?;
        return Ok(Exit::Ok);
    };
    fs::create_dir_all(dir)
        .map_err(|error| Failure::new(Exit::Io, format!("cannot make {}: {error}", dir.display())))?;
    for page in pages {
        let path = dir.join(format!("{}.1", page.name));
        write(&path, &page.text)?;
        print(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Ok)
}
