// Tensors in and out by DLPack: by the C table of a type where it has one, else by the Python protocol.
#include "bridge.h"

#include <algorithm>

#include "dlpack.h"

namespace fulgurite_python {

namespace {

const dlpack::ExchangeTable* peer = nullptr;  // of the type that results are made of
PyTypeObject* peer_type = nullptr;

fg::Dtype type_of(dlpack::DataType type) {
  if (type.lanes != 1) throw nb::type_error("fulgurite has no tensors of vectors");
  switch (type.code * 256 + type.bits) {
    case dlpack::floating * 256 + 64: return fg::Dtype::f64;
    case dlpack::floating * 256 + 32: return fg::Dtype::f32;
    case dlpack::floating * 256 + 16: return fg::Dtype::f16;
    case dlpack::brain_floating * 256 + 16: return fg::Dtype::bf16;
    case dlpack::signed_integer * 256 + 64: return fg::Dtype::i64;
    case dlpack::signed_integer * 256 + 32: return fg::Dtype::i32;
    case dlpack::signed_integer * 256 + 16: return fg::Dtype::i16;
    case dlpack::signed_integer * 256 + 8: return fg::Dtype::i8;
    case dlpack::unsigned_integer * 256 + 8: return fg::Dtype::u8;
    case dlpack::boolean * 256 + 8: return fg::Dtype::boolean;
    default: break;
  }
  const std::string text = "fulgurite has no such dtype (DLPack code " + std::to_string(type.code) + ", " +
                           std::to_string(type.bits) +
                           " bits); it has f64, f32, bf16, f16, i64, i32, i16, i8, u8 and bool";
  throw nb::type_error(text.c_str());
}

dlpack::DataType data_type_of(fg::Dtype dtype) {
  const auto bits = static_cast<uint8_t>(8 * fg::size_of(dtype));
  if (dtype == fg::Dtype::bf16) return {dlpack::brain_floating, bits, 1};
  if (fg::is_floating(dtype)) return {dlpack::floating, bits, 1};
  if (dtype == fg::Dtype::boolean) return {dlpack::boolean, bits, 1};
  return {dtype == fg::Dtype::u8 ? dlpack::unsigned_integer : dlpack::signed_integer, bits, 1};
}

template <class Managed>
void let_go(Managed* managed) {
  if (!managed->deleter) return;
  if (!Py_IsInitialized()) return;  // the owner went with the interpreter
  const nb::gil_scoped_acquire gil;
  managed->deleter(managed);
}

/// The sizes and strides of a view, and the bytes that its elements reach over.
struct Layout {
  std::vector<int64_t> sizes, strides;  // strides count elements
  int64_t bytes;
  fg::Dtype dtype;
};

Layout layout_of(const dlpack::View& view) {
  if (view.device.type != dlpack::cpu)
    throw nb::type_error(
        "the tensor is on another device than the CPU: fulgurite runs on the CPU; move it there first");
  Layout out{{view.shape, view.shape + view.ndim}, {}, 0, type_of(view.dtype)};
  out.strides.resize(out.sizes.size());
  int64_t step = 1, last = 0;
  bool is_empty = false;
  for (size_t i = out.sizes.size(); i-- > 0;) {
    const int64_t size = out.sizes[i];
    int64_t& stride = out.strides[i];
    stride = view.strides ? view.strides[i] : step;
    step *= size;
    is_empty = is_empty || size == 0;
    if (size > 1 && stride < 0) throw nb::value_error("a tensor with negative strides: copy it first");
    if (size <= 1) stride = std::max<int64_t>(stride, 0);
    last += std::max<int64_t>(size - 1, 0) * stride;
  }
  out.bytes = is_empty ? 0 : (last + 1) * fg::size_of(out.dtype);
  if (!view.data && out.bytes > 0)
    throw nb::type_error("the tensor has no memory: it is a fake one, or its storage was resized to nothing");
  return out;
}

/// A tensor over a view's memory, which is let go of by `release`.
Tensor tensor_over(const dlpack::View& view, const Layout& layout, std::function<void()> release) {
  const auto memory = fg::OutsideMemory::adopt(static_cast<char*>(view.data) + view.byte_offset, layout.bytes,
                                               std::move(release), {"", 0});
  return memory.tensor(layout.sizes, layout.strides, 0, layout.dtype, {"", 0});
}

/// A DLPack tensor that is held until it is given to a memory.
template <class Managed>
class Held {
 public:
  explicit Held(Managed* managed) : managed_(managed) {}
  ~Held() {
    if (managed_) let_go(managed_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  Tensor as_tensor() {
    const Layout layout = layout_of(managed_->view);
    Managed* const owned = std::exchange(managed_, nullptr);
    return tensor_over(owned->view, layout, [owned] { let_go(owned); });
  }

 private:
  Managed* managed_;
};

/// Without a DLPack tensor of its own, where the table gives views: the object itself is the owner.
Tensor from_view(const dlpack::ExchangeTable& table, PyObject* object) {
  dlpack::View view;
  if (table.view_of_object(object, &view) != 0) throw nb::python_error();
  const Layout layout = layout_of(view);
  Py_INCREF(object);
  return tensor_over(view, layout, [object] {
    if (!Py_IsInitialized()) return;  // it went with the interpreter
    const nb::gil_scoped_acquire gil;
    Py_DECREF(object);
  });
}

/// PyTorch's views that negate their memory, as z.conj().imag, would have the wrong sign.
void check_sign(PyObject* object) {
  static PyObject* const name = PyUnicode_InternFromString("is_neg");
  PyObject* const is_negated = PyObject_VectorcallMethod(name, &object, 1, nullptr);
  if (!is_negated) throw nb::python_error();
  Py_DECREF(is_negated);
  if (is_negated == Py_True)
    throw nb::type_error("the tensor is the negative of its memory, as z.conj().imag is: give tensor.resolve_neg()");
}

Tensor from_table(const dlpack::ExchangeTable& table, PyObject* object) {
  check_sign(object);
  if (table.view_of_object) return from_view(table, object);
  dlpack::Managed* managed = nullptr;
  if (table.from_object(object, &managed) != 0) throw nb::python_error();
  return Held(managed).as_tensor();
}

Tensor from_capsule(nb::handle capsule) {
  PyObject* const o = capsule.ptr();
  if (PyCapsule_IsValid(o, "dltensor_versioned")) {
    auto* managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(o, "dltensor_versioned"));
    if (managed->version.major != dlpack::version.major)
      throw nb::type_error("the tensor speaks another major version of DLPack than 1");
    if (managed->flags & dlpack::read_only) {
      throw nb::value_error("the memory is read-only, and fulgurite may write into tensors: copy it first");
    }
    PyCapsule_SetName(o, "used_dltensor_versioned");
    return Held(managed).as_tensor();
  }
  if (PyCapsule_IsValid(o, "dltensor")) {
    auto* managed = static_cast<dlpack::OldManaged*>(PyCapsule_GetPointer(o, "dltensor"));
    PyCapsule_SetName(o, "used_dltensor");
    return Held(managed).as_tensor();
  }
  throw nb::type_error("the DLPack capsule was used before, or is none");
}

struct Export {
  dlpack::Managed managed;
  Tensor tensor;
  std::vector<int64_t> numbers;  // sizes, then strides
};

dlpack::Managed* make_export(const Tensor& given) {
  auto e = std::make_unique<Export>();
  e->tensor = given.requires_grad() ? fg::alias(given, {"", 0}) : given;  // without a history
  const fg::Shape sizes = given.shape();
  e->numbers.reserve(2 * sizes.size());
  for (const fg::Int size : sizes) e->numbers.push_back(size);
  for (const fg::Int stride : given.strides()) e->numbers.push_back(stride);
  e->managed.view = {given.numel().hint() > 0 ? given.data_pointer({"", 0}) : nullptr,
                     {dlpack::cpu, 0},
                     static_cast<int32_t>(sizes.size()),
                     data_type_of(given.dtype()),
                     e->numbers.data(),
                     e->numbers.data() + sizes.size(),
                     0};
  e->managed.version = dlpack::version;
  e->managed.context = e.get();
  e->managed.flags = 0;
  e->managed.deleter = [](dlpack::Managed* m) { delete static_cast<Export*>(m->context); };
  return &e.release()->managed;
}

void drop_unused(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto* managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    managed->deleter(managed);
  } else if (PyCapsule_IsValid(capsule, "dltensor")) {
    auto* managed = static_cast<dlpack::OldManaged*>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->deleter(managed);
  }
}

dlpack::OldManaged* as_old(dlpack::Managed* managed) {
  auto* old = new dlpack::OldManaged{managed->view, managed, nullptr};
  old->deleter = [](dlpack::OldManaged* m) {
    auto* inner = static_cast<dlpack::Managed*>(m->context);
    inner->deleter(inner);
    delete m;
  };
  return old;
}

nb::object to_capsule(const Tensor& tensor, bool is_versioned) {
  dlpack::Managed* const managed = make_export(tensor);
  PyObject* const out = is_versioned ? PyCapsule_New(managed, "dltensor_versioned", drop_unused)
                                     : PyCapsule_New(as_old(managed), "dltensor", drop_unused);
  if (!out) throw nb::python_error();
  return nb::steal(out);
}

// The table that fulgurite.Tensor offers.
int own_from_object(void* object, dlpack::Managed** out) {
  try {
    *out = make_export(nb::cast<Tensor&>(nb::handle(static_cast<PyObject*>(object))));
    return 0;
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return -1;
  }
}
int own_to_object(dlpack::Managed* managed, void** out) {
  try {
    *out = nb::cast(Held(managed).as_tensor()).release().ptr();
    return 0;
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return -1;
  }
}
int own_allocate(dlpack::View* like, dlpack::Managed** out, void* context,
                 void (*set_error)(void*, const char*, const char*)) {
  try {
    const std::vector<int64_t> sizes(like->shape, like->shape + like->ndim);
    *out = make_export(fg::empty(fg::Shape(sizes), {.dtype = type_of(like->dtype)}));
    return 0;
  } catch (const std::exception& error) {
    set_error(context, "RuntimeError", error.what());
    return -1;
  }
}
int no_stream(int32_t, int32_t, void** out) {
  *out = nullptr;
  return 0;
}
dlpack::ExchangeTable own_table{dlpack::version, nullptr, own_allocate, own_from_object,
                                own_to_object,   nullptr, no_stream};

nb::capsule own_capsule() { return nb::capsule(&own_table, "dlpack_exchange_api"); }

}  // namespace

bool is_of_peer(nb::handle object) {
  return peer && (Py_TYPE(object.ptr()) == peer_type || PyType_IsSubtype(Py_TYPE(object.ptr()), peer_type));
}

Tensor import_tensor(nb::handle object) {
  if (object.is_none()) return {};
  if (is_of_peer(object)) return from_table(*peer, object.ptr());
  if (nb::isinstance<Tensor>(object)) return nb::cast<Tensor>(object);
  if (PyCapsule_CheckExact(object.ptr())) return from_capsule(object);
  if (!nb::hasattr(object, "__dlpack__")) {
    const std::string text = std::string("an object of type ") +
                             nb::cast<std::string>(nb::str(nb::handle(object.type()).attr("__name__"))) +
                             " is not a tensor: it has no __dlpack__";
    throw nb::type_error(text.c_str());
  }
  if (nb::hasattr(object, "is_neg")) check_sign(object.ptr());
  try {
    return from_capsule(object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 1)));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return from_capsule(object.attr("__dlpack__")());
}

nb::object export_tensor(const Tensor& tensor) {
  if (!tensor.defined()) return nb::none();
  if (!peer) return nb::cast(fg::alias(tensor, {"", 0}));
  dlpack::Managed* const managed = make_export(tensor);
  void* out = nullptr;
  if (peer->to_object(managed, &out) != 0) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(static_cast<PyObject*>(out));
}

void bind_exchange(nb::module_& m) {
  m.def("set_peer", [](nb::object type) {
    if (!nb::hasattr(type, "__dlpack_c_exchange_api__")) return false;
    const nb::object capsule = type.attr("__dlpack_c_exchange_api__");
    const auto* table =
        static_cast<const dlpack::ExchangeTable*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    if (!table) throw nb::python_error();
    if (table->version.major != dlpack::version.major) return false;
    peer = table;
    peer_type = reinterpret_cast<PyTypeObject*>(type.release().ptr());
    return true;
  });
  m.def(
      "from_dlpack", [](nb::handle object) { return import_tensor(object); }, nb::arg("object"));
  m.def(
      "to_peer", [](const Tensor& tensor) { return export_tensor(tensor); }, nb::arg("tensor"));
  m.def("to_capsule", &to_capsule, nb::arg("tensor"), nb::arg("versioned"));
  m.def("exchange_capsule", &own_capsule);
}

}  // namespace fulgurite_python
