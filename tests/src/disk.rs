//! A disk that is full: a tiny file system of its own where this user may mount one, else a limit on the size of files.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Room for a fresh store and a little more.
const MOUNTED_BYTES: u64 = 6 << 20;

/// A folder on a small disk.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
    is_mounted: bool,
}

impl SmallDisk {
    /// Mounts one on `folder`, which must be there. Where this user may not, [`SmallDisk::is_mounted`] is false and the
    /// folder is as large as its disk.
    #[must_use]
    pub fn on(folder: &Path) -> Self {
        let size = format!("size={MOUNTED_BYTES},mode=0755");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let is_mounted = mount.status().is_ok_and(|it| it.success());
        Self { folder: folder.to_owned(), is_mounted }
    }

    /// Whether it is a file system of its own.
    #[must_use]
    pub const fn is_mounted(&self) -> bool {
        self.is_mounted
    }

    /// Takes all the room that is left; removing the file gives it back.
    ///
    /// # Panics
    ///
    /// If it is not mounted, or the disk takes more than it can hold.
    #[must_use]
    pub fn fill(&self) -> PathBuf {
        assert!(self.is_mounted, "another disk is not ours to fill");
        let path = self.folder.join("filler");
        let mut file = fs::File::create(&path).expect("a file");
        for _ in 0..=MOUNTED_BYTES / 512 {
            if file.write_all(&[0; 512]).is_err() {
                return path;
            }
        }
        panic!("`{}` does not get full", self.folder.display());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if !self.is_mounted {
            return;
        }
        let gone = Command::new("umount").args(["-l"]).arg(&self.folder).status();
        if !gone.is_ok_and(|it| it.success()) {
            eprintln!("`{}` stays mounted", self.folder.display());
        }
    }
}
