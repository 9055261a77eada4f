#include "hub/audio/languages.h"

#include <algorithm>

#include "support/text/similar_names.h"

namespace fulgurite::hub {

namespace {

struct Language {
  std::string_view code, name;
};

// ISO codes with their English names. The first name of a code is the one that results have.
constexpr Language languages[] = {
    {"af", "afrikaans"},   {"am", "amharic"},    {"ar", "arabic"},        {"as", "assamese"},
    {"az", "azerbaijani"}, {"ba", "bashkir"},    {"be", "belarusian"},    {"bg", "bulgarian"},
    {"bn", "bengali"},     {"bo", "tibetan"},    {"br", "breton"},        {"bs", "bosnian"},
    {"ca", "catalan"},     {"ca", "valencian"},  {"cs", "czech"},         {"cy", "welsh"},
    {"da", "danish"},      {"de", "german"},     {"el", "greek"},         {"en", "english"},
    {"es", "spanish"},     {"es", "castilian"},  {"et", "estonian"},      {"eu", "basque"},
    {"fa", "persian"},     {"fi", "finnish"},    {"fo", "faroese"},       {"fr", "french"},
    {"gl", "galician"},    {"gu", "gujarati"},   {"ha", "hausa"},         {"haw", "hawaiian"},
    {"he", "hebrew"},      {"hi", "hindi"},      {"hr", "croatian"},      {"ht", "haitian creole"},
    {"ht", "haitian"},     {"hu", "hungarian"},  {"hy", "armenian"},      {"id", "indonesian"},
    {"is", "icelandic"},   {"it", "italian"},    {"ja", "japanese"},      {"jw", "javanese"},
    {"ka", "georgian"},    {"kk", "kazakh"},     {"km", "khmer"},         {"kn", "kannada"},
    {"ko", "korean"},      {"la", "latin"},      {"lb", "luxembourgish"}, {"lb", "letzeburgesch"},
    {"ln", "lingala"},     {"lo", "lao"},        {"lt", "lithuanian"},    {"lv", "latvian"},
    {"mg", "malagasy"},    {"mi", "maori"},      {"mk", "macedonian"},    {"ml", "malayalam"},
    {"mn", "mongolian"},   {"mr", "marathi"},    {"ms", "malay"},         {"mt", "maltese"},
    {"my", "myanmar"},     {"my", "burmese"},    {"ne", "nepali"},        {"nl", "dutch"},
    {"nl", "flemish"},     {"nn", "nynorsk"},    {"no", "norwegian"},     {"oc", "occitan"},
    {"pa", "punjabi"},     {"pa", "panjabi"},    {"pl", "polish"},        {"ps", "pashto"},
    {"ps", "pushto"},      {"pt", "portuguese"}, {"ro", "romanian"},      {"ro", "moldavian"},
    {"ro", "moldovan"},    {"ru", "russian"},    {"sa", "sanskrit"},      {"sd", "sindhi"},
    {"si", "sinhala"},     {"si", "sinhalese"},  {"sk", "slovak"},        {"sl", "slovenian"},
    {"sn", "shona"},       {"so", "somali"},     {"sq", "albanian"},      {"sr", "serbian"},
    {"su", "sundanese"},   {"sv", "swedish"},    {"sw", "swahili"},       {"ta", "tamil"},
    {"te", "telugu"},      {"tg", "tajik"},      {"th", "thai"},          {"tk", "turkmen"},
    {"tl", "tagalog"},     {"tr", "turkish"},    {"tt", "tatar"},         {"uk", "ukrainian"},
    {"ur", "urdu"},        {"uz", "uzbek"},      {"vi", "vietnamese"},    {"yi", "yiddish"},
    {"yo", "yoruba"},      {"yue", "cantonese"}, {"zh", "chinese"},       {"zh", "mandarin"},
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::string language_code(std::string_view language) {
  std::string name = lower(language);
  if (name.starts_with("<|") && name.ends_with("|>") && name.size() >= 4) name = name.substr(2, name.size() - 4);
  for (const Language& known : languages)
    if (name == known.code || name == known.name) return std::string(known.code);
  return name;
}

std::string language_suggestion(std::string_view language) {
  std::vector<KnownName> known;
  for (const Language& one : languages) known.push_back({one.name, one.name});
  return suggestion(similar_names(lower(language), known));
}

std::vector<std::string_view> language_codes() {
  std::vector<std::string_view> codes;
  for (const Language& one : languages)
    if (codes.empty() || codes.back() != one.code) codes.push_back(one.code);
  return codes;
}

}  // namespace fulgurite::hub
