#!/usr/bin/env python3
"""Compares image files and image processors with Pillow and transformers, on random images, formats and settings.

usage: compare_images.py PREPARE_IMAGE [--count 200] [--seed N]. Ends with 77 where transformers is missing.
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy
    import PIL.Image
    import PIL.ImageFile
    import safetensors.torch
    import torch
    import transformers
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
    from transformers.models.convnext.image_processing_pil_convnext import ConvNextImageProcessorPil
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

IMAGES_OF_A_PROCESSOR = 8
PIL.ImageFile.MAXBLOCK = 1 << 22  # Pillow's buffer of a JPEG file is too small for noise of the best quality


def random_pixels(channels, largest):
    """Noise, gradients with an edge, or blocks, so that filters overshoot at both ends."""
    rows, columns = random.randint(1, largest), random.randint(1, largest)
    kind = random.choice(["noise", "gradient", "blocks"])
    if kind == "noise":
        return numpy.random.randint(0, 256, (rows, columns, channels), dtype=numpy.uint8)
    if kind == "blocks":
        small = numpy.random.randint(0, 2, (rows // 8 + 1, columns // 8 + 1, channels)) * 255
        return small.repeat(8, 0).repeat(8, 1)[:rows, :columns].astype(numpy.uint8)
    slope = numpy.random.rand(2, channels) * 255 / max(rows, columns)
    y, x = numpy.mgrid[:rows, :columns]
    plane = y[..., None] * slope[0] + x[..., None] * slope[1]
    return (plane % 256).astype(numpy.uint8)


def random_image(largest):
    """An image of one of Pillow's modes."""
    mode = random.choice(["RGB", "RGB", "RGB", "L", "RGBA", "LA", "P", "1"])
    if mode in ("P", "1"):
        return PIL.Image.fromarray(random_pixels(3, largest)).convert(mode)
    pixels = random_pixels(len(mode), largest)
    return PIL.Image.fromarray(pixels[..., 0] if mode == "L" else pixels, mode=mode)


def save(image, path):
    """Saves as PNG or, if the mode allows it, as JPEG of some quality and subsampling; returns the path."""
    if image.mode in ("RGB", "L") and random.random() < 0.5:
        path = path.with_suffix(".jpg")
        image.convert(random.choice([image.mode, image.mode, "CMYK"])).save(
            path,
            quality=random.choice([30, 75, 95, 100]),
            subsampling=random.choice([0, 1, 2]),
            progressive=random.random() < 0.3,
        )
        return path
    path = path.with_suffix(".png")
    more = {"transparency": 0} if image.mode == "P" and random.random() < 0.5 else {}
    image.save(path, **more)
    return path


def random_processor():
    """A processor of transformers with random settings."""
    kind = random.choice([ViTImageProcessorPil, CLIPImageProcessorPil, ConvNextImageProcessorPil])
    options = {"resample": random.randint(0, 5), "do_convert_rgb": True}
    edge = random.choice([1, 7, 32, 56, 97])
    if kind is ConvNextImageProcessorPil:
        options["size"] = {"shortest_edge": random.choice([edge, edge, 384])}
        options["crop_pct"] = random.choice([0.5, 0.875, 1.0])
    elif random.random() < 0.5:
        options["size"] = {"height": edge, "width": random.randint(1, 64)}
    else:
        options["size"] = {"shortest_edge": edge}
    if kind is CLIPImageProcessorPil:
        options["crop_size"] = {"height": random.randint(1, 80), "width": random.randint(1, 80)}
    for step in ("do_resize", "do_center_crop", "do_rescale", "do_normalize"):
        if random.random() < 0.15 and (step, kind) != ("do_center_crop", ConvNextImageProcessorPil):
            options[step] = False
    if random.random() < 0.3:
        options.update(image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])
    if random.random() < 0.2:
        options["rescale_factor"] = 1 / 127.5
    return kind(**options)


class Comparison:
    """Runs of prepare_image, and what differed."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.failures, self.checks, self.largest = [], 0, 0.0

    def expect(self, condition, message):
        self.checks += 1
        if not condition:
            self.failures.append(message)

    def run(self, processor, paths):
        processor.save_pretrained(self.folder)
        result = self.folder / "result.safetensors"
        done = subprocess.run([self.program, self.folder, result, *paths], capture_output=True, text=True)
        if done.returncode != 0:
            self.failures.append(f"{processor}: {done.stderr.strip()}")
            return {}
        if done.stderr:
            self.failures.append(done.stderr.strip())
        return safetensors.torch.load_file(result)

    def compare(self, index):
        processor = random_processor()
        largest = random.choice([20, 150, 400])
        images = [random_image(largest) for _ in range(IMAGES_OF_A_PROCESSOR)]
        paths = [save(image, self.folder / f"{i}") for i, image in enumerate(images)]
        ours = self.run(processor, paths)
        for i, path in enumerate(paths):
            image = PIL.Image.open(path)
            title = f"{index}: {path.suffix} {image.mode} {image.size}"
            pixels = torch.from_numpy(processor.convert_to_rgb(image)).long()
            theirs = processor(image, return_tensors="pt").pixel_values.float()
            if f"image.{i}" not in ours:
                continue
            self.expect(torch.equal(ours[f"image.{i}"], pixels), f"{title}: other pixels")
            prepared = ours[f"prepared.{i}"]
            far = (prepared - theirs).abs().max().item() if prepared.shape == theirs.shape else float("inf")
            self.largest = max(self.largest, far)
            self.expect(far < 1e-6, f"{title}: prepared images differ by {far:.1e}: {processor.to_dict()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program prepare_image")
    parser.add_argument("--count", type=int, default=200, help="images")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random.seed(options.seed)
    numpy.random.seed(options.seed)
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory(prefix="fulgurite_images_") as name:
        comparison = Comparison(options.program, pathlib.Path(name))
        for index in range(max(1, options.count // IMAGES_OF_A_PROCESSOR)):
            comparison.compare(index)
    for failure in comparison.failures:
        print(f"FAILED {failure}")
    print(
        f"{comparison.checks} comparisons, {len(comparison.failures)} failed; the largest difference of a prepared "
        f"image is {comparison.largest:.1e}"
    )
    return 1 if comparison.failures or not comparison.checks else 0


if __name__ == "__main__":
    sys.exit(main())
