#pragma once
#include <string_view>

namespace fulgurite {

/// PyTorch functions that reproduce the random kernels bit for bit (normal numbers except for the last bits of the
/// logarithm and cosine).
inline constexpr std::string_view random_python =
    R"(random_seed, random_offset = 0, 0  # the generator's state; set it to repeat a run

def random_state(increment):
  global random_offset
  state = torch.tensor([random_seed, random_offset])
  random_offset += increment
  return state

def philox(state, count):
  # Philox4x32-10: key = seed, counter = offset + element; the four words of each element's output
  mask = 0xFFFFFFFF
  def words(a, constant):  # the high and low word of a product of two words; no step leaves 63 bits
    first, second = (a & 0xFFFF) * constant, (a >> 16) * constant
    rest = first + ((second & 0xFFFF) << 16)
    return (second >> 16) + (rest >> 32), rest & mask
  counter = state[1] + torch.arange(count)
  key0, key1 = state[0] & mask, (state[0] >> 32) & mask
  c0, c1 = counter & mask, (counter >> 32) & mask
  c2 = c3 = torch.zeros_like(c0)
  for _ in range(10):
    high0, low0 = words(c0, 0xD2511F53)
    high1, low1 = words(c2, 0xCD9E8D57)
    c0, c1, c2, c3 = high1 ^ c1 ^ key0, low1, high0 ^ c3 ^ key1, low0
    key0, key1 = (key0 + 0x9E3779B9) & mask, (key1 + 0xBB67AE85) & mask
  return c0, c1, c2, c3

def random_count(size):
  count = 1
  for n in size:
    count *= n
  return count

def random_between(drawn, low, high, dtype):
  # drawn, brought to the least and the largest of the dtype's numbers from low to below high
  bounds = torch.tensor([low, high], dtype=torch.float64).to(dtype)
  ends = torch.tensor([torch.inf, -torch.inf], dtype=dtype)
  inner = torch.nextafter(bounds, ends).double()
  least = inner[0] if bounds[0].double() < low else bounds[0].double()
  return drawn.clamp(least, torch.maximum(inner[1], least))

def random_uniform(state, size, low, high, dtype):
  dtype = dtype or torch.get_default_dtype()
  bits = {torch.bfloat16: 8, torch.float16: 11, torch.float32: 24, torch.float64: 53}[dtype]
  x0, x1 = philox(state, random_count(size))[:2]
  words = x0 << 21 | x1 >> 11 if bits == 53 else x0 >> 32 - bits
  unit = words.to(torch.float64) * 2.0**-bits
  drawn = unit if (low, high) == (0, 1) else random_between(low + unit * (high - low), low, high, dtype)
  return drawn.to(dtype).reshape(size)

def random_normal(state, size, mean, std, dtype):
  dtype = dtype or torch.get_default_dtype()
  x0, x1, x2, x3 = philox(state, random_count(size))
  if dtype == torch.float64:
    u0, u1 = (x0 << 21 | x1 >> 11).double() * 2.0**-53, (x2 << 21 | x3 >> 11).double() * 2.0**-53
  else:
    u0, u1 = (x0 >> 8).double() * 2.0**-24, (x1 >> 8).double() * 2.0**-24
  drawn = torch.sqrt(-2.0 * torch.log(1.0 - u0)) * torch.cos(2.0 * torch.pi * u1)
  return (mean + std * drawn).to(dtype).reshape(size)

def random_integers(state, size, low, high, dtype):
  x0, x1 = philox(state, random_count(size))[:2]
  span = high - low
  if span < 2**32:
    drawn = x0 % span
  elif span < 2**63:
    drawn = (x0 | (x1 & 0x7FFFFFFF) << 32) % span
  else:  # of 64 bits; PyTorch's integers wrap around
    bits, least = x0 | x1 << 32, -2**63
    drawn = torch.where((bits ^ least) >= (span - 2**64 ^ least), bits - (span - 2**64), bits)
  drawn = low + drawn
  if dtype.is_floating_point:
    drawn = random_between(drawn.double(), low, high, dtype)
  return drawn.to(dtype).reshape(size)

def random_dropout(input, p, training):
  if not training or p == 0:
    return input
  if p == 1:
    return input * 0
  drawn = random_uniform(random_state(input.numel()), input.shape, 0.0, 1.0, torch.float32)
  return input * (drawn >= p).to(input.dtype) * (1 / (1 - p))
)";

}  // namespace fulgurite
