#pragma once
#include <span>

#include <fulgurite/symbol.h>

namespace fulgurite {

// Each family's records, in the file named after the function. all_symbols.cpp concatenates them.

using SymbolList = std::span<const Symbol* const>;

SymbolList unary_symbols();
SymbolList unary_step_symbols();
SymbolList activation_symbols();
SymbolList piecewise_activation_symbols();
SymbolList piecewise_exponential_symbols();
SymbolList special_function_symbols();
SymbolList bessel_function_symbols();
SymbolList arithmetic_symbols();
SymbolList pointwise_composition_symbols();
SymbolList pointwise_shift_symbols();
SymbolList comparison_symbols();
SymbolList select_symbols();
SymbolList reduction_symbols();
SymbolList extremum_symbols();
SymbolList statistics_symbols();
SymbolList cumulative_symbols();
SymbolList ordering_symbols();
SymbolList search_symbols();
SymbolList creation_symbols();
SymbolList random_symbols();
SymbolList shape_symbols();
SymbolList view_dimensions_symbols();
SymbolList views_symbols();
SymbolList strided_view_symbols();
SymbolList slicing_symbols();
SymbolList sliding_symbols();
SymbolList tiling_symbols();
SymbolList diagonal_symbols();
SymbolList joining_symbols();
SymbolList indexing_symbols();
SymbolList index_writing_symbols();
SymbolList scatter_reduce_symbols();
SymbolList matmul_symbols();
SymbolList contraction_symbols();
SymbolList einsum_symbols();
SymbolList solving_symbols();
SymbolList factorization_symbols();
SymbolList quantization_symbols();
SymbolList convolution_symbols();
SymbolList pooling_symbols();
SymbolList pooling_function_symbols();
SymbolList folding_symbols();
SymbolList interpolation_symbols();
SymbolList grid_sampling_symbols();
SymbolList normalization_symbols();
SymbolList channel_normalization_symbols();
SymbolList softmax_symbols();
SymbolList losses_symbols();
SymbolList regression_loss_symbols();
SymbolList distance_symbols();
SymbolList attention_symbols();
SymbolList embedding_symbols();
SymbolList optimizer_symbols();
SymbolList structural_symbols();

/// All declared operators. symbols() also has those registered at run time.
const std::vector<const Symbol*>& declared_symbols();
/// Finds an operator by any spelling of its name.
const Symbol* find_declared_symbol(std::string_view name);

}  // namespace fulgurite
