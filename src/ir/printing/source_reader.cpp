#include "ir/printing/source_reader.h"

#include "support/context.h"

namespace fulgurite {

const char* FileNames::keep(std::string_view name) {
  const std::lock_guard lock(mutex_);
  return names_.emplace(name).first->c_str();
}

std::string FileNames::in_folder(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (auto kept = names_.rbegin(); kept != names_.rend(); ++kept) {
    const std::string_view whole = *kept;
    if (whole == name || (whole.ends_with(name) && whole[whole.size() - name.size() - 1] == '/')) return *kept;
  }
  return std::string(name);
}

void SourceReading::set(SourceReader reader) {
  auto kept = reader ? std::make_shared<const SourceReader>(std::move(reader)) : nullptr;
  const std::lock_guard lock(mutex_);
  reader_ = std::move(kept);
}

std::shared_ptr<const SourceReader> SourceReading::reader() const {
  const std::lock_guard lock(mutex_);
  return reader_;
}

const char* intern_file(std::string_view name) { return context().file_names.keep(name); }

void set_source_reader(SourceReader reader) { context().source_reading.set(std::move(reader)); }

std::optional<std::string> read_source(std::string_view file, int line) {
  // Without the lock: a reader may wait for another thread, which may be setting one.
  const auto reader = context().source_reading.reader();
  return reader ? (*reader)(file, line) : std::nullopt;
}

}  // namespace fulgurite
