"""Models of transformers with random weights, compiled in both ways, against eager.

They are skipped without transformers: `build/package/environment/bin/pip install transformers==5.24.0` has them run.
"""

import copy

import fulgurite as fg
import pytest

transformers = pytest.importorskip("transformers")

LAYERS, WIDTH, HEADS, INNER, VOCABULARY, BATCH, LENGTH = 2, 64, 4, 128, 256, 2, 16
DECODER = {
    "hidden_size": WIDTH,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS // 2,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 64,
    "use_cache": False,
}


def language(torch):
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    return {"input_ids": ids, "labels": ids.roll(1, 1)}


def gpt2(torch):
    config = transformers.GPT2Config(
        n_layer=LAYERS,
        n_embd=WIDTH,
        n_head=HEADS,
        vocab_size=VOCABULARY,
        n_positions=64,
        resid_pdrop=0.0,
        attn_pdrop=0.0,
        embd_pdrop=0.0,
        use_cache=False,
    )
    return transformers.GPT2LMHeadModel(config), language(torch)


def llama(torch):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER)), language(torch)


def qwen3(torch):
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(head_dim=16, **DECODER)), language(torch)


def mistral(torch):
    return transformers.MistralForCausalLM(transformers.MistralConfig(sliding_window=8, **DECODER)), language(torch)


def gemma2(torch):
    config = transformers.Gemma2Config(head_dim=16, sliding_window=8, attn_implementation="eager", **DECODER)
    return transformers.Gemma2ForCausalLM(config), language(torch)


def mixtral(torch):
    config = transformers.MixtralConfig(
        num_local_experts=4, num_experts_per_tok=2, experts_implementation="batched_mm", **DECODER
    )
    return transformers.MixtralForCausalLM(config), language(torch)


def bert(torch):
    config = transformers.BertConfig(
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        vocab_size=VOCABULARY,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    mask = torch.ones(BATCH, LENGTH, dtype=torch.long)
    mask[:, -2:] = 0
    return transformers.BertForMaskedLM(config), {**language(torch), "attention_mask": mask}


def t5(torch):
    config = transformers.T5Config(
        d_model=WIDTH,
        d_kv=16,
        d_ff=INNER,
        num_layers=LAYERS,
        num_heads=HEADS,
        vocab_size=VOCABULARY,
        dropout_rate=0.0,
        use_cache=False,
        decoder_start_token_id=0,
    )
    return transformers.T5ForConditionalGeneration(config), language(torch)


def vit(torch):
    config = transformers.ViTConfig(
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        image_size=32,
        patch_size=8,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=10,
    )
    return transformers.ViTForImageClassification(config), {
        "pixel_values": torch.randn(2, 3, 32, 32),
        "labels": torch.arange(2),
    }


def whisper(torch):
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        num_mel_bins=16,
        max_source_positions=32,
        max_target_positions=64,
        dropout=0.0,
        use_cache=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    labels = torch.randint(3, VOCABULARY, (BATCH, LENGTH))
    return transformers.WhisperForConditionalGeneration(config), {
        "input_features": torch.randn(BATCH, 16, 64),
        "labels": labels,
    }


def resnet(torch):
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[2, 2], layer_type="basic", num_labels=10
    )
    return transformers.ResNetForImageClassification(config), {
        "pixel_values": torch.randn(4, 3, 32, 32),
        "labels": torch.arange(4),
    }


MODELS = [gpt2, llama, qwen3, mistral, gemma2, mixtral, bert, t5, vit, whisper, resnet]


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("way", ["jit", "compile"])
def test_training_and_inference_as_in_eager(torch, make, way):
    import fulgurite.torch

    fulgurite.torch.reset()
    model, inputs = make(torch)
    model.train()
    reference = copy.deepcopy(model)
    f = fg.jit(model) if way == "jit" else torch.compile(model, backend="fulgurite")
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
@pytest.mark.parametrize("make", [llama, mistral], ids=lambda make: make.__name__)
def test_a_cache_is_changed_as_in_eager(torch, make, way):
    model, inputs = make(torch)
    model.eval()
    f = fg.jit(model) if way == "jit" else torch.compile(model, backend="fulgurite")
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
    model, inputs = llama(torch)
    model.eval()
    with torch.no_grad():
        ours, theirs = (g(input_ids=inputs["input_ids"], use_cache=True) for g in (fg.jit(model), model))
    assert type(ours.past_key_values) is transformers.DynamicCache
    torch.testing.assert_close(ours.past_key_values.layers[1].keys, theirs.past_key_values.layers[1].keys)
