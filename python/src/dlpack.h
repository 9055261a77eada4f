#pragma once
// The binary interface of DLPack 1.3: how tensors go from one library to another without a copy.
#include <cstdint>

namespace fulgurite_python::dlpack {

enum DeviceType : int32_t { cpu = 1 };
enum TypeCode : uint8_t { signed_integer = 0, unsigned_integer = 1, floating = 2, brain_floating = 4, boolean = 6 };

struct Version {
  uint32_t major, minor;
};
inline constexpr Version version{1, 1};

struct Device {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct View {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
/// For versions before 1.0; the capsule's name is "dltensor".
struct OldManaged {
  View view;
  void* context;
  void (*deleter)(OldManaged*);
};
inline constexpr uint64_t read_only = 1;
/// The capsule's name is "dltensor_versioned".
struct Managed {
  Version version;
  void* context;
  void (*deleter)(Managed*);
  uint64_t flags;
  View view;
};

/// The table of C functions that a tensor type offers under `__dlpack_c_exchange_api__`, capsule "dlpack_exchange_api".
struct ExchangeTable {
  Version version;
  ExchangeTable* previous;
  int (*allocate)(View*, Managed**, void*, void (*)(void*, const char*, const char*));
  int (*from_object)(void* object, Managed** out);
  int (*to_object)(Managed* tensor, void** out);
  int (*view_of_object)(void* object, View* out);
  int (*current_stream)(int32_t, int32_t, void**);
};

}  // namespace fulgurite_python::dlpack
