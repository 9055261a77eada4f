"""`fulgurite trace`, `examine`, `repro` and `explain` on folders of Hugging Face models."""

import json

from harness import expect
from inspect_runs import write_classifier, write_clip
from model_runs import write_bert, write_model, write_t5
from speech_runs import write_whisper

# A parameter of each family, as traces name it.
FAMILIES = {
    "llama": (write_model, "model_layers_0_self_attn_q_proj_weight"),
    "t5": (write_t5, "decoder_block_0_layer_1_EncDecAttention_q_weight"),
    "bert": (write_bert, "embeddings_word_embeddings_weight"),
    "vit": (write_classifier, "vit_embeddings_patch_embeddings_projection_weight"),
    "clip": (write_clip, "text_model_embeddings_token_embedding_weight"),
    "whisper": (write_whisper, "model_decoder_layers_0_encoder_attn_q_proj_weight"),
}


def test_traces_of_model_folders(cli):
    for family, (write, name) in FAMILIES.items():
        folder = str(write(cli.folder / f"traced_{family}"))
        forward = cli.good("trace", folder)
        expect(f"t_{name}" in forward, f"{family}: the trace does not name {name}:\n{forward[:2000]}")
        expect("augmented_forward_fn" not in cli.good("trace", folder, "--stage", "forward.0"), family)
        expect(
            "backward_fn" in cli.good("trace", folder, "--backward"),
            f"{family}: trace --backward does not print the backward",
        )
        expect("torch." in cli.good("trace", folder, "--associate"), f"{family}: no line has its forward operator")
        expect("first call" in cli.good("explain", folder), f"{family}: explain does not name the first call")


def test_costs_of_model_folders(cli):
    for family, (write, name) in FAMILIES.items():
        folder = str(write(cli.folder / f"examined_{family}"))
        page = cli.folder / f"{family}.html"
        cli.good("examine", folder, "--html", str(page), "--seconds", "0")
        expect(name in page.read_text(), f"{family}: the page does not name {name}")
        fusions = json.loads(cli.good("examine", folder, "--json"))["fusions"]
        expect(fusions, f"{family}: there are no fusions")
        program = cli.good("repro", folder, "--fusion", fusions[0]["name"])
        expect("int main()" in program, f"{family}: repro does not write a program:\n{program[:500]}")
    folder = cli.folder / "examined_other"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "steam"}')
    cli.bad("trace", str(folder), status=1, message='"model_type" is "steam"')
