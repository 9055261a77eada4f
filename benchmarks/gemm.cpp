// GEMMs: the generated kernel against oneDNN, alternately, on the shapes of training steps. Prints one JSON line a
// shape, with the minimum time of each; GFLOP/s are of CPU time.
//   bench_gemm [--dtype bf16|f16|f32] [--threads 1] [--rounds 20] [--only NAME]
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>

#include <fulgurite/fulgurite.h>

#include "executors/onednn/gemm.h"
#include "executors/gemm/run_gemm.h"
#include "tensor/tensor_impl.h"

using namespace fulgurite;

namespace {

double milliseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

struct Least {
  double wall = 1e30, cpu = 1e30;
  void measure(const std::function<void()>& run) {
    const double from = milliseconds(CLOCK_MONOTONIC), cpu_from = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
    run();
    cpu = std::min(cpu, milliseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_from);
    wall = std::min(wall, milliseconds(CLOCK_MONOTONIC) - from);
  }
};

enum class Layout { nt, nn, tn };  // linear, the cotangent of its input, the cotangent of its weight

struct Case {
  const char* name;
  Layout layout;
  int64_t m, n, k;
};

constexpr Case cases[] = {
    {"qkv", Layout::nt, 2048, 1152, 384},
    {"projection", Layout::nt, 2048, 384, 384},
    {"fc", Layout::nt, 2048, 1536, 384},
    {"out", Layout::nt, 2048, 384, 1536},
    {"dx_fc", Layout::nn, 2048, 384, 1536},
    {"dx_out", Layout::nn, 2048, 1536, 384},
    {"dx_qkv", Layout::nn, 2048, 384, 1152},
    {"dw_fc", Layout::tn, 1536, 384, 2048},
    {"dw_out", Layout::tn, 384, 1536, 2048},
    {"dw_projection", Layout::tn, 384, 384, 2048},
    {"dw_qkv", Layout::tn, 1152, 384, 2048},
    {"gpt124m_fc", Layout::nt, 256, 3072, 768},
    {"gpt124m_head", Layout::nt, 256, 50257, 768},
    {"gpt124m_dw_head", Layout::tn, 50257, 768, 256},
    {"gpt124m_dx_head", Layout::nn, 256, 768, 50257},
    {"gpt124m_dx_fc", Layout::nn, 256, 768, 3072},
    {"gpt124m_dx_out", Layout::nn, 256, 3072, 768},
    {"gpt124m_dw_fc", Layout::tn, 3072, 768, 256},
    {"gpt124m_dw_out", Layout::tn, 768, 3072, 256},
    {"llama_dx_down", Layout::nn, 512, 2816, 1024},
    {"llama_dx_square", Layout::nn, 512, 1024, 1024},
    {"llama_dw_down", Layout::tn, 1024, 2816, 512},
    {"llama_dw_square", Layout::tn, 1024, 1024, 512},
    {"llama_gate", Layout::nt, 512, 2816, 1024},
    {"llama_down", Layout::nt, 512, 1024, 2816},
    {"llama_dx_gate", Layout::nn, 512, 1024, 2816},
    {"llama_dw_gate", Layout::tn, 2816, 1024, 512},
    {"small", Layout::nt, 64, 256, 256},
    {"few_rows", Layout::nt, 16, 3072, 768},
    {"one_row", Layout::nt, 1, 3072, 768},
    {"head65", Layout::nt, 2048, 65, 384},
    {"dx_head65", Layout::nn, 2048, 384, 65},
    {"lora_down", Layout::nt, 1024, 16, 576},
    {"lora_up", Layout::nt, 1024, 576, 16},
    {"lora_dx_down", Layout::nn, 1024, 576, 16},
    {"lora_dx_up", Layout::nn, 1024, 16, 576},
    {"lora_dw_down", Layout::tn, 16, 576, 1024},
    {"lora_dw_up", Layout::tn, 576, 16, 1024},
};

const void* data_of(const Tensor& t) { return t.impl()->data(); }

void measure(const Case& c, Dtype dtype, int rounds) {
  const bool is_left_transposed = c.layout == Layout::tn, is_right_transposed = c.layout == Layout::nt;
  const Tensor left = randn(is_left_transposed ? Shape{c.k, c.m} : Shape{c.m, c.k}).to(dtype);
  const Tensor weight = randn(is_right_transposed ? Shape{c.n, c.k} : Shape{c.k, c.n});  // f32, as a model has it
  const Tensor right = weight.to(dtype), result = zeros({c.m, c.n}).to(dtype);
  const Tensor expected = result.clone();

  GemmCall gemm_call;
  gemm_call.dtype = dtype;
  gemm_call.m = c.m, gemm_call.n = c.n, gemm_call.k = c.k;
  gemm_call.a = is_left_transposed ? GemmOperand{data_of(left), 1, c.m} : GemmOperand{data_of(left), c.k, 1};
  gemm_call.b = is_right_transposed ? GemmOperand{data_of(right), 1, c.k} : GemmOperand{data_of(right), c.n, 1};
  gemm_call.c = expected.impl()->data();
  gemm_call.c_row = c.n;

  const codegen::GemmEpilogue stored = codegen::plain_epilogue(dtype);
  const codegen::GemmForm forms[] = {{dtype, dtype, dtype, stored}, {dtype, Dtype::f32, dtype, stored}};
  const std::vector<codegen::CompiledGemm> kernels = codegen::compile_gemms(forms);
  if (kernels.empty()) return;
  fused_gemm::GemmArguments call;
  call.depth = c.k;
  call.left = is_left_transposed ? fused_gemm::DepthMatrix{data_of(left), c.m, 1, c.m}
                                 : fused_gemm::DepthMatrix{data_of(left), c.m, c.k, 1};
  const fused_gemm::ColumnMatrix stored_at{result.impl()->data(), c.n};
  call.matrices = {&stored_at, 1};
  const auto run = [&](int form) {
    const void* const data = data_of(form == 0 ? right : weight);
    call.right =
        is_right_transposed ? fused_gemm::DepthMatrix{data, c.n, c.k, 1} : fused_gemm::DepthMatrix{data, c.n, 1, c.n};
    fused_gemm::run_gemm(forms[form], kernels[form], call);
  };
  Least library, ours, ours_cast, cast;
  for (int round = 0; round < rounds; ++round) {
    library.measure([&] { gemm(gemm_call); });
    ours.measure([&] { run(0); });
    cast.measure([&] { weight.to(dtype); });
    ours_cast.measure([&] { run(1); });
  }
  const double difference = amax(abs(result.to(Dtype::f32) - expected.to(Dtype::f32))).item<double>();
  const double operations = 2e-6 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
  std::printf(
      "{\"case\": \"%s\", \"m\": %ld, \"n\": %ld, \"k\": %ld, \"onednn_us\": %.1f, \"ours_us\": %.1f, \"cast_us\": "
      "%.1f, \"ours_f32_us\": %.1f, \"onednn_wall_us\": %.1f, \"ours_wall_us\": %.1f, \"onednn_gflops\": %.0f, "
      "\"ours_gflops\": %.0f, \"ratio\": %.2f, \"ratio_with_cast\": %.2f, \"difference\": %.3g}\n",
      c.name, static_cast<long>(c.m), static_cast<long>(c.n), static_cast<long>(c.k), 1e3 * library.cpu, 1e3 * ours.cpu,
      1e3 * cast.cpu, 1e3 * ours_cast.cpu, 1e3 * library.wall, 1e3 * ours.wall, operations / library.cpu,
      operations / ours.cpu, library.cpu / ours.cpu, (library.cpu + cast.cpu) / ours_cast.cpu, difference);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 1, rounds = 20;
  std::string only;
  Dtype dtype = Dtype::bf16;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--threads") == 0) threads = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--dtype") == 0) dtype = dtype_from_name(argv[i + 1]);
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
  }
  set_num_threads(threads);
  if (!codegen::has_gemm_instructions()) {
    std::puts("this CPU has no AVX2");
    return 1;
  }
  manual_seed(0);
  const NoGrad no_grad;
  for (const Case& c : cases)
    if (only.empty() || only == c.name) measure(c, dtype, rounds);
  return 0;
}
