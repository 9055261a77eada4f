#ifdef FULGURITE_ONEDNN
#include "executors/onednn/library_operation.h"

#include <cstring>

namespace fulgurite {

namespace {

constexpr size_t max_arguments = 4;

}  // namespace

bool LibraryOperation::set_attributes(AttributeHandle& attributes) {
  return dnnl_primitive_attr_create(attributes.address()) == dnnl_success &&
         dnnl_primitive_attr_set_scratchpad_mode(attributes.get(), dnnl_scratchpad_mode_user) == dnnl_success;
}

bool LibraryOperation::create(dnnl_primitive_desc_t description) {
  scratch_ = *dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
  return dnnl_primitive_create(primitive_.address(), description) == dnnl_success;
}

bool LibraryOperation::run(std::span<const LibraryArgument> arguments) const {
  MemoryHandle memory[max_arguments + 1];
  dnnl_exec_arg_t passed[max_arguments + 1];
  int count = 0;
  const auto pass = [&](const LibraryArgument& argument) {
    if (dnnl_memory_create(memory[count].address(), argument.type, engine(), argument.data) != dnnl_success)
      return false;
    passed[count] = {argument.name, memory[count].get()};
    ++count;
    return true;
  };
  for (const LibraryArgument& argument : arguments)
    if (!pass(argument)) return false;
  const LibraryBlock scratch(dnnl_memory_desc_get_size(&scratch_));
  if (scratch.data() != nullptr && !pass({DNNL_ARG_SCRATCHPAD, &scratch_, scratch.data()})) return false;
  StreamHandle stream;
  return dnnl_stream_create(stream.address(), engine(), dnnl_stream_default_flags) == dnnl_success &&
         dnnl_primitive_execute(primitive_.get(), stream.get(), count, passed) == dnnl_success &&
         dnnl_stream_wait(stream.get()) == dnnl_success;
}

bool LibraryOperand::create(const dnnl_memory_desc_t& given, const dnnl_memory_desc_t& wanted, Use use) {
  given_ = given;
  wanted_ = wanted;
  use_ = use;
  is_direct_ = dnnl_memory_desc_equal(&given, &wanted) != 0;
  if (is_direct_) return true;
  has_blocks_ = blocks_.describe(given, wanted);
  if (has_blocks_) return true;
  const bool is_read = use == Use::read;
  AttributeHandle attributes;
  DescriptorHandle description;
  return LibraryOperation::set_attributes(attributes) &&
         dnnl_reorder_primitive_desc_create(description.address(), is_read ? &given : &wanted, engine(),
                                            is_read ? &wanted : &given, engine(), attributes.get()) == dnnl_success &&
         reorder_.create(description.get());
}

bool LibraryOperand::convert(void* given, void* wanted) const {
  const bool is_read = use_ == Use::read;
  if (is_direct_) {
    std::memcpy(is_read ? wanted : given, is_read ? given : wanted, dnnl_memory_desc_get_size(&given_));
    return true;
  }
  if (has_blocks_) {
    if (is_read) blocks_.to_blocks(given, wanted);
    else blocks_.from_blocks(wanted, given);
    return true;
  }
  const LibraryArgument ours{is_read ? DNNL_ARG_FROM : DNNL_ARG_TO, &given_, given},
      theirs{is_read ? DNNL_ARG_TO : DNNL_ARG_FROM, &wanted_, wanted};
  const LibraryArgument arguments[] = {ours, theirs};
  return reorder_.run(arguments);
}

}  // namespace fulgurite

#endif
