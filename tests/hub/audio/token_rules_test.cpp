#include <limits>

#include <fulgurite/fulgurite.h>

#include "hub/audio/speech_segments.h"
#include "hub/audio/token_rules.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Tokens = std::vector<int64_t>;

// Words 0 to 5, the end 6, the start 7, no times 8, and the times 9 to 14.
hub::SpeechSettings settings() {
  hub::SpeechSettings s;
  s.start = 7;
  s.no_timestamps = 8;
  s.suppress = {1};
  s.begin_suppress = {2, 6};
  s.end = {6};
  return s;
}

// The tokens that may come next; the words are far more probable than times.
Tokens allowed(const Tokens& generated, bool has_times, const hub::SpeechSettings& s = settings(), float time = -9) {
  std::vector<float> scores(15, 5);
  std::fill(scores.begin() + 9, scores.end(), time);
  hub::apply_token_rules(scores, generated, s, has_times);
  Tokens out;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] != -std::numeric_limits<float>::infinity()) out.push_back(static_cast<int64_t>(i));
  return out;
}

std::string text_of(const hub::Segmentation& segmentation) {
  std::string out;
  for (const hub::TimedTokens& timed : segmentation.segments) {
    out += std::to_string(timed.begin) + "-" + std::to_string(timed.end) + ":";
    for (const int64_t token : timed.tokens) out += " " + std::to_string(token);
    out += "; ";
  }
  return out + std::to_string(segmentation.frames);
}

}  // namespace

TEST("suppressed tokens are not generated, some only at the beginning, and times only with timestamps") {
  expect_equal(allowed({}, false), Tokens{0, 3, 4, 5, 7, 8});
  expect_equal(allowed({0}, false), Tokens{0, 2, 3, 4, 5, 6, 7, 8});
}

TEST("a text with timestamps begins with a time, up to the largest first one") {
  expect_equal(allowed({}, true), Tokens{9, 10, 11, 12, 13, 14});
  hub::SpeechSettings s = settings();
  s.max_initial_time = 2;
  expect_equal(allowed({}, true, s), Tokens{9, 10, 11});
}

TEST("times come in pairs and do not decrease") {
  expect_equal(allowed({10}, true), Tokens{0, 2, 3, 4, 5, 6, 7});  // the first time is not one of a pair
  expect_equal(allowed({10, 3}, true), Tokens{0, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14});
  expect_equal(allowed({10, 3, 12}, true), Tokens{6, 7, 12, 13, 14});  // the second of a pair, or the end
  expect_equal(allowed({10, 3, 12, 12}, true), Tokens{0, 2, 3, 4, 5, 6, 7});
  expect_equal(allowed({10, 3, 12, 12, 4}, true), Tokens{0, 2, 3, 4, 5, 6, 7, 13, 14});
}

TEST("a time comes next where all times together are more probable than any other token") {
  expect_equal(allowed({10, 3}, true, settings(), 3.7F), Tokens{11, 12, 13, 14});  // log(4 e^3.7) = 5.09
  expect_equal(allowed({10, 3}, true, settings(), 3.6F), Tokens{0, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14});
}

TEST("tokens are divided at pairs of times, and what follows the last pair is left for the next frames") {
  const auto divided = [](const Tokens& tokens) { return text_of(hub::divide_at_times(tokens, 100, settings())); };
  expect_equal(divided({9, 1, 11, 11, 2, 12, 12, 3}), "0-2: 9 1 11; 2-3: 11 2 12 12; 6");
  expect_equal(divided({9, 1, 11, 11, 2, 13}), "0-2: 9 1 11; 2-4: 11 2 13; 100");
  expect_equal(divided({9, 1, 2}), "0-50: 9 1 2; 100");
  expect_equal(divided({9, 1, 12}), "0-3: 9 1 12; 100");
  expect_equal(divided({}), "0-50:; 100");
  expect_equal(divided({9, 9}), "0-0: 9 9; 100");  // frames are always consumed
}
