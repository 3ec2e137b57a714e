"""Folders that nobody but this user can replace: each part of the way is looked at."""

import os
import stat

import pytest
from jfi_server.errors import FolderError
from jfi_server.folders import Folder


@pytest.fixture
def parent(tmp_path):
    (tmp_path / "parent").mkdir(mode=0o755)
    return tmp_path / "parent"


def chown(path, owner):
    if os.getuid() != 0:
        pytest.skip("it takes root to make a folder of another user")
    os.chown(path, owner, owner, follow_symlinks=False)


def test_it_is_made_closed_with_all_above_it(parent):
    folder = Folder(parent / "a" / "b", closed=True)
    folder.write("file", [b"one", b"two"])
    assert folder.read("file") == b"onetwo"
    for path in (parent / "a", parent / "a" / "b"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((parent / "a" / "b" / "file").stat().st_mode) == 0o600


def test_one_that_is_not_there_is_not_made_unasked(parent):
    with pytest.raises(FileNotFoundError):
        Folder(parent / "a", make=False)
    assert list(parent.iterdir()) == []


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_parent_that_others_can_write_is_refused(parent, mode):
    (parent / "a").mkdir(mode=0o700)
    parent.chmod(mode)
    with pytest.raises(FolderError, match=f"others can write in {parent} .*chmod go-w"):
        Folder(parent / "a")


def test_a_sticky_parent_keeps_what_is_this_users(parent):
    parent.chmod(0o1777)
    Folder(parent / "a")
    (parent / "b").mkdir(mode=0o755)
    chown(parent / "b", 12002)
    with pytest.raises(FolderError, match="others can write in"):
        Folder(parent / "b" / "c")


def test_a_parent_of_another_user_is_refused(parent):
    (parent / "a").mkdir()
    chown(parent, 12002)
    with pytest.raises(FolderError, match=r"belongs to another user \(uid 12002\)"):
        Folder(parent / "a")


def test_the_group_of_this_user_alone_is_nobody_else(parent, monkeypatch):
    import grp
    import pwd

    parent.chmod(0o775)
    user = pwd.getpwuid(os.getuid())
    members = grp.struct_group((user.pw_name, "x", parent.stat().st_gid, []))
    monkeypatch.setattr(grp, "getgrgid", lambda number: members)
    Folder(parent / "a")
    more = grp.struct_group((user.pw_name, "x", parent.stat().st_gid, ["another"]))
    monkeypatch.setattr(grp, "getgrgid", lambda number: more)
    with pytest.raises(FolderError, match="others can write in"):
        Folder(parent / "a")


def test_links_on_the_way_are_followed_where_nobody_else_makes_them(parent):
    (parent / "real" / "a").mkdir(parents=True, mode=0o700)
    (parent / "absolute").symlink_to(parent / "real")
    (parent / "relative").symlink_to("real/../real")
    for name in ("absolute", "relative"):
        folder = Folder(parent / name / "a")
        assert os.fstat(folder.fd).st_ino == (parent / "real" / "a").stat().st_ino
    (parent / "last").symlink_to(parent / "real" / "a")
    with pytest.raises(FolderError, match="is not a folder"):
        Folder(parent / "last")
    (parent / "round").symlink_to("round")
    with pytest.raises(FolderError, match="is not a folder"):
        Folder(parent / "round" / "a")


def test_a_link_of_another_user_is_not_followed(parent):
    (parent / "real").mkdir(mode=0o700)
    parent.chmod(0o1777)
    (parent / "link").symlink_to(parent / "real")
    chown(parent / "link", 12002)
    with pytest.raises(FolderError, match="others can write in"):
        Folder(parent / "link" / "a")


def test_a_key_stays_and_is_another_one_in_each_folder(parent):
    one, two = Folder(parent / "a"), Folder(parent / "b")
    assert one.key() == Folder(parent / "a").key()
    assert one.key() != two.key()
    assert len(one.key()) == 32


def test_a_key_that_was_not_written_to_its_end_is_made_again(parent):
    folder = Folder(parent / "a")
    os.close(folder.create("key"))
    assert len(folder.key()) == 32


def test_what_can_not_be_written_leaves_no_part(parent):
    folder = Folder(parent / "a")
    (parent / "a" / "file").mkdir()
    (parent / "a" / "file" / "inside").touch()
    with pytest.raises(OSError, match="directory"):
        folder.write("file", [b"data"])
    assert os.listdir(parent / "a") == ["file"]
