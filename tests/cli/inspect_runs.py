"""`fulgurite inspect` and `classify` on folders of encoders and classifiers."""

import json

from harness import expect, expect_equal
from model_runs import write_bert, write_tensors

LABELS = {"id2label": {"0": "cat", "1": "dog", "2": "bird"}}
VIT = {
    "model_type": "vit",
    "hidden_size": 4,
    "num_hidden_layers": 0,
    "num_attention_heads": 1,
    "image_size": 8,
    "patch_size": 4,
    "num_channels": 1,
    "dtype": "float32",
}
VIT_BODY = {
    "embeddings.cls_token": [1, 1, 4],
    "embeddings.position_embeddings": [1, 5, 4],
    "embeddings.patch_embeddings.projection.weight": [4, 1, 4, 4],
    "embeddings.patch_embeddings.projection.bias": [4],
    "layernorm.weight": [4],
    "layernorm.bias": [4],
}
TOWER = {"hidden_size": 4, "num_hidden_layers": 0, "num_attention_heads": 1}
CLIP = {
    "model_type": "clip",
    "projection_dim": 3,
    "architectures": ["CLIPModel"],
    "text_config": {**TOWER, "vocab_size": 9, "max_position_embeddings": 6},
    "vision_config": {**TOWER, "image_size": 8, "patch_size": 4},
}


def write_folder(folder, config, shapes):
    """A model of random weights."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    write_tensors(folder / "model.safetensors", shapes)
    return folder


def write_classifier(folder):
    config = {**VIT, **LABELS, "architectures": ["ViTForImageClassification"]}
    body = {f"vit.{name}": shape for name, shape in VIT_BODY.items()}
    return write_folder(folder, config, {**body, "classifier.weight": [3, 4], "classifier.bias": [3]})


def write_clip(folder):
    """A CLIP without layers."""
    tensors = {
        "logit_scale": [],
        "text_projection.weight": [3, 4],
        "visual_projection.weight": [3, 4],
        "text_model.embeddings.token_embedding.weight": [9, 4],
        "text_model.embeddings.position_embedding.weight": [6, 4],
        "vision_model.embeddings.class_embedding": [4],
        "vision_model.embeddings.patch_embedding.weight": [4, 3, 4, 4],
        "vision_model.embeddings.position_embedding.weight": [5, 4],
    }
    for norm in ("text_model.final_layer_norm", "vision_model.pre_layrnorm", "vision_model.post_layernorm"):
        tensors |= {f"{norm}.weight": [4], f"{norm}.bias": [4]}
    return write_folder(folder, CLIP, tensors)


def inspected(cli, folder):
    return json.loads(cli.good("inspect", str(folder), "--json"))


def test_inspect_texts(cli):
    folder = write_bert(cli.folder / "inspect_bert")
    lines = cli.good("inspect", str(folder))
    expect(
        lines.startswith(
            "model        bert\nsupported    yes\nkind         encoder of texts\n"
            "texts        at most 16 tokens\nvectors      8 numbers\nparameters   216 (f32)\n"
        ),
        lines,
    )
    expect("cache" not in lines, lines)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertForMaskedLM"]}))
    expect_equal(inspected(cli, folder)["kind"], "encoder of texts, without the head of BertForMaskedLM", "kind")


def test_inspect_images(cli):
    folder = write_classifier(cli.folder / "inspect_vit")
    lines = cli.good("inspect", str(folder))
    expect("kind         classifier of images\nimages       8 x 8 pixels\n" in lines, lines)
    expect("not prepared by the library: " in lines and "has no preprocessor_config.json" in lines, lines)
    (folder / "preprocessor_config.json").write_text('{"image_processor_type": "ViTImageProcessor", "size": 8}')
    result = inspected(cli, folder)
    expect_equal((result["labels"], result["preparation_reason"], result["vector_size"]), (3, None, None), "classifier")
    expect_equal(result["weight_bytes"], 4 * result["parameters"], "bytes")
    body = write_folder(cli.folder / "inspect_vit_body", VIT, VIT_BODY)
    expect_equal(inspected(cli, body)["kind"], "encoder of images", "kind")
    (body / "config.json").write_text(json.dumps({**VIT, "hidden_act": "swiglu"}))
    done = cli.run("inspect", str(body))
    expect(
        done.returncode == 1 and "supported    no: " in done.stdout and '"hidden_act" is "swiglu"' in done.stdout,
        done.stdout,
    )


def test_classify(cli):
    folder = write_classifier(cli.folder / "classify_vit")
    cli.bad("classify", status=2, message="--model is missing")
    cli.bad("classify", "--model", str(folder), status=1, message="has no preprocessor_config.json")
    (folder / "preprocessor_config.json").write_text('{"image_processor_type": "ViTImageProcessor", "size": 8}')
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "clip"}))
    cli.bad("classify", "--model", str(folder), status=1, message="images are classified by the families")
    (folder / "config.json").write_text(json.dumps(config))
    expect_equal(cli.run("classify", "--model", str(folder), input="").stdout, "", "output without images")
    done = cli.run("classify", "--model", str(folder), input=f"{cli.folder}/nowhere.png\n")
    expect(done.returncode == 1 and "nowhere.png" in done.stderr, done.stderr)


def test_inspect_texts_and_images(cli):
    result = inspected(cli, write_clip(cli.folder / "inspect_clip"))
    expect_equal(
        (result["kind"], result["max_tokens"], result["image_rows"], result["vector_size"]),
        ("encoder of texts and images", 6, 8, 3),
        "clip",
    )


def test_inspect_residual_networks(cli):
    config = {
        "model_type": "resnet",
        "embedding_size": 2,
        "hidden_sizes": [2],
        "depths": [1],
        "layer_type": "basic",
        "num_channels": 1,
    }
    folder = write_folder(cli.folder / "inspect_resnet", config, {"embedder.embedder.convolution.weight": [2, 1, 7, 7]})
    done = cli.run("inspect", str(folder))
    expect_equal(done.returncode, 1, "status where tensors are missing")
    expect("encoder.stages.0.layers.0.layer.1.convolution.weight\n" in done.stdout, done.stdout)
