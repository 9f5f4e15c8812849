# SPDX-License-Identifier: Apache-2.0
"""Graphs as text: what --dump writes is read again, prints the same, and compiles to the same results as the model it came from."""
import pytest

from program import execute, same_bits, zoo_paths

NAMES = [path.stem for path in zoo_paths()]


def dumped(tiffin, model, folder, *options):
    """The graphs that passes changed, in order; nothing is compiled."""
    none = folder.parent / "none.so"
    tiffin.ok("compile", model, "-o", none, "--dump", folder, "--quiet", *options)
    assert not none.exists()
    return sorted(folder.glob("*.graph"))


@pytest.mark.parametrize("name", NAMES)
def test_every_dumped_graph_is_read_and_printed_the_same(name, zoo, tiffin, tmp_path):
    graphs = dumped(tiffin, zoo[name].path, tmp_path / "model", *zoo[name].options, "--stop-after", "fold_layouts")
    assert len(graphs) > 1
    # The types of the imported graph are not inferred yet; reading infers them.
    for graph in graphs[1:]:
        again = dumped(tiffin, graph, tmp_path / graph.stem, "--stop-after", "fold_constants")[0]
        assert again.read_bytes() == graph.read_bytes(), f"{graph.name} is printed another way"


@pytest.mark.parametrize("name", ["mlp", "conv_net", "transformer"])
def test_text_compiles_to_the_same_results(name, zoo, tiffin, artifact_of, tiffin_run, tmp_path):
    text = dumped(tiffin, zoo[name].path, tmp_path / "model", *zoo[name].options, "--stop-after", "fold_constants")[0]
    artifact = tmp_path / "text.so"
    tiffin.ok("compile", text, "-o", artifact, "--quiet")
    from_text = execute(tiffin_run, artifact, zoo[name], tmp_path)
    assert same_bits(from_text, execute(tiffin_run, artifact_of(name), zoo[name], tmp_path))


def test_a_skipped_pass_changes_nothing(zoo, tiffin, tmp_path):
    case = zoo["conv_net"]
    whole = dumped(tiffin, case.path, tmp_path / "whole", "--stop-after", "fold_layouts")[-1].read_text()
    plain = dumped(tiffin, case.path, tmp_path / "plain", "--stop-after", "fold_layouts", "--skip", "block_channels")[-1].read_text()
    assert "BlockedConv" in whole and "BlockedConv" not in plain and " Conv(" in plain


def test_the_plan_shows_its_memory_beside_the_least_possible(zoo, tiffin, tmp_path):
    case = zoo["conv_net"]
    tiffin.ok("compile", case.path, "-o", tmp_path / "m.so", "--dump", tmp_path / "dump", "--quiet")
    plan = (tmp_path / "dump" / "plan.txt").read_text()
    assert "lower bound" in plan, plan[:400]


@pytest.mark.parametrize("declared", ["int64[3,127,5]", "float32[2,9]", "float32[2,3,1]"])
def test_types_that_an_operator_does_not_give_are_refused(declared, tiffin, tmp_path):
    (tmp_path / "g.graph").write_text(f'graph "g" {{\n  input %x: float32[2,3]\n  %h = Relu(%x) : {declared}\n  output %h\n}}\n')
    tiffin.fails("InvalidModel", "compile", tmp_path / "g.graph", "-o", tmp_path / "g.so", mentions=("'h'", declared, "float32[2,3]"))


def test_a_dump_replaces_no_model(tiffin, tmp_path):
    text = 'graph "g" {\n  input %x: float32[2,3]\n  %h = Relu(%x)\n  output %h\n}\n'
    for name in ("plan.txt", "00_imported.graph"):
        (tmp_path / name).write_text(text)
        tiffin.fails("InvalidArgument", "compile", tmp_path / name, "-o", tmp_path / "g.so", "--dump", tmp_path, mentions=(name,))
        assert (tmp_path / name).read_text() == text
