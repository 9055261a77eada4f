// A function of a shared library, for the command line to look at:
//
//   fulgurite trace   block --library ./libexample_block.so --backward
//   fulgurite examine block --library ./libexample_block.so
//   fulgurite repro   block --library ./libexample_block.so --fusion fusion0 --out fusion0.cpp
//   fulgurite explain block --library ./libexample_block.so
//
// Built with: g++ -std=c++20 -O2 -shared -fPIC block.cpp -o libexample_block.so -lfulgurite
#include <fulgurite/exported_function.h>
#include <fulgurite/fulgurite.h>

namespace fg = fulgurite;

struct Block {
  fg::nn::Linear up{32, 128}, down{128, 32};
  fg::Tensor operator()(fg::Tensor x) const { return x + down(fg::gelu(up(x))); }
};

extern "C" void block(fg::ExportedFunction& exported) { exported.set(Block{}, fg::randn({16, 32})); }
