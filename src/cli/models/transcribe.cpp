#include <cstdio>

#include <fulgurite/hub/transcriber.h>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/models/models.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

struct Settings {
  std::string folder, dtype = "files";
  std::vector<std::string> files;
  int64_t threads = 0;
  bool as_json = false;
  TranscribeOptions options{};
};

std::string time_of(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", seconds);
  return text;
}

std::string list_of(const std::vector<int64_t>& ids) {
  std::string out;
  for (const int64_t id : ids) out += (out.empty() ? "" : ", ") + std::to_string(id);
  return "[" + out + "]";
}

std::string json_of(const SpeechSegment& segment) {
  return text::cat("{\"begin\": ", time_of(segment.begin), ", \"end\": ", time_of(segment.end),
                   ", \"text\": ", json::quote(segment.text), ", \"tokens\": ", list_of(segment.tokens), "}");
}

void print_json(const std::string& file, const Transcription& result) {
  std::string segments;
  for (const SpeechSegment& segment : result.segments) segments += (segments.empty() ? "" : ", ") + json_of(segment);
  std::printf("%s\n", text::cat("{\"file\": ", json::quote(file), ", \"language\": ", json::quote(result.language),
                                ", \"text\": ", json::quote(result.text), ", \"segments\": [", segments, "]}")
                          .c_str());
}

void print_line(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// Segments with times are printed as they are complete, a whole text at its end.
void transcribe_file(Transcriber& transcriber, const std::string& file, const Settings& settings) {
  const bool shows_segments = settings.options.timestamps && !settings.as_json;
  const std::string label = settings.files.size() > 1 ? file + ": " : "";
  const hub::Audio audio = hub::read_wav(file);
  const Transcription result = transcriber.transcribe(audio, settings.options, [&](const SpeechSegment& segment) {
    if (shows_segments)
      print_line(text::cat(label, "[", time_of(segment.begin), " - ", time_of(segment.end), "] ", segment.text));
  });
  if (settings.as_json) print_json(file, result);
  else if (!shows_segments) print_line(label + result.text);
}

}  // namespace

int transcribe(const std::vector<std::string>& arguments) {
  Settings settings;
  Flags flags("fulgurite transcribe --model FOLDER [flags] FILE.wav...",
              {"fulgurite transcribe --model whisper-tiny talk.wav --timestamps",
               "fulgurite transcribe --model whisper-tiny --language de --task translate rede.wav"});
  flags.positionals("FILE...", settings.files, "WAV files");
  flags.text("model", "FOLDER", settings.folder, "a folder of a Whisper");
  flags.text("language", "NAME", settings.options.language,
             "en, English, ...; without it the folder's, or the model detects it");
  flags.choice("task", settings.options.task, {"transcribe", "translate"}, "translate: the text is English");
  flags.toggle("timestamps", settings.options.timestamps, "divide the texts into segments with their times");
  flags.toggle("chunks", settings.options.chunks,
               "divide longer files every 30 seconds; without it where the model's segments end");
  flags.choice("dtype", settings.dtype, {"files", "f32", "bf16", "f16"}, "dtype of the weights; files: theirs");
  flags.integer("threads", settings.threads, 0, 1024, "threads; 0: the CPUs there are");
  flags.toggle("json", settings.as_json, "print one JSON object for each file");
  if (!flags.parse(arguments)) return 0;
  if (settings.folder.empty()) throw WrongUse("--model is missing; see --help");
  if (settings.files.empty()) throw WrongUse("a WAV file is missing; see --help");
  if (settings.options.timestamps && settings.options.chunks) throw WrongUse("--timestamps excludes --chunks");
  if (settings.threads > 0) set_num_threads(static_cast<int>(settings.threads));
  Transcriber transcriber = Transcriber::load(settings.folder, {.dtype = dtype_of(settings.dtype)});
  for (const std::string& file : settings.files) transcribe_file(transcriber, file, settings);
  return 0;
}

}  // namespace fulgurite::cli
