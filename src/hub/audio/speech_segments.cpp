#include "hub/audio/speech_segments.h"

#include <algorithm>

namespace fulgurite::hub {

namespace {

// The indices of the second time of each pair.
std::vector<size_t> pair_ends(std::span<const int64_t> tokens, const SpeechSettings& settings) {
  std::vector<size_t> ends;
  for (size_t i = 1; i < tokens.size(); ++i)
    if (settings.is_time(tokens[i - 1]) && settings.is_time(tokens[i])) ends.push_back(i);
  return ends;
}

bool ends_with_single_time(std::span<const int64_t> tokens, const SpeechSettings& settings) {
  const size_t count = tokens.size();
  return count >= 2 && settings.is_time(tokens[count - 1]) && !settings.is_time(tokens[count - 2]);
}

Segmentation one_segment(std::span<const int64_t> tokens, int64_t frames, const SpeechSettings& settings) {
  int64_t end = frames / frames_of_step;
  const auto last =
      std::find_if(tokens.rbegin(), tokens.rend(), [&](int64_t token) { return settings.is_time(token); });
  if (last != tokens.rend() && *last != *settings.no_timestamps + 1) end = *last - *settings.no_timestamps - 1;
  return {{{0, end, {tokens.begin(), tokens.end()}}}, frames};
}

}  // namespace

Segmentation divide_at_times(std::span<const int64_t> tokens, int64_t frames, const SpeechSettings& settings) {
  std::vector<size_t> ends = pair_ends(tokens, settings);
  if (ends.empty()) return one_segment(tokens, frames, settings);
  const bool is_complete = ends_with_single_time(tokens, settings);
  if (is_complete) ends.push_back(tokens.size());
  else ++ends.back();  // the last segment has both times of its pair
  const auto step = [&](int64_t token) { return token - *settings.no_timestamps - 1; };
  Segmentation out{{}, frames};
  size_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    const std::span<const int64_t> part = tokens.subspan(begin, ends[i] - begin);
    const bool has_pair = i + 1 == ends.size() && !is_complete;
    const int64_t last = part[part.size() - (has_pair ? 2 : 1)];
    out.segments.push_back({step(part.front()), step(last), {part.begin(), part.end()}});
    begin = ends[i];
  }
  if (!is_complete) out.frames = step(tokens[begin - 2]) * frames_of_step;
  if (out.frames <= 0) out.frames = frames;
  return out;
}

}  // namespace fulgurite::hub
