#include "autograd/eager/call_key.h"

#include <bit>
#include <cstring>

#include <fulgurite/symbol.h>

#include "executors/registry.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

using Words = SmallVector<uint64_t, 40>;

void add_text(Words& words, std::string_view text) {
  words.push_back(text.size());
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
    words.push_back(word);
  }
}

void add_tensor(Words& words, const Tensor& tensor, bool with_sizes) {
  if (!tensor.defined()) {
    words.push_back(~uint64_t{0});
    return;
  }
  const TensorImpl& impl = *tensor.impl();
  words.push_back(uint64_t{1} << 32 | static_cast<uint64_t>(impl.dtype) << 24 |
                  static_cast<uint64_t>(impl.device.kind) << 20 | static_cast<uint64_t>(impl.requires_grad) << 16 |
                  impl.sizes.size());
  if (with_sizes)
    for (const int64_t size : impl.sizes) words.push_back(static_cast<uint64_t>(size));
}

void add_optional(Words& words, const std::optional<Int>& number) {
  words.push_back(number.has_value());
  if (number) words.push_back(static_cast<uint64_t>(number->hint()));
}

void add(Words& words, const Argument& argument, bool with_sizes = true) {
  using Kind = Argument::Kind;
  words.push_back(static_cast<uint64_t>(argument.kind()));
  switch (argument.kind()) {
    case Kind::none:
    case Kind::ellipsis: break;
    case Kind::tensor: add_tensor(words, argument.tensor(), with_sizes); break;
    case Kind::integer: words.push_back(static_cast<uint64_t>(argument.integer().hint())); break;
    case Kind::floating: words.push_back(std::bit_cast<uint64_t>(argument.floating().hint())); break;
    case Kind::boolean: words.push_back(argument.boolean().hint()); break;
    case Kind::string: add_text(words, argument.string()); break;
    case Kind::dtype: words.push_back(static_cast<uint64_t>(argument.dtype())); break;
    case Kind::device:
      words.push_back(static_cast<uint64_t>(argument.device().kind) << 16 |
                      static_cast<uint16_t>(argument.device().index));
      break;
    case Kind::tensors:
      words.push_back(argument.tensors().size());
      for (const Tensor& tensor : argument.tensors()) add_tensor(words, tensor, with_sizes);
      break;
    case Kind::integers:
      words.push_back(argument.integers().size());
      for (const Int number : argument.integers()) words.push_back(static_cast<uint64_t>(number.hint()));
      break;
    case Kind::floatings: {
      const auto numbers = argument.floatings();
      words.push_back(numbers.size());
      for (const Float number : numbers) words.push_back(std::bit_cast<uint64_t>(number.hint()));
      break;
    }
    case Kind::list:
      words.push_back(argument.list().size());
      for (const Argument& item : argument.list()) add(words, item, with_sizes);
      break;
    case Kind::slice:
      add_optional(words, argument.slice().start);
      add_optional(words, argument.slice().stop);
      add_optional(words, argument.slice().step);
      break;
  }
}

void collect(SmallVector<const Tensor*, 6>& out, const Argument& argument) {
  if (argument.is_tensor()) out.push_back(&argument.tensor());
  if (argument.kind() == Argument::Kind::tensors)
    for (const Tensor& tensor : argument.tensors()) out.push_back(&tensor);
  if (argument.kind() == Argument::Kind::list)
    for (const Argument& item : argument.list()) collect(out, item);
}

uint64_t hash_of(const Words& words) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const uint64_t word : words) hash = std::rotl(hash ^ word, 23) * 0xff51afd7ed558ccdu;
  return hash ^ hash >> 29;
}

}  // namespace

CallKey call_key(const Symbol& symbol, Arguments arguments) {
  CallKey key;
  key.words.push_back(reinterpret_cast<uintptr_t>(&symbol));
  key.words.push_back(static_cast<uint64_t>(default_dtype()));
  key.words.push_back(executors_version());
  for (const Argument& argument : arguments) add(key.words, argument);
  key.hash = hash_of(key.words);
  return key;
}

bool names_sizes(std::string_view parameter) {
  return parameter == "shape" || parameter == "size" || parameter == "sizes" || parameter == "output_size";
}

bool find_call_pattern(const Symbol& symbol, Arguments arguments, CallPattern& out) {
  Words& words = out.key.words;
  words.push_back(reinterpret_cast<uintptr_t>(&symbol));
  words.push_back(static_cast<uint64_t>(default_dtype()));
  words.push_back(executors_version());
  const auto add_size = [&](int64_t size) {
    words.push_back(may_vary(size) ? ~uint64_t{0} : static_cast<uint64_t>(size));
    if (may_vary(size)) out.values.push_back(static_cast<uint64_t>(size));
  };
  for (const Tensor* tensor : tensors_of(arguments)) {
    if (!tensor->defined()) return false;
    for (const int64_t size : tensor->impl()->sizes) add_size(size);
  }
  const auto parameters = symbol.signature.params();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    const Parameter parameter = i < parameters.size() ? parameters[i] : Parameter();
    if (names_sizes(parameter.name) && argument.kind() == Argument::Kind::integers) {
      words.push_back(argument.integers().size());
      for (const Int size : argument.integers()) add_size(size.hint());
    } else if (argument.kind() == Argument::Kind::floating) {
      words.push_back(static_cast<uint64_t>(argument.kind()));
      out.values.push_back(std::bit_cast<uint64_t>(argument.floating().hint()));
    } else if (argument.kind() == Argument::Kind::integer && parameter.type == Parameter::Type::operand) {
      words.push_back(static_cast<uint64_t>(argument.kind()));
      out.values.push_back(static_cast<uint64_t>(argument.integer().hint()));
    } else {
      add(words, argument, false);
    }
  }
  out.key.hash = hash_of(words);
  return true;
}

CallStructure call_structure(const Symbol& symbol, Arguments arguments) {
  CallStructure out;
  for (const Tensor* tensor : tensors_of(arguments))
    if (tensor->defined())
      out.sizes.insert(out.sizes.end(), tensor->impl()->sizes.begin(), tensor->impl()->sizes.end());
  Words words;
  words.push_back(reinterpret_cast<uintptr_t>(&symbol));
  words.push_back(static_cast<uint64_t>(default_dtype()));
  words.push_back(executors_version());
  const auto parameters = symbol.signature.params();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_sizes =
        i < parameters.size() && names_sizes(parameters[i].name) && arguments[i].kind() == Argument::Kind::integers;
    if (!is_sizes) {
      add(words, arguments[i], false);
      continue;
    }
    words.push_back(arguments[i].integers().size());
    for (const Int size : arguments[i].integers()) {
      const bool is_size = size.hint() >= 0;  // -1: as the others leave it
      words.push_back(is_size ? 0 : static_cast<uint64_t>(size.hint()));
      if (is_size) out.sizes.push_back(size.hint());
    }
  }
  out.words.assign(words.begin(), words.end());
  return out;
}

uint64_t call_structure_hash(const Symbol& symbol, Arguments arguments) {
  Words words;
  words.push_back(reinterpret_cast<uintptr_t>(&symbol));
  const auto parameters = symbol.signature.params();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = i < parameters.size() ? parameters[i].name : std::string_view();
    if (names_sizes(name) && arguments[i].kind() == Argument::Kind::integers)
      words.push_back(arguments[i].integers().size());
    else add(words, arguments[i], false);
  }
  return hash_of(words);
}

SmallVector<const Tensor*, 6> tensors_of(Arguments arguments) {
  SmallVector<const Tensor*, 6> out;
  for (const Argument& argument : arguments) collect(out, argument);
  return out;
}

ReplacedArguments::ReplacedArguments(Arguments arguments, const Tensor* replacements) : next_(replacements) {
  for (const Argument& argument : arguments) arguments_.push_back(replace(argument));
}

Argument ReplacedArguments::replace(const Argument& argument) {
  if (argument.is_tensor()) return Argument(*next_++);
  if (argument.kind() == Argument::Kind::tensors) {
    const Tensor* first = next_;
    next_ += argument.tensors().size();
    return std::span<const Tensor>(first, argument.tensors().size());
  }
  if (argument.kind() != Argument::Kind::list) return argument;
  SmallVector<Argument, 8> items;
  for (const Argument& item : argument.list()) items.push_back(replace(item));
  lists_.push_back(std::move(items));
  return std::span<const Argument>(lists_.back().data(), lists_.back().size());
}

}  // namespace fulgurite
