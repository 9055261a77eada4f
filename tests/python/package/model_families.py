"""Models of transformers and torchvision with random weights, of two sizes each."""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import transformers

VOCABULARY, BATCH, LENGTH = 256, 2, 16


@dataclasses.dataclass
class Size:
    """The sizes of a model."""

    layers: int
    width: int
    heads: int
    inner: int


SIZES = {"tiny": Size(2, 64, 4, 128), "small": Size(3, 128, 8, 352)}


@dataclasses.dataclass
class Family:
    """An architecture: its configuration by a size, its class, and the arguments of a call."""

    config: Callable[[Size], Any]
    model: str
    inputs: Callable[[int, int], dict[str, Any]]
    attentions: tuple[str, ...] = ("eager", "sdpa")

    def make(self, size: Size, attention: str | None = None) -> torch.nn.Module:
        """A model with random weights."""
        config = self.config(size)
        if attention is not None:
            config._attn_implementation = attention
        return getattr(transformers, self.model)(config)


def tokens(batch: int, length: int) -> dict[str, Any]:
    """A language model's texts."""
    ids = torch.randint(3, VOCABULARY, (batch, length))
    return {"input_ids": ids, "labels": ids.roll(1, 1)}


def masked(batch: int, length: int) -> dict[str, Any]:
    """Texts of unequal lengths."""
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[0, -2:] = 0
    return {**tokens(batch, length), "attention_mask": mask}


def images(batch: int, _length: int) -> dict[str, Any]:
    """A classifier's images."""
    return {"pixel_values": torch.randn(batch, 3, 32, 32), "labels": torch.arange(batch)}


def sounds(batch: int, length: int) -> dict[str, Any]:
    """Features of sounds, and texts."""
    return {"input_features": torch.randn(batch, 16, 64), "labels": torch.randint(3, VOCABULARY, (batch, length))}


def of(name: str, **options: Any) -> Callable[[Size], Any]:
    """A configuration whose options may be functions of the size."""

    def config(size: Size) -> Any:
        values = {key: value(size) if callable(value) else value for key, value in options.items()}
        return getattr(transformers, name)(**values)

    return config


def width(size: Size) -> int:
    """The width."""
    return size.width


def layers(size: Size) -> int:
    """The number of layers."""
    return size.layers


def heads(size: Size) -> int:
    """The number of heads."""
    return size.heads


def inner(size: Size) -> int:
    """The width of the inner layers."""
    return size.inner


DECODER = {
    "hidden_size": width,
    "intermediate_size": inner,
    "num_hidden_layers": layers,
    "num_attention_heads": heads,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 64,
    "use_cache": False,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {**DECODER, "num_key_value_heads": lambda size: size.heads // 2}
HEAD = {"head_dim": lambda size: size.width // size.heads}
ENCODER = {
    **{k: v for k, v in DECODER.items() if k not in ("use_cache", "bos_token_id", "eos_token_id")},
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
VISION = {
    "hidden_size": width,
    "intermediate_size": inner,
    "num_hidden_layers": layers,
    "num_attention_heads": heads,
    "image_size": 32,
    "patch_size": 8,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "num_labels": 10,
}
GPT2 = {
    "n_layer": layers,
    "n_embd": width,
    "n_head": heads,
    "n_positions": 64,
    "vocab_size": VOCABULARY,
    "resid_pdrop": 0.0,
    "attn_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "use_cache": False,
}
NO_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
WHISPER = {
    "vocab_size": VOCABULARY,
    "d_model": width,
    "encoder_layers": layers,
    "decoder_layers": layers,
    "encoder_attention_heads": heads,
    "decoder_attention_heads": heads,
    "encoder_ffn_dim": inner,
    "decoder_ffn_dim": inner,
    "num_mel_bins": 16,
    "max_source_positions": 32,
    "max_target_positions": 64,
    "use_cache": False,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    **NO_DROPOUT,
}
BART = {
    k: v for k, v in WHISPER.items() if not k.startswith(("max_source", "max_target", "num_mel", "suppress", "begin"))
}

FAMILIES = {
    "gpt2": Family(of("GPT2Config", **GPT2), "GPT2LMHeadModel", tokens),
    "gpt_neo": Family(
        of(
            "GPTNeoConfig",
            hidden_size=width,
            num_layers=layers,
            num_heads=heads,
            intermediate_size=inner,
            vocab_size=VOCABULARY,
            max_position_embeddings=64,
            attention_types=lambda size: [[["global"], size.layers]],
            use_cache=False,
            embed_dropout=0.0,
            attention_dropout=0.0,
            resid_dropout=0.0,
        ),
        "GPTNeoForCausalLM",
        tokens,
        ("eager",),
    ),
    "gpt_neox": Family(of("GPTNeoXConfig", **DECODER), "GPTNeoXForCausalLM", tokens),
    "opt": Family(
        of(
            "OPTConfig",
            hidden_size=width,
            word_embed_proj_dim=width,
            num_hidden_layers=layers,
            ffn_dim=inner,
            num_attention_heads=heads,
            vocab_size=VOCABULARY,
            max_position_embeddings=64,
            use_cache=False,
            dropout=0.0,
            attention_dropout=0.0,
        ),
        "OPTForCausalLM",
        tokens,
    ),
    "bloom": Family(
        of(
            "BloomConfig",
            hidden_size=width,
            n_layer=layers,
            n_head=heads,
            vocab_size=VOCABULARY,
            use_cache=False,
            hidden_dropout=0.0,
            attention_dropout=0.0,
        ),
        "BloomForCausalLM",
        tokens,
        ("eager",),
    ),
    "codegen": Family(of("CodeGenConfig", **GPT2, n_ctx=64, rotary_dim=8), "CodeGenForCausalLM", tokens, ("eager",)),
    "llama": Family(of("LlamaConfig", **GROUPED), "LlamaForCausalLM", tokens),
    "mistral": Family(of("MistralConfig", sliding_window=8, **GROUPED), "MistralForCausalLM", tokens),
    "qwen2": Family(of("Qwen2Config", **GROUPED), "Qwen2ForCausalLM", masked),
    "qwen3": Family(of("Qwen3Config", **GROUPED, **HEAD), "Qwen3ForCausalLM", tokens),
    "smollm3": Family(of("SmolLM3Config", **GROUPED), "SmolLM3ForCausalLM", tokens),
    "olmo2": Family(of("Olmo2Config", **GROUPED), "Olmo2ForCausalLM", tokens),
    "granite": Family(of("GraniteConfig", **GROUPED), "GraniteForCausalLM", tokens),
    "stablelm": Family(of("StableLmConfig", **GROUPED), "StableLmForCausalLM", tokens),
    "starcoder2": Family(
        of("Starcoder2Config", **GROUPED, residual_dropout=0.0, embedding_dropout=0.0), "Starcoder2ForCausalLM", tokens
    ),
    "phi": Family(of("PhiConfig", **DECODER), "PhiForCausalLM", tokens),
    "phi3": Family(of("Phi3Config", **GROUPED), "Phi3ForCausalLM", tokens),
    "gemma": Family(of("GemmaConfig", **GROUPED, **HEAD), "GemmaForCausalLM", tokens),
    "gemma2": Family(of("Gemma2Config", sliding_window=8, **GROUPED, **HEAD), "Gemma2ForCausalLM", tokens, ("eager",)),
    "mixtral": Family(
        of(
            "MixtralConfig",
            num_local_experts=4,
            num_experts_per_tok=2,
            experts_implementation="batched_mm",
            **GROUPED,
        ),
        "MixtralForCausalLM",
        tokens,
    ),
    "bert": Family(of("BertConfig", **ENCODER), "BertForMaskedLM", masked),
    "roberta": Family(of("RobertaConfig", **{**ENCODER, "max_position_embeddings": 66}), "RobertaForMaskedLM", masked),
    "electra": Family(of("ElectraConfig", embedding_size=width, **ENCODER), "ElectraForMaskedLM", masked),
    "albert": Family(of("AlbertConfig", embedding_size=32, **ENCODER), "AlbertForMaskedLM", masked),
    "distilbert": Family(
        of(
            "DistilBertConfig",
            dim=width,
            n_layers=layers,
            n_heads=heads,
            hidden_dim=inner,
            vocab_size=VOCABULARY,
            max_position_embeddings=64,
            dropout=0.0,
            attention_dropout=0.0,
        ),
        "DistilBertForMaskedLM",
        masked,
    ),
    "t5": Family(
        of(
            "T5Config",
            d_model=width,
            d_kv=lambda size: size.width // size.heads,
            d_ff=inner,
            num_layers=layers,
            num_heads=heads,
            vocab_size=VOCABULARY,
            dropout_rate=0.0,
            use_cache=False,
            decoder_start_token_id=0,
        ),
        "T5ForConditionalGeneration",
        tokens,
        ("eager",),
    ),
    "bart": Family(of("BartConfig", max_position_embeddings=64, **BART), "BartForConditionalGeneration", tokens),
    "whisper": Family(of("WhisperConfig", **WHISPER), "WhisperForConditionalGeneration", sounds),
    "vit": Family(of("ViTConfig", **VISION), "ViTForImageClassification", images),
    "dinov2": Family(
        of("Dinov2Config", **{k: v for k, v in VISION.items() if k != "intermediate_size"}, mlp_ratio=2),
        "Dinov2ForImageClassification",
        images,
    ),
    "resnet": Family(
        of(
            "ResNetConfig",
            embedding_size=8,
            hidden_sizes=lambda size: [8, size.width // 4],
            depths=lambda size: [size.layers, 2],
            layer_type="basic",
            num_labels=10,
        ),
        "ResNetForImageClassification",
        images,
        (),
    ),
    "convnext": Family(
        of(
            "ConvNextConfig",
            hidden_sizes=lambda size: [16, 32, size.width // 2, size.width],
            depths=lambda size: [1, 1, size.layers, 1],
            num_labels=10,
        ),
        "ConvNextForImageClassification",
        images,
        (),
    ),
}

# Classics of torchvision, with the side of the images that they take.
CLASSICS = {
    "alexnet": 96,
    "vgg11_bn": 64,
    "resnet18": 96,
    "densenet121": 96,
    "mobilenet_v3_small": 96,
    "squeezenet1_1": 64,
    "efficientnet_b0": 96,
    "swin_t": 64,
}
