"""Models of transformers with random weights, compiled in both ways, against eager.

They are skipped without transformers: `build/package/environment/bin/pip install transformers==5.24.0` has them run.
"""

import copy

import fulgurite as fg
import pytest

transformers = pytest.importorskip("transformers")

from model_families import BATCH, FAMILIES, LENGTH, SIZES  # noqa: E402  it needs transformers

MODELS = ["gpt2", "llama", "qwen3", "mistral", "gemma2", "mixtral", "bert", "t5", "vit", "whisper", "resnet"]


def made(name):
    """A small model with random weights, and the arguments of a call."""
    return FAMILIES[name].make(SIZES["tiny"]), FAMILIES[name].inputs(BATCH, LENGTH)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("way", ["jit", "compile"])
def test_training_and_inference_as_in_eager(torch, name, way):
    import fulgurite.torch

    fulgurite.torch.reset()
    model, inputs = made(name)
    model.train()
    reference = copy.deepcopy(model)
    f = fg.jit(model, fallback="error") if way == "jit" else torch.compile(model, backend="fulgurite")
    loss, expected = f(**inputs).loss, reference(**inputs).loss
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    loss.backward()
    expected.backward()
    largest = max(p.grad.abs().max() for p in reference.parameters() if p.grad is not None)
    for (name, p), q in zip(model.named_parameters(), reference.parameters(), strict=True):
        assert (p.grad is None) == (q.grad is None), name
        if q.grad is not None:
            assert (p.grad - q.grad).abs().max() <= 1e-5 * max(q.grad.abs().max(), 1e-3 * largest), name
    for (name, b), c in zip(model.named_buffers(), reference.buffers(), strict=True):
        assert torch.allclose(b.double(), c.double(), rtol=1e-5), name
    model.eval(), reference.eval()
    with torch.no_grad():
        ours, theirs = f(**inputs).logits, reference(**inputs).logits
    assert (ours - theirs).abs().max() <= 1e-5 * theirs.abs().max()
    assert "nothing fell back" in fulgurite.torch.report()


@pytest.mark.parametrize("way", ["jit", "compile"])
@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_a_cache_is_changed_as_in_eager(torch, name, way):
    model, inputs = made(name)
    model.eval()
    f = fg.jit(model, fallback="error") if way == "jit" else torch.compile(model, backend="fulgurite")
    caches = [transformers.DynamicCache(config=model.config) for _ in range(2)]
    ids = inputs["input_ids"]
    with torch.no_grad():
        for _ in range(3):
            outs = [g(input_ids=ids, past_key_values=c, use_cache=True) for g, c in zip((f, model), caches)]
            torch.testing.assert_close(outs[0].logits, outs[1].logits, rtol=1e-5, atol=1e-5)
            assert outs[0].past_key_values is caches[0]
            ids = outs[1].logits[:, -1:].argmax(-1)
    for ours, theirs in zip(caches[0].layers, caches[1].layers, strict=True):
        assert type(ours.keys) is torch.Tensor
        torch.testing.assert_close([ours.keys, ours.values], [theirs.keys, theirs.values])
    assert [c.get_seq_length() for c in caches] == [LENGTH + 2] * 2


def test_a_new_cache_is_a_result(torch):
    model, inputs = made("llama")
    model.eval()
    with torch.no_grad():
        ours, theirs = (g(input_ids=inputs["input_ids"], use_cache=True) for g in (fg.jit(model), model))
    assert type(ours.past_key_values) is transformers.DynamicCache
    torch.testing.assert_close(ours.past_key_values.layers[1].keys, theirs.past_key_values.layers[1].keys)


@pytest.mark.parametrize("way", ["forward", "compile"])
def test_a_trainer_of_transformers_trains_it(torch, tmp_path, way):
    pytest.importorskip("accelerate")
    tokens = torch.randint(3, 100, (8, 7))
    samples = [{"input_ids": row, "labels": row} for row in tokens]

    def losses(compiled):
        torch.manual_seed(0)
        sizes = {"n_layer": 1, "n_embd": 32, "n_head": 2, "vocab_size": 100, "n_positions": 16}
        drops = dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0)
        config = transformers.GPT2Config(bos_token_id=1, eos_token_id=2, **sizes, **drops)
        model = transformers.GPT2LMHeadModel(config)
        if compiled and way == "forward":
            model.forward = fg.jit(model.forward, fallback="error")
        elif compiled:
            model = torch.compile(model, backend="fulgurite")
        arguments = transformers.TrainingArguments(
            tmp_path, max_steps=4, per_device_train_batch_size=2, report_to=[], use_cpu=True, seed=0, logging_steps=1,
            disable_tqdm=True, remove_unused_columns=False, save_strategy="no",
        )  # fmt: skip
        trainer = transformers.Trainer(model, arguments, train_dataset=samples)
        trainer.train()
        return [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]

    assert losses(True) == pytest.approx(losses(False), abs=2e-4)
