#!/usr/bin/env python3
"""Compares tokenizers with the package `tokenizers`: one trained for each kind, and those of files that are given.

usage: compare_tokenizers.py READ_TOKENIZER [--count N] [--seed N] [--only NAME] [FILE…]. Ends with 77 where the package
is missing.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

try:
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIALS = ["<|begin|>", "<|end|>", "<pad>", "[MASK]"]
WORDS = (
    "the of and to in a is that it was for on are as with his they at be this from have or by one had not but what"
    " all were when we there can an your which their said if do will each about how up out them then she many some"
    " so Straße naïve Éclair coöperate façade ﬁne Ångström İstanbul ΣΟΦΟΣ привет мир 東京都 世界"
    " こんにちは 안녕하세요 שלום مرحبا नमस्ते ไทย don't I'm we'll 1234 3.14 2,000 x1 a_b foo(bar)"
    " -> == https://a.b/c?d=e"
).split()
SPACES = [" ", " ", " ", " ", "  ", "\n", "\t", "\r\n", "   ", "\u00a0", "\u3000", "\u200b", ""]
# Marks, joiners, parts of emoji and of Korean syllables, and letters that they follow.
JOINING = (
    "\u0300\u0301\u200d\U0001f600\U0001f468\U0001f3fd\u00e9A\u03b1\u4e00\uac00"
    "\u1100\u1161\u05d0\u0627\u0915\u094d\ufe0f"
)


def random_text(source):
    """Returns words, signs and code points of all kinds, with special tokens among them."""
    kind = source.randrange(5)
    parts = []
    for _ in range(source.randrange(1, 12)):
        if kind == 0 or source.random() < 0.4:
            parts.append(source.choice(WORDS))
        elif kind == 1:
            parts.append("".join(chr(source.randrange(32, 127)) for _ in range(source.randrange(1, 10))))
        elif kind == 2:
            parts.append("".join(source.choices(JOINING, k=source.randrange(1, 6))))
        elif kind == 3:
            parts.append("".join(assigned(source) for _ in range(source.randrange(1, 6))))
        else:
            parts.append(source.choice(WORDS).upper() + source.choice(".,;:!?'\"()[]{}<>|\\/@#$%^&*~`"))
        parts.append(source.choice(SPACES))
    if source.random() < 0.2:
        parts.insert(source.randrange(len(parts)), source.choice(SPECIALS + ["lst", "<x>"]))
    return "".join(parts)


def assigned(source):
    """A code point that Unicode 14 has, which PCRE2 of Debian 12 knows."""
    while True:
        c = chr(source.randrange(0x20, 0x30000))
        if unicodedata.category(c) not in ("Cn", "Cs") and ord(c) < 0x1DF00:
            return c


def train(tokenizer, trainer, is_plain=False):
    """Trains on random texts, or on words alone; returns the tokenizer."""
    source = random.Random(5)
    plain = [" ".join(source.choices(WORDS, k=12)) for _ in range(2000)]
    tokenizer.train_from_iterator(plain if is_plain else plain + [random_text(source) for _ in range(3000)], trainer)
    return tokenizer


def byte_level(splitter, normalizer=None, post=None, **options):
    """A BPE of bytes."""
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = post
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=SPECIALS,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    return train(tokenizer, trainer)


def split(pattern, behavior="isolated", invert=False):
    """A split by a regular expression."""
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def make_gpt2():
    return byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), post=processors.ByteLevel(trim_offsets=True))


def make_roberta():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.post_processor = processors.RobertaProcessing(("<|end|>", 1), ("<|begin|>", 0), trim_offsets=True)
    tokenizer.add_special_tokens([AddedToken("<x>", lstrip=True, normalized=False)])
    return tokenizer


def make_smollm():
    steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    return byte_level(pre_tokenizers.Sequence(steps))


def make_neox():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), normalizers.NFC())
    tokenizer.add_tokens([AddedToken(" " * n, normalized=False) for n in range(2, 9)])
    return tokenizer


def make_llama3():
    steps = [split(CL100K), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    post = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True),
            processors.TemplateProcessing(
                single="<|begin|> $A",
                pair="<|begin|> $A <|end|> $B:1",
                special_tokens=[("<|begin|>", 0), ("<|end|>", 1)],
            ),
        ]
    )
    return byte_level(pre_tokenizers.Sequence(steps), post=post, ignore_merges=True)


def make_qwen():
    steps = [split(O200K), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    return byte_level(pre_tokenizers.Sequence(steps), normalizers.NFC())


def make_deepseek():
    steps = [
        split(r"\p{N}{1,3}"),
        split("[一-龥\u3040-ゟ゠-ヿ]+"),
        pre_tokenizers.Punctuation("contiguous"),
        split(r"\s+", "merged_with_next"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    return byte_level(pre_tokenizers.Sequence(steps))


def byte_fallback(tokenizer):
    """Trains a BPE with tokens of bytes."""
    tokens_of_bytes = [f"<0x{i:02X}>" for i in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=1500, special_tokens=["<unk>", *SPECIALS, *tokens_of_bytes], show_progress=False, limit_alphabet=200
    )
    return train(tokenizer, trainer)


def make_llama2():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.post_processor = processors.TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", 1)])
    return byte_fallback(tokenizer)


def make_mistral():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return byte_fallback(tokenizer)


def make_gemma():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return byte_fallback(tokenizer)


def make_bert(lowercase=True):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=1500, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False
    )
    train(tokenizer, trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def make_bert_cased():
    return make_bert(lowercase=False)


def unigram(normalizer, splitter):
    """Trains a Unigram model."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=600, special_tokens=["<unk>", *SPECIALS], unk_token="<unk>", show_progress=False
    )
    train(tokenizer, trainer, is_plain=True)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A <|end|>", special_tokens=[("<|end|>", 2)])
    return tokenizer


def make_t5():
    steps = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", prepend_scheme="always")]
    return unigram(
        normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]),
        pre_tokenizers.Sequence(steps),
    )


def make_albert():
    steps = [
        normalizers.Replace("``", '"'),
        normalizers.NFKD(),
        normalizers.StripAccents(),
        normalizers.Lowercase(),
        normalizers.Strip(),
    ]
    return unigram(normalizers.Sequence(steps), pre_tokenizers.Metaspace("▁", prepend_scheme="first"))


def make_clip():
    tokenizer = Tokenizer(models.BPE(unk_token="<|end|>", end_of_word_suffix="</w>", continuing_subword_prefix=""))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    steps = [split(pattern, "removed", True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        special_tokens=SPECIALS,
        end_of_word_suffix="</w>",
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    return train(tokenizer, trainer)


def make_words():
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(vocab_size=800, special_tokens=["<unk>", *SPECIALS], show_progress=False)
    tokenizer = train(tokenizer, trainer)
    tokenizer.add_tokens([AddedToken("lst", single_word=True, rstrip=True)])
    return tokenizer


KINDS = {name.removeprefix("make_"): function for name, function in list(globals().items()) if name.startswith("make_")}
UNSTABLE = ("bert", "bert_cased")  # decoders that change earlier text: a stream cannot equal them


def compare(program, name, path, texts):
    """Returns what differs between the program and the package."""
    oracle = Tokenizer.from_file(str(path))
    oracle.no_truncation()
    oracle.no_padding()
    request = b"".join(f"{len(text.encode())}\n".encode() + text.encode() for text in texts)
    done = subprocess.run([program, path], input=request, capture_output=True)
    if done.returncode != 0:
        return [f"{name}: {done.stderr.decode().strip()}"]
    answers = [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]
    differences = [] if len(answers) == len(texts) else [f"{name}: {len(answers)} answers for {len(texts)} texts"]
    for text, answer in zip(texts, answers):
        encoding = oracle.encode(text)
        expected = {
            "ids": encoding.ids,
            "offsets": [list(pair) for pair in encoding.offsets],
            "decoded": oracle.decode(encoding.ids),
        }
        for key, value in expected.items():
            if answer.get(key) != value:
                differences.append(f"{name}: {text!r}: {key} {answer.get(key, answer.get('error'))}, expected {value}")
                break
        else:
            if answer["streamed"] != value and name not in UNSTABLE:
                differences.append(f"{name}: {text!r}: streamed {answer['streamed']!r}, expected {value!r}")
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program read_tokenizer")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="tokenizer.json files")
    parser.add_argument("--count", type=int, default=1000, help="texts for each tokenizer")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=sorted(KINDS))
    options = parser.parse_intermixed_args()
    failed = passed = 0
    with tempfile.TemporaryDirectory(prefix="fulgurite_tokenizers_") as folder:
        paths = {}
        for name in [options.only] if options.only else [] if options.files else KINDS:
            paths[name] = pathlib.Path(folder) / f"{name}.json"
            KINDS[name]().save(str(paths[name]))
        for path in options.files:
            paths[str(path)] = path
        for name, path in paths.items():
            source = random.Random(options.seed)
            texts = ["", " ", "a", *[random_text(source) for _ in range(options.count)]]
            differences = compare(options.program, name, path, texts)
            for difference in differences[:5]:
                print(difference[:600])
            failed += len(differences)
            passed += len(texts) - len(differences)
            print(f"{name}: {len(differences)} of {len(texts)} differ")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
