#include <string>
#include <unordered_map>

#include "ops/core/aliases.h"
#include "ops/core/families.h"
#include "ops/core/user_operator.h"

namespace fulgurite {

namespace {

constexpr SymbolList (*families[])() = {unary_symbols,
                                        unary_step_symbols,
                                        activation_symbols,
                                        piecewise_activation_symbols,
                                        piecewise_exponential_symbols,
                                        special_function_symbols,
                                        bessel_function_symbols,
                                        arithmetic_symbols,
                                        pointwise_composition_symbols,
                                        pointwise_shift_symbols,
                                        comparison_symbols,
                                        select_symbols,
                                        reduction_symbols,
                                        extremum_symbols,
                                        statistics_symbols,
                                        cumulative_symbols,
                                        ordering_symbols,
                                        search_symbols,
                                        creation_symbols,
                                        random_symbols,
                                        shape_symbols,
                                        view_dimensions_symbols,
                                        views_symbols,
                                        strided_view_symbols,
                                        slicing_symbols,
                                        sliding_symbols,
                                        tiling_symbols,
                                        diagonal_symbols,
                                        joining_symbols,
                                        indexing_symbols,
                                        index_writing_symbols,
                                        scatter_reduce_symbols,
                                        matmul_symbols,
                                        contraction_symbols,
                                        einsum_symbols,
                                        solving_symbols,
                                        factorization_symbols,
                                        quantization_symbols,
                                        normalization_symbols,
                                        channel_normalization_symbols,
                                        softmax_symbols,
                                        losses_symbols,
                                        regression_loss_symbols,
                                        distance_symbols,
                                        convolution_symbols,
                                        pooling_symbols,
                                        pooling_function_symbols,
                                        folding_symbols,
                                        interpolation_symbols,
                                        grid_sampling_symbols,
                                        attention_symbols,
                                        embedding_symbols,
                                        optimizer_symbols,
                                        structural_symbols};

std::vector<const Symbol*> concatenated() {
  std::vector<const Symbol*> all;
  for (const auto family : families)
    for (const Symbol* symbol : family()) all.push_back(symbol);
  return all;
}

// Every spelling of an operator's name. A full name is unique; a short one such as "softmax" means the operator in the
// first of these modules that has it.
using Names = std::unordered_map<std::string_view, const Symbol*>;

Names make_names() {
  Names names;
  for (const Symbol* symbol : declared_symbols()) names.emplace(symbol->qualified_name(), symbol);
  for (const std::string_view module :
       {"torch.", "torch.Tensor.", "torch.nn.functional.", "torch.special.", "torch.linalg."})
    for (const Symbol* symbol : declared_symbols()) {
      const std::string_view qualified = symbol->qualified_name();
      if (qualified.substr(0, qualified.size() - symbol->name().size()) != module) continue;
      names.emplace(symbol->name(), symbol);
      names.emplace(qualified.substr(sizeof("torch.") - 1), symbol);
    }
  for (const Symbol* symbol : declared_symbols())
    if (symbol->qualified_name().starts_with("prims.")) names.emplace(symbol->name(), symbol);
  for (const Alias& alias : aliases()) {
    const Symbol* symbol = names.at(alias.of);
    names.emplace(alias.name, symbol);
    names.emplace(alias.name.substr(sizeof("torch.") - 1), symbol);
    names.emplace(alias.name.substr(alias.name.rfind('.') + 1), symbol);
  }
  return names;
}

const Symbol* look_up(std::string_view name) {
  static const Names names = make_names();
  const auto found = names.find(name);
  return found == names.end() ? nullptr : found->second;
}

}  // namespace

const std::vector<const Symbol*>& declared_symbols() {
  static const std::vector<const Symbol*> all = concatenated();
  return all;
}

const Symbol* find_declared_symbol(std::string_view name) {
  if (const Symbol* found = look_up(name)) return found;
  // A torch primitive is also one of prims; an operator that torch has in two modules is declared in one of them.
  for (const std::string_view prefix :
       {"prims.", "torch.nn.functional.", "nn.functional.", "torch.", "special.", "linalg."})
    if (name.starts_with(prefix) && name.size() > prefix.size()) {
      const std::string_view rest = name.substr(prefix.size());
      if (rest.find('.') != std::string_view::npos) continue;
      const Symbol* found = look_up(rest);
      if (!found || (prefix == "prims." && !found->is_primitive())) continue;
      // A name that is only a tensor's method belongs to another operator: unfold.
      const bool is_function =
          prefix.find("functional") == std::string_view::npos || !found->qualified_name().starts_with("torch.Tensor.");
      if (is_function) return found;
    }
  return nullptr;
}

const Symbol* find_symbol(std::string_view name) {
  const Symbol* declared = find_declared_symbol(name);
  return declared ? declared : find_user_operator(name);
}

}  // namespace fulgurite
