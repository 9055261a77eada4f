#pragma once
#include <memory>

#include "cli/serve/service.h"

namespace fulgurite::cli {

/// The reply with the texts of a request: waits for the first event of one, so that an error has its own status, and
/// writes the rest as it comes. A client that is gone ends its texts.
Reply text_reply(const GenerateRequest& request, const TextModel& model, std::shared_ptr<Answer> answer);

}  // namespace fulgurite::cli
