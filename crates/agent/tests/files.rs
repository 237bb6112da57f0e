//! Files offered to an agent: what it gets, and what it never gets.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // A test may fail where it stands.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use tapline_agent::files::{FileError, Folders, READ_BYTES};

const SECRET: &str = "not for agents\n";

/// A session's folder, a second one, and a place outside with a secret.
struct Place {
    _top: tempfile::TempDir,
    cwd: PathBuf,
    more: PathBuf,
    outside: PathBuf,
    folders: Folders,
}

fn place() -> Place {
    let top = tempfile::tempdir().unwrap();
    let [cwd, more, outside] = ["cwd", "more", "outside"].map(|name| {
        let path = top.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    });
    fs::write(outside.join("secret"), SECRET).unwrap();
    let folders = Folders::open(&cwd, std::slice::from_ref(&more)).unwrap();
    Place {
        _top: top,
        cwd,
        more,
        outside,
        folders,
    }
}

impl Place {
    fn read(&self, path: impl AsRef<Path>) -> Result<String, FileError> {
        self.folders.read(&self.cwd.join(path), None, None)
    }

    fn lines(&self, path: &str, line: Option<u64>, limit: Option<u64>) -> String {
        self.folders.read(&self.cwd.join(path), line, limit).unwrap()
    }

    fn write(&self, path: impl AsRef<Path>, content: &str) -> Result<(), FileError> {
        self.folders.write(&self.cwd.join(path), content)
    }
}

#[test]
fn lines_are_counted_from_one_and_keep_their_ends() {
    let place = place();
    fs::write(place.cwd.join("a"), "one\r\ntwo\n\nfour").unwrap();
    assert_eq!(place.lines("a", None, None), "one\r\ntwo\n\nfour");
    assert_eq!(place.lines("a", Some(2), None), "two\n\nfour");
    assert_eq!(place.lines("a", None, Some(2)), "one\r\ntwo\n");
    assert_eq!(place.lines("a", Some(2), Some(1)), "two\n");
    assert_eq!(place.lines("a", Some(4), Some(9)), "four");
    assert_eq!(place.lines("a", Some(5), None), "");
    assert_eq!(place.lines("a", Some(u64::MAX), Some(u64::MAX)), "");
    assert_eq!(place.lines("a", Some(0), Some(1)), "one\r\n");
    assert_eq!(place.lines("a", None, Some(0)), "");
}

#[test]
fn lines_are_found_wherever_the_disk_is_read_in_pieces() {
    let place = place();
    // Lines of all lengths, so that some end right before, at and after the end of a piece.
    let all: Vec<String> = (0..2000_usize)
        .map(|n| format!("{}\n", "x".repeat(n % 211)))
        .collect();
    fs::write(place.cwd.join("a"), all.concat()).unwrap();
    for (line, limit) in [(1, 2000), (600, 700), (613, 1), (1999, 5), (2000, 1)] {
        let wanted = all[line - 1..(line - 1 + limit).min(all.len())].concat();
        assert_eq!(place.lines("a", Some(line as u64), Some(limit as u64)), wanted);
    }
}

#[test]
fn a_few_lines_of_a_huge_file_cost_no_more_than_they_are() {
    let place = place();
    let mut file = fs::File::create(place.cwd.join("huge")).unwrap();
    file.write_all(b"1\n2\n3\n").unwrap();
    // The rest is one hole of 4 GiB: a line that no answer could hold.
    file.seek(SeekFrom::Start(4 << 30)).unwrap();
    file.write_all(b"\nend\n").unwrap();
    assert_eq!(place.lines("huge", Some(2), Some(2)), "2\n3\n");
    let error = place.read("huge").unwrap_err();
    assert!(matches!(error, FileError::TooLarge(_)));
    assert_eq!(error.code(), -32603);
    let long = place.folders.read(&place.cwd.join("huge"), Some(4), Some(1));
    assert!(matches!(long, Err(FileError::TooLarge(_))));
}

#[test]
fn the_limit_of_an_answer_is_reached_and_not_crossed() {
    let place = place();
    fs::write(place.cwd.join("full"), "x".repeat(READ_BYTES)).unwrap();
    assert_eq!(place.read("full").unwrap().len(), READ_BYTES);
    fs::write(place.cwd.join("over"), "x".repeat(READ_BYTES + 1)).unwrap();
    assert!(matches!(place.read("over"), Err(FileError::TooLarge(_))));
    // Less text, but each character of it takes six on the line.
    fs::write(place.cwd.join("control"), "\u{1}".repeat(3 << 20)).unwrap();
    assert!(matches!(place.read("control"), Err(FileError::TooLarge(_))));
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_that_is_said() {
    let place = place();
    fs::write(place.cwd.join("mixed"), b"caf\xe9\ngood\n").unwrap();
    let path = place.cwd.join("mixed");
    let text = place.folders.read_text(&path, None, None).unwrap();
    assert_eq!((text.text.as_str(), text.replaced), ("caf\u{fffd}\ngood\n", true));
    let text = place.folders.read_text(&path, Some(2), None).unwrap();
    assert_eq!((text.text.as_str(), text.replaced), ("good\n", false));
}

#[test]
fn a_missing_file_a_folder_and_a_relative_path_are_told_apart() {
    let place = place();
    fs::create_dir(place.cwd.join("folder")).unwrap();
    let missing = place.read("none").unwrap_err();
    assert_eq!(missing.code(), -32002);
    assert_eq!(
        missing.to_string(),
        format!("there is no file `{}`.", place.cwd.join("none").display())
    );
    assert_eq!(place.read("none/below").unwrap_err().code(), -32002);
    for error in [
        place.read("folder").unwrap_err(),
        place.read("").unwrap_err(),
        place.write("folder", "x").unwrap_err(),
        place.write("folder/..", "x").unwrap_err(),
        place.write("", "x").unwrap_err(),
    ] {
        assert!(matches!(error, FileError::Folder(_)), "{error}");
        assert_eq!(error.code(), -32603);
    }
    let relative = place.folders.read(Path::new("a"), None, None).unwrap_err();
    assert!(matches!(relative, FileError::Relative(_)));
    assert_eq!(relative.code(), -32602);
}

#[test]
fn no_path_leads_outside_by_its_name_by_dots_or_by_a_link() {
    let place = place();
    fs::create_dir(place.cwd.join("sub")).unwrap();
    symlink(place.outside.join("secret"), place.cwd.join("absolute")).unwrap();
    symlink("../outside/secret", place.cwd.join("relative")).unwrap();
    symlink("../../outside", place.cwd.join("sub/folder")).unwrap();
    symlink("sub/folder/secret", place.cwd.join("twice")).unwrap();
    symlink("../outside/new", place.cwd.join("dangling")).unwrap();
    symlink(place.outside.join("new"), place.cwd.join("dangling-absolute")).unwrap();
    let ways = [
        place.outside.join("secret"),
        place.outside.join("new"),
        place.cwd.join("../outside/secret"),
        place.cwd.join("sub/../../outside/secret"),
        place.cwd.join("../outside/new/deep"),
        place.cwd.join("absolute"),
        place.cwd.join("relative"),
        place.cwd.join("sub/folder/secret"),
        place.cwd.join("sub/folder/new"),
        place.cwd.join("sub/folder/new/deep"),
        place.cwd.join("twice"),
        place.cwd.join("dangling"),
        place.cwd.join("dangling-absolute"),
        place.cwd.join("dangling-absolute/deep"),
        // A folder whose name only begins like ours.
        place.cwd.with_file_name("cwd-not").join("new"),
    ];
    for way in ways {
        for error in [
            place.folders.read(&way, None, None).unwrap_err(),
            place.folders.write(&way, "taken").unwrap_err(),
        ] {
            assert!(
                matches!(error, FileError::Outside { .. }),
                "{}: {error}",
                way.display()
            );
            assert_eq!(error.code(), -32602);
        }
    }
    let left: Vec<_> = fs::read_dir(&place.outside).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(fs::read_to_string(place.outside.join("secret")).unwrap(), SECRET);
    assert!(!place.cwd.with_file_name("cwd-not").exists());
}

#[test]
fn links_and_names_that_stay_inside_lead_where_they_lead() {
    let place = place();
    fs::create_dir(place.cwd.join("sub")).unwrap();
    fs::write(place.cwd.join("sub/a"), "a").unwrap();
    fs::write(place.more.join("b"), "b").unwrap();
    symlink("sub/a", place.cwd.join("relative")).unwrap();
    symlink(place.cwd.join("sub"), place.cwd.join("absolute")).unwrap();
    symlink(place.more.join("b"), place.cwd.join("other")).unwrap();
    symlink(&place.cwd, place.cwd.with_file_name("alias")).unwrap();
    assert_eq!(place.read("relative").unwrap(), "a");
    assert_eq!(place.read("absolute/a").unwrap(), "a");
    assert_eq!(place.read("sub/../absolute/../sub/a").unwrap(), "a");
    assert_eq!(place.read("other").unwrap(), "b");
    assert_eq!(place.read(place.more.join("b")).unwrap(), "b");
    assert_eq!(place.read("../more/b").unwrap(), "b");
    // The same folder under another name, for files that are there and for files that are not.
    let alias = place.cwd.with_file_name("alias");
    assert_eq!(place.read(alias.join("sub/a")).unwrap(), "a");
    place.write(alias.join("new/c"), "c").unwrap();
    assert_eq!(place.read("new/c").unwrap(), "c");
    let named = Folders::open(&alias, &[]).unwrap();
    assert_eq!(named.read(&place.cwd.join("sub/a"), None, None).unwrap(), "a");
    assert_eq!(named.read(&alias.join("sub/a"), None, None).unwrap(), "a");
}

#[test]
fn pipes_and_sockets_are_refused_and_nobody_waits_for_them() {
    let place = place();
    let pipe = place.cwd.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(place.cwd.join("socket")).unwrap();
    symlink("pipe", place.cwd.join("link")).unwrap();
    for name in ["pipe", "socket", "link"] {
        for error in [place.read(name).unwrap_err(), place.write(name, "x").unwrap_err()] {
            assert!(matches!(error, FileError::Special(_)), "{name}: {error}");
            assert_eq!(error.code(), -32603);
        }
    }
    let device = Folders::open(Path::new("/dev"), &[]).unwrap();
    for name in ["/dev/zero", "/dev/tty", "/dev/null"] {
        let error = device.read(Path::new(name), None, Some(1)).unwrap_err();
        assert!(matches!(error, FileError::Special(_)), "{name}: {error}");
        let error = device.write(Path::new(name), "").unwrap_err();
        assert!(matches!(error, FileError::Special(_)), "{name}: {error}");
    }
}

#[test]
fn writing_makes_what_is_missing_and_leaves_nothing_else() {
    let place = place();
    place.write("a/b/c.txt", "one\n").unwrap();
    assert_eq!(place.read("a/b/c.txt").unwrap(), "one\n");
    place.write("a/b/c.txt", "").unwrap();
    assert_eq!(place.read("a/b/c.txt").unwrap(), "");
    place.write("a/../d", "d").unwrap();
    assert_eq!(place.read("d").unwrap(), "d");
    let names: Vec<_> = fs::read_dir(place.cwd.join("a/b"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["c.txt"]);
}

#[test]
fn what_is_replaced_keeps_its_permissions_and_is_replaced_whole() {
    let place = place();
    let path = place.cwd.join("run.sh");
    fs::write(&path, "old").unwrap();
    fs::hard_link(&path, place.cwd.join("kept")).unwrap();
    for mode in [0o750, 0o604, 0o4755] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        place.write("run.sh", "new").unwrap();
        // The bits that lend rights are not given to another text.
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode & 0o777);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    // The old file itself was never written to, so nobody can have seen half of the new text.
    assert_eq!(fs::read_to_string(place.cwd.join("kept")).unwrap(), "old");
}

#[test]
fn writing_through_a_link_changes_what_it_leads_to() {
    let place = place();
    fs::create_dir(place.cwd.join("sub")).unwrap();
    fs::write(place.cwd.join("sub/a"), "old").unwrap();
    symlink("sub/a", place.cwd.join("link")).unwrap();
    symlink("sub/none", place.cwd.join("dangling")).unwrap();
    symlink(place.more.join("b"), place.more.join("other")).unwrap();
    fs::write(place.more.join("b"), "old").unwrap();
    place.write("link", "new").unwrap();
    place.write("dangling", "made").unwrap();
    place.write(place.more.join("other"), "new").unwrap();
    assert_eq!(fs::read_to_string(place.cwd.join("sub/a")).unwrap(), "new");
    assert_eq!(fs::read_to_string(place.cwd.join("sub/none")).unwrap(), "made");
    assert_eq!(fs::read_to_string(place.more.join("b")).unwrap(), "new");
    for link in [
        place.cwd.join("link"),
        place.cwd.join("dangling"),
        place.more.join("other"),
    ] {
        assert!(fs::symlink_metadata(link).unwrap().is_symlink());
    }
}

#[test]
fn a_link_that_changes_all_the_time_never_leads_outside() {
    let place = place();
    fs::create_dir(place.cwd.join("good")).unwrap();
    fs::write(place.cwd.join("good/secret"), "fine\n").unwrap();
    let link = place.cwd.join("link");
    symlink("good", &link).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let beside = place.cwd.join("beside");
            for leads in ["../outside", "good"].iter().cycle() {
                symlink(leads, &beside).unwrap();
                fs::rename(&beside, &link).unwrap();
                if over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let (mut let_in, mut refused) = (0, 0);
        let mut turn = 0;
        // Until both were seen, or nothing was tried.
        while turn < 10_000 || let_in == 0 || refused == 0 {
            turn += 1;
            let read = place.read("link/secret");
            match &read {
                Ok(text) => assert!(text == "fine\n" || text == "new\n", "{text}"),
                Err(FileError::Outside { .. } | FileError::System { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            let written = match turn % 8 {
                0 => place.write("link/secret", "new\n").is_ok(),
                _ => read.is_ok(),
            };
            *(if written { &mut let_in } else { &mut refused }) += 1;
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(place.outside.join("secret")).unwrap(), SECRET);
    assert_eq!(fs::read_dir(&place.outside).unwrap().count(), 1);
}

#[test]
fn an_error_repeats_only_the_beginning_of_a_long_path() {
    let place = place();
    let error = place.read("ä/".repeat(100_000)).unwrap_err();
    assert!(error.to_string().len() < 2000, "{}", error.to_string().len());
}

#[test]
fn a_folder_for_a_process_is_found_inside_only() {
    let place = place();
    fs::create_dir(place.cwd.join("sub")).unwrap();
    fs::write(place.cwd.join("file"), "").unwrap();
    symlink("sub", place.cwd.join("link")).unwrap();
    symlink(&place.outside, place.cwd.join("out")).unwrap();
    let real = fs::canonicalize(&place.cwd).unwrap();
    assert_eq!(place.folders.cwd(), real);
    assert_eq!(place.folders.folder(&place.cwd).unwrap(), real);
    assert_eq!(
        place.folders.folder(&place.cwd.join("link")).unwrap(),
        real.join("sub")
    );
    let folder = |name: &str| place.folders.folder(&place.cwd.join(name)).unwrap_err();
    assert!(matches!(folder("file"), FileError::NoFolder(_)));
    assert!(matches!(folder("out"), FileError::Outside { .. }));
    assert!(matches!(folder("none"), FileError::Missing(_)));
    assert!(matches!(folder(".."), FileError::Outside { .. }));
}
