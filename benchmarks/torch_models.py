"""Small configurations of PyTorch's models: each function returns a model and a function from it to its loss."""

LAYERS, WIDTH, HEADS, VOCABULARY, ROWS, LENGTH = 4, 256, 4, 8192, 8, 128
DECODER = {
    "hidden_size": WIDTH,
    "intermediate_size": 704,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": 2,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": LENGTH,
    "use_cache": False,
}
NO_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
ENCODER = {
    "hidden_size": WIDTH,
    "intermediate_size": 4 * WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


def of_texts(torch, model):
    """The loss of a language model on random tokens."""
    ids = torch.randint(2, VOCABULARY, (ROWS, LENGTH))
    return model, lambda compiled: compiled(input_ids=ids, labels=ids).loss


def gpt2(torch):
    """4 layers of 256, 8 x 128 tokens."""
    import transformers

    dropout = {"resid_pdrop": 0.0, "attn_pdrop": 0.0, "embd_pdrop": 0.0}
    config = transformers.GPT2Config(
        n_layer=LAYERS,
        n_embd=WIDTH,
        n_head=HEADS,
        vocab_size=VOCABULARY,
        n_positions=LENGTH,
        use_cache=False,
        **dropout,
    )
    return of_texts(torch, transformers.GPT2LMHeadModel(config))


def llama(torch):
    """4 layers of 256, 8 x 128 tokens."""
    import transformers

    return of_texts(torch, transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER)))


def qwen3(torch):
    """4 layers of 256, 8 x 128 tokens."""
    import transformers

    return of_texts(torch, transformers.Qwen3ForCausalLM(transformers.Qwen3Config(head_dim=64, **DECODER)))


def bert(torch):
    """4 layers of 256, 8 x 128 tokens."""
    import transformers

    config = transformers.BertConfig(vocab_size=VOCABULARY, max_position_embeddings=LENGTH, **ENCODER)
    return of_texts(torch, transformers.BertForMaskedLM(config))


def t5(torch):
    """4 and 4 layers of 256, 8 x 128 tokens on both sides."""
    import transformers

    config = transformers.T5Config(
        d_model=WIDTH,
        d_kv=64,
        d_ff=4 * WIDTH,
        num_layers=LAYERS,
        num_heads=HEADS,
        vocab_size=VOCABULARY,
        dropout_rate=0.0,
        use_cache=False,
        decoder_start_token_id=0,
    )
    return of_texts(torch, transformers.T5ForConditionalGeneration(config))


def whisper(torch):
    """4 and 4 layers of 256, 8 sounds of 128 frames, 64 tokens each."""
    import transformers

    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=4 * WIDTH,
        decoder_ffn_dim=4 * WIDTH,
        num_mel_bins=80,
        max_source_positions=128,
        max_target_positions=64,
        use_cache=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=1,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
        **NO_DROPOUT,
    )
    x, labels = torch.randn(ROWS, 80, 256), torch.randint(2, VOCABULARY, (ROWS, 64))
    model = transformers.WhisperForConditionalGeneration(config)
    return model, lambda compiled: compiled(input_features=cast(x, model), labels=labels).loss


def vit(torch):
    """4 layers of 256, 16 images of 96 x 96 in patches of 16 x 16."""
    import transformers

    config = transformers.ViTConfig(image_size=96, patch_size=16, num_labels=10, **ENCODER)
    x, labels = torch.randn(16, 3, 96, 96), torch.randint(0, 10, (16,))
    model = transformers.ViTForImageClassification(config)
    return model, lambda compiled: compiled(pixel_values=cast(x, model), labels=labels).loss


def mlp(torch):
    """Three layers of 1024, 256 rows."""
    layers = [torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 1024), torch.nn.GELU()]
    return of_classes(torch, torch.nn.Sequential(*layers, torch.nn.Linear(1024, 10)), torch.randn(256, 1024))


def cnn(torch):
    """Three convolutions with batch norm, 32 images of 32 x 32."""
    layers, channels = [], 3
    for wider in (32, 64, 128):
        layers += [
            torch.nn.Conv2d(channels, wider, 3, padding=1),
            torch.nn.BatchNorm2d(wider),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
        ]
        channels = wider
    model = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(128 * 16, 10))
    return of_classes(torch, model, torch.randn(32, 3, 32, 32))


def resnet18(torch):
    """torchvision's, 16 images of 64 x 64."""
    import torchvision

    return of_classes(torch, torchvision.models.resnet18(num_classes=10), torch.randn(16, 3, 64, 64))


def of_classes(torch, model, x):
    """The cross entropy of a classifier's scores."""
    y = torch.randint(0, 10, (len(x),))
    return model, lambda compiled: torch.nn.functional.cross_entropy(compiled(cast(x, model)).float(), y)


def cast(x, model):
    """A tensor in the dtype of a model's parameters."""
    return x.to(next(model.parameters()).dtype)


CASES = {f.__name__: f for f in (gpt2, llama, qwen3, bert, t5, whisper, vit, mlp, cnn, resnet18)}
