//! Workspaces of layers on request, for measuring: `workspace REPOSITORY PLACE` fetches the repository into a store at PLACE, makes its
//! checkout, says `ready`, and answers one line for each line of its input: `checkout` with the path of the checkout, `capture UPPER`
//! with the paths that changed.

#![expect(clippy::disallowed_methods, reason = "an example reads files of its own")]

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, stdin};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use tree::{
    Author, CaptureLimits, Git, Listing, LowerLayers, ObjectDatabase, Oid, SourceRepository, capture_layer, changes,
    checkout,
};

const AUTHOR: Author<'static> = Author { name: "engine", email: "engine@localhost" };

struct Served {
    cache: PathBuf,
    store: ObjectDatabase,
    listing: Listing,
    commit: Oid,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(repository), Some(place)) = (arguments.next(), arguments.next()) else {
        return Err("usage: workspace REPOSITORY PLACE".into());
    };
    let store = ObjectDatabase::create_store(&place.join("store.git"), Git::find_git(&[])?)?;
    let commit = SourceRepository::open_repository(&repository)?.fetch_into(&store)?;
    let listing = store.list_tree(commit)?;
    let served = Served { cache: place.join("cache"), store, listing, commit };
    served.checkout()?;
    println!("ready");
    for line in stdin().lock().lines() {
        match line?.split_once(' ') {
            Some(("capture", upper)) => println!("{}", served.capture(Path::new(upper))?),
            None => println!("{}", served.checkout()?.display()),
            Some((other, _)) => return Err(format!("no such request: {other}").into()),
        }
    }
    Ok(())
}

impl Served {
    fn checkout(&self) -> Result<PathBuf, Box<dyn Error>> {
        Ok(checkout(&self.cache, &self.store, &self.listing, self.commit, AUTHOR)?.root)
    }

    fn capture(&self, upper: &Path) -> Result<String, Box<dyn Error>> {
        let beneath = LowerLayers { baseline: &self.listing, layers: &[] };
        let found = capture_layer(File::open(upper)?.as_fd(), &beneath, &self.store, &CaptureLimits::default())?;
        let changed = changes(&self.listing, &found.listing);
        let paths = changed.iter().map(|change| change.path.escape_ascii().to_string());
        Ok(paths.collect::<Vec<_>>().join(" "))
    }
}
