#pragma once
#include <fulgurite/detail/requirements.h>

// Models in the folders of Hugging Face: loaded, run, and saved so that transformers loads them.
#include <fulgurite/chat_template.h>
#include <fulgurite/hub/audio.h>
#include <fulgurite/hub/batch_generator.h>
#include <fulgurite/hub/causal_lm.h>
#include <fulgurite/hub/checkpoint.h>
#include <fulgurite/hub/config.h>
#include <fulgurite/hub/generate.h>
#include <fulgurite/hub/gguf.h>
#include <fulgurite/hub/image_classifier.h>
#include <fulgurite/hub/image_processor.h>
#include <fulgurite/hub/lora.h>
#include <fulgurite/hub/quantization.h>
#include <fulgurite/hub/seq2seq.h>
#include <fulgurite/hub/text_embedder.h>
#include <fulgurite/hub/text_generator.h>
#include <fulgurite/hub/transcriber.h>
#include <fulgurite/models/activation.h>
#include <fulgurite/models/bert.h>
#include <fulgurite/models/clip.h>
#include <fulgurite/models/gemma.h>
#include <fulgurite/models/gpt2.h>
#include <fulgurite/models/image_classification.h>
#include <fulgurite/models/llama.h>
#include <fulgurite/models/phi.h>
#include <fulgurite/models/phi3.h>
#include <fulgurite/models/resnet.h>
#include <fulgurite/models/t5.h>
#include <fulgurite/models/vit.h>
#include <fulgurite/models/whisper.h>
#include <fulgurite/tokenizer.h>

#include <fulgurite/detail/hide_macros.h>
#include <fulgurite/detail/restore_macros.h>
